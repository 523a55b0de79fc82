//! Workload: the load that the launcher's engine runs. It does not depend on the profile's format.
//!
//! Each format's parser fills in every default. The workload is part of `report.json`, so that a report alone is enough to repeat its run.

mod abandonment;
mod accuracy;
mod conversations;
mod data_set;
mod file_source;
mod images;
mod lengths;
mod load;
mod prefixes;
mod probes;
mod prompts;
mod published;
mod questions;
mod rate;
mod recorded;
pub mod roles;
mod sampling;
mod sessions;
mod stop_rules;
mod time_change;
mod timeouts;
mod traffic_classes;
mod window;
mod work;

use std::{collections::BTreeMap, path::PathBuf};

use crds::{
    benchmark_run::Api,
    json::FieldError,
    resolve::{DEV_MODE, ManagedServer, SleepFault},
    units::{Seed, Span},
};
use serde::{Deserialize, Serialize};

pub use abandonment::{Abandonment, Departure};
pub use accuracy::{
    Accuracy, AccuracyLimits, BENCHMARK_CHECKS, BOUNDED_FIGURES, PLAIN_CHECKS, SHARES, bounded_figures,
    check_of_benchmark, is_benchmark_check, without_share,
};
pub use conversations::{Conversations, History, TurnLengths};
pub use data_set::{
    AcrossStages, ChatRendering, ConversationUse, DataSet, DataSetFormat, LengthFilter, OutputLength, PromptColumn,
    RowContent, RowOrder, UsedUp,
};
pub use file_source::{FileSource, RemoteFile};
pub use images::{ImageEncoding, ImagePlace, ImageSize, Images};
pub use lengths::{LengthDistribution, Shape, TimeDistribution};
pub use load::{Arrivals, Load, MAX_REQUESTS, Margin, Stage, Trace, TraceEntry, TraceFile, TraceFormat, TraceTime};
pub use prefixes::{PrefixBucket, PrefixChoice, PrefixPlace, Prefixes};
pub use probes::Probes;
pub use prompts::{PromptForm, PromptReuse, PromptText, TokenIdRange, TokenIdRangeError};
pub use published::Published;
pub use questions::{AnswerScoring, Domains, QuestionFormat, Questions, Split};
pub use rate::{MeasuredRate, RampUpStrategy, Rate, RateBound, RatePoint, RateShape, Spacing};
pub use recorded::{
    RecordedAnswers, RecordedFiles, RecordedFormat, RecordedSessions, RecordedToolCalls, RecordedWaits,
};
pub use sampling::{Extra, ExtraError, LengthField, Sampling};
pub use sessions::{AfterFailure, Sessions, Unit};
pub use stop_rules::{Hit, HitLimit, StopRule, StopScope};
pub use time_change::TimeChange;
pub use timeouts::Timeouts;
pub use traffic_classes::{Assignment, TrafficClass, TrafficClasses};
pub use window::Window;
pub use work::Work;

pub use crate::loadgen::{AutoQps, LoadGen, LoadGenTest, Phase};

/// The load of one run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// What the run does. Only a run that sends a load has stages.
    #[serde(default, skip_serializing_if = "Work::is_load")]
    pub work: Work,
    /// The levels of vLLM's sleep mode to measure: 1, 2 or both. A run that measures the start of a server measures sleep and wake-up at these levels
    /// after its request. Empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sleep_levels: Vec<u8>,
    /// The API that is called.
    pub api: Api,
    /// Whether answers are streamed. Without streaming there are no TTFT, TPOT and ITL.
    pub streaming: bool,
    /// The model that requests name. If absent, requests name the model that the server reports.
    pub model: Option<String>,
    /// Header fields sent with every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The content of the requests.
    pub requests: RequestSource,
    /// Whether the texts of synthetic prompts are repeated.
    #[serde(default)]
    pub prompts: PromptReuse,
    /// The model's `tokenizer.json`, with which prompts have exactly the requested length. If absent, a prompt of n tokens has n words.
    pub tokenizer: Option<FileSource>,
    /// The file from which prose is taken. If absent, the built-in text is used.
    pub corpus: Option<FileSource>,
    /// Images in the messages. If absent, messages contain no images.
    pub images: Option<Images>,
    /// Classes of requests, such as LoRA adapters.
    #[serde(default, skip_serializing_if = "TrafficClasses::is_empty")]
    pub classes: TrafficClasses,
    /// How requests that belong together are sent.
    #[serde(default, skip_serializing_if = "Sessions::is_default")]
    pub sessions: Sessions,
    /// When the requests are sent. Stages run one after the other.
    pub stages: Vec<Stage>,
    /// The MLPerf LoadGen tests. Each of their phases is a stage. Absent for any other load.
    pub loadgen: Option<LoadGen>,
    /// How the answers are scored. If absent, answers are not scored.
    pub accuracy: Option<Accuracy>,
    /// Which requests the figures include.
    #[serde(default)]
    pub window: Window,
    /// Clients that disconnect early. If absent, no client disconnects.
    pub abandonment: Option<Abandonment>,
    /// Tiny requests that are sent in addition to the load. If absent, no probe is sent.
    pub probes: Option<Probes>,
    /// Rules that end the load early when requests fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_rules: Vec<StopRule>,
    /// How the server generates answers.
    #[serde(default)]
    pub sampling: Sampling,
    /// How long a request, and each part of it, can take.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Limits that a good request must meet.
    #[serde(default, skip_serializing_if = "Goodput::is_empty")]
    pub goodput: Goodput,
}

impl Workload {
    /// Reads a workload from its JSON. Other crates call this function and not `serde_json` directly, so that they share its compiled code. Otherwise
    /// each of them would contain its own copy of 200 kB.
    ///
    /// # Errors
    /// Returns an error if the text is not JSON, or if a field is missing, unknown or of a wrong type.
    pub fn from_json(text: &str) -> Result<Workload, FieldError> {
        crds::json::read(text)
    }

    /// A load with defaults for all other fields: streamed, without header fields, window, limits and stop rules.
    pub fn new(api: Api, requests: RequestSource, stages: Vec<Stage>) -> Workload {
        Workload {
            work: Work::Load,
            sleep_levels: Vec::new(),
            api,
            streaming: true,
            model: None,
            headers: BTreeMap::new(),
            requests,
            prompts: PromptReuse::default(),
            tokenizer: None,
            corpus: None,
            images: None,
            classes: TrafficClasses::default(),
            sessions: Sessions::default(),
            stages,
            loadgen: None,
            accuracy: None,
            window: Window::default(),
            abandonment: None,
            probes: None,
            stop_rules: Vec::new(),
            sampling: Sampling::default(),
            timeouts: Timeouts::default(),
            goodput: Goodput::default(),
        }
    }

    /// A run that measures the start of a server until its first answer. It sends one short request. The first token of the answer marks the end of
    /// the start.
    pub fn startup() -> Workload {
        let first = Stage::new("first request", Load::Burst { count: 1, max_concurrency: None });
        let one_token = LengthDistribution::fixed(1);
        let requests = RequestSource::random(LengthDistribution::fixed(8), one_token, PromptText::Words);
        Workload { work: Work::Startup, ..Workload::new(Api::Completions, requests, vec![first]) }
    }

    /// Returns the sleep levels to measure on a server that is started for this workload. These are the workload's levels. If it has none, but the
    /// server is started with its sleep mode, level 1 is measured, as in llm-d-benchmark. Empty: none.
    pub fn measured_sleep_levels(&self, server: &ManagedServer) -> Vec<u8> {
        match self.work {
            // Only the options of the start command matter here, so the index, the port and the program can have any value.
            Work::Startup if self.sleep_levels.is_empty() && server.replica(0, 0, "").has_sleep_mode() => vec![1],
            _ => self.sleep_levels.clone(),
        }
    }

    /// Explains in one sentence why the requested sleep levels cannot be measured on this server. `None` if there is no known reason.
    pub fn sleep_refusal(&self, server: &ManagedServer) -> Option<String> {
        let (levels, engine) = (&self.sleep_levels, server.engine.name());
        if levels.is_empty() || !server.engine.is_known() {
            return None;
        }
        let (why, remedy) = match server.replica(0, 0, "").with_sleep_mode(server.engine).sleeps() {
            Ok(()) => return None,
            Err(SleepFault::NoMode) => ("has no sleep mode that is known here".to_owned(), "another engine"),
            Err(SleepFault::Off) => {
                ("is started with --no-enable-sleep-mode by its config or args".to_owned(), "a server without that")
            }
            Err(SleepFault::Closed) => {
                (format!("has other than 1 in env.{DEV_MODE}, which closes its endpoints"), "a server without that")
            }
        };
        Some(format!(
            "sleep_levels: is {levels:?}, and spec.target.server ({engine}) {why}; name {remedy}, or take sleep_levels out of the profile"
        ))
    }

    /// Returns the paths of the files that the workload needs: traces, data sets, recordings, a tokenizer and a corpus. Files at URLs are excluded.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let (folders, sources) = self.folders_and_sources();
        let local = sources.into_iter().filter_map(|(_, it)| match it {
            FileSource::Path(path) => Some(path),
            FileSource::Url(_) => None,
        });
        folders.into_iter().chain(local)
    }

    /// Returns the files that are paths or URLs, each with a description. Folders are excluded.
    pub fn sources_mut(&mut self) -> Vec<(&'static str, &mut FileSource)> {
        self.folders_and_sources().1
    }

    /// Returns the folders (of recordings and of tables), and all files with a description.
    fn folders_and_sources(&mut self) -> (Vec<&mut PathBuf>, Vec<(&'static str, &mut FileSource)>) {
        let (mut folders, mut sources) = (Vec::new(), Vec::new());
        match &mut self.requests {
            RequestSource::DataSet(set) => sources.push(("data set", &mut set.file)),
            RequestSource::Questions(questions) => {
                sources.push(("questions", &mut questions.data));
                sources.extend(questions.examples.as_mut().map(|it| ("examples", it)));
            }
            RequestSource::Recorded(recorded) => match &mut recorded.files {
                RecordedFiles::Folder(path) => folders.push(path),
                RecordedFiles::Files(files) => sources.extend(files.iter_mut().map(|it| ("recording", it))),
            },
            RequestSource::Mock
            | RequestSource::Random { .. }
            | RequestSource::SharedPrefix { .. }
            | RequestSource::Conversations(_)
            | RequestSource::TraceBlocks { .. } => {}
        }
        for stage in &mut self.stages {
            if let Load::Trace { trace: Trace::File(file), .. } = &mut stage.load {
                sources.push(("trace", &mut file.file));
            }
        }
        sources.extend(self.tokenizer.as_mut().map(|it| ("tokenizer", it)));
        sources.extend(self.corpus.as_mut().map(|it| ("corpus", it)));
        if let Some(Accuracy { data_set, tokenizer, punkt, .. }) = &mut self.accuracy {
            sources.extend(data_set.as_mut().map(|it| ("data set of the accuracy", it)));
            sources.extend(tokenizer.as_mut().map(|it| ("tokenizer of the accuracy", it)));
            folders.extend(punkt.as_mut());
        }
        (folders, sources)
    }
}

/// Latency limits that a good request must meet. If none is set, goodput is not reported.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Goodput {
    /// Limit for the time to the first token.
    pub ttft: Option<Span>,
    /// Limit for the time per output token after the first.
    pub tpot: Option<Span>,
    /// Limit for the mean gap between events with content.
    pub itl: Option<Span>,
    /// Limit for the latency per output token.
    pub ntpot: Option<Span>,
    /// Limit for the time to the last token.
    pub latency: Option<Span>,
}

impl Goodput {
    /// Whether no limit is set.
    pub fn is_empty(&self) -> bool {
        *self == Goodput::default()
    }
}

/// The content of the requests. Request i has the same lengths in every stage and in every run with the same seed. [`PromptReuse`] decides whether it
/// has the same text, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestSource {
    /// A fixed short text with the number of the request. The server decides how long the answer is.
    Mock,
    /// Independent prompts with random lengths.
    #[serde(rename_all = "camelCase")]
    Random {
        /// Prompt lengths in tokens.
        input: LengthDistribution,
        /// Requested output lengths in tokens.
        output: LengthDistribution,
        /// What prompts are made of: random words, prose, or token ids.
        text: PromptText,
        /// Texts at the beginning of several prompts. Their lengths are not part of `input`.
        #[serde(default, skip_serializing_if = "Prefixes::is_empty")]
        prefixes: Prefixes,
    },
    /// Groups of prompts that begin with the same text.
    #[serde(rename_all = "camelCase")]
    SharedPrefix {
        /// Number of distinct prefixes.
        groups: u32,
        /// Number of distinct questions per prefix.
        prompts_per_group: u32,
        /// Length of the prefix in tokens.
        system_prompt_len: LengthDistribution,
        /// Length of the question in tokens.
        question_len: LengthDistribution,
        /// Requested output length in tokens.
        output_len: LengthDistribution,
        /// Seed for the order and the texts, which are then the same in every run. If absent, the run's seed is used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<Seed>,
        /// Whether the requests of a group are the turns of conversations. Each turn contains the earlier turns and their answers, and repeats the
        /// user's text.
        #[serde(default, skip_serializing_if = "is_false")]
        multi_turn: bool,
    },
    /// Conversations of several turns.
    Conversations(Box<Conversations>),
    /// Prompts made of blocks. The trace of each stage names the blocks by hashes, and equal hashes become equal texts.
    #[serde(rename_all = "camelCase")]
    TraceBlocks {
        /// Tokens per block. The last block of a prompt can be shorter.
        block_size: u32,
    },
    /// The rows of a file.
    DataSet(DataSet),
    /// Recorded sessions.
    Recorded(RecordedSessions),
    /// Multiple-choice questions with scored answers.
    Questions(Box<Questions>),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl RequestSource {
    /// Independent prompts without a shared prefix.
    pub fn random(input: LengthDistribution, output: LengthDistribution, text: PromptText) -> RequestSource {
        RequestSource::Random { input, output, text, prefixes: Prefixes::default() }
    }

    /// Returns the form of the prompts in requests.
    pub fn form(&self) -> PromptForm {
        match self {
            RequestSource::Random { text, .. } => text.form(),
            RequestSource::DataSet(set) => set.form(),
            RequestSource::Mock
            | RequestSource::SharedPrefix { .. }
            | RequestSource::Conversations(_)
            | RequestSource::TraceBlocks { .. }
            | RequestSource::Recorded(_)
            | RequestSource::Questions(_) => PromptForm::Text,
        }
    }
}
