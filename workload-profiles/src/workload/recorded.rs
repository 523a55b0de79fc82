//! Sessions recorded from a real application. Their requests form a graph.

use std::path::PathBuf;

use crds::units::Span;
use serde::{Deserialize, Serialize};

use super::{AcrossStages, FileSource};

/// Sessions from files. Requests, their order, and the times between them come from the recording. A stage sends each session once, and
/// ends when no session is left. A stage that needs more sessions than are left is refused before the load.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedSessions {
    /// Where the recordings are.
    pub files: RecordedFiles,
    /// How they are written.
    pub format: RecordedFormat,
    /// The longest time between a request and the requests that it follows.
    pub max_wait: Span,
    /// Maximum idle time in a recording; longer idle times are shortened. Absent: no limit.
    pub max_idle: Option<Span>,
    /// Which times of the recording are kept.
    pub waits: RecordedWaits,
    /// Whether a prompt contains this run's answers instead of the recorded ones.
    pub answers: RecordedAnswers,
    /// Output tokens for an answer without a recorded length.
    pub default_output: u32,
    /// The number of sessions; additional sessions are copies. Absent: the sessions in the files.
    pub duplicate_to: Option<u32>,
    /// Whether each session begins with its own text, so that no two sessions share a prefix.
    pub unique: bool,
    /// How to send requests with a recorded answer that calls tools.
    pub tool_calls: RecordedToolCalls,
    /// Which sessions are used: a text that [`Filter::parse`](crate::filter::Filter::parse) reads, over a record with `session_id`,
    /// `models`, `max_tokens`, the most tokens of prompt and answer of a request, `total_tokens` and `num_turns`, the number of
    /// requests, and, for spans, `source_id`, `harness`, `benchmark` and `spans`. Absent: all.
    pub filter: Option<String>,
    /// Whether requests that failed in the recording are sent.
    pub include_errors: bool,
    /// Whether files that cannot be read are left out, with a notice.
    pub skip_invalid_files: bool,
    /// Where a stage begins in the sessions.
    pub across_stages: AcrossStages,
}

/// Where recordings are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedFiles {
    /// Every `.json` and `.jsonl` file of a folder, in order of their names.
    Folder(PathBuf),
    /// Files, in this order. The last part of a path may contain `*` and `?`.
    Files(Vec<FileSource>),
}

/// How recordings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedFormat {
    /// Spans of OpenTelemetry with the attributes of its conventions for generative AI.
    OpenTelemetry,
    /// Weka's traces of agents: lengths and hashes of blocks.
    #[serde(rename_all = "camelCase")]
    Weka {
        /// Tokens per block, if a record does not contain the number.
        block_size: u32,
    },
}

/// Which times of a recording are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedWaits {
    /// The time between the end of a request's predecessors and its own start.
    #[default]
    All,
    /// Only the time that the recording calls think time.
    ThinkTime,
    /// None: a request is sent as soon as its predecessors have ended.
    Nothing,
}

/// The source of the answers in later prompts of a recorded session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedAnswers {
    /// The server's answers from this run.
    #[default]
    Server,
    /// The server's answers from this run. If an answer calls a tool with arguments that are not JSON, the recorded answer replaces it.
    ServerUnlessMalformed,
    /// The recorded answers.
    Recorded,
}

/// How to send requests with a recorded answer that calls tools. Their later requests contain the results of these calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RecordedToolCalls {
    /// Whether the request demands a call: of the recorded function if the recording has one call and the request offers that function, else of
    /// any function.
    pub forced: bool,
    /// Whether the answer may end before its recorded length and pass it: up to four times that length, and at least up to 4,096
    /// tokens. A call that is cut off is not valid JSON.
    pub open_ended: bool,
}
