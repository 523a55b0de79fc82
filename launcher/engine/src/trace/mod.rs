//! [I/O] Reads recorded requests from a file: CSV with a header, or one JSON object per line.
//!
//! An error message names the line and the problem, but never quotes the content. The path comes from a profile, and its author may not be
//! allowed to read every file that the launcher can read.

mod blocks;
mod notices;

use files::{
    file_digest::{DigestReader, FileDigest},
    user_file,
};
use std::{
    cell::Cell,
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use crds::units::Span;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::{Map, Value};
use tracing::info;
use workload_profiles::{
    Notice, Workload,
    workload::{Load, MAX_REQUESTS, Trace, TraceEntry, TraceFile, TraceFormat, TraceTime},
};

pub use blocks::Blocks;
pub(crate) use blocks::hashes;

use files::lines::{Bounded, Line, read_line};

/// Maximum size of the data read, in bytes: ten million lines of a hundred bytes.
const MAX_BYTES: u64 = 1 << 30;
/// Maximum size of a line, in bytes: enough for the hashes of the longest prompt in blocks of 512 tokens.
const MAX_LINE: usize = 64 << 10;
/// Maximum size of a line if hashes are read, in bytes: enough for blocks of 16 tokens.
const MAX_LINE_OF_HASHES: usize = 4 << 20;
/// Maximum time of a replayed request after the first one, in seconds: one week, which is also the maximum length of a stage.
const MAX_SECONDS: f64 = 604_800.0;
/// Maximum length of a prompt or answer, in tokens.
const MAX_TOKENS: u64 = 2_000_000;

/// The reason why a trace cannot be replayed. The message contains the cause, so the error has no `source`.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("cannot read the trace {path}: {cause}; a relative path counts from the folder of the file that names it; in a cluster, name the file in spec.profile.files", path = path.display())]
    Read { path: PathBuf, cause: io::Error },
    /// A line cannot be parsed as a request.
    #[error("the trace {path}, line {line}: {what}", path = path.display())]
    Line {
        path: PathBuf,
        /// Line number, from 1.
        line: u64,
        /// The problem and how to solve it, without the content of the line.
        what: String,
    },
    /// The file is larger than the limit.
    #[error("the trace {path} has more than {most} bytes; cut it, or leave out columns that are not replayed", path = path.display())]
    TooLong {
        path: PathBuf,
        /// The limit, in bytes.
        most: u64,
    },
    /// The run, including the requests of its traces, has too many requests.
    #[error(
        "stages: have {requests:.0} requests in all, with those of their traces; at most {MAX_REQUESTS} are sent in a run, so set a count"
    )]
    TooMany {
        /// Expected number of requests.
        requests: f64,
    },
    /// The file holds no request.
    #[error("the trace {path} holds no request; write one per line", path = path.display())]
    Empty { path: PathBuf },
}

/// The trace entries that the stages of a workload replay.
#[derive(Debug, Default)]
pub struct Traces {
    /// The entries per stage; empty for a stage that replays no trace.
    pub entries: Vec<Vec<TraceEntry>>,
    /// The block hashes of the prompts, per stage; empty if they are not read.
    pub blocks: Vec<Arc<Blocks>>,
    /// Notices about certain or possible differences between the replay and the recording.
    pub notices: Vec<Notice>,
    /// The digest of each file.
    pub digests: Vec<FileDigest>,
}

/// Reads the traces that the stages of a workload replay.
///
/// # Errors
/// A file cannot be read, or a line is not a request.
pub fn read(workload: &Workload) -> Result<Traces, TraceError> {
    let mut traces = Traces::default();
    for stage in &workload.stages {
        match &stage.load {
            Load::Trace { trace: Trace::Inline(entries), .. } => {
                traces.entries.push(entries.clone());
                traces.blocks.push(Arc::default());
            }
            Load::Trace { trace: Trace::File(file), speed, .. } => traces.add_file(file, *speed)?,
            _ => {
                traces.entries.push(Vec::new());
                traces.blocks.push(Arc::default());
            }
        }
    }
    let stages = workload.stages.iter().zip(&traces.entries);
    let requests = stages.map(|(stage, trace)| requests(&stage.load, trace)).sum::<f64>();
    if requests > MAX_REQUESTS as f64 { Err(TraceError::TooMany { requests }) } else { Ok(traces) }
}

impl Traces {
    /// Reads the file that the next stage replays. `speed` is the speed of the replay.
    fn add_file(&mut self, file: &TraceFile, speed: f64) -> Result<(), TraceError> {
        let cannot = |cause| TraceError::Read { path: file.file.as_path().to_owned(), cause };
        let mut bytes = DigestReader::new(user_file::open(file.file.as_path()).map_err(cannot)?);
        let Found { entries, blocks, notices } = read_within(file, speed, &mut bytes, MAX_BYTES)?;
        let digest = bytes.finish(file.file.as_path(), MAX_BYTES).map_err(cannot)?;
        if !self.digests.contains(&digest) {
            self.digests.push(digest);
        }
        self.entries.push(entries);
        self.blocks.push(Arc::new(blocks));
        self.notices.extend(notices);
        Ok(())
    }
}

/// Returns the expected number of requests in a load whose trace is known.
fn requests(load: &Load, trace: &[TraceEntry]) -> f64 {
    match load {
        Load::Trace { count, .. } => count.unwrap_or(u64::MAX).min(trace.len() as u64) as f64,
        _ => load.mean_count(),
    }
}

/// The parsed content of a file.
#[derive(Debug)]
struct Found {
    entries: Vec<TraceEntry>,
    blocks: Blocks,
    notices: Vec<Notice>,
}

/// Reads a file of at most `most` bytes.
fn read_within(file: &TraceFile, speed: f64, bytes: impl Read, most: u64) -> Result<Found, TraceError> {
    let mut lines = BufReader::new(bytes.take(most.saturating_add(1)));
    let found = read_lines(file, speed, &mut lines);
    // This is checked before other errors, because the last line can be cut off and therefore invalid.
    if lines.get_ref().limit() == 0 {
        return Err(TraceError::TooLong { path: file.file.as_path().to_owned(), most });
    }
    found
}

fn read_lines(file: &TraceFile, speed: f64, lines: impl BufRead) -> Result<Found, TraceError> {
    let longest = if file.hashes_column.is_some() { MAX_LINE_OF_HASHES } else { MAX_LINE };
    let mut entries = Entries {
        file,
        speed,
        first: None,
        found: Vec::new(),
        blocks: Blocks::default(),
        lengths: Default::default(),
        longest,
    };
    match file.format {
        TraceFormat::Csv => csv(&mut entries, lines)?,
        TraceFormat::Jsonl => jsonl(&mut entries, lines)?,
    }
    if entries.found.is_empty() {
        return Err(TraceError::Empty { path: file.file.as_path().to_owned() });
    }
    let length = entries.found.last().map_or(Duration::ZERO, |it| it.at.0);
    let (requests, times) = (entries.found.len(), notices::name(file.time));
    info!(trace = %file.file.shown(), requests, length = %Span(length), times, "the trace was read");
    let [input, output] = entries.lengths;
    let notices = notices::notices(file, &entries.found, input, output);
    Ok(Found { entries: entries.found, blocks: entries.blocks, notices })
}

/// The state of the parser.
struct Entries<'a> {
    file: &'a TraceFile,
    /// Speed of the replay; 2 is twice as fast as recorded.
    speed: f64,
    first: Option<Moment>,
    found: Vec<TraceEntry>,
    blocks: Blocks,
    /// Maximum size of a line, in bytes.
    longest: usize,
    /// Missing and zero lengths, of prompts and of answers.
    lengths: [notices::LengthFaults; 2],
}

/// A recorded time.
#[derive(Clone, Copy)]
enum Moment {
    Seconds(f64),
    Wall(Timestamp),
}

impl Entries<'_> {
    fn wrong(&self, line: u64, what: impl Into<String>) -> TraceError {
        TraceError::Line { path: self.file.file.as_path().to_owned(), line, what: what.into() }
    }

    fn read_error(&self, cause: io::Error) -> TraceError {
        TraceError::Read { path: self.file.file.as_path().to_owned(), cause }
    }

    fn add(&mut self, line: u64, at: &str, input: Option<&str>, output: Option<&str>) -> Result<(), TraceError> {
        if self.found.len() as u64 >= MAX_REQUESTS {
            return Err(self.wrong(line, format!("is one request too many; at most {MAX_REQUESTS} are sent in a run")));
        }
        let moment = self.moment(at.trim()).ok_or_else(|| self.no_moment(line, at.trim()))?;
        if self.first.is_none()
            && let Some(unit) = at.trim().parse().ok().and_then(|it| notices::other_unit(self.file.time, it))
        {
            let (column, taken, unit) = (&self.file.at_column, notices::name(self.file.time), notices::name(unit));
            let remedy = format!("set time: {unit}, or make the times begin at 0");
            return Err(self.wrong(
                line,
                format!("{column} is a time of day in {unit} since 1970, and time is {taken}; {remedy}"),
            ));
        }
        let seconds = since(*self.first.get_or_insert(moment), moment);
        let last = self.found.last().map_or(Duration::ZERO, |it| it.at.0);
        let at = Duration::try_from_secs_f64(seconds).ok().filter(|at| *at >= last);
        let Some(at) = at else {
            let remedy = "sort the lines by time";
            return Err(self.wrong(line, format!("{} is earlier than in a line above; {remedy}", self.file.at_column)));
        };
        if seconds / self.speed > MAX_SECONDS {
            let message = format!(
                "is sent more than {MAX_SECONDS} seconds after the first line; cut the trace off before this line"
            );
            return Err(self.wrong(line, message));
        }
        let input = self.length(line, 0, input)?;
        let output = self.length(line, 1, output)?;
        self.found.push(TraceEntry { at: Span(at), input, output });
        Ok(())
    }

    /// Adds the block hashes of the request that was added last.
    fn add_hashes(&mut self, line: u64, list: Option<&Value>) -> Result<(), TraceError> {
        let Some(column) = &self.file.hashes_column else { return Ok(()) };
        let list = list.ok_or_else(|| {
            self.wrong(line, format!("has no {column}; set hashesColumn to the column with the hashes of the blocks"))
        })?;
        let hashes = blocks::hashes(list)
            .ok_or_else(|| self.wrong(line, format!("{column} is no list of whole numbers or of texts")))?;
        if self.blocks.len() + hashes.len() > blocks::MAX_HASHES {
            let most = blocks::MAX_HASHES;
            return Err(self.wrong(line, format!("is one hash too many; at most {most} are read, so cut the file")));
        }
        self.blocks.push(hashes);
        Ok(())
    }

    fn too_long(&self, line: u64) -> TraceError {
        let longest = self.longest;
        let remedy = "leave out columns that are not replayed, and close every quote";
        self.wrong(line, format!("has more than {longest} bytes; {remedy}"))
    }

    fn no_moment(&self, line: u64, text: &str) -> TraceError {
        let column = &self.file.at_column;
        self.wrong(line, match self.file.time {
            TraceTime::DateTime => {
                format!("{column} is not a date and a time of day such as 2023-11-16 18:17:03.97; set time to seconds, milliseconds or microseconds where it is a number")
            }
            taken if date_time(text).is_some() => {
                format!("{column} is a date and a time of day, and time is {}; set time: dateTime", notices::name(taken))
            }
            _ => format!("{column} is not a number that is not negative"),
        })
    }

    fn moment(&self, text: &str) -> Option<Moment> {
        let number = |per_second: f64| {
            let number = text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0)?;
            Some(Moment::Seconds(number / per_second))
        };
        match self.file.time {
            TraceTime::Seconds => number(1.0),
            TraceTime::Milliseconds => number(1e3),
            TraceTime::Microseconds => number(1e6),
            TraceTime::DateTime => date_time(text).map(Moment::Wall),
        }
    }

    /// Parses the length of the prompt (`which` is 0) or of the answer (`which` is 1).
    fn length(&mut self, line: u64, which: usize, text: Option<&str>) -> Result<Option<u32>, TraceError> {
        let Some(text) = text.map(str::trim).filter(|it| !it.is_empty()) else {
            self.lengths[which].missing += 1;
            return Ok(None);
        };
        let length = text.parse::<u64>().ok().filter(|it| *it <= MAX_TOKENS).and_then(|it| u32::try_from(it).ok());
        let length = length.ok_or_else(|| {
            let column = [&self.file.input_column, &self.file.output_column][which];
            self.wrong(line, format!("{column} is no whole number of tokens from 0 to {MAX_TOKENS}"))
        })?;
        self.lengths[which].zero += u64::from(length == 0);
        // A recorded length of 0 becomes 1, the smallest length that can be requested.
        Ok(Some(length.max(1)))
    }
}

fn date_time(text: &str) -> Option<Timestamp> {
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|it| it.timestamp());
    text.parse::<Timestamp>().ok().or_else(civil)
}

/// Returns the seconds between two moments of the same kind.
fn since(first: Moment, moment: Moment) -> f64 {
    match (first, moment) {
        (Moment::Seconds(first), Moment::Seconds(seconds)) => seconds - first,
        (Moment::Wall(first), Moment::Wall(wall)) => wall.duration_since(first).as_secs_f64(),
        _ => 0.0,
    }
}

fn csv(entries: &mut Entries, lines: impl Read) -> Result<(), TraceError> {
    // A quoted field can contain line ends. If its closing quote is missing, only this limit keeps it from extending to the end of the file.
    let longest = entries.longest;
    let left = Cell::new(longest);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(Bounded { bytes: lines, left: &left });
    let header = reader.byte_headers().map_err(|error| broken(entries, &left, error))?;
    let names: Vec<String> =
        header.iter().map(|it| String::from_utf8_lossy(it).trim_start_matches('\u{feff}').trim().to_owned()).collect();
    let column = |name: &str| names.iter().position(|it| it == name);
    let Some(at) = column(&entries.file.at_column) else {
        let what = format!("names no column {}; set atColumn to the column with the times", entries.file.at_column);
        return Err(entries.wrong(1, what));
    };
    let (input, output) = (column(&entries.file.input_column), column(&entries.file.output_column));
    let hashes = entries.file.hashes_column.as_deref().and_then(column);
    let mut record = csv::StringRecord::new();
    left.set(longest);
    while reader.read_record(&mut record).map_err(|error| broken(entries, &left, error))? {
        left.set(longest);
        let line = record.position().map_or(0, csv::Position::line);
        let field = |column: Option<usize>| column.and_then(|it| record.get(it));
        entries.add(line, field(Some(at)).unwrap_or_default(), field(input), field(output))?;
        entries.add_hashes(line, field(hashes).map(Value::from).as_ref())?;
    }
    Ok(())
}

fn broken(entries: &Entries, left: &Cell<usize>, error: csv::Error) -> TraceError {
    let line = error.position().map_or(0, csv::Position::line);
    if left.get() == 0 {
        return entries.too_long(entries.found.len() as u64 + 2);
    }
    match error.into_kind() {
        csv::ErrorKind::Io(source) => entries.read_error(source),
        _ => entries.wrong(line, "is no text in UTF-8; save the file as such"),
    }
}

fn jsonl(entries: &mut Entries, mut lines: impl BufRead) -> Result<(), TraceError> {
    let mut text = Vec::new();
    for line in 1.. {
        match read_line(&mut lines, entries.longest, &mut text).map_err(|source| entries.read_error(source))? {
            Line::End => break,
            Line::TooLong => return Err(entries.too_long(line)),
            Line::Read => {}
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let object: Map<String, Value> =
            serde_json::from_slice(&text).map_err(|_| entries.wrong(line, "is no JSON object; write one per line"))?;
        let field = |name: &str| {
            object
                .get(name)
                .filter(|it| !it.is_null())
                .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
        };
        let Some(at) = field(&entries.file.at_column) else {
            let what = format!("has no key {}; set atColumn to the column with the times", entries.file.at_column);
            return Err(entries.wrong(line, what));
        };
        let (input, output) = (field(&entries.file.input_column), field(&entries.file.output_column));
        entries.add(line, &at, input.as_deref(), output.as_deref())?;
        entries.add_hashes(line, entries.file.hashes_column.as_ref().and_then(|it| object.get(it)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
