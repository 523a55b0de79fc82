//! Prompts from a file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::PromptForm;

/// A file of prompts, which is read once before the load. Request i holds the prompt of row i, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataSet {
    /// The file, as the launcher sees it.
    pub path: PathBuf,
    /// How it is written.
    pub format: DataSetFormat,
    /// The column of the prompts. A row without it is an error, even if it has another column of text: that may be what the
    /// prompt was made from.
    pub prompt: PromptColumn,
    /// The most tokens of each answer.
    pub output: u32,
    /// The number of rows that are used, from the first. A file with fewer rows is refused.
    pub count: u64,
}

/// How a data set is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DataSetFormat {
    /// A JSON array with an object for each row.
    Json,
    /// A JSON object on each line.
    Jsonl,
}

impl DataSetFormat {
    /// The format by the extension of a file, in upper or lower case; `None` for an unknown one.
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
    /// The name of the column: the key in each row.
    pub name: String,
    /// Whether it holds a text or a list of token ids.
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
