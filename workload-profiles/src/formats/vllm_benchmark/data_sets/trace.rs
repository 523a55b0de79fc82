//! Traces: times, lengths, and the hashes of each prompt's blocks.

use crds::benchmark_run::Api;

use super::data::{Data, Times, file};
use crate::{
    formats::common::{bounds::MAX_TOKENS, flags::word},
    reader::Section,
    workload::{LengthDistribution, PromptText, RequestSource, TraceFile, TraceFormat, TraceTime},
};

/// The units of times in a file, with the length of each unit in seconds.
const UNITS: [(f64, TraceTime); 3] =
    [(1.0, TraceTime::Seconds), (0.001, TraceTime::Milliseconds), (0.000_001, TraceTime::Microseconds)];

/// Reads a JSONL file. Its rows are sent in order, at their recorded times.
pub(super) fn timed_trace(root: &Section, api: Api, count: u64) -> Option<Data> {
    if api != Api::Completions {
        root.problem("backend", "is no backend for dataset-name timed_trace, which needs completions; choose openai");
    }
    if root.bool("no-self-timed") == Some(true) {
        let message = "sends the prompts of a trace at other times, which is not supported; take it out to send them at the recorded times";
        root.problem("no-self-timed", message);
    }
    let block = root.or_default("timed-trace-chunk-hash-size", 16, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    let scale = root.or_default("timed-trace-sec-multiplier", 1.0, |it, key| it.number(key, 1e-9..=1e6));
    let label = |key, default: &str| word(root, key).unwrap_or_else(|| default.to_owned());
    let at_column = label("timed-trace-label-timestamp", "timestamp");
    let input_column = label("timed-trace-label-input-length", "input_length");
    let output_column = label("timed-trace-label-output-length", "output_length");
    let hashes_column = Some(label("timed-trace-label-hash-ids", "hash_ids"));
    let file = file(root, "a JSONL file of recorded requests")?;
    root.notice(
        "dataset-name",
        "is timed_trace: prompts are sent as texts with the recorded block structure, and times count from the first row; vllm bench serve \
         sends token ids, and waits until the time of the first row too",
    );
    let (block_size, scale) = (block?, scale?);
    let unit = UNITS.iter().find(|(seconds, _)| *seconds == scale);
    let (time, speed) = unit.map_or((TraceTime::Seconds, 1.0 / scale), |(_, time)| (*time, 1.0));
    let format = TraceFormat::Jsonl;
    let trace = TraceFile { file, format, time, at_column, input_column, output_column, hashes_column };
    let times = Times::Recorded { file: Box::new(trace), speed };
    let requests = RequestSource::TraceBlocks { block_size };
    Some(Data { times, ignore_eos: true, ..Data::new(requests, count) })
}

/// Reads a CSV file of BurstGPT. Only its lengths are used.
pub(super) fn burst_gpt(root: &Section, count: u64) -> Option<Data> {
    let file = file(root, "a CSV file of BurstGPT")?;
    root.notice(
        "dataset-name",
        "is burstgpt: the lengths are those of the first rows, and texts are random words; vllm bench serve draws rows whose Model is GPT-4 and \
         whose Response tokens are above 0, so write a file with only these. Here rows of other models are sent too, 0 Response tokens are sent \
         as 1, and a file with fewer rows than num-prompts ends the load, where vllm bench serve draws rows again",
    );
    let file = TraceFile {
        file,
        format: TraceFormat::Csv,
        time: TraceTime::Seconds,
        at_column: "Timestamp".into(),
        input_column: "Request tokens".into(),
        output_column: "Response tokens".into(),
        hashes_column: None,
    };
    // Every row has both lengths, so this fixed length is not used.
    let length = LengthDistribution::fixed(1);
    let requests = RequestSource::random(length.clone(), length, PromptText::Words);
    Some(Data { times: Times::AtOnce { file: Box::new(file) }, ..Data::new(requests, count) })
}
