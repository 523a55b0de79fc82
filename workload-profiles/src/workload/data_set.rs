//! Prompts from a file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{FileSource, PromptForm};

/// A file with prompts. It is read once, before the load.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DataSet {
    /// The file with the rows.
    pub file: FileSource,
    /// The format of the file.
    pub format: DataSetFormat,
    /// What a row contains. If a row lacks the column, this is an error, even if the row has another text column: the missing prompt might have been
    /// generated from that text, so that text is not sent in its place.
    pub row: RowContent,
    /// Whether another column can replace the column of `row` if the file does not have it. The replacement is the first column in
    /// [`roles::prompts`](super::roles::prompts) that the file has; its prompts have the same form. False if the profile names a column.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_column: bool,
    /// How rows are rendered with the chat template of the workload's tokenizer. This happens before the load, and the rows are then sent as token
    /// ids. If absent, rows are sent unchanged.
    pub chat_template: Option<ChatRendering>,
    /// Maximum tokens of each answer.
    pub output: OutputLength,
    /// Number of rows to use: the first rows in `order` that pass the filter. A file with fewer rows is refused. If absent, the load uses as
    /// many rows as it needs, or all rows.
    pub count: Option<u64>,
    /// Which rows are used, by their lengths.
    #[serde(default, skip_serializing_if = "LengthFilter::is_empty")]
    pub filter: LengthFilter,
    /// The order in which rows are sent.
    #[serde(default)]
    pub order: RowOrder,
    /// What happens when a load needs more rows than there are.
    #[serde(default)]
    pub used_up: UsedUp,
    /// At which row a stage begins.
    #[serde(default)]
    pub across_stages: AcrossStages,
}

impl DataSet {
    /// A data set that sends `count` rows in the order of the file, each row at most once.
    pub fn new(
        file: impl Into<FileSource>,
        format: DataSetFormat,
        prompt: PromptColumn,
        output: u32,
        count: u64,
    ) -> DataSet {
        DataSet {
            file: file.into(),
            format,
            row: RowContent::Prompt(prompt),
            any_column: false,
            chat_template: None,
            output: OutputLength::Fixed(output),
            count: Some(count),
            filter: LengthFilter::default(),
            order: RowOrder::default(),
            used_up: UsedUp::default(),
            across_stages: AcrossStages::default(),
        }
    }

    /// The form of the prompts, as they are sent.
    pub fn form(&self) -> PromptForm {
        match &self.row {
            _ if self.chat_template.is_some() => PromptForm::TokenIds,
            RowContent::Prompt(column) => column.form,
            RowContent::Conversation { send, .. } => match send {
                ConversationUse::FirstTurn | ConversationUse::JoinedText => PromptForm::Text,
                ConversationUse::AllButLast | ConversationUse::All | ConversationUse::Turns => PromptForm::Messages,
            },
        }
    }

    /// Whether each row is a session of several requests.
    pub fn has_turns(&self) -> bool {
        matches!(self.row, RowContent::Conversation { send: ConversationUse::Turns, .. })
    }
}

/// How messages become the text of a prompt: with the model's chat template, followed by the beginning of the model's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatRendering {
    /// Additional variables for the template, such as `enable_thinking`.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub arguments: serde_json::Map<String, serde_json::Value>,
}

/// What a row of a data set contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RowContent {
    /// A prompt.
    Prompt(PromptColumn),
    /// A conversation: a list of objects with `role` or `from`, and `content` or `value`; or a list of texts. A system message does not count as a
    /// turn. Conversations without a turn to send are skipped, and a notice reports their number.
    #[serde(rename_all = "camelCase")]
    Conversation {
        /// The name of the column.
        column: String,
        /// The part of the conversation that is sent.
        send: ConversationUse,
    },
}

/// The part of a recorded conversation that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ConversationUse {
    /// The first turn, in one request. The second turn is its answer.
    FirstTurn,
    /// All turns but the last, as messages of one request. The last turn is its answer.
    AllButLast,
    /// All turns, as messages of one request.
    All,
    /// All turns but the last, as one text with one line per turn. The last turn is its answer.
    JoinedText,
    /// A session with one request per user turn. Each request contains the earlier turns, with the server's answers in this run.
    Turns,
}

/// Maximum tokens of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OutputLength {
    /// The same number for all answers.
    Fixed(u32),
    /// The number in this column.
    Column(String),
    /// The length of the text in this column.
    TextOf(String),
    /// The length of the recorded answer of a conversation.
    Answer,
    /// The server decides.
    Unbounded,
}

/// Filters the rows of a data set by their lengths in tokens. For sessions, the lengths of all turns are added. All bounds are inclusive. If
/// absent, there is no bound.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LengthFilter {
    /// Minimum tokens per prompt.
    pub min_input: Option<u32>,
    /// Maximum tokens per prompt.
    pub max_input: Option<u32>,
    /// Minimum tokens per answer.
    pub min_output: Option<u32>,
    /// Maximum tokens per answer.
    pub max_output: Option<u32>,
    /// Maximum tokens of prompt and answer together.
    pub max_total: Option<u32>,
    /// Minimum number of turns per conversation.
    pub min_turns: Option<u32>,
}

impl LengthFilter {
    /// Whether the filter accepts every row.
    pub fn is_empty(&self) -> bool {
        *self == LengthFilter::default()
    }
}

/// The order in which rows are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RowOrder {
    /// In the order of the file.
    #[default]
    File,
    /// Shuffled with the seed of the run.
    Shuffled,
}

/// What happens when a load needs more rows than there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UsedUp {
    /// The load is refused before its first request.
    #[default]
    Refuse,
    /// The rows are sent again from the first one. The report states this.
    Repeat,
    /// Further rows are drawn at random. The report states this.
    Draw,
    /// The stage ends.
    EndStage,
}

/// The row with which a stage begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AcrossStages {
    /// The first row.
    #[default]
    Restart,
    /// The row after the last row of the previous stage.
    Continue,
}

/// The format of a data set. The file is decompressed if its name ends with `.gz`, `.bz2`, `.xz` or `.zst`, or if its first bytes show that it is
/// compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DataSetFormat {
    /// A JSON array with one object per row; an object of lists; or pandas' JSON formats.
    Json,
    /// One JSON object per line.
    Jsonl,
    /// Comma-separated values. The first line contains the names of the columns.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// One prompt per line, in a column that is called `text`.
    Text,
    /// A pickle of pandas or numpy. It is read without executing it.
    Pickle,
    /// A numpy array, an archive of arrays, or a folder with token ids that are padded to one length.
    Npy,
}

impl DataSetFormat {
    /// Every format.
    pub const ALL: [DataSetFormat; 7] = [
        DataSetFormat::Json,
        DataSetFormat::Jsonl,
        DataSetFormat::Csv,
        DataSetFormat::Parquet,
        DataSetFormat::Text,
        DataSetFormat::Pickle,
        DataSetFormat::Npy,
    ];

    /// The name of the format in a profile.
    pub const fn word(self) -> &'static str {
        match self {
            DataSetFormat::Json => "json",
            DataSetFormat::Jsonl => "jsonl",
            DataSetFormat::Csv => "csv",
            DataSetFormat::Parquet => "parquet",
            DataSetFormat::Text => "text",
            DataSetFormat::Pickle => "pickle",
            DataSetFormat::Npy => "npy",
        }
    }

    /// Returns the format for a file extension, in upper or lower case. Ignores `.gz`, `.bz2`, `.xz`, `.zst` and `.zip`. `None` if the extension is
    /// unknown.
    pub fn from_path(path: &Path) -> Option<DataSetFormat> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "gz" | "bz2" | "xz" | "zst" | "zip" => Self::from_path(Path::new(path.file_stem()?)),
            "json" => Some(DataSetFormat::Json),
            "jsonl" | "ndjson" => Some(DataSetFormat::Jsonl),
            "csv" | "tsv" => Some(DataSetFormat::Csv),
            "pkl" | "pickle" => Some(DataSetFormat::Pickle),
            "npy" | "npz" => Some(DataSetFormat::Npy),
            "parquet" => Some(DataSetFormat::Parquet),
            "txt" => Some(DataSetFormat::Text),
            _ => None,
        }
    }
}

/// The column of the prompts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptColumn {
    /// The name of the column: the key in each row. `a.b` means the key `b` of the object `a`.
    pub name: String,
    /// Whether the column contains texts or lists of token ids.
    pub form: PromptForm,
}

impl PromptColumn {
    /// Returns the column with this form in the data sets of MLPerf's language models: `input` or `tok_input`.
    pub fn from_form(form: PromptForm) -> PromptColumn {
        let name = match form {
            PromptForm::Text => "input",
            PromptForm::Messages => "messages",
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
            ("a.csv.gz", Some(DataSetFormat::Csv)),
            ("orca.pkl", Some(DataSetFormat::Pickle)),
            ("orca.pkl.gz", Some(DataSetFormat::Pickle)),
            ("a.npz", Some(DataSetFormat::Npy)),
            ("a.tsv.xz", Some(DataSetFormat::Csv)),
            ("orca", None),
            ("json", None),
            ("", None),
        ] {
            assert_eq!(DataSetFormat::from_path(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_data_set_reads_as_it_was_written() {
        let json = r#"{"file":"/d/c.json","format":"json","row":{"prompt":{"name":"tok_input","form":"tokenIds"}},"output":{"fixed":128},"count":13368,"order":"file","usedUp":"refuse","acrossStages":"restart"}"#;
        let set: DataSet = serde_json::from_str(json).unwrap();
        let prompt = PromptColumn::from_form(PromptForm::TokenIds);
        assert_eq!(set, DataSet::new("/d/c.json", DataSetFormat::Json, prompt, 128, 13_368));
        assert_eq!(serde_json::to_string(&set).unwrap(), json);
    }
}
