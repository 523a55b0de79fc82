//! [I/O] The log of a process: a file of limited size without secrets. It keeps the beginning and the end of the output.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Write as _},
    path::Path,
};

use crate::{order::LogEnd, redact::redact};

/// Maximum bytes that are kept of each line.
pub const MAX_LINE: usize = 64 << 10;
/// Maximum bytes that are kept of the beginning of a log. This part covers loading and compiling.
pub const START_KEPT: u64 = 48 << 20;
/// Maximum bytes that are kept of the end of a log that is too long. They are in memory until the process has ended.
pub const END_KEPT: usize = 4 << 20;
/// When a line is cut, its last word is dropped, up to this many bytes, because a part of a secret is not recognised as a secret. The beginning of a
/// longer word is still recognised if it looks like a token.
const CUT_WORD: usize = 4 << 10;
/// Number of last lines in a message.
const LAST_LINES: usize = 20;
/// Maximum characters of each such line.
const LAST_LINE_CHARS: usize = 400;

/// How much of a log is kept, in bytes.
#[derive(Clone, Copy)]
struct Bounds {
    line: usize,
    start: u64,
    end: usize,
}

/// The stream that a part of the output comes from. Lines of different streams are not mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output. If a process writes both streams to one pipe: both.
    Out,
    /// Standard error.
    Err,
}

/// A line that has not ended yet.
#[derive(Default)]
struct Open {
    /// The bytes of the line so far, up to the limit.
    line: Vec<u8>,
    /// Number of bytes in the line beyond the limit.
    left_out: u64,
}

/// The content of a log that is still being written.
pub(crate) struct SoFar {
    /// Number of bytes in the file.
    pub(crate) in_file: u64,
    /// The bytes after those in the file: the end of a log that is too long for the file.
    pub(crate) rest: Vec<u8>,
}

/// A log that is being written.
pub(crate) struct Log {
    bounds: Bounds,
    file: Option<File>,
    open: [Open; 2],
    /// Number of bytes in the file.
    written: u64,
    /// The end of the output, after the part that is in the file.
    end: VecDeque<u8>,
    end_left_out: u64,
    last: VecDeque<String>,
    told: LogEnd,
}

impl Log {
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn create(path: &Path) -> io::Result<Log> {
        Log::within(Bounds { line: MAX_LINE, start: START_KEPT, end: END_KEPT }, path)
    }

    fn within(bounds: Bounds, path: &Path) -> io::Result<Log> {
        Ok(Log {
            bounds,
            file: Some(File::create(path)?),
            open: [Open::default(), Open::default()],
            written: 0,
            end: VecDeque::new(),
            end_left_out: 0,
            last: VecDeque::new(),
            told: LogEnd::default(),
        })
    }

    /// Adds output of the process. After a write error, nothing more is written, but output is still read, so that the process never blocks.
    pub(crate) fn push(&mut self, stream: Stream, mut bytes: &[u8]) {
        self.told.bytes += bytes.len() as u64;
        // A progress bar ends its lines with a carriage return.
        while let Some(end) = bytes.iter().position(|it| *it == b'\n' || *it == b'\r') {
            self.add(stream, &bytes[..end]);
            self.end_line(stream, bytes[end]);
            bytes = &bytes[end + 1..];
        }
        self.add(stream, bytes);
    }

    fn add(&mut self, stream: Stream, part: &[u8]) {
        let open = &mut self.open[stream as usize];
        let room = self.bounds.line.saturating_sub(open.line.len());
        let kept = part.len().min(room);
        open.line.extend_from_slice(&part[..kept]);
        open.left_out += (part.len() - kept) as u64;
    }

    fn end_line(&mut self, stream: Stream, terminator: u8) {
        let Open { mut line, mut left_out } = std::mem::take(&mut self.open[stream as usize]);
        if left_out > 0 {
            // A part of a secret would not be recognised, so the last word of a cut line is dropped.
            let word = line.iter().rev().take(CUT_WORD).take_while(|it| !it.is_ascii_whitespace()).count();
            line.truncate(line.len() - word);
            left_out += word as u64;
        }
        let text = String::from_utf8_lossy(&line);
        let clean = redact(&text);
        self.told.redacted_lines += u64::from(clean != text);
        let mut line = clean.as_bytes().to_vec();
        if left_out > 0 {
            line.extend_from_slice(format!(" [{left_out} bytes of this line left out]").as_bytes());
        }
        let shown = String::from_utf8_lossy(&line).chars().take(LAST_LINE_CHARS).collect::<String>();
        let shown = crds::wording::one_line(shown.trim_end());
        if !shown.trim().is_empty() && !is_access_line(&shown) {
            // Keeps only the last lines.
            if self.last.len() == LAST_LINES {
                self.last.pop_front();
            }
            self.last.push_back(shown);
        }
        line.push(terminator);
        self.told.bytes_left_out += left_out;
        self.keep(&line);
    }

    fn keep(&mut self, line: &[u8]) {
        if self.end.is_empty() && self.end_left_out == 0 && self.written + line.len() as u64 <= self.bounds.start {
            self.written += line.len() as u64;
            self.write(line);
            return;
        }
        self.end.extend(line);
        let beyond = self.end.len().saturating_sub(self.bounds.end);
        self.end.drain(..beyond);
        self.end_left_out += beyond as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(bytes) {
            self.told.error = Some(format!("{error}; the rest of the log is lost"));
            self.file = None;
        }
    }

    /// The last lines, without secrets.
    pub(crate) fn last_words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.last.iter().cloned().collect();
        for open in &self.open {
            let text = redact(&String::from_utf8_lossy(&open.line)).chars().take(LAST_LINE_CHARS).collect::<String>();
            if !text.trim().is_empty() {
                words.push(crds::wording::one_line(&text));
            }
        }
        words
    }

    /// Describes what is missing from the log, or hidden in it, so far.
    pub(crate) fn about(&self) -> LogEnd {
        let mut about = self.told.clone();
        about.bytes_left_out += self.end_left_out;
        about
    }

    /// The contents so far, without incomplete lines.
    pub(crate) fn so_far(&self) -> SoFar {
        let mut rest = Vec::new();
        if self.end_left_out > 0 {
            rest.extend_from_slice(left_out_here(self.end_left_out).as_bytes());
        }
        rest.extend(&self.end);
        SoFar { in_file: self.written, rest }
    }

    /// Writes the end of the log to the file. Returns a description of the file.
    pub(crate) fn close(&mut self) -> LogEnd {
        for stream in [Stream::Out, Stream::Err] {
            let open = &self.open[stream as usize];
            if !open.line.is_empty() || open.left_out > 0 {
                self.end_line(stream, b'\n');
            }
        }
        if self.end_left_out > 0 {
            self.told.bytes_left_out += self.end_left_out;
            self.write(left_out_here(self.end_left_out).as_bytes());
        }
        let end: Vec<u8> = std::mem::take(&mut self.end).into();
        self.end_left_out = 0;
        self.write(&end);
        self.told.clone()
    }
}

fn left_out_here(bytes: u64) -> String {
    format!("[{bytes} bytes of the log left out here]\n")
}

/// Reads a pipe to its end, and passes each part to `take`.
pub(crate) fn read(mut pipe: impl Read, mut take: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => take(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Whether a line is an entry of uvicorn's access log, such as `"POST /v1/completions HTTP/1.1" 500 Internal Server Error`. After a crash, many such
/// lines follow the cause, which would then not be among the last lines.
fn is_access_line(line: &str) -> bool {
    let Some((before, after)) = line.split_once(" HTTP/1.") else { return false };
    let is_request = before.rsplit_once('"').is_some_and(|(_, request)| {
        let (method, path) = request.split_once(' ').unwrap_or_default();
        method.len() >= 3 && method.bytes().all(|it| it.is_ascii_uppercase()) && path.starts_with('/')
    });
    is_request && after.get(1..3) == Some("\" ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn log(parts: impl IntoIterator<Item = Vec<u8>>) -> (Vec<u8>, LogEnd, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let mut log = Log::create(&path).unwrap();
        parts.into_iter().for_each(|it| log.push(Stream::Out, &it));
        let words = log.last_words();
        let end = log.close();
        (fs::read(path).unwrap(), end, words)
    }

    #[test]
    fn the_last_words_have_no_lines_about_requests() {
        let mut text = b"EngineDeadError: EngineCore encountered an issue\n".to_vec();
        for _ in 0..50 {
            text.extend(b"INFO:     127.0.0.1:4 - \"POST /v1/completions HTTP/1.1\" 500 Internal Server Error\n");
        }
        let (written, _, words) = log([text.clone()]);
        assert_eq!(written, text);
        assert_eq!(words, ["EngineDeadError: EngineCore encountered an issue"]);
        assert!(!is_access_line("a request for /v1 over HTTP/1.1 was refused"));
    }

    #[test]
    fn a_log_is_written_as_it_is_however_it_is_cut() {
        let text = b"one\ntwo\r50%\r100%\n\nlast";
        for size in 1..text.len() {
            let (written, end, words) = log(text.chunks(size).map(<[u8]>::to_vec));
            assert_eq!(written, b"one\ntwo\r50%\r100%\n\nlast\n");
            assert_eq!(words, ["one", "two", "50%", "100%", "last"]);
            assert_eq!((end.bytes, end.bytes_left_out, end.redacted_lines), (text.len() as u64, 0, 0));
        }
    }

    #[test]
    fn a_line_of_a_gigabyte_is_cut_and_what_follows_is_there() {
        let part = vec![b'x'; 1 << 20];
        let parts = std::iter::repeat_n(part, 1024).chain([b"\nafter\n".to_vec()]);
        let (written, end, words) = log(parts);
        let text = String::from_utf8(written).unwrap();
        let left_out = (1_u64 << 30) - (MAX_LINE - CUT_WORD) as u64;
        assert!(
            text.ends_with(&format!(" [{left_out} bytes of this line left out]\nafter\n")),
            "{}",
            &text[text.len() - 90..]
        );
        assert_eq!((end.bytes_left_out, end.bytes), (left_out, (1 << 30) + 7));
        assert_eq!(words.last().unwrap(), "after");
        assert!(words.iter().all(|it| it.len() <= LAST_LINE_CHARS));
    }

    #[test]
    fn of_a_log_without_end_the_start_and_the_end_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let mut log = Log::within(Bounds { line: 100, start: 1000, end: 300 }, &path).unwrap();
        (0..700_u64).for_each(|number| log.push(Stream::Out, format!("{number:099}\n").as_bytes()));
        let end = log.close();
        let text = fs::read_to_string(path).unwrap();
        let line = |number: u64| format!("{number:099}\n");
        let start: String = (0..10).map(line).collect();
        let kept_end: String = (697..700).map(line).collect();
        let left_out = 687 * 100;
        assert_eq!(text, format!("{start}[{left_out} bytes of the log left out here]\n{kept_end}"));
        assert_eq!((end.bytes, end.bytes_left_out), (70_000, left_out));
    }

    #[test]
    fn a_log_can_be_read_while_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let mut log = Log::within(Bounds { line: 100, start: 20, end: 10 }, &path).unwrap();
        let read = |log: &Log| {
            let SoFar { in_file, rest } = log.so_far();
            let mut text = fs::read(&path).unwrap();
            assert_eq!(text.len() as u64, in_file);
            text.extend(rest);
            (String::from_utf8(text).unwrap(), log.about().bytes_left_out)
        };
        log.push(Stream::Out, b"first li");
        log.push(Stream::Err, b"other\n");
        assert_eq!(read(&log), ("other\n".to_owned(), 0));
        log.push(Stream::Out, b"ne\n");
        assert_eq!(read(&log), ("other\nfirst line\n".to_owned(), 0));
        log.push(Stream::Out, b"third line\nlast line\n");
        let note = "[11 bytes of the log left out here]\n";
        assert_eq!(read(&log), (format!("other\nfirst line\n{note}last line\n"), 11));
    }

    #[test]
    fn secrets_are_in_neither_the_file_nor_the_last_words() {
        let secret = "hf_abcdefghijklmnopqrstuv";
        let (written, end, words) = log([format!("a {secret}\nb\nopen {secret}").into_bytes()]);
        assert!(!String::from_utf8(written).unwrap().contains(secret) && !words.concat().contains(secret), "{words:?}");
        assert_eq!(end.redacted_lines, 2);
    }

    #[test]
    fn a_secret_at_the_bound_of_a_line_is_not_cut_into_something_that_looks_like_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        for (secret, shown) in [
            ("hf_abcdefghijklmnopqrstuv", ""),
            ("http://me:pw12word@host.example", ""),
            ("password=\"first second\"", "password=\"<redacted>"),
        ] {
            let line = format!("words before {secret} words behind\n");
            for bound in 14..13 + secret.len() {
                let mut log = Log::within(Bounds { line: bound, start: 1000, end: 300 }, &path).unwrap();
                log.push(Stream::Out, line.as_bytes());
                let end = log.close();
                let text = fs::read_to_string(&path).unwrap();
                let (kept, _) = text.split_once(" [").unwrap();
                let kept = kept.strip_prefix("words before ").unwrap();
                assert!(kept.is_empty() || kept == shown, "{bound}: {kept}");
                assert!(text.ends_with(&format!(" [{} bytes of this line left out]\n", end.bytes_left_out)), "{text}");
            }
        }
    }

    #[test]
    fn a_full_disk_does_not_stop_the_reading() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            return;
        }
        let mut log = Log::create(full).unwrap();
        log.push(Stream::Out, b"one\n");
        log.push(Stream::Out, b"two\n");
        let end = log.close();
        assert!(end.error.unwrap().contains("the rest of the log is lost"));
        assert_eq!((end.bytes, log.last_words()), (8, vec!["one".to_owned(), "two".to_owned()]));
    }
}
