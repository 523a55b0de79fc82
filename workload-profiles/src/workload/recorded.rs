//! Sessions that were recorded from a real application, whose requests form a graph.

use std::path::PathBuf;

use crds::units::Span;
use serde::{Deserialize, Serialize};

use super::{AcrossStages, FileSource};

/// Sessions from files. Their requests, the order of these, and the times between them are those of the recording. A stage sends each
/// session once, and ends when none is left. A stage that asks for more sessions than are left is refused before the load.
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
    /// The longest time in which nothing happens in a recording; longer ones are shortened. Absent: no limit.
    pub max_idle: Option<Span>,
    /// Which times of the recording are kept.
    pub waits: RecordedWaits,
    /// Whether a prompt holds the answers of this run in place of the recorded ones.
    pub answers: RecordedAnswers,
    /// The most tokens of an answer whose length was not recorded.
    pub default_output: u32,
    /// The number of sessions; further ones are copies. Absent: those of the files.
    pub duplicate_to: Option<u32>,
    /// Whether each session begins with a text of its own, so that no two sessions share a prefix.
    pub unique: bool,
    /// How requests are sent whose recorded answer calls tools.
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
    /// Files, in this order. The last part of a path may hold `*` and `?`.
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
        /// Tokens of a block where a record does not say it.
        block_size: u32,
    },
}

/// Which times of a recording are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedWaits {
    /// The time between the end of what a request follows and its own start.
    #[default]
    All,
    /// Only the time that the recording calls think time.
    ThinkTime,
    /// None: a request is sent as soon as those that it follows have ended.
    Nothing,
}

/// The answers that later prompts of a recorded session hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedAnswers {
    /// Those that the server gave in this run.
    #[default]
    Server,
    /// Those that the server gave in this run; the recorded one in place of an answer that calls a tool with arguments that are not
    /// JSON.
    ServerUnlessMalformed,
    /// Those of the recording.
    Recorded,
}

/// How requests are sent whose recorded answer calls tools. Their later requests hold the results of these calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RecordedToolCalls {
    /// Whether the request demands a call: of the recorded function where the recording has one call of a function that the request
    /// offers, else of any function.
    pub forced: bool,
    /// Whether the answer may end before its recorded length and pass it: up to four times that length, and at least up to 4,096
    /// tokens. A call that is cut off is not valid JSON.
    pub open_ended: bool,
}
