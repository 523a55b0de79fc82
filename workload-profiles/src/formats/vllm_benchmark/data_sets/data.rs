//! The result of reading a data set.

use crate::{
    formats::common::{bounds::MAX_TOKENS, files::from_text, flags::word},
    reader::Section,
    workload::{FileSource, Images, RequestSource, TraceFile},
};

/// The part of the load that a data set determines.
pub(in crate::formats::vllm_benchmark) struct Data {
    pub requests: RequestSource,
    /// The number of requests.
    pub count: u64,
    pub times: Times,
    pub images: Option<Images>,
    /// The file from which prose is taken.
    pub corpus: Option<FileSource>,
    /// Whether the prompts are synthetic.
    pub is_synthetic: bool,
    /// Whether the tool turns on `ignore_eos` for the data set.
    pub ignore_eos: bool,
}

impl Data {
    pub(super) fn new(requests: RequestSource, count: u64) -> Data {
        let (images, corpus) = (None, None);
        Data { requests, count, times: Times::ByRate, images, corpus, is_synthetic: true, ignore_eos: false }
    }

    /// Whether a tokenizer affects the lengths of the prompts, or which prompts are sent.
    pub fn needs_tokenizer(&self) -> bool {
        self.is_synthetic || matches!(&self.requests, RequestSource::DataSet(set) if !set.filter.is_empty())
    }
}

/// When the requests of a data set are sent.
pub(in crate::formats::vllm_benchmark) enum Times {
    /// At times that the flags of the load determine.
    ByRate,
    /// At the recorded times of a trace, replayed at this speed.
    Recorded { file: Box<TraceFile>, speed: f64 },
    /// All requests are due immediately. A trace contains their lengths.
    AtOnce { file: Box<TraceFile> },
}

/// Reads a length in tokens: the general flag, else the data set's own flag, else the default.
pub(super) fn length(root: &Section, general: &'static str, own: &'static str, default: u32) -> Option<u32> {
    let own = root.or_default(own, default, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    match root.value(general) {
        Some(_) => root.count_u32(general, 1..=MAX_TOKENS),
        None => own,
    }
}

/// Reads the file of a data set. Adds a problem if it is missing.
pub(super) fn file(root: &Section, what: &str) -> Option<FileSource> {
    root.require("dataset-path", &format!("write the path of {what}"));
    let path = word(root, "dataset-path")?;
    from_text(root, "dataset-path", &path)
}

/// Adds a problem if a file is given for a generated data set. The tool refuses this, too.
pub(super) fn no_file(root: &Section, name: &str) {
    if root.value("dataset-path").is_some() {
        let remedy = "take it out, or choose the dataset-name of the file, such as sharegpt or custom";
        root.problem(
            "dataset-path",
            format!("cannot be combined with dataset-name {name}, which has no file; {remedy}"),
        );
    }
}
