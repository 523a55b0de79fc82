//! Files with prompts, and data sets of the Hugging Face Hub.

use std::path::Path;

use super::{
    around::{Around, Data},
    columns::Columns,
};
use crate::{
    formats::{common::files, guidellm::values::unsupported},
    problem::quoted,
    reader::Section,
    workload::{
        AcrossStages, DataSet, DataSetFormat, FileSource, LengthFilter, OutputLength, RequestSource, RowContent,
        RowOrder, UsedUp,
    },
};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Csv,
    Json,
    Parquet,
}

/// Reads a source that names a file.
pub(super) fn read(section: Section, kind: Kind, columns: &Columns, around: &Around) -> Option<Data> {
    section.require("path", "write where the launcher finds the file");
    load_kwargs(&section);
    let file = path(&section);
    let format = match kind {
        Kind::Text => DataSetFormat::Text,
        Kind::Csv => DataSetFormat::Csv,
        Kind::Parquet => DataSetFormat::Parquet,
        Kind::Json => match file.as_ref().and_then(format) {
            Some(DataSetFormat::Json) => DataSetFormat::Json,
            _ => DataSetFormat::Jsonl,
        },
    };
    rows(section, file?, format, columns, around)
}

/// Reads a source of type Hugging Face: a local file is read, but a dataset name is refused, because nothing is downloaded.
pub(super) fn read_hugging_face(section: Section, columns: &Columns, around: &Around) -> Option<Data> {
    let names = ["source", "src", "from", "path", "name"];
    let key = names.into_iter().find(|it| section.value(it).is_some()).unwrap_or("source");
    section.require(key, "write the path of a file with the rows");
    load_kwargs(&section);
    let source = section.text(key).filter(|it| !it.trim().is_empty())?;
    let file = files::from_text(&section, key, source)?;
    let Some(format) = format(&file) else {
        let is_name = !source.starts_with(['/', '.', '~']) && source.matches('/').count() <= 1;
        let what = format!(
            "is {}, a {} of the Hugging Face Hub, which is not downloaded",
            quoted(source),
            if is_name { "data set" } else { "folder" }
        );
        let advice = "fetch it with `hf download --repo-type dataset NAME --local-dir DIR`, and name one of its files";
        section.problem(key, format!("{what}; {advice}, as {{kind: parquet_file, path: DIR/data/train.parquet}}"));
        return None;
    };
    rows(section, file, format, columns, around)
}

fn format(file: &FileSource) -> Option<DataSetFormat> {
    DataSetFormat::from_path(Path::new(&file.file_name()))
}

fn path(section: &Section) -> Option<FileSource> {
    files::from_text(section, "path", section.text("path")?)
}

/// Checks arguments of GuideLLM's data set library. Some have no meaning for a single file.
fn load_kwargs(section: &Section) {
    let Some(arguments) = section.section("load_kwargs") else { return };
    for (key, _) in arguments.entries() {
        match key {
            "split" | "streaming" | "trust_remote_code" | "cache_dir" | "num_proc" | "token" => {
                arguments.notice(key, "is not used: all rows of the file are read");
            }
            _ => arguments.problem(key, "is an argument of GuideLLM's data set library, which this engine does not read; take it out, and prepare the rows in the file"),
        }
    }
}

fn rows(section: Section, file: FileSource, format: DataSetFormat, columns: &Columns, around: &Around) -> Option<Data> {
    let default = (format == DataSetFormat::Text).then_some("text");
    let prompt = columns.prompt(&section, default, around.has_messages);
    let (output, has_output) = match (&columns.output, around.max_tokens) {
        (Some(column), _) => (OutputLength::Column(column.clone()), true),
        (None, Some(most)) => (OutputLength::Fixed(most), false),
        (None, None) => (OutputLength::Unbounded, false),
    };
    if !columns.are_named() && format != DataSetFormat::Text {
        section.notice("kind", "may have a column output_tokens_count, completion_tokens_count, system_prompt, system or prefix, which GuideLLM uses; here the lengths of answers are read where data_column_mapper.column_mappings.output_tokens_count_column names them, and texts of the system are not sent");
    }
    section.finish();
    let set = DataSet {
        file,
        format,
        row: RowContent::Prompt(prompt?),
        any_column: false,
        chat_template: None,
        output,
        count: None,
        filter: LengthFilter::default(),
        order: RowOrder::File,
        // Each strategy sends the rows once, from the first row on, and then ends.
        used_up: UsedUp::EndStage,
        across_stages: AcrossStages::Restart,
    };
    let requests = RequestSource::DataSet(set);
    Some(Data { requests, images: None, has_output, turns: 1, endless: false, rows: None, trace: None })
}

/// Reads the trace file: `source` is a nested data source. Older versions use `path`.
pub(super) fn of_trace(section: &Section) -> Option<FileSource> {
    if section.value("source").is_none() {
        section.require(
            "path",
            "write where the launcher finds the file, as source: {kind: json_file, path: /data/trace.jsonl}",
        );
        return path(section);
    }
    let source = section.section("source")?;
    let kinds =
        [("json_file", true), ("csv_file", true), ("huggingface", false), ("hf", false), ("parquet_file", false)];
    source.require("kind", "write json_file or csv_file");
    if source.choice("kind", &kinds)? {
        source.require("path", "write where the launcher finds the file");
        load_kwargs(&source);
        let file = path(&source);
        source.finish();
        return file;
    }
    source.problem("kind", unsupported("no json_file or csv_file", "write the trace to a file, a JSON object on each line, and name it as {kind: json_file, path: trace.jsonl}"));
    None
}
