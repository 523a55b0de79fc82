//! Data sets from files.

use super::*;
use crate::workload::{
    AcrossStages, ConversationUse, DataSet, DataSetFormat, FileSource, LengthFilter, OutputLength, RemoteFile,
    RowContent, UsedUp,
};

fn data_set(kind: &str, api: &str, more: &str) -> DataSet {
    let text = format!("api: {{type: {api}, streaming: true}}\ndata: {{type: {kind}, path: /d/a.json{more}}}");
    match workload(&text).requests {
        RequestSource::DataSet(set) => set,
        other => panic!("{other:?}"),
    }
}

fn remote(url: &str) -> FileSource {
    FileSource::Url(RemoteFile { url: url.to_owned(), sha256: None })
}

fn conversation(send: ConversationUse) -> RowContent {
    RowContent::Conversation { column: "conversations".into(), send }
}

#[test]
fn each_data_set_is_used_as_the_original_uses_it() {
    for (kind, api, row, output, used_up) in [
        ("shareGPT", "completion", conversation(ConversationUse::FirstTurn), OutputLength::Answer, UsedUp::Repeat),
        ("shareGPT", "chat", conversation(ConversationUse::All), OutputLength::Fixed(30), UsedUp::Repeat),
        ("shareGPT", "anthropic_messages", conversation(ConversationUse::All), OutputLength::Fixed(30), UsedUp::Repeat),
        (
            "billsum_conversations",
            "completion",
            conversation(ConversationUse::FirstTurn),
            OutputLength::Answer,
            UsedUp::Repeat,
        ),
        (
            "infinity_instruct",
            "completion",
            conversation(ConversationUse::JoinedText),
            OutputLength::Answer,
            UsedUp::Refuse,
        ),
        ("infinity_instruct", "chat", conversation(ConversationUse::All), OutputLength::Fixed(30), UsedUp::Refuse),
    ] {
        let set = data_set(kind, api, "");
        assert_eq!((set.row, set.output, set.used_up), (row, output, used_up), "{kind} {api}");
    }
    let set = data_set("cnn_dailymail", "completion", "");
    let RowContent::Prompt(prompt) = set.row else { panic!("it is a prompt") };
    assert_eq!((prompt.name.as_str(), set.output), ("article", OutputLength::TextOf("highlights".into())));
}

#[test]
fn a_later_stage_of_a_data_set_goes_on_where_the_one_before_stopped() {
    for kind in ["shareGPT", "billsum_conversations", "infinity_instruct", "cnn_dailymail"] {
        assert_eq!(data_set(kind, "completion", "").across_stages, AcrossStages::Continue, "{kind}");
    }
}

#[test]
fn the_first_row_is_sent_and_a_notice_says_where_the_original_skips_it() {
    for (kind, skips) in
        [("shareGPT", true), ("cnn_dailymail", true), ("infinity_instruct", true), ("billsum_conversations", false)]
    {
        let notices = read(&format!("data: {{type: {kind}, path: /d/a.json}}")).unwrap().1;
        let said = "data.type: is sent from the first row of the file on; inference-perf skips that row";
        assert_eq!(notices.iter().any(|it| *it == said), skips, "{kind}");
    }
}

#[test]
fn distributions_only_bound_the_lengths_of_rows() {
    let bounds = ", input_distribution: {min: 5, max: 500, mean: 9000}, output_distribution: {max: 100}";
    let filter = LengthFilter {
        min_input: Some(5),
        max_input: Some(500),
        min_output: Some(10),
        max_output: Some(100),
        min_turns: Some(2),
        ..LengthFilter::default()
    };
    assert_eq!(data_set("shareGPT", "completion", bounds).filter, filter);
    assert_eq!(
        data_set("shareGPT", "chat", bounds).filter,
        LengthFilter { min_turns: Some(2), ..LengthFilter::default() }
    );
    check_one_notice(
        "api: {type: chat, streaming: true}\ndata: {type: shareGPT, path: a.json, input_distribution: {}}",
        "data.input_distribution: is not used: as in inference-perf, chats of a data set are not chosen by their lengths",
    );
}

#[test]
fn a_file_is_a_path_or_a_url() {
    let file = |path: &str| match workload(&format!("data: {{type: shareGPT, path: '{path}'}}")).requests {
        RequestSource::DataSet(set) => (set.file, set.format),
        other => panic!("{other:?}"),
    };
    assert_eq!(file("data/rows.jsonl.gz"), (FileSource::from("data/rows.jsonl.gz"), DataSetFormat::Jsonl));
    let (url, format) = file("https://host/data/sharegpt.json?download=true");
    assert!(matches!(url, FileSource::Url(_)) && format == DataSetFormat::Json);
    check_error(
        "data: {type: shareGPT, path: /data/sharegpt}",
        "data.path: is \"/data/sharegpt\"; write the path of one file whose name ends with .json, .jsonl, .csv or .parquet, \
         or with .gz or .zst after that",
    );
    check_one_notice(
        "data: {type: shareGPT}",
        "data.path: is missing: inference-perf downloads shareGPT, and here the file ShareGPT_V3_unfiltered_cleaned_split.json beside \
         the profile is read; download it by `hf download anon8231489123/ShareGPT_Vicuna_unfiltered \
         ShareGPT_V3_unfiltered_cleaned_split.json --repo-type dataset`, or write another path here, or set profile.variables.dataset_file \
         for a profile that ships",
    );
    let error = read("data: {type: infinity_instruct}").unwrap_err().to_string();
    assert!(error.starts_with("data.path: is missing, and infinity_instruct is a file"), "{error}");
}

#[test]
fn data_that_cannot_be_sent_are_refused_with_the_reason() {
    for (kind, reason) in [
        ("visionarena", "holds images in its rows"),
        ("synthetic_agentic", "makes up agents that call each other and tools"),
        ("sharegpt4video", "holds videos"),
    ] {
        let error = read(&format!("data: {{type: {kind}}}")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("data.type: is {kind}, which {reason}")), "{error}");
    }
}

#[test]
fn a_text_to_take_prose_from_and_a_tokenizer_are_files() {
    let text =
        "data: {type: synthetic, input_distribution: {}, output_distribution: {}, corpus_file_path: /d/book.txt}";
    assert_eq!(workload(text).corpus, Some("/d/book.txt".into()));
    let url = "https://host/book.txt";
    assert_eq!(workload(&text.replace("/d/book.txt", url)).corpus, Some(remote(url)));
    let tokenizer = |name: &str| workload(&format!("tokenizer: {{pretrained_model_name_or_path: '{name}'}}")).tokenizer;
    assert_eq!(tokenizer("/models/llama/tokenizer.json"), Some("/models/llama/tokenizer.json".into()));
    assert_eq!(tokenizer("/models/llama"), Some("/models/llama/tokenizer.json".into()));
    assert_eq!(tokenizer("./llama/"), Some("./llama/tokenizer.json".into()));
    let url = "https://host/org/llama/tokenizer.json";
    assert_eq!(tokenizer(url), Some(remote(url)));
    assert_eq!(tokenizer("https://host/org/llama"), Some(remote(url)));
    assert_eq!(tokenizer("meta-llama/Llama-3.1-8B"), None);
    assert_eq!(tokenizer(""), None);
}
