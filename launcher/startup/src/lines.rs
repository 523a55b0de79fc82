//! Reads the lines of a log of any length with limited memory.

use std::io::{self, BufRead};

/// Maximum bytes of a line that are read. The longest relevant line contains the settings of the engine: 5 KB in vLLM 0.32, 16 KB in SGLang.
pub const MAX_LINE: usize = 64 << 10;

/// A line of a log, without its line end.
pub(crate) struct RawLine {
    /// The number of the line in the file, from 1. The states of a progress bar end with a carriage return and all have the same number.
    pub number: u64,
    pub text: String,
    /// Whether the line was longer than [`MAX_LINE`].
    pub is_cut: bool,
}

/// Reads lines one by one. A carriage return ends a line too, because progress bars use it.
pub(crate) struct Lines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Self {
        Lines { input, number: 1 }
    }

    /// Returns the next line that is not empty; `None` at the end of the log.
    pub fn next(&mut self) -> io::Result<Option<RawLine>> {
        let mut line = Vec::new();
        let mut is_cut = false;
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let room = MAX_LINE - line.len();
            is_cut |= part.len() > room;
            line.extend_from_slice(&part[..part.len().min(room)]);
            let (at_end, ended) = (bytes.is_empty(), end.map(|it| bytes[it]));
            let used = part.len() + usize::from(ended.is_some());
            self.input.consume(used);
            if !at_end && ended.is_none() {
                continue;
            }
            let number = self.number;
            self.number += u64::from(ended == Some(b'\n'));
            if !line.is_empty() {
                return Ok(Some(RawLine { number, text: String::from_utf8_lossy(&line).into_owned(), is_cut }));
            }
            if at_end {
                return Ok(None);
            }
        }
    }
}
