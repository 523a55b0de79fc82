use super::*;
use crate::workload::{
    ConversationUse, DataSet, DataSetFormat, FileSource, ImageEncoding, ImagePlace, LengthDistribution, Load,
    OutputLength, PrefixChoice, Prefixes, PromptText, RemoteFile, RequestSource, RowContent, RowOrder, Shape, Trace,
    TraceTime, UsedUp,
};

/// Returns the lengths of prompts and of answers as (min, max), and the prefixes.
fn lengths(workload: Workload) -> ((u32, u32), (u32, u32), Prefixes) {
    let RequestSource::Random { input, output, prefixes, .. } = workload.requests else { panic!("it is random") };
    let bounds = |it: &LengthDistribution| {
        assert_eq!(it.shape == Shape::Fixed, it.min == it.max);
        (it.min, it.max)
    };
    (bounds(&input), bounds(&output), prefixes)
}

fn rows(flags: &str) -> DataSet {
    let RequestSource::DataSet(set) = workload(flags).requests else { panic!("it is a data set") };
    set
}

#[test]
fn random_lengths_lie_in_a_band() {
    let check = |flags: &str, input, output| {
        let (found_input, found_output, prefixes) = lengths(workload(&format!("dataset-name: random\n{flags}")));
        assert_eq!((found_input, found_output, prefixes.is_empty()), (input, output, true), "{flags}");
    };
    check("", (1_024, 1_024), (128, 128));
    check("random-range-ratio: 0.3\nrandom-input-len: 101\nrandom-output-len: 3", (70, 132), (2, 4));
    check("random-range-ratio: '{\"input\": 0.5, \"output\": 0}'", (512, 1_536), (128, 128));
    check("random-range-ratio: {input: 0, output: 0.99}\nrandom-output-len: 1", (1_024, 1_024), (1, 2));
    check("input-len: 7\noutput-len: 8\nrandom-input-len: 9", (7, 7), (8, 8));
    check_error(
        "random-range-ratio: 1",
        "random-range-ratio: is 1; write a number of at least 0 and below 1, or {\"input\": 0.3, \"output\": 0.5}",
    );
    check_error(
        "random-range-ratio: '{\"input\": 0.1}'",
        "random-range-ratio: is \"{\\\"input\\\": 0.1}\"; write a number of at least 0 and below 1, or {\"input\": 0.3, \"output\": 0.5}",
    );
    check_error(
        "random-batch-size: 2",
        "random-batch-size: is not 1; batches are for embeddings, which cannot be measured here, so take it out",
    );
    check_error(
        "dataset-name: random\ndataset-path: a.json",
        "dataset-path: cannot be combined with dataset-name random, which has no file; take it out, or choose the dataset-name of the file, such as sharegpt or custom",
    );
}

#[test]
fn a_random_prompt_may_have_a_prefix() {
    let (input, _, prefixes) = lengths(workload("random-prefix-len: 50"));
    assert_eq!(input, (1_024, 1_024));
    assert_eq!((prefixes.buckets.len(), prefixes.buckets[0].count, prefixes.buckets[0].tokens), (1, 1, 50));
}

/// In InferenceMAX, the ratio is the shortest length divided by the longest.
#[test]
fn inferencemax_reads_the_ratio_in_another_way() {
    let (input, output, _) =
        lengths(inferencemax("dataset-name: random\nrandom-range-ratio: 0.8\nrandom-output-len: 100"));
    assert_eq!((input, output), ((819, 1_024), (80, 100)));
    let (input, output, _) = lengths(inferencemax("dataset-name: random"));
    assert_eq!((input, output), ((1_024, 1_024), (128, 128)));
    let error = read_for(Harness::Inferencemax, "num-prompts: 5").unwrap_err().to_string();
    assert!(error.starts_with("dataset-path: is missing; write the path of the JSON file of ShareGPT"), "{error}");
}

#[test]
fn images_are_noise_of_the_given_sizes() {
    let flags = "backend: openai-chat\ndataset-name: random-mm";
    let images = workload(flags).images.unwrap();
    let sizes: Vec<_> = images.sizes.iter().map(|it| (it.width, it.height, it.weight)).collect();
    assert_eq!(sizes, [(256, 256, 0.5), (1_280, 720, 0.5)]);
    assert_eq!((images.encoding, images.place), (ImageEncoding::Jpeg, ImagePlace::AfterText));
    assert_eq!(images.per_request, LengthDistribution::fixed(1));
    let images = workload(&format!(
        "{flags}\nrandom-mm-base-items-per-request: 4\nrandom-mm-num-mm-items-range-ratio: 0.5\n\
         random-mm-limit-mm-per-prompt: '{{\"image\": 5, \"video\": 0}}'\n\
         random-mm-bucket-config: '{{(32, 64, 1): 0.75, (720, 1280, 16): 0.0}}'"
    ));
    let images = images.images.unwrap();
    assert_eq!(images.per_request, LengthDistribution::uniform(2, 5));
    assert_eq!((images.sizes.len(), images.sizes[0].width, images.sizes[0].height), (1, 64, 32));
    check_error(
        "dataset-name: random-mm",
        "backend: is no backend for dataset-name random-mm, which needs chats; choose openai-chat",
    );
    check_error(
        &format!("{flags}\nrandom-mm-bucket-config: '{{(720, 1280, 16): 1}}'"),
        "random-mm-bucket-config: holds a video of 16 frames; only images are sent, so write 1 as the third number\n\
         random-mm-bucket-config: holds 0 sizes with a weight above 0; write 1 to 64",
    );
    check_error(
        &format!("{flags}\nrandom-mm-bucket-config: x"),
        "random-mm-bucket-config: is \"x\"; write (height, width, 1): weight for each size, such as {(256, 256, 1): 0.5, (720, 1280, 1): 0.5}",
    );
}

#[test]
fn prefixes_have_the_same_number_of_prompts() {
    let flags = "dataset-name: prefix_repetition\nprefix-repetition-num-prefixes: 3\nnum-prompts: 10";
    let workload = workload(flags);
    assert_eq!(workload.stages[0].load, Load::Burst { count: 9, max_concurrency: None });
    let (input, output, prefixes) = lengths(workload);
    assert_eq!((input, output, prefixes.choice), ((256, 256), (128, 128), PrefixChoice::EqualShares));
    assert_eq!((prefixes.buckets[0].count, prefixes.buckets[0].tokens), (3, 256));
    check_notice(flags, "num-prompts: is 10, of which 9 are sent, 3 for each prefix, as with vllm bench serve");
    check_error(
        "dataset-name: prefix_repetition\nnum-prompts: 9",
        "num-prompts: is 9, less than one for each of 10 prefixes; raise num-prompts, or lower prefix-repetition-num-prefixes",
    );
}

#[test]
fn a_sonnet_is_prose_behind_a_prefix() {
    let workload = workload("dataset-name: sonnet\ndataset-path: /d/sonnet.txt");
    let RequestSource::Random { input, text, prefixes, .. } = &workload.requests else { panic!("it is random") };
    assert_eq!((input, *text, prefixes.buckets[0].tokens), (&LengthDistribution::fixed(350), PromptText::Prose, 200));
    assert_eq!(workload.corpus.unwrap().as_path().to_str(), Some("/d/sonnet.txt"));
    check_error(
        "dataset-name: sonnet\nsonnet-input-len: 200",
        "sonnet-input-len: is 200, and sonnet-prefix-len is 200; it holds the prefix, so raise it",
    );
}

#[test]
fn sharegpt_has_the_filters_of_the_original() {
    let set = rows("dataset-name: sharegpt\ndataset-path: /d/share.json");
    assert_eq!((set.format, set.order, set.used_up), (DataSetFormat::Json, RowOrder::Shuffled, UsedUp::Draw));
    assert_eq!(set.row, RowContent::Conversation { column: "conversations".into(), send: ConversationUse::FirstTurn });
    let filter = &set.filter;
    assert_eq!((filter.min_input, filter.max_input, filter.min_output), (Some(4), Some(1_024), Some(4)));
    assert_eq!((filter.max_total, filter.min_turns, &set.output), (Some(2_048), Some(2), &OutputLength::Answer));
    let set = rows(
        "dataset-name: sharegpt\ndataset-path: s.json\nsharegpt-output-len: 1024\ndisable-shuffle: none\nno-oversample: none",
    );
    assert_eq!((set.output, set.filter.min_output), (OutputLength::Fixed(1_024), None));
    assert_eq!((set.order, set.used_up), (RowOrder::File, UsedUp::EndStage));
    check_error(
        "dataset-name: sharegpt",
        "dataset-path: is missing; write the path of the JSON file of ShareGPT's conversations, such as ShareGPT_V3_unfiltered_cleaned_split.json",
    );
}

#[test]
fn a_custom_file_has_prompts_and_may_have_lengths() {
    let flags = "dataset-name: custom\ndataset-path: a.jsonl";
    assert_eq!(rows(flags).output, OutputLength::Fixed(256));
    assert_eq!(rows(&format!("{flags}\noutput-len: 9")).output, OutputLength::Fixed(9));
    assert_eq!(rows(&format!("{flags}\ncustom-output-len: -1")).output, OutputLength::Column("output_tokens".into()));
    let line = "vllm bench serve --dataset-name custom --dataset-path a.jsonl --custom-output-len -1";
    assert_eq!(rows(line).output, OutputLength::Column("output_tokens".into()));
    check_notice(
        flags,
        "skip-chat-template: is missing, and vllm bench serve then puts each prompt into the model's chat template; here it is sent as in the file: \
         set backend to openai-chat for a template, or skip-chat-template to none for no template",
    );
    check_silent(&format!("{flags}\nskip-chat-template: none"), "skip-chat-template");
    check_error(
        "dataset-name: custom\ndataset-path: a.txt2",
        "dataset-path: is a.txt2; its name has to end with .json, .jsonl, .csv or .parquet",
    );
}

#[test]
fn the_first_turn_of_the_two_benches_is_the_prompt() {
    let set = rows("dataset-name: spec_bench\ndataset-path: question.jsonl");
    assert_eq!(set.row, RowContent::Conversation { column: "turns".into(), send: ConversationUse::FirstTurn });
    let set = rows("dataset-name: speed_bench\ndataset-path: /d/speed\nspeed-bench-dataset-subset: throughput_2k");
    assert_eq!(
        (set.file.as_path().to_str(), set.output),
        (Some("/d/speed/throughput_2k.jsonl"), OutputLength::Fixed(4_096))
    );
    check_error(
        "dataset-name: spec_bench\ndataset-path: question.jsonl\nspec-bench-category: math",
        "spec-bench-category: takes a part of the rows, which is not supported; write these rows into their own file, and take this flag out",
    );
}

#[test]
fn a_timed_trace_is_replayed_at_its_times() {
    let flags = "dataset-name: timed_trace\ndataset-path: t.jsonl\nnum-prompts: 50";
    let Load::Trace { trace: Trace::File(file), speed, count, lengths, .. } =
        workload(flags).stages.pop().unwrap().load
    else {
        panic!("it is a trace")
    };
    assert_eq!((speed, count, lengths, file.time), (1.0, Some(50), true, TraceTime::Seconds));
    assert_eq!((file.at_column.as_str(), file.hashes_column.as_deref()), ("timestamp", Some("hash_ids")));
    assert_eq!(workload(flags).requests, RequestSource::TraceBlocks { block_size: 16 });
    let mooncake =
        format!("{flags}\ntimed-trace-chunk-hash-size: 512\ntimed-trace-sec-multiplier: 0.001\nself-timed: none");
    assert_eq!(workload(&mooncake).requests, RequestSource::TraceBlocks { block_size: 512 });
    let time = |multiplier: &str| match workload(&format!("{flags}\ntimed-trace-sec-multiplier: {multiplier}"))
        .stages
        .pop()
        .unwrap()
        .load
    {
        Load::Trace { trace: Trace::File(file), speed, .. } => (file.time, speed),
        other => panic!("{other:?}"),
    };
    assert_eq!(time("0.001"), (TraceTime::Milliseconds, 1.0));
    assert_eq!(time("0.5"), (TraceTime::Seconds, 2.0));
    check_notice(
        &format!("{flags}\nrequest-rate: 5"),
        "request-rate: is not used: requests are sent at the times of the trace",
    );
    check_error(
        &format!("{flags}\nbackend: openai-chat\nendpoint: /v1/chat/completions"),
        "backend: is no backend for dataset-name timed_trace, which needs completions; choose openai",
    );
    check_error(
        &format!("{flags}\nno-self-timed: none"),
        "no-self-timed: sends the prompts of a trace at other times, which is not supported; take it out to send them at the recorded times",
    );
    check_error("self-timed: none", "self-timed: belongs to dataset-name timed_trace; take it out");
}

#[test]
fn burstgpt_gives_lengths_only() {
    let flags = "dataset-name: burstgpt\ndataset-path: b.csv\nnum-prompts: 50\nmax-concurrency: 4";
    let Load::Trace { trace: Trace::File(file), speed, count, lengths, max_concurrency } =
        workload(flags).stages.pop().unwrap().load
    else {
        panic!("it is a trace")
    };
    assert_eq!((count, lengths, max_concurrency), (Some(50), true, Some(4)));
    assert!(speed > 1e9);
    assert_eq!((file.input_column.as_str(), file.output_column.as_str()), ("Request tokens", "Response tokens"));
    check_error(
        &format!("{flags}\nrequest-rate: 5"),
        "request-rate: cannot be combined with dataset-name burstgpt here, which has no rate: requests are sent as soon as fewer than max-concurrency are in flight; take it out and \
         set max-concurrency, or set dataset-name to random, and its input and output length to the means of the file",
    );
    check_notice(
        flags,
        "dataset-name: is burstgpt: the lengths are those of the first rows, and texts are random words; vllm bench serve draws rows whose Model is \
         GPT-4 and whose Response tokens are above 0, so write a file with only these. Here rows of other models are sent too, 0 Response tokens \
         are sent as 1, and a file with fewer rows than num-prompts ends the load, where vllm bench serve draws rows again",
    );
}

#[test]
fn a_file_may_be_behind_a_url() {
    let set = |flags: &str| match workload(flags).requests {
        RequestSource::DataSet(set) => (set.file, set.format),
        other => panic!("{other:?}"),
    };
    let remote = |url: &str| FileSource::Url(RemoteFile { url: url.into(), sha256: None });
    let url = "https://host/a.jsonl?download=true";
    assert_eq!(set(&format!("dataset-name: custom\ndataset-path: {url}")), (remote(url), DataSetFormat::Jsonl));
    assert_eq!(
        set("dataset-name: speed_bench\ndataset-path: https://host/speed").0,
        remote("https://host/speed/qualitative.jsonl")
    );
    check_error(
        "dataset-name: custom\ndataset-path: s3://host/a.jsonl",
        "dataset-path: is \"s3://host/a.jsonl\"; write a path, or an http or https URL without blanks",
    );
}

#[test]
fn a_data_set_that_cannot_be_sent_says_what_to_do() {
    let error = |flags: &str| read(flags).unwrap_err().to_string();
    let hub = error("dataset-name: hf\ndataset-path: AI-MO/aimo-validation-aime\nhf-split: train");
    assert!(
        hub.contains("`hf download --repo-type dataset AI-MO/aimo-validation-aime`")
            && hub.contains("set dataset-name to custom"),
        "{hub}"
    );
    for name in ["random-rerank", "custom_image", "custom_mm", "custom_audio", "bfcl"] {
        let found = error(&format!("dataset-name: {name}\ndataset-path: a.jsonl"));
        assert!(found.starts_with(&format!("dataset-name: is {name}, which")) && found.contains("choose "), "{found}");
    }
    check_error(
        "dataset-name: sharegtp",
        "dataset-name: is \"sharegtp\", which is no data set; did you mean sharegpt?",
    );
}
