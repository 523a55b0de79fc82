//! Section `data`: what the requests contain.

mod conversations;
mod data_sets;
mod multimodal;
mod random;
mod recorded;
mod shared_prefix;

use crds::benchmark_run::Api;

use super::trace::Recording;
use crate::{
    formats::common::files::from_text,
    reader::{Section, ValueType},
    workload::{FileSource, Images, PromptText, RequestSource},
};

/// Keys that contain the settings of one data type each.
const SETTINGS: [&str; 6] = [
    "shared_prefix",
    "conversation_replay",
    "otel_trace_replay",
    "weka_trace_replay",
    "visionarena",
    "synthetic_agentic",
];

#[derive(Clone, Copy, PartialEq)]
enum Type {
    Mock,
    Random,
    Synthetic,
    SharedPrefix,
    Conversations,
    DataSet(data_sets::Known),
    Recorded(recorded::Kind),
    Unsupported(&'static str),
}

const TYPES: [(&str, Type); 16] = [
    ("random", Type::Random),
    ("synthetic", Type::Synthetic),
    ("shared_prefix", Type::SharedPrefix),
    ("conversation_replay", Type::Conversations),
    ("shareGPT", Type::DataSet(data_sets::Known::ShareGpt)),
    ("cnn_dailymail", Type::DataSet(data_sets::Known::CnnDailyMail)),
    ("infinity_instruct", Type::DataSet(data_sets::Known::InfinityInstruct)),
    ("billsum_conversations", Type::DataSet(data_sets::Known::Billsum)),
    ("otel_trace_replay", Type::Recorded(recorded::Kind::Otel)),
    ("weka_trace_replay", Type::Recorded(recorded::Kind::Weka)),
    ("mock", Type::Mock),
    (
        "visionarena",
        Type::Unsupported(
            "holds images in its rows, and only texts are read from data sets; write shared_prefix with multimodal images",
        ),
    ),
    (
        "synthetic_agentic",
        Type::Unsupported(
            "makes up agents that call each other and tools; write conversation_replay with tool_call_latency_sec, or replay recorded sessions",
        ),
    ),
    (
        "sharegpt4video",
        Type::Unsupported("holds videos, which are not sent; write shared_prefix with multimodal images"),
    ),
    (
        "bimodal",
        Type::Unsupported(
            "mixes two kinds of prompts; write a profile for each, and run both profiles at the same time",
        ),
    ),
    (
        "tracelab_trace_replay",
        Type::Unsupported("has recordings of TraceLab; convert them to OpenTelemetry, and write otel_trace_replay"),
    ),
];

/// The content of the section.
pub(super) struct DataSection {
    pub requests: RequestSource,
    /// The file with the lengths, if the lengths do not come from distributions.
    pub trace: Option<Recording>,
    pub images: Option<Images>,
    pub corpus: Option<FileSource>,
    /// The model that all requests name, instead of the recorded models.
    pub model: Option<String>,
}

impl DataSection {
    /// Whether requests belong to sessions of several turns.
    pub fn has_sessions(&self) -> bool {
        match &self.requests {
            RequestSource::SharedPrefix { multi_turn, .. } => *multi_turn,
            RequestSource::Conversations(_) | RequestSource::Recorded(_) => true,
            RequestSource::Mock
            | RequestSource::Random { .. }
            | RequestSource::TraceBlocks { .. }
            | RequestSource::DataSet(_)
            | RequestSource::Questions(_) => false,
        }
    }
}

/// Reads the section. `api` is the API of the profile. Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section, api: Api, several_stages: bool) -> Option<DataSection> {
    section.require("type", "write one of random, synthetic and shared_prefix, or mock for the mock prompts that inference-perf sends without a type");
    let kind = section.choice("type", &TYPES)?;
    if let Type::Unsupported(reason) = kind {
        let name = section.text("type").unwrap_or_default();
        section.problem("type", format!("is {name}, which {reason}"));
        // Do not report further problems, because the other keys belong to the unsupported type.
        return None;
    }
    let trace = Recording::read(&section, "trace");
    if section.value("trace").is_some() && !matches!(kind, Type::Random | Type::Synthetic) {
        section.problem("trace", "belongs to data of type random or synthetic; take it out");
    }
    let own_images = images(&section, kind);
    let mut read = DataSection { requests: RequestSource::Mock, trace, images: None, corpus: None, model: None };
    let requests = match kind {
        Type::Random => random::read(&section, PromptText::Words, read.trace.is_some()),
        Type::Synthetic => {
            const CORPUS: &str = "corpus_file_path";
            read.corpus = section.text(CORPUS).and_then(|it| from_text(&section, CORPUS, it));
            random::read(&section, PromptText::Prose, read.trace.is_some())
        }
        Type::SharedPrefix => {
            section.require("shared_prefix", "write num_groups, num_prompts_per_group and the lengths under it");
            section.section("shared_prefix").and_then(shared_prefix::read).map(|(requests, images)| {
                read.images = images;
                requests
            })
        }
        Type::Conversations => conversations::read(&section, several_stages),
        Type::DataSet(known) => data_sets::read(&section, known, api),
        Type::Recorded(recorded) => recorded::read(&section, recorded).map(|(requests, model)| {
            read.model = model;
            requests
        }),
        Type::Mock | Type::Unsupported(_) => Some(RequestSource::Mock),
    };
    if read.images.is_some() && own_images.is_some() {
        section.problem("multimodal", "asks for images, and so does shared_prefix.multimodal; keep one of them");
    }
    read.images = read.images.or(own_images);
    check_api(&section, kind, api, read.images.is_some());
    note_unused(&section, kind);
    section.finish();
    requests.map(|requests| DataSection { requests, ..read })
}

/// Reads the images of each request.
fn images(section: &Section, kind: Type) -> Option<Images> {
    section.value("multimodal")?;
    match kind {
        Type::Random => {
            section.notice("multimodal", "is sent with the prompts; inference-perf ignores it for data of type random");
        }
        Type::Synthetic | Type::SharedPrefix => {}
        _ => {
            section.problem("multimodal", "belongs to data of type synthetic or shared_prefix; take it out");
            return None;
        }
    }
    section.section("multimodal").and_then(|it| multimodal::read(it, false))
}

/// Adds a problem if the API does not support the data, and notices if inference-perf uses another API.
fn check_api(section: &Section, kind: Type, api: Api, has_images: bool) {
    let data = section.text("type").unwrap_or_default();
    match kind {
        Type::Recorded(_) if !api.has_messages() => {
            section.problem("type", format!("is {data}, which are chats; set api.type to chat or anthropic_messages"));
        }
        Type::SharedPrefix if api.has_messages() && !has_images => section.notice(
            "type",
            "is sent in chats, as api.type says; inference-perf always sends shared prefixes without images as completions",
        ),
        Type::Random | Type::Synthetic | Type::Conversations if api.has_messages() && !has_images => {
            refused_chat(section, data);
        }
        Type::DataSet(data_sets::Known::CnnDailyMail) if api.has_messages() => refused_chat(section, data),
        _ => {}
    }
}

fn refused_chat(section: &Section, data: &str) {
    let message = format!(
        "is {data}, which inference-perf sends as completions only; here each prompt is sent as a user message"
    );
    section.notice("type", message);
}

/// Adds notices for the settings of other data types. inference-perf ignores them, too.
fn note_unused(section: &Section, kind: Type) {
    section.ignored("path", ValueType::Text);
    section.ignored("load_timeout", ValueType::Number);
    if section.bool("use_chat_template") == Some(true) {
        section.notice(
            "use_chat_template",
            "is not used: prompts are sent as they are; set api.type to chat, and the server applies its template",
        );
    }
    section.ignored("corpus_file_path", ValueType::Text);
    let mut unused: Vec<&'static str> = SETTINGS.to_vec();
    let own = TYPES.iter().find(|(_, it)| *it == kind).map(|(name, _)| *name);
    unused.retain(|it| Some(*it) != own);
    if !matches!(kind, Type::Random | Type::Synthetic | Type::DataSet(_)) {
        unused.extend(["input_distribution", "output_distribution"]);
    }
    for key in unused {
        if section.ignored(key, ValueType::Mapping) {
            section.notice(key, "is not used: it does not belong to this data.type");
        }
    }
}
