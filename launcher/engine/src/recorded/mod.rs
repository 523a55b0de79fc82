//! [I/O] Reads sessions recorded from a real application. `otel` reads the spans of a session, and `graph` derives which requests follow
//! which. `weka` does both for Weka's traces.

mod graph;
mod message;
mod otel;
mod weka;

use files::{file_digest::FileDigest, user_file};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use workload_profiles::{
    Notice, Workload,
    filter::Filter,
    workload::{FileSource, RecordedAnswers, RecordedFiles, RecordedFormat, RecordedSessions, RequestSource},
};

pub(crate) use message::Message;

/// Maximum size of a file, in bytes. While a file is parsed, its values take about ten times as much memory.
const MAX_FILE: u64 = 256 << 20;
/// Maximum number of files.
const MAX_FILES: usize = 100_000;
/// Maximum total size of all messages, in bytes.
const MAX_MESSAGES: usize = 1 << 30;
/// Maximum number of requests per session. The limit is needed because each request is compared with all earlier ones.
const MAX_CALLS: usize = 10_000;

/// The reason why recordings cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// A file or a folder cannot be read.
    #[error("cannot read the recording {path}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file does not contain a valid recording.
    #[error("the recording {path}: {at}{problem}; leave it out, or set skipInvalidFiles", path = path.display())]
    Wrong {
        path: PathBuf,
        /// The line number and a space; empty if the whole file is one recording.
        at: String,
        /// What is wrong. It may quote a value from the file.
        problem: String,
    },
    /// The filter of sessions is invalid.
    #[error("the filter of recorded sessions: {0}")]
    Filter(String),
    /// No session remains after the filter.
    #[error("no recorded session is left of {files} files; name other files, or another filter")]
    Empty { files: usize },
    /// There are too many files, sessions, requests or messages.
    #[error("the recordings are more than {what}; name fewer files")]
    TooMany { what: String },
    /// The file at a URL was not downloaded.
    #[error("the recording at {0} was not downloaded; name a local file")]
    NotDownloaded(String),
}

impl RecordedError {
    /// Returns the message without content that it may quote from the files or the filter. `None` if the message contains no such content.
    pub(crate) fn without_words(&self) -> Option<String> {
        match self {
            RecordedError::Wrong { path, at, problem: _ } => {
                Some(format!("the recording {}: {at}cannot be read as the profile wants", path.display()))
            }
            // The cause could reveal content of the file.
            RecordedError::Read { path, source } if source.kind() == ErrorKind::InvalidData => {
                Some(format!("the recording {} is no UTF-8 text", path.display()))
            }
            RecordedError::Filter(_) => Some("the filter of recorded sessions cannot be used".to_owned()),
            RecordedError::Read { .. }
            | RecordedError::Empty { .. }
            | RecordedError::TooMany { .. }
            | RecordedError::NotDownloaded(_) => None,
        }
    }
}

/// A recorded session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Session {
    /// The requests of the session, in the order in which they began.
    pub(crate) calls: Vec<Call>,
    /// The distinct messages of all its requests.
    pub(crate) messages: Vec<Message>,
    /// For each request, how many requests contain its answer; empty if none does.
    pub(crate) answer_uses: Vec<u32>,
    /// Settings for prompts made of blocks. Unused if the prompts are messages.
    pub(crate) blocks: BlockSettings,
}

/// Settings that all blocks of a session share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockSettings {
    /// Tokens per block.
    pub(crate) size: u32,
    /// Sessions with the same scope share texts: equal block hashes mean equal texts.
    pub(crate) scope: String,
}

/// A recorded request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// Indices of the requests that must end before this one.
    pub(crate) after: Vec<u32>,
    /// The time between the end of the last predecessor and the start of this request. Without a predecessor, it counts from the session's
    /// start.
    pub(crate) wait: Duration,
    pub(crate) prompt: CallPrompt,
    /// Output length, in tokens.
    pub(crate) output: u32,
    /// Whether the answer can end before `output` tokens.
    pub(crate) may_end: bool,
    /// Additional fields of the request body: members of a JSON object, without the braces.
    pub(crate) fields: String,
}

/// The prompt of a recorded request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallPrompt {
    /// Messages, by their indices in [`Session::messages`].
    Messages(Vec<u32>),
    /// One user message that consists of the texts of these blocks.
    Blocks {
        /// The hashes of the blocks.
        hashes: Vec<u64>,
        /// Length of the prompt in tokens. The last block can be cut to fit.
        tokens: u32,
    },
}

/// The recorded sessions of a workload, with notices for the report.
#[derive(Debug, Default)]
pub(crate) struct Recordings {
    pub(crate) sessions: Vec<Session>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) digests: Vec<FileDigest>,
}

/// Reads the recordings of a workload. Returns no sessions if the workload has another source.
///
/// # Errors
/// A file cannot be read; a file contains no valid recording, and the workload does not skip invalid files; or no session remains.
pub(crate) fn read(workload: &Workload) -> Result<Recordings, RecordedError> {
    let RequestSource::Recorded(recorded) = &workload.requests else { return Ok(Recordings::default()) };
    let filter = recorded.filter.as_deref().map(Filter::parse).transpose();
    let filter = filter.map_err(|error| RecordedError::Filter(error.to_string()))?;
    let paths = paths(&recorded.files)?;
    let (mut recordings, mut bytes) = (Recordings::default(), 0);
    let mut skipped = Vec::new();
    for path in &paths {
        let text = user_file::read_text(path, MAX_FILE);
        let text = text.map_err(|source| RecordedError::Read { path: path.to_owned(), source })?;
        recordings.digests.push(FileDigest::from_bytes(path, text.as_bytes()));
        match sessions_of(path, &text, recorded, filter.as_ref()) {
            Ok(sessions) => {
                bytes += sessions.iter().map(Session::bytes).sum::<usize>();
                recordings.sessions.extend(sessions);
            }
            Err(error @ RecordedError::Wrong { .. }) if recorded.skip_invalid_files => skipped.push(error.to_string()),
            Err(error) => return Err(error),
        }
        if bytes > MAX_MESSAGES {
            return Err(RecordedError::TooMany { what: format!("{MAX_MESSAGES} bytes of messages") });
        }
    }
    if recordings.sessions.is_empty() {
        return Err(RecordedError::Empty { files: paths.len() });
    }
    if let Some(first) = skipped.first() {
        let message = format!("{} of {} files are left out; the first: {first}", skipped.len(), paths.len());
        recordings.notices.push(Notice { path: "recordings".into(), message });
    }
    if matches!(recorded.format, RecordedFormat::Weka { .. }) && recorded.answers != RecordedAnswers::Recorded {
        recordings.notices.push(Notice { path: "recordings".into(), message: weka::ANSWERS.to_owned() });
    }
    let calls_tools = |it: &Message| it.recorded.contains("\"tool_calls\"");
    if recorded.answers == RecordedAnswers::Server
        && recordings.sessions.iter().any(|it| it.messages.iter().any(calls_tools))
    {
        let message = "answers that call tools are those of the recording in later prompts, because the recorded results of the tools name \
                       their calls; inference-perf sends the server's calls with new ids"
            .to_owned();
        recordings.notices.push(Notice { path: "recordings".into(), message });
    }
    Ok(recordings)
}

fn sessions_of(
    path: &Path,
    text: &str,
    recorded: &RecordedSessions,
    filter: Option<&Filter>,
) -> Result<Vec<Session>, RecordedError> {
    let wrong = |at: &str, problem: String| RecordedError::Wrong { path: path.to_owned(), at: at.to_owned(), problem };
    let is_lines = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("jsonl"));
    let lines: Vec<(String, &str)> = match is_lines {
        true => text.lines().zip(1..).map(|(line, number)| (format!("line {number} "), line)).collect(),
        false => vec![(String::new(), text)],
    };
    let mut sessions = Vec::new();
    for (at, line) in lines.into_iter().filter(|(_, line)| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).map_err(|error| wrong(&at, format!("is no JSON: {error}")))?;
        let records = match recorded.format {
            RecordedFormat::OpenTelemetry => otel::records(value),
            RecordedFormat::Weka { .. } => weka::records(value),
        };
        for record in records.map_err(|problem| wrong(&at, problem))? {
            let described = || match recorded.format {
                RecordedFormat::OpenTelemetry => otel::described(&record),
                RecordedFormat::Weka { .. } => weka::described(&record),
            };
            if let Some(filter) = filter
                && !filter.accepts(&described()).map_err(|error| RecordedError::Filter(error.to_string()))?
            {
                continue;
            }
            let session = match recorded.format {
                RecordedFormat::OpenTelemetry => otel::calls(&record, recorded)
                    .and_then(|calls| bounded(calls.len()).map(|()| graph::session(calls, recorded))),
                RecordedFormat::Weka { block_size } => weka::session(&record, block_size, recorded),
            };
            let session = session.map_err(|problem| wrong(&at, problem))?;
            if !session.calls.is_empty() {
                sessions.push(session);
            }
        }
    }
    Ok(sessions)
}

/// Rejects a session with too many requests.
fn bounded(calls: usize) -> Result<(), String> {
    if calls <= MAX_CALLS { Ok(()) } else { Err(format!("holds {calls} requests, more than {MAX_CALLS}")) }
}

impl Session {
    /// Returns the requests whose answers this request contains. A request appears as often as its answer is contained.
    pub(crate) fn answers_in(&self, call: &Call) -> impl Iterator<Item = usize> {
        let places = match &call.prompt {
            CallPrompt::Messages(places) => places.as_slice(),
            CallPrompt::Blocks { .. } => &[],
        };
        let answer = |it: &u32| self.messages.get(*it as usize)?.answer_of;
        places.iter().filter_map(answer).map(|it| it as usize)
    }

    fn set_answer_uses(&mut self) {
        let mut uses = vec![0; self.calls.len()];
        for answer in self.calls.iter().flat_map(|it| self.answers_in(it)) {
            uses[answer] += 1;
        }
        self.answer_uses = uses;
    }

    fn bytes(&self) -> usize {
        let prompts: usize = self.calls.iter().map(|it| it.prompt.bytes() + it.fields.len()).sum();
        prompts + self.messages.iter().map(Message::bytes).sum::<usize>()
    }
}

impl CallPrompt {
    /// Returns the prompt length in tokens; `None` if it is unknown.
    pub(crate) fn tokens(&self) -> Option<u32> {
        match self {
            CallPrompt::Messages(_) => None,
            CallPrompt::Blocks { tokens, .. } => Some(*tokens),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            CallPrompt::Messages(places) => places.len() * size_of::<u32>(),
            CallPrompt::Blocks { hashes, .. } => hashes.len() * size_of::<u64>(),
        }
    }
}

/// Returns the files, in order.
fn paths(files: &RecordedFiles) -> Result<Vec<PathBuf>, RecordedError> {
    let mut paths = Vec::new();
    match files {
        RecordedFiles::Folder(folder) => {
            paths = listed(folder, |name| {
                let extension = Path::new(name).extension().map(|it| it.to_ascii_lowercase());
                extension.is_some_and(|it| it == "json" || it == "jsonl")
            })?;
        }
        RecordedFiles::Files(files) => {
            for file in files {
                let path = match file {
                    FileSource::Path(path) => path,
                    FileSource::Url(_) => return Err(RecordedError::NotDownloaded(file.shown())),
                };
                match path.file_name().and_then(|it| it.to_str()).filter(|it| it.contains(['*', '?'])) {
                    Some(pattern) => {
                        let folder = path.parent().unwrap_or(Path::new("."));
                        paths.extend(listed(folder, |name| matches(pattern.as_bytes(), name.as_bytes()))?);
                    }
                    None => paths.push(path.clone()),
                }
            }
        }
    }
    if paths.len() > MAX_FILES {
        return Err(RecordedError::TooMany { what: format!("{MAX_FILES} files") });
    }
    Ok(paths)
}

/// Returns the files in a folder whose names `passes` accepts, sorted by name.
fn listed(folder: &Path, passes: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, RecordedError> {
    let failed = |source| RecordedError::Read { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)?.take(2 * MAX_FILES) {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_str().is_some_and(&passes) {
            paths.push(entry.path());
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Whether a name matches a pattern with `*` and `?`.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // `star` is the pattern position after the last star, and the position in the name up to which that star matches.
    let (mut at, mut place, mut star) = (0, 0, None);
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, place));
                at += 1;
            }
            Some(letter) if *letter == b'?' || *letter == name[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((after, from)) = star else { return false };
                star = Some((after, from + 1));
                (at, place) = (after, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|it| *it == b'*')
}

#[cfg(test)]
mod tests;
