//! What the requests contain.

use std::time::Duration;

use crds::units::Span;

use super::{
    lists,
    load::{Counts, Kind},
};
use crate::{
    formats::common::{
        bounds::{MAX_PAUSE_SECONDS, MAX_PROMPTS, MAX_TOKENS},
        files::from_text,
        flags::word,
        times::span,
    },
    problem::{listed, quoted},
    reader::Section,
    workload::{
        Conversations, DataSet, DataSetFormat, FileSource, History, ImageEncoding, ImagePlace, ImageSize, Images,
        LengthDistribution, OutputLength, PrefixBucket, PrefixChoice, PrefixPlace, Prefixes, PromptColumn, PromptForm,
        PromptText, RequestSource, RowOrder, Shape, TimeDistribution, TraceFile, TraceFormat, TraceTime, TurnLengths,
        UsedUp,
    },
};

/// Default mean length of a prompt, as in AIPerf.
const DEFAULT_INPUT: f64 = 550.0;
/// Tokens per block in Mooncake's traces.
const MOONCAKE_BLOCK: u32 = 512;
/// Maximum images per request.
const MAX_IMAGES: u64 = 256;
/// Maximum pixels per side of an image.
const MAX_PIXELS: f64 = 8_192.0;

/// Types of input files that this format supports.
const FILE_TYPES: [&str; 3] = ["single_turn", "mooncake_trace", "burst_gpt_trace"];

/// What the requests contain.
pub(super) struct Data {
    pub requests: RequestSource,
    pub images: Option<Images>,
    /// Whether requests contain an output length.
    pub sends_length: bool,
    /// Whether a tokenizer decides how long prompts are.
    pub needs_tokenizer: bool,
    /// The trace with the times and the lengths, and the speed of its replay.
    pub trace: Option<(TraceFile, f64)>,
}

/// Reads the data. Returns `None` if at least one problem was reported.
pub(super) fn read(root: &Section, counts: &Counts) -> Option<Data> {
    if root.count("batch-size", 1..=MAX_TOKENS).is_some_and(|it| it > 1) {
        root.problem("batch-size", "is above 1; only one prompt is sent in a request, so take it out");
    }
    let images = images(root);
    let mut data = match word(root, "input-file") {
        Some(_) => from_file(root, counts),
        None => {
            if root.value("custom-dataset-type").is_some() {
                root.problem(
                    "custom-dataset-type",
                    "is the type of input-file, which is missing; write the path of the file",
                );
            }
            synthetic(root, counts)
        }
    }?;
    data.images = images;
    Some(data)
}

/// Reads synthetic prompts or synthetic conversations of several turns.
fn synthetic(root: &Section, counts: &Counts) -> Option<Data> {
    let input = length(root, "isl", "isl-stddev", Some(DEFAULT_INPUT));
    let output = length(root, "osl", "osl-stddev", None);
    let prefixes = prefixes(root);
    let think_time = think_time(root, counts);
    let (input, output, prefixes, think_time) = (input??, output?, prefixes?, think_time?);
    let sends_length = output.is_some();
    // Without an output length, requests contain no length, so the value used here has no effect.
    let output = output.unwrap_or_else(|| LengthDistribution::fixed(1));
    let requests = if counts.is_single_turn() && counts.pool.is_none() {
        RequestSource::Random { input, output, text: PromptText::Prose, prefixes }
    } else {
        note_pool(root, counts);
        RequestSource::Conversations(Box::new(Conversations {
            count: counts.pool,
            turns: around(counts.turns.0, if counts.kind == Kind::Users { 0.0 } else { counts.turns.1 }, 10_000),
            prefixes,
            own_system: None,
            first_turn: None,
            turn: TurnLengths { input, output },
            think_time,
            history: History::Answers,
            max_context: None,
            seed: None,
        }))
    };
    Some(Data { requests, images: None, sends_length, needs_tokenizer: true, trace: None })
}

fn note_pool(root: &Section, counts: &Counts) {
    if let Some(pool) = counts.pool {
        let message = format!(
            "gives {pool} distinct prompts or conversations, which are sent again in the same order when they are used up; AIPerf shuffles them"
        );
        root.notice("num-dataset-entries", message);
    }
}

/// Reads a mean length and its standard deviation. `Some(None)` if there is neither a flag nor a default. Returns `None` if a problem was reported.
fn length(
    root: &Section,
    mean: &'static str,
    std_dev: &'static str,
    default: Option<f64>,
) -> Option<Option<LengthDistribution>> {
    let found = lists::one(root, mean, 1.0..=MAX_TOKENS as f64)?;
    let spread = root.number(std_dev, 0.0..=MAX_TOKENS as f64).unwrap_or(0.0);
    if found.is_none() && default.is_none() && root.value(std_dev).is_some() {
        root.notice(std_dev, format!("is not used: it needs {mean}"));
    }
    Some(found.or(default).map(|it| around(it, spread, MAX_TOKENS as u32)))
}

/// Returns a normal distribution with minimum 1, or a fixed length if the standard deviation is 0.
fn around(mean: f64, std_dev: f64, max: u32) -> LengthDistribution {
    if std_dev == 0.0 {
        return LengthDistribution::fixed(mean.round() as u32);
    }
    LengthDistribution { shape: Shape::Normal, min: 1, max, mean, std_dev, total_count: None }
}

/// Reads the texts at the beginning of several prompts: a pool of prefixes, or one system prompt.
fn prefixes(root: &Section) -> Option<Prefixes> {
    let pool = root.or_default("prefix-prompt-pool-size", 0, |it, key| it.count_u32(key, 0..=MAX_PROMPTS))?;
    let tokens = root.or_default("prefix-prompt-length", 0, |it, key| it.count_u32(key, 0..=MAX_TOKENS))?;
    let system = root.or_default("shared-system-prompt-length", 0, |it, key| it.count_u32(key, 0..=MAX_TOKENS))?;
    let has_pool = pool > 0 && tokens > 0;
    if has_pool && system > 0 {
        root.problem("shared-system-prompt-length", "cannot be combined with prefix-prompt-length; keep one of them");
        return None;
    }
    if system > 0 {
        return Some(Prefixes::shared(system, PrefixPlace::System));
    }
    let buckets = if has_pool { vec![PrefixBucket { weight: 1.0, count: pool, tokens }] } else { Vec::new() };
    Some(Prefixes { buckets, choice: PrefixChoice::Random, place: PrefixPlace::Prompt })
}

/// Reads the time between an answer and the next turn. The flags are in milliseconds. `Some(None)` if they set no time.
fn think_time(root: &Section, counts: &Counts) -> Option<Option<TimeDistribution>> {
    let most = MAX_PAUSE_SECONDS as f64 * 1_000.0;
    let ms = |key, default| root.or_default(key, default, |it, key| it.number(key, 0.0..=most));
    let (mean, std_dev) = (ms("conversation-turn-delay-mean", 0.0)?, ms("conversation-turn-delay-stddev", 0.0)?);
    let ratio = root.or_default("conversation-turn-delay-ratio", 1.0, |it, key| it.number(key, 0.0..=1_000.0))?;
    if mean == 0.0 || ratio == 0.0 || counts.is_single_turn() {
        return Some(None);
    }
    if counts.kind == Kind::Users {
        root.notice(
            "conversation-turn-delay-mean",
            "is not used: the rate and the number of users give the time between turns",
        );
        return Some(None);
    }
    let scaled = |ms: f64| span((ms * ratio / 1_000.0).min(MAX_PAUSE_SECONDS as f64));
    let (mean, std_dev) = (scaled(mean)?, scaled(std_dev)?);
    let max = Span(Duration::from_secs(MAX_PAUSE_SECONDS));
    let shape = if std_dev.0.is_zero() { return Some(Some(TimeDistribution::fixed(mean))) } else { Shape::Normal };
    Some(Some(TimeDistribution { shape, min: Span::default(), max, mean, std_dev }))
}

/// Reads the rows of a file, or the times and lengths of a trace.
fn from_file(root: &Section, counts: &Counts) -> Option<Data> {
    let file = from_text(root, "input-file", &word(root, "input-file")?)?;
    let known = listed(&FILE_TYPES);
    root.require("custom-dataset-type", &format!("write the type of input-file, one of {known}"));
    let found = word(root, "custom-dataset-type")?;
    if counts.kind != Kind::Schedule && !counts.is_single_turn() {
        root.problem(
            "conversation-turn-mean",
            "cannot be combined with input-file, whose rows are single turns; take it out",
        );
    }
    match found.as_str() {
        "single_turn" => single_turn(root, file),
        "mooncake_trace" | "burst_gpt_trace" => Some(trace(root, file, found == "mooncake_trace")?),
        _ => {
            let message = match found.as_str() {
                "multi_turn" => "is multi_turn, whose turns have no roles and cannot be sent; write role and content into each turn, and send the file \
                                 with a profile of benchwright: {dataSet: {row: {conversation: {column: turns, send: turns}}}}"
                    .to_owned(),
                _ => format!(
                    "is {}, which cannot be sent; choose one of {known}, and give the file that form",
                    quoted(&found)
                ),
            };
            root.problem("custom-dataset-type", message);
            None
        }
    }
}

/// Reads a JSONL file with the column `text`.
fn single_turn(root: &Section, file: FileSource) -> Option<Data> {
    let orders = [
        ("sequential", (RowOrder::File, UsedUp::Repeat)),
        ("shuffle", (RowOrder::Shuffled, UsedUp::Repeat)),
        ("random", (RowOrder::Shuffled, UsedUp::Draw)),
    ];
    let order = root.or_default("dataset-sampling-strategy", orders[0].1, |it, key| it.choice(key, &orders));
    if order.is_some_and(|(_, used_up)| used_up == UsedUp::Draw) {
        root.notice(
            "dataset-sampling-strategy",
            "is random: each row is sent once, in random order, before further rows are drawn; AIPerf draws from all rows for each request",
        );
    }
    let output = length(root, "osl", "osl-stddev", None)?;
    if root.value("osl-stddev").is_some() {
        root.notice("osl-stddev", "is not used with input-file: all answers get the mean length");
    }
    root.notice(
        "input-file",
        "only the text of each row is sent; AIPerf also sends the row's images, and waits for its delay",
    );
    let (order, used_up) = order?;
    let column = PromptColumn { name: "text".into(), form: PromptForm::Text };
    let sends_length = output.is_some();
    let output = output.map_or(OutputLength::Unbounded, |it| OutputLength::Fixed(it.mean.round() as u32));
    let set = DataSet { count: None, order, used_up, output, ..DataSet::new(file, DataSetFormat::Jsonl, column, 1, 1) };
    Some(Data {
        requests: RequestSource::DataSet(set),
        images: None,
        sends_length,
        needs_tokenizer: false,
        trace: None,
    })
}

/// Reads the times and lengths of a trace: a JSONL file of Mooncake with the hashes of blocks, or a CSV file of BurstGPT.
fn trace(root: &Section, file: FileSource, is_mooncake: bool) -> Option<Data> {
    let speed = root.or_default("synthesis-speedup-ratio", 1.0, |it, key| it.number(key, 1e-3..=1e3))?;
    let block = root.or_default("isl-block-size", MOONCAKE_BLOCK, |it, key| it.count_u32(key, 1..=MAX_TOKENS))?;
    if root.bool("fixed-schedule-auto-offset") != Some(true) {
        root.notice(
            "fixed-schedule-auto-offset",
            "is always on here: times count from the first row; without this flag AIPerf replays the times as they are in the trace",
        );
    }
    let (format, time, columns) = match is_mooncake {
        true => (TraceFormat::Jsonl, TraceTime::Milliseconds, ["timestamp", "input_length", "output_length"]),
        false => (TraceFormat::Csv, TraceTime::Seconds, ["Timestamp", "Request tokens", "Response tokens"]),
    };
    let [at_column, input_column, output_column] = columns.map(str::to_owned);
    let hashes_column = is_mooncake.then(|| "hash_ids".to_owned());
    let trace = TraceFile { file, format, time, at_column, input_column, output_column, hashes_column };
    let requests = match is_mooncake {
        true => RequestSource::TraceBlocks { block_size: block },
        // Every row of a BurstGPT trace has both lengths, so these two fixed lengths are never used.
        false => RequestSource::random(LengthDistribution::fixed(1), LengthDistribution::fixed(1), PromptText::Prose),
    };
    Some(Data { requests, images: None, sends_length: true, needs_tokenizer: true, trace: Some((trace, speed)) })
}

/// Reads images of equal size for each message, if both width and height are given.
fn images(root: &Section) -> Option<Images> {
    let pixels = |key| root.number(key, 0.0..=MAX_PIXELS).unwrap_or(0.0).round();
    let (width, height) = (pixels("image-width-mean"), pixels("image-height-mean"));
    let count = root.or_default("image-batch-size", 1, |it, key| it.count_u32(key, 0..=MAX_IMAGES))?;
    let formats = [("png", ImageEncoding::Png), ("jpeg", ImageEncoding::Jpeg)];
    let encoding = root.or_default("image-format", ImageEncoding::Png, |it, key| it.choice(key, &formats))?;
    let spreads = ["image-width-stddev", "image-height-stddev"];
    if width == 0.0 || height == 0.0 || count == 0 {
        return None;
    }
    for key in spreads {
        if root.number(key, 0.0..=MAX_PIXELS).is_some_and(|it| it > 0.0) {
            root.problem(key, "is not supported: all images have the mean size; take it out");
        }
    }
    root.notice("image-width-mean", "images are random pixels; AIPerf sends photographs of its own in this size");
    let sizes = vec![ImageSize { width: width as u32, height: height as u32, weight: 1.0 }];
    let per_request = LengthDistribution::fixed(count);
    Some(Images { per_request, sizes, encoding, place: ImagePlace::AfterText, shared_by_group: false })
}
