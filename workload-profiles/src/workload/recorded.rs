//! Sessions recorded from a real application. The requests of a session form a graph.

use std::path::PathBuf;

use crds::units::Span;
use serde::{Deserialize, Serialize};

use super::{AcrossStages, FileSource};

/// Recorded sessions from files. The requests, their order, and the times between them come from the recording. A stage sends each session once, and
/// ends when no session is left. If a stage needs more sessions than are left, the run is refused before the load.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedSessions {
    /// The location of the recordings.
    pub files: RecordedFiles,
    /// The format of the recordings.
    pub format: RecordedFormat,
    /// Maximum time from the end of a request's predecessors until the request is sent. Longer times are shortened.
    pub max_wait: Span,
    /// Maximum idle time in a recording. Longer idle times are shortened. If absent, there is no limit.
    pub max_idle: Option<Span>,
    /// Which recorded times are kept.
    pub waits: RecordedWaits,
    /// Whether prompts contain the answers of this run or the recorded answers.
    pub answers: RecordedAnswers,
    /// Output tokens for an answer whose length was not recorded.
    pub default_output: u32,
    /// Number of sessions to send. Additional sessions are copies. If absent, the number of sessions in the files is used.
    pub duplicate_to: Option<u32>,
    /// Whether each session begins with its own text, so that no two sessions share a prefix.
    pub unique: bool,
    /// How to send requests whose recorded answer calls tools.
    pub tool_calls: RecordedToolCalls,
    /// Which sessions are used. It is a text for [`Filter::parse`](crate::filter::Filter::parse). Each record has the keys `session_id`, `models`,
    /// `max_tokens` (the maximum tokens of prompt and answer of a request), `total_tokens` and `num_turns` (the number of requests). For spans it
    /// also has `source_id`, `harness`, `benchmark` and `spans`. If absent, all sessions are sent.
    pub filter: Option<String>,
    /// Whether requests that failed in the recording are sent.
    pub include_errors: bool,
    /// Whether files that cannot be read are skipped, with a notice.
    pub skip_invalid_files: bool,
    /// The session with which a stage begins.
    pub across_stages: AcrossStages,
}

/// The location of recordings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedFiles {
    /// Every `.json` and `.jsonl` file of a folder, sorted by name.
    Folder(PathBuf),
    /// Several files, in this order. The last part of a path can contain the wildcards `*` and `?`.
    Files(Vec<FileSource>),
}

/// The format of recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedFormat {
    /// OpenTelemetry spans with the attributes of the conventions for generative AI.
    OpenTelemetry,
    /// Weka's traces of agents. They contain lengths, and hashes of blocks.
    #[serde(rename_all = "camelCase")]
    Weka {
        /// Tokens per block, for records that do not contain this number.
        block_size: u32,
    },
}

/// Which recorded times are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedWaits {
    /// The times between the end of a request's predecessors and the request.
    #[default]
    All,
    /// Only the times that the recording marks as think time.
    ThinkTime,
    /// No times: a request is sent as soon as its predecessors have ended.
    Nothing,
}

/// The source of the earlier answers in the prompts of a recorded session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedAnswers {
    /// The server's answers in this run.
    #[default]
    Server,
    /// The server's answers in this run. If an answer calls a tool with arguments that are not valid JSON, the recorded answer is used instead.
    ServerUnlessMalformed,
    /// The recorded answers.
    Recorded,
}

/// How to send requests whose recorded answer calls tools. Later requests of the session contain the results of these calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RecordedToolCalls {
    /// Whether the request requires the answer to call a function. If the recorded answer has exactly one call, and the request offers the called
    /// function, the request requires this function. Otherwise it requires any function.
    pub forced: bool,
    /// Whether the answer can be shorter or longer than its recorded length. The maximum is four times that length, and at least 4,096 tokens. A call
    /// that is cut off is not valid JSON.
    pub open_ended: bool,
}
