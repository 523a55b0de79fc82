//! `spec.data`: what the requests contain.

mod around;
mod columns;
mod files;
mod images;
mod synthetic;
mod tokens;
mod traces;

use super::values::unsupported;
use crate::{
    reader::{Section, ValueType},
    workload::RequestSource,
};

pub(super) use around::{Around, Data};

/// Maximum number of data sources. A profile needs at most two: one for texts and one for images.
const MAX_SOURCES: usize = 16;

/// The kind of a data source.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    SyntheticText,
    SyntheticImage,
    File(files::Kind),
    HuggingFace,
    Trace(traces::Kind),
    Unsupported(&'static str),
}

/// Reads the list of data sources and the keys related to it. Returns `None` if at least one problem was reported.
pub(super) fn read(spec: &Section, around: &Around) -> Option<Data> {
    let columns = columns::read(spec);
    let loader = loader(spec);
    pipeline(spec);
    spec.require(
        "data",
        "write what to send, such as [{kind: synthetic_text, prompt_tokens: 256, output_tokens: 128}]",
    );
    let items = spec.list("data")?;
    if items.is_empty() || items.len() > MAX_SOURCES {
        spec.problem("data", format!("holds {} sources; write one", items.len()));
        return None;
    }
    let sources: Vec<(Option<Kind>, Section)> =
        items.into_iter().filter_map(|(path, value)| spec.element(value, path)).map(|it| (kind(&it), it)).collect();
    let images = |kind: Option<Kind>| kind == Some(Kind::SyntheticImage);
    let (mut with_images, mut others): (Vec<_>, Vec<_>) = sources.into_iter().partition(|it| images(it.0));
    if others.len() > 1 || with_images.len() > 1 {
        spec.problem("data", "holds several sources, whose columns GuideLLM joins; here write one source, and at most one of kind synthetic_image beside it");
        return None;
    }
    let images = with_images.pop().map(|(_, it)| images::read(it, around));
    let data = match (others.pop(), &images) {
        (Some((kind, section)), _) => source(kind?, section, &columns, around),
        (None, Some(Some(images))) => {
            spec.notice("data", "holds images alone; here each request has a text of one word beside them");
            Some(images.alone())
        }
        (None, _) => None,
    };
    let mut data = data?;
    if let Some(images) = images {
        let images = images?;
        images.check(spec, &data, around);
        data.images = Some(images.images);
    }
    Some(loader.apply(data))
}

fn kind(section: &Section) -> Option<Kind> {
    section.require("kind", "write one of synthetic_text, json_file, csv_file and the other kinds of data");
    let kinds = [
        ("synthetic_text", Kind::SyntheticText),
        ("synthetic_image", Kind::SyntheticImage),
        ("synthetic_video", Kind::Unsupported("synthetic_video")),
        ("text_file", Kind::File(files::Kind::Text)),
        ("csv_file", Kind::File(files::Kind::Csv)),
        ("json_file", Kind::File(files::Kind::Json)),
        ("parquet_file", Kind::File(files::Kind::Parquet)),
        ("arrow_file", Kind::Unsupported("arrow_file")),
        ("hdf5_file", Kind::Unsupported("hdf5_file")),
        ("db_file", Kind::Unsupported("db_file")),
        ("tar_file", Kind::Unsupported("tar_file")),
        ("huggingface", Kind::HuggingFace),
        ("hf", Kind::HuggingFace),
        ("in_memory_dict", Kind::Unsupported("in_memory_dict")),
        ("in_memory_dict_list", Kind::Unsupported("in_memory_dict_list")),
        ("in_memory_item_list", Kind::Unsupported("in_memory_item_list")),
        ("trace_synthetic", Kind::Trace(traces::Kind::Lengths)),
        ("mooncake", Kind::Trace(traces::Kind::Mooncake)),
        ("weka", Kind::Trace(traces::Kind::Weka)),
        ("otel", Kind::Trace(traces::Kind::OpenTelemetry)),
        ("opentelemetry", Kind::Trace(traces::Kind::OpenTelemetry)),
    ];
    let kind = section.choice("kind", &kinds)?;
    if let Kind::Unsupported(name) = kind {
        let remedy = match name {
            "synthetic_video" => "write synthetic_image, or leave the videos out",
            _ => {
                "write its rows to a file, a JSON object on each line, and name it as {kind: json_file, path: rows.jsonl}"
            }
        };
        section.problem("kind", unsupported(name, remedy));
        return None;
    }
    Some(kind)
}

fn source(kind: Kind, section: Section, columns: &columns::Columns, around: &Around) -> Option<Data> {
    match kind {
        Kind::SyntheticText => synthetic::read(section, around),
        Kind::File(format) => files::read(section, format, columns, around),
        Kind::HuggingFace => files::read_hugging_face(section, columns, around),
        Kind::Trace(kind) => traces::read(section, kind, around),
        Kind::SyntheticImage | Kind::Unsupported(_) => None,
    }
}

/// Which rows are sent, and in which order.
struct Loader {
    samples: Option<u64>,
    shuffle: bool,
}

fn loader(spec: &Section) -> Loader {
    let mut loader = Loader { samples: None, shuffle: false };
    let Some(section) = spec.section("data_loader") else { return loader };
    section.choice("kind", &[("pytorch", ())]);
    if let Some(samples) = section.number("samples", -1.0..=1e9) {
        match samples.fract() == 0.0 && samples != 0.0 {
            // The cast is exact, because the number is at most 1e9.
            true => loader.samples = (samples > 0.0).then_some(samples as u64),
            false => section.problem("samples", "is no number of rows; write a whole number from 1, or -1 for all"),
        }
    }
    loader.shuffle = section.bool("shuffle").unwrap_or(false);
    section.all_ignored(&[("num_workers", ValueType::Number), ("prefetch_factor", ValueType::Number)]);
    section.finish();
    loader
}

impl Loader {
    fn apply(&self, mut data: Data) -> Data {
        match &mut data.requests {
            RequestSource::DataSet(set) => {
                set.count = self.samples;
                set.order = if self.shuffle { crate::workload::RowOrder::Shuffled } else { set.order };
            }
            // A row of synthetic data is a whole conversation.
            _ => data.rows = self.samples.map(|it| it.saturating_mul(u64::from(data.turns))),
        }
        data
    }
}

/// Checks the steps that GuideLLM runs between a row and its request.
fn pipeline(spec: &Section) {
    for (path, value) in spec.list("data_preprocessors").unwrap_or_default() {
        let Some(step) = spec.element(value, path) else { continue };
        if let Some(kind) = step.text("kind").filter(|it| *it != "encode_media") {
            step.problem("kind", unsupported(kind, "take it out, and prepare the rows before the run"));
        }
    }
    if let Some(section) = spec.section("data_finalizer") {
        section.choice("kind", &[("generative", ())]);
        section.ignored("tool_call_mode", ValueType::Text);
        section.finish();
    }
}
