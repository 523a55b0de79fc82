//! Writes and reads the accuracy log, mlperf_log_accuracy.json: one answer per line, in order of completion.
//!
//! For language models, the data of an answer is the ids of its output tokens, each a little-endian 32-bit integer. Writer and reader keep only one
//! answer in memory, because a log can have a gigabyte.

use std::io::{self, BufRead, Read as _, Write};

use serde::Deserialize;

/// Maximum length of a line, in bytes: the hexadecimal digits of two million tokens.
const MAX_LINE: u64 = 16 << 20;

/// One answer in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccuracyEntry {
    /// The sequence number of the sample. Numbers continue over the phases of a test.
    pub seq_id: u64,
    /// Index of the sample in the library.
    pub qsl_idx: u64,
    /// The data of the answer.
    pub data: Vec<u8>,
    /// The data of the first token; `None` in Offline, and if token latencies are not used.
    pub token_data: Option<Vec<u8>>,
    /// Number of output tokens; `None` if they are not counted.
    pub token_count: Option<i64>,
}

/// Converts token ids to the format of the log.
pub fn bytes_of(tokens: &[i32]) -> Vec<u8> {
    tokens.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// Writes a log. The log is complete after [`Writer::finish`].
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    entries: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a log.
    ///
    /// # Errors
    /// Writing to `out` fails. All other methods can fail for the same reason.
    pub fn new(mut out: W) -> io::Result<Writer<W>> {
        out.write_all(b"[")?;
        Ok(Writer { out, entries: 0 })
    }

    /// Appends an answer.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn add(&mut self, entry: &AccuracyEntry) -> io::Result<()> {
        let separator = if self.entries == 0 { "\n" } else { ",\n" };
        self.entries += 1;
        let AccuracyEntry { seq_id, qsl_idx, data, token_data, token_count } = entry;
        write!(self.out, "{separator}{{ \"seq_id\" : {seq_id}, \"qsl_idx\" : {qsl_idx}, \"data\" : \"")?;
        self.hex(data)?;
        if let Some(token_data) = token_data {
            self.out.write_all(b"\", \"token_data\" : \"")?;
            self.hex(token_data)?;
        }
        match token_count {
            Some(token_count) => write!(self.out, "\", \"token_count\" : {token_count} }}"),
            None => self.out.write_all(b"\" }"),
        }
    }

    /// Ends the log. Returns the number of answers in it.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn finish(mut self) -> io::Result<u64> {
        self.out.write_all(b"\n]\n")?;
        self.out.flush()?;
        Ok(self.entries)
    }

    fn hex(&mut self, bytes: &[u8]) -> io::Result<()> {
        const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
        let mut digits = [0; 512];
        for bytes in bytes.chunks(digits.len() / 2) {
            for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
                pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            }
            self.out.write_all(&digits[..2 * bytes.len()])?;
        }
        Ok(())
    }
}

/// The reason why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The reader returned an error.
    #[error("cannot read the accuracy log")]
    Read(#[from] io::Error),
    /// A line is not an answer.
    #[error("line {line} of the accuracy log is no answer ({found}); give the log as it was written, an answer a line")]
    Line {
        /// Line number, from 1.
        line: u64,
        /// What is wrong with the line.
        found: String,
    },
    /// A line is too long.
    #[error(
        "line {line} of the accuracy log is longer than {MAX_LINE} bytes; give the log as it was written, an answer a line"
    )]
    TooLong {
        /// Line number, from 1.
        line: u64,
    },
    /// The end of the log is missing.
    #[error("the accuracy log ends before its closing bracket, after line {line}; give the whole log")]
    Cut {
        /// Line number, from 1.
        line: u64,
    },
}

/// Returns an iterator over the answers of a log. An error ends it.
pub fn read(input: impl BufRead) -> impl Iterator<Item = Result<AccuracyEntry, ReadError>> {
    let mut reader = Reader { input, line: 0, place: Place::Before };
    std::iter::from_fn(move || {
        let next = reader.next_entry();
        if !matches!(next, Ok(Some(_))) {
            reader.place = Place::After;
        }
        next.transpose()
    })
}

struct Reader<R> {
    input: R,
    line: u64,
    place: Place,
}

#[derive(PartialEq)]
enum Place {
    Before,
    Within,
    After,
}

/// An entry as it is in the file.
#[derive(Deserialize)]
struct Raw {
    seq_id: u64,
    qsl_idx: u64,
    data: String,
    token_data: Option<String>,
    token_count: Option<i64>,
}

impl<R: BufRead> Reader<R> {
    fn next_entry(&mut self) -> Result<Option<AccuracyEntry>, ReadError> {
        while self.place != Place::After {
            let mut bytes = Vec::new();
            let read = (&mut self.input).take(MAX_LINE).read_until(b'\n', &mut bytes)? as u64;
            if read == 0 {
                return Err(ReadError::Cut { line: self.line });
            }
            self.line += 1;
            if read == MAX_LINE && bytes.last() != Some(&b'\n') {
                return Err(ReadError::TooLong { line: self.line });
            }
            let mut text = str::from_utf8(&bytes).map_err(|error| self.no_answer(&error))?.trim();
            if self.place == Place::Before && !text.is_empty() {
                text = text.strip_prefix('[').ok_or_else(|| self.no_answer(&"no opening bracket"))?.trim_start();
                self.place = Place::Within;
            }
            if let Some(before) = text.strip_suffix(']') {
                text = before.trim_end();
                self.place = Place::After;
            }
            let text = text.strip_suffix(',').unwrap_or(text).trim();
            if !text.is_empty() {
                return self.entry(text).map(Some);
            }
        }
        Ok(None)
    }

    fn entry(&self, text: &str) -> Result<AccuracyEntry, ReadError> {
        let raw: Raw = serde_json::from_str(text).map_err(|error| self.no_answer(&error))?;
        let bytes = |field: &str, hex: &str| {
            unhex(hex).ok_or_else(|| self.no_answer(&format!("{field} is no even number of hexadecimal digits")))
        };
        Ok(AccuracyEntry {
            seq_id: raw.seq_id,
            qsl_idx: raw.qsl_idx,
            data: bytes("data", &raw.data)?,
            token_data: raw.token_data.map(|it| bytes("token_data", &it)).transpose()?,
            token_count: raw.token_count,
        })
    }

    fn no_answer(&self, found: &dyn ToString) -> ReadError {
        ReadError::Line { line: self.line, found: found.to_string() }
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |it: u8| char::from(it).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(entries: &[AccuracyEntry]) -> String {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out).unwrap();
        entries.iter().for_each(|it| writer.add(it).unwrap());
        assert_eq!(writer.finish().unwrap(), entries.len() as u64);
        String::from_utf8(out).unwrap()
    }

    fn error(text: &str) -> String {
        let found: Vec<_> = read(text.as_bytes()).collect();
        found.last().unwrap().as_ref().unwrap_err().to_string()
    }

    #[test]
    fn the_forms_are_those_of_loadgen() {
        let plain = AccuracyEntry { qsl_idx: 4, data: vec![4, 0, 0, 0xAB], ..AccuracyEntry::default() };
        let offline = AccuracyEntry { token_count: Some(12), seq_id: 1, ..plain.clone() };
        let streamed = AccuracyEntry { token_data: Some(vec![4, 0]), seq_id: 2, ..offline.clone() };
        let expected = r#"[
{ "seq_id" : 0, "qsl_idx" : 4, "data" : "040000AB" },
{ "seq_id" : 1, "qsl_idx" : 4, "data" : "040000AB", "token_count" : 12 },
{ "seq_id" : 2, "qsl_idx" : 4, "data" : "040000AB", "token_data" : "0400", "token_count" : 12 }
]
"#;
        assert_eq!(written(&[plain, offline, streamed]), expected);
        assert_eq!(written(&[]), "[\n]\n");
    }

    #[test]
    fn token_ids_are_little_endian() {
        assert_eq!(bytes_of(&[128_009, -1]), [0x09, 0xF4, 0x01, 0x00, 0xFF, 0xFF, 0xFF, 0xFF]);
    }

    #[test]
    fn what_is_no_log_is_refused_with_its_line() {
        assert!(error("").contains("ends before its closing bracket, after line 0"));
        assert!(error("[\n").contains("after line 1"));
        assert!(error("hello\n").starts_with("line 1 of the accuracy log is no answer (no opening bracket)"));
        assert!(error("[\n{ \"seq_id\" : 0 }\n]\n").contains("line 2"));
        let odd = "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 0, \"data\" : \"0\" }\n]\n";
        assert!(error(odd).contains("data is no even number of hexadecimal digits"));
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let endless = io::Cursor::new(b"[").chain(io::repeat(b' '));
        let found: Vec<_> = read(io::BufReader::new(endless)).collect();
        assert!(matches!(found.as_slice(), [Err(ReadError::TooLong { line: 1 })]));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            entries in prop::collection::vec((
                any::<u64>(), any::<u64>(), any::<Vec<u8>>(), any::<Option<Vec<u8>>>(), any::<Option<i64>>(),
            ), 0..20),
        ) {
            let entries: Vec<AccuracyEntry> = entries
                .into_iter()
                .map(|(seq_id, qsl_idx, data, token_data, token_count)| {
                    AccuracyEntry { seq_id, qsl_idx, data, token_data, token_count }
                })
                .collect();
            let back: Result<Vec<_>, _> = read(written(&entries).as_bytes()).collect();
            prop_assert_eq!(back.unwrap(), entries);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in any::<Vec<u8>>()) {
            prop_assert!(read(text.as_slice()).count() <= text.len() + 1);
        }
    }
}
