//! [I/O] Reads recorded requests from a file: a CSV file with a header, or a JSON object a line.
//!
//! A message names the line and what is wrong with it, and never repeats what stands there: the path comes from a profile,
//! and its author may not be allowed to read every file that the launcher can.

mod told;

use std::{
    cell::Cell,
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
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

use crate::{
    file_digest::{DigestReader, FileDigest},
    lines::{Bounded, Line, read_line},
    user_file,
};

/// More bytes are not read: ten million lines of a hundred.
const MAX_BYTES: u64 = 1 << 30;
/// The longest line: hashes of the blocks of 512 tokens of the longest prompt fit.
const MAX_LINE: usize = 64 << 10;
const TOO_LONG: &str = "has more than 65536 bytes; leave out columns that are not replayed, and close every quote";
/// The latest time: a week after the first, as the longest stage.
const MAX_SECONDS: f64 = 604_800.0;
/// The longest prompt or answer, in tokens.
const MAX_TOKENS: u64 = 2_000_000;

/// Why a recording cannot be replayed. The cause stands in the message, and is therefore no `source`.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("cannot read the trace {path}: {cause}; a relative path counts from the folder of the file that names it; in a cluster, name the file in spec.profile.files", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A line is no request.
    #[error("the trace {path}, line {line}: {what}", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// What was found and what to do; nothing of the line itself.
        what: String,
    },
    /// It is too long to be read to its end.
    #[error("the trace {path} has more than {most} bytes; cut it, or leave out columns that are not replayed", path = path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// How many are read.
        most: u64,
    },
    /// With what was recorded the run has too many requests.
    #[error(
        "stages: come to {requests:.0} requests with their traces; at most {MAX_REQUESTS} are sent in a run, so set a count"
    )]
    TooMany {
        /// How many, in the mean.
        requests: f64,
    },
    /// It holds no request.
    #[error("the trace {path} holds no request; write one a line", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// What the stages of a workload replay.
#[derive(Debug, Default)]
pub struct Traces {
    /// One for each stage: empty for a stage that replays nothing.
    pub entries: Vec<Vec<TraceEntry>>,
    /// What is replayed otherwise than recorded, or may be.
    pub notices: Vec<Notice>,
    /// Of each file, once.
    pub digests: Vec<FileDigest>,
}

/// Reads what the stages of a workload replay.
///
/// # Errors
/// A file that cannot be read, or the first line that is no request.
pub fn of(workload: &Workload) -> Result<Traces, TraceError> {
    let mut traces = Traces::default();
    for stage in &workload.stages {
        match &stage.load {
            Load::Trace { trace: Trace::Inline(entries), .. } => traces.entries.push(entries.clone()),
            Load::Trace { trace: Trace::File(file), .. } => traces.add_file(file)?,
            _ => traces.entries.push(Vec::new()),
        }
    }
    let stages = workload.stages.iter().zip(&traces.entries);
    let requests = stages.map(|(stage, trace)| requests(&stage.load, trace)).sum::<f64>();
    if requests > MAX_REQUESTS as f64 { Err(TraceError::TooMany { requests }) } else { Ok(traces) }
}

impl Traces {
    /// Reads what the next stage replays.
    fn add_file(&mut self, file: &TraceFile) -> Result<(), TraceError> {
        let cannot = |cause| TraceError::Read { path: file.path.clone(), cause };
        let mut bytes = DigestReader::new(user_file::open(&file.path).map_err(cannot)?);
        let (entries, notices) = read_within(file, &mut bytes, MAX_BYTES)?;
        let digest = bytes.finish(&file.path, MAX_BYTES).map_err(cannot)?;
        self.digests.extend(digest.filter(|it| !self.digests.contains(it)));
        self.entries.push(entries);
        self.notices.extend(notices);
        Ok(())
    }
}

/// How many requests a load sends in the mean, now that its trace is known.
fn requests(load: &Load, trace: &[TraceEntry]) -> f64 {
    match load {
        Load::Trace { count, .. } => count.unwrap_or(u64::MAX).min(trace.len() as u64) as f64,
        _ => load.mean_count(),
    }
}

/// Reads a file of at most so many bytes.
fn read_within(file: &TraceFile, bytes: impl Read, most: u64) -> Result<(Vec<TraceEntry>, Vec<Notice>), TraceError> {
    let mut lines = BufReader::new(bytes.take(most.saturating_add(1)));
    let found = read(file, &mut lines);
    // First: a line that was cut may be no request.
    if lines.get_ref().limit() == 0 {
        return Err(TraceError::TooLong { path: file.path.clone(), most });
    }
    found
}

fn read(file: &TraceFile, lines: impl BufRead) -> Result<(Vec<TraceEntry>, Vec<Notice>), TraceError> {
    let mut entries = Entries { file, first: None, found: Vec::new(), lengths: Default::default() };
    match file.format {
        TraceFormat::Csv => csv(&mut entries, lines)?,
        TraceFormat::Jsonl => jsonl(&mut entries, lines)?,
    }
    if entries.found.is_empty() {
        return Err(TraceError::Empty { path: file.path.clone() });
    }
    let length = entries.found.last().map_or(Duration::ZERO, |it| it.at.0);
    let (requests, times) = (entries.found.len(), told::name(file.time));
    info!(trace = %file.path.display(), requests, length = %Span(length), times, "the trace was read");
    let [input, output] = entries.lengths;
    let notices = told::notices(file, &entries.found, input, output);
    Ok((entries.found, notices))
}

/// What was read so far.
struct Entries<'a> {
    file: &'a TraceFile,
    first: Option<Moment>,
    found: Vec<TraceEntry>,
    /// Of prompts and of answers.
    lengths: [told::Lengths; 2],
}

/// A time as it was recorded.
#[derive(Clone, Copy)]
enum Moment {
    Seconds(f64),
    Wall(Timestamp),
}

impl Entries<'_> {
    fn wrong(&self, line: u64, what: impl Into<String>) -> TraceError {
        TraceError::Line { path: self.file.path.clone(), line, what: what.into() }
    }

    fn read_error(&self, cause: io::Error) -> TraceError {
        TraceError::Read { path: self.file.path.clone(), cause }
    }

    fn add(&mut self, line: u64, at: &str, input: Option<&str>, output: Option<&str>) -> Result<(), TraceError> {
        if self.found.len() as u64 >= MAX_REQUESTS {
            return Err(self.wrong(line, format!("is one request too many; at most {MAX_REQUESTS} are sent in a run")));
        }
        let moment = self.moment(at.trim()).ok_or_else(|| self.no_moment(line, at.trim()))?;
        if self.first.is_none()
            && let Some(unit) = at.trim().parse().ok().and_then(|it| told::other_unit(self.file.time, it))
        {
            let (column, taken, unit) = (&self.file.at_column, told::name(self.file.time), told::name(unit));
            let remedy = format!("set time: {unit}, or let the times begin at 0");
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
            return Err(self.wrong(line, format!("{} is before that of a line above; {remedy}", self.file.at_column)));
        };
        if seconds > MAX_SECONDS {
            return Err(
                self.wrong(line, format!("is more than {MAX_SECONDS} seconds after the first line; cut it off"))
            );
        }
        let input = self.length(line, 0, input)?;
        let output = self.length(line, 1, output)?;
        self.found.push(TraceEntry { at: Span(at), input, output });
        Ok(())
    }

    fn no_moment(&self, line: u64, text: &str) -> TraceError {
        let column = &self.file.at_column;
        self.wrong(line, match self.file.time {
            TraceTime::DateTime => {
                format!("{column} is not a date and a time of day such as 2023-11-16 18:17:03.97; set time to seconds, milliseconds or microseconds where it is a number")
            }
            taken if date_time(text).is_some() => {
                format!("{column} is a date and a time of day, and time is {}; set time: dateTime", told::name(taken))
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

    /// The length of the prompt (0) or the answer (1).
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
        // Zero is a recorded request without output: the least that can be asked for is one token.
        Ok(Some(length.max(1)))
    }
}

fn date_time(text: &str) -> Option<Timestamp> {
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|it| it.timestamp());
    text.parse::<Timestamp>().ok().or_else(civil)
}

/// Seconds from one moment to another; both are of one kind.
fn since(first: Moment, moment: Moment) -> f64 {
    match (first, moment) {
        (Moment::Seconds(first), Moment::Seconds(seconds)) => seconds - first,
        (Moment::Wall(first), Moment::Wall(wall)) => wall.duration_since(first).as_secs_f64(),
        _ => 0.0,
    }
}

fn csv(entries: &mut Entries, lines: impl Read) -> Result<(), TraceError> {
    // A row may go over lines within quotes, and without their end it is the rest of the file.
    let left = Cell::new(MAX_LINE);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(Bounded { bytes: lines, left: &left });
    let header = reader.byte_headers().map_err(|error| broken(entries, &left, error))?;
    let names: Vec<String> =
        header.iter().map(|it| String::from_utf8_lossy(it).trim_start_matches('\u{feff}').trim().to_owned()).collect();
    let column = |name: &str| names.iter().position(|it| it == name);
    let Some(at) = column(&entries.file.at_column) else {
        let what = format!("names no column {}; set atColumn to the one with the times", entries.file.at_column);
        return Err(entries.wrong(1, what));
    };
    let (input, output) = (column(&entries.file.input_column), column(&entries.file.output_column));
    let mut record = csv::StringRecord::new();
    left.set(MAX_LINE);
    while reader.read_record(&mut record).map_err(|error| broken(entries, &left, error))? {
        left.set(MAX_LINE);
        let line = record.position().map_or(0, csv::Position::line);
        let field = |column: Option<usize>| column.and_then(|it| record.get(it));
        entries.add(line, field(Some(at)).unwrap_or_default(), field(input), field(output))?;
    }
    Ok(())
}

fn broken(entries: &Entries, left: &Cell<usize>, error: csv::Error) -> TraceError {
    let line = error.position().map_or(0, csv::Position::line);
    if left.get() == 0 {
        return entries.wrong(entries.found.len() as u64 + 2, TOO_LONG);
    }
    match error.into_kind() {
        csv::ErrorKind::Io(source) => entries.read_error(source),
        _ => entries.wrong(line, "is no text in UTF-8; save the file as such"),
    }
}

fn jsonl(entries: &mut Entries, mut lines: impl BufRead) -> Result<(), TraceError> {
    let mut text = Vec::new();
    for line in 1.. {
        match read_line(&mut lines, MAX_LINE, &mut text).map_err(|source| entries.read_error(source))? {
            Line::End => break,
            Line::TooLong => return Err(entries.wrong(line, TOO_LONG)),
            Line::Read => {}
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let object: Map<String, Value> =
            serde_json::from_slice(&text).map_err(|_| entries.wrong(line, "is no JSON object; write one a line"))?;
        let field = |name: &str| {
            object
                .get(name)
                .filter(|it| !it.is_null())
                .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
        };
        let Some(at) = field(&entries.file.at_column) else {
            let what = format!("has no key {}; set atColumn to the one with the times", entries.file.at_column);
            return Err(entries.wrong(line, what));
        };
        let (input, output) = (field(&entries.file.input_column), field(&entries.file.output_column));
        entries.add(line, &at, input.as_deref(), output.as_deref())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(format: TraceFormat, time: TraceTime, columns: [&str; 3]) -> TraceFile {
        let [at, input, output] = columns.map(str::to_owned);
        TraceFile { path: "t".into(), format, time, at_column: at, input_column: input, output_column: output }
    }

    fn azure() -> TraceFile {
        file(TraceFormat::Csv, TraceTime::DateTime, ["TIMESTAMP", "ContextTokens", "GeneratedTokens"])
    }

    fn mooncake() -> TraceFile {
        file(TraceFormat::Jsonl, TraceTime::Milliseconds, ["timestamp", "input_length", "output_length"])
    }

    type Entry = (u64, Option<u32>, Option<u32>);

    /// Each entry as milliseconds and lengths, or the message.
    fn check(file: &TraceFile, text: &str, expected: Result<&[Entry], &str>) {
        let found = read(file, text.as_bytes())
            .map(|it| it.0.iter().map(|it| (it.at.0.as_millis() as u64, it.input, it.output)).collect::<Vec<_>>())
            .map_err(|error| error.to_string());
        assert_eq!(found, expected.map(<[Entry]>::to_vec).map_err(str::to_owned), "{text}");
    }

    #[test]
    fn a_trace_of_azure_counts_from_its_first_row() {
        check(
            &azure(),
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n",
            Ok(&[(0, Some(374), Some(44)), (4_314, Some(396), Some(109))]),
        );
    }

    #[test]
    fn a_trace_of_mooncake_is_a_json_object_a_line() {
        check(
            &mooncake(),
            "{\"timestamp\": 27000, \"input_length\": 6955, \"output_length\": 0, \"hash_ids\": [46, 47]}\n\n\
             {\"timestamp\": 27000, \"input_length\": 6472}\n{\"timestamp\": 30500.5}\n",
            Ok(&[(0, Some(6_955), Some(1)), (0, Some(6_472), None), (3_500, None, None)]),
        );
    }

    #[test]
    fn other_columns_are_overlooked_and_lengths_may_be_missing() {
        let file = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
        check(&file, "model, t ,in\n\"a,b\",5,7\nc,6.25,\n", Ok(&[(0, Some(7), None), (1_250, None, None)]));
    }

    #[test]
    fn a_line_that_is_no_request_is_named_and_not_repeated() {
        let check = |file: &TraceFile, text: &str, expected: &str| check(file, text, Err(expected));
        let seconds = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
        check(&seconds, "t,in\n1,2\nsecret,3\n", "the trace t, line 3: t is not a number that is not negative");
        check(&seconds, "t,in\n-1,2\n", "the trace t, line 2: t is not a number that is not negative");
        check(&seconds, "t\n5\n4\n", "the trace t, line 3: t is before that of a line above; sort the lines by time");
        check(&seconds, "t,in\n5,secret\n", "the trace t, line 2: in is no whole number of tokens from 0 to 2000000");
        check(
            &seconds,
            "secret\n5\n",
            "the trace t, line 1: names no column t; set atColumn to the one with the times",
        );
        check(
            &seconds,
            "t\n0\n700000\n",
            "the trace t, line 3: is more than 604800 seconds after the first line; cut it off",
        );
        check(&seconds, "t\n", "the trace t holds no request; write one a line");
        check(&mooncake(), "{\"timestamp\": 0}\nsecret\n", "the trace t, line 2: is no JSON object; write one a line");
        check(
            &mooncake(),
            "{\"input_length\": 5}\n",
            "the trace t, line 1: has no key timestamp; set atColumn to the one with the times",
        );
        check(
            &azure(),
            "TIMESTAMP\nyesterday\n",
            "the trace t, line 2: TIMESTAMP is not a date and a time of day such as 2023-11-16 18:17:03.97; set time to seconds, milliseconds or microseconds where it is a number",
        );
    }

    #[test]
    fn times_of_another_unit_are_refused_with_theirs() {
        let seconds = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
        let millis = TraceFile { time: TraceTime::Milliseconds, ..seconds.clone() };
        let refused = |file: &TraceFile, first: &str, unit: &str, taken: &str| {
            let remedy = format!("set time: {unit}, or let the times begin at 0");
            let what = format!("t is a time of day in {unit} since 1970, and time is {taken}; {remedy}");
            check(file, &format!("t\n{first}\n"), Err(&format!("the trace t, line 2: {what}")));
        };
        refused(&millis, "1735689600.5", "seconds", "milliseconds");
        refused(&seconds, "1735689600500", "milliseconds", "seconds");
        refused(&millis, "1735689600500000", "microseconds", "milliseconds");
        check(&seconds, "t\n1735689600.5\n1735689601\n", Ok(&[(0, None, None), (500, None, None)]));
        let date = "the trace t, line 2: t is a date and a time of day, and time is seconds; set time: dateTime";
        check(&seconds, "t\n2023-11-16T18:17:03Z\n", Err(date));
    }

    #[test]
    fn what_is_replayed_otherwise_than_recorded_is_told() {
        let millis = file(TraceFormat::Csv, TraceTime::Milliseconds, ["t", "in", "out"]);
        let told = |text: &str| {
            let notices = read(&millis, text.as_bytes()).unwrap().1;
            notices.into_iter().map(|it| it.message).collect::<Vec<_>>()
        };
        assert_eq!(told("t,in,out\n0,5,6\n1000,7,8\n"), [""; 0]);
        assert_eq!(
            told("t,in,out\n0,0,6\n500,,0\n1000,7,0\n"),
            [
                "t has 1 rows of 3 with in 0, which is sent as 1",
                "t has 1 rows of 3 without in: there the prompt has the length that requests asks for",
                "t has 2 rows of 3 with out 0, which is sent as 1",
            ]
        );
        let fast = told("t,in,out\n0.00,1,1\n0.02,1,1\n0.10,1,1\n");
        assert!(fast[0].contains("30000 a second, with its times taken as milliseconds; set time if"), "{fast:?}");
    }

    #[test]
    fn a_row_without_an_end_is_not_read_to_the_end_of_the_file() {
        let file = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
        for text in [format!("t\n{}", "1".repeat(99_999)), format!("t\n\"{}", "1\n".repeat(99_999)), "t".repeat(99_999)]
        {
            let error = read(&file, text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("has more than 65536 bytes; leave out columns"), "{error}");
        }
        let many = format!("t,in,out\n{}", "1,2,3\n".repeat(50_000));
        assert_eq!(read(&file, many.as_bytes()).unwrap().0.len(), 50_000);
        let object = format!("{{\"timestamp\": 1, \"x\": \"{}\"}}\n", "a".repeat(99_999));
        let error = read(&mooncake(), object.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 1: has more than 65536 bytes"), "{error}");
    }

    #[test]
    fn a_file_above_the_bound_is_refused_and_not_cut() {
        let file = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
        let text = "t\n1\n2\n";
        let read = |most| read_within(&file, text.as_bytes(), most).map(|it| it.0.len()).map_err(|it| it.to_string());
        assert_eq!(read(6), Ok(2));
        let error = "the trace t has more than 5 bytes; cut it, or leave out columns that are not replayed";
        assert_eq!(read(5), Err(error.to_owned()));
    }

    #[test]
    fn what_was_recorded_counts_towards_the_requests_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "timestamp\n0\n1\n").unwrap();
        let run = |count: Option<u64>| {
            let file = json!({"path": path, "format": "csv", "time": "seconds", "atColumn": "timestamp",
                "inputColumn": "in", "outputColumn": "out"});
            let trace = json!({"trace": {"file": file}, "speed": 1.0, "count": count, "lengths": true});
            let stage = |load| json!({"name": "s", "load": load, "pauseAfter": "0s"});
            let stages = [stage(json!({"burst": {"count": MAX_REQUESTS - 1}})), stage(json!({"trace": trace}))];
            let workload = json!({"api": "OpenAIChat", "streaming": true, "requests": "mock", "stages": stages});
            let workload = serde_json::from_value(workload).unwrap();
            of(&workload).map(|it| it.entries[1].len()).map_err(|it| it.to_string())
        };
        assert_eq!(run(Some(1)), Ok(2));
        let error =
            "stages: come to 10000001 requests with their traces; at most 10000000 are sent in a run, so set a count";
        assert_eq!(run(None), Err(error.to_owned()));
    }

    #[test]
    fn a_file_that_is_not_there_says_what_to_do() {
        let error = Traces::default().add_file(&TraceFile { path: "/nowhere/t.csv".into(), ..azure() }).unwrap_err();
        assert!(error.to_string().ends_with("in a cluster, name the file in spec.profile.files"), "{error}");
    }
}
