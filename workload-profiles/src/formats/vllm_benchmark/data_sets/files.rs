//! Prompts from files.

use std::path::Path;

use crds::benchmark_run::Api;

use super::{
    Original,
    data::{Data, file, length},
};
use crate::{
    formats::common::{bounds::MAX_TOKENS, files::from_text, flags::word},
    reader::Section,
    workload::{
        ConversationUse, DataSet, DataSetFormat, FileSource, LengthFilter, OutputLength, PromptColumn, PromptForm,
        RequestSource, RowContent, RowOrder, UsedUp,
    },
};

/// Reads conversations from ShareGPT. The first turn is the prompt. Short and long conversations are excluded.
pub(super) fn share_gpt(root: &Section, original: Original, count: u64) -> Option<Data> {
    let fixed = fixed_output(root, "sharegpt-output-len")?;
    let file =
        file(root, "the JSON file of ShareGPT's conversations, such as ShareGPT_V3_unfiltered_cleaned_split.json")?;
    let format = format(root, &file)?;
    let filter = LengthFilter {
        min_input: Some(4),
        max_input: Some(1_024),
        min_output: if fixed.is_some() { None } else { Some(4) },
        max_total: Some(2_048),
        min_turns: Some(2),
        ..LengthFilter::default()
    };
    let row = RowContent::Conversation { column: "conversations".into(), send: ConversationUse::FirstTurn };
    let output = fixed.map_or(OutputLength::Answer, OutputLength::Fixed);
    let mut set = rows(root, file, format, row, output);
    set.filter = filter;
    if original == Original::InferenceMax {
        // InferenceMAX sends each row at most once, even if the count is higher.
        set.used_up = UsedUp::EndStage;
    }
    Some(from_set(set, count))
}

/// Reads the length of all answers. `Some(None)` if no flag sets it. `None` means that the flag is wrong.
fn fixed_output(root: &Section, own: &'static str) -> Option<Option<u32>> {
    if root.value("output-len").is_none() && root.value(own).is_none() {
        return Some(None);
    }
    length(root, "output-len", own, 1).map(Some)
}

/// Reads a JSONL file with the column `prompt`.
pub(super) fn custom(root: &Section, api: Api, count: u64) -> Option<Data> {
    let key = if root.value("output-len").is_some() { "output-len" } else { "custom-output-len" };
    // -1 means that the file contains the lengths.
    root.ignored("custom-output-len", crate::reader::ValueType::Number);
    let from_file = root.number(key, -1.0..=MAX_TOKENS as f64) == Some(-1.0);
    let output = match from_file {
        true => OutputLength::Column("output_tokens".into()),
        false => OutputLength::Fixed(length(root, "output-len", "custom-output-len", 256)?),
    };
    let file = file(root, "a JSONL file with the column prompt")?;
    let format = format(root, &file)?;
    note_template(root, api);
    let row = RowContent::Prompt(PromptColumn { name: "prompt".into(), form: PromptForm::Text });
    Some(from_set(rows(root, file, format, row, output), count))
}

/// Reads a JSONL file of Spec-Bench. The first of several turns is the prompt.
pub(super) fn spec_bench(root: &Section, count: u64) -> Option<Data> {
    no_category(root, "spec-bench-category");
    let output = length(root, "output-len", "spec-bench-output-len", 256);
    let file = file(root, "the file question.jsonl of Spec-Bench")?;
    let format = format(root, &file)?;
    let row = RowContent::Conversation { column: "turns".into(), send: ConversationUse::FirstTurn };
    Some(from_set(rows(root, file, format, row, OutputLength::Fixed(output?)), count))
}

/// Reads a folder of SPEED-Bench, which contains one JSONL file per subset.
pub(super) fn speed_bench(root: &Section, count: u64) -> Option<Data> {
    no_category(root, "speed-bench-category");
    let output = root.or_default("speed-bench-output-len", 4_096, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    const SUBSETS: [&str; 6] =
        ["qualitative", "throughput_1k", "throughput_2k", "throughput_8k", "throughput_16k", "throughput_32k"];
    let subsets = SUBSETS.map(|it| (it, it));
    let subset = root.or_default("speed-bench-dataset-subset", SUBSETS[0], |it, key| it.choice(key, &subsets));
    let folder = file(root, "the folder that SPEED-Bench's prepare.py made")?;
    let file = from_text(root, "dataset-path", &format!("{}/{}.jsonl", folder.shown().trim_end_matches('/'), subset?))?;
    let row = RowContent::Conversation { column: "messages".into(), send: ConversationUse::FirstTurn };
    Some(from_set(rows(root, file, DataSetFormat::Jsonl, row, OutputLength::Fixed(output?)), count))
}

fn no_category(root: &Section, flag: &'static str) {
    if word(root, flag).is_some() {
        root.problem(flag, "takes a part of the rows, which is not supported; write these rows into their own file, and take this flag out");
    }
}

/// Adds a notice about the chat template. The tool applies the model's chat template itself.
fn note_template(root: &Section, api: Api) {
    if root.bool("skip-chat-template") == Some(true) {
        return;
    }
    let advice = match api {
        Api::Completions => "set backend to openai-chat for a template, or skip-chat-template to none for no template",
        Api::Chat | Api::Responses | Api::Messages => {
            "the server applies its template, which vllm bench serve applies in addition to the client's"
        }
    };
    root.notice(
        "skip-chat-template",
        format!("is missing, and vllm bench serve then puts each prompt into the model's chat template; here it is sent as in the file: {advice}"),
    );
}

/// Returns the rows of a file, in the order that the flags request.
fn rows(root: &Section, file: FileSource, format: DataSetFormat, row: RowContent, output: OutputLength) -> DataSet {
    let column = PromptColumn::from_form(PromptForm::Text);
    let mut set = DataSet { row, output, count: None, ..DataSet::new(file, format, column, 1, 1) };
    set.order = if root.bool("disable-shuffle") == Some(true) { RowOrder::File } else { RowOrder::Shuffled };
    set.used_up = if root.bool("no-oversample") == Some(true) { UsedUp::EndStage } else { UsedUp::Draw };
    set
}

fn from_set(set: DataSet, count: u64) -> Data {
    Data { is_synthetic: false, ..Data::new(RequestSource::DataSet(set), count) }
}

/// Returns the file's format, which its name determines.
fn format(root: &Section, file: &FileSource) -> Option<DataSetFormat> {
    let format = DataSetFormat::from_path(Path::new(&file.file_name()));
    if format.is_none() {
        let message = format!("is {}; its name has to end with .json, .jsonl, .csv or .parquet", file.shown());
        root.problem("dataset-path", message);
    }
    format
}
