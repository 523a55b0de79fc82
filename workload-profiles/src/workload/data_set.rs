//! Prompts from a file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::PromptForm;

/// A file of prompts, read once before the load: request i holds the prompt of row i, counted from 0. Nothing is drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataSet {
    /// The file, as the launcher sees it.
    pub path: PathBuf,
    /// How it is written.
    pub format: DataSetFormat,
    /// Which column of a row is the prompt. No other one takes its place where it is missing: a file may hold both what is
    /// to be sent and what that was made of.
    pub prompt: PromptColumn,
    /// The most tokens of each answer.
    pub output: u32,
    /// How many rows are used, from the first. A file with fewer is refused; further ones are not read.
    pub count: u64,
}

/// How a data set is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DataSetFormat {
    /// A JSON array of objects, a row each.
    Json,
    /// A JSON object a line.
    Jsonl,
}

impl DataSetFormat {
    /// The format of a file by the end of its name, in letters of either case; `None`: it is none that can be read.
    pub fn from_path(path: &Path) -> Option<DataSetFormat> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "json" => Some(DataSetFormat::Json),
            "jsonl" => Some(DataSetFormat::Jsonl),
            _ => None,
        }
    }
}

/// The column of the prompts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptColumn {
    /// Its name: the key in each row.
    pub name: String,
    /// What it holds, and how it is sent: a text, or a list of token ids.
    pub form: PromptForm,
}

impl PromptColumn {
    /// The column of this form in the data sets of MLPerf's language models: `input` or `tok_input`.
    pub fn from_form(form: PromptForm) -> PromptColumn {
        let name = match form {
            PromptForm::Text => "input",
            PromptForm::TokenIds => "tok_input",
        };
        PromptColumn { name: name.into(), form }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_told_by_the_end_of_the_name() {
        for (path, expected) in [
            ("/data/cnn_eval.json", Some(DataSetFormat::Json)),
            ("a.b.JSONL", Some(DataSetFormat::Jsonl)),
            ("orca.pkl", None),
            ("orca.pkl.gz", None),
            ("json", None),
            ("", None),
        ] {
            assert_eq!(DataSetFormat::from_path(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_data_set_reads_as_it_was_written() {
        let json = r#"{"path":"/d/c.json","format":"json","prompt":{"name":"tok_input","form":"tokenIds"},"output":128,"count":13368}"#;
        let set: DataSet = serde_json::from_str(json).unwrap();
        assert_eq!(set.prompt, PromptColumn::from_form(PromptForm::TokenIds));
        assert_eq!(serde_json::to_string(&set).unwrap(), json);
    }
}
