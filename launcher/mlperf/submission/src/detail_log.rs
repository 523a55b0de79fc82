//! Parses mlperf_log_detail.txt of any LoadGen, line by line and with limits. If a key is repeated, the first value counts, as in MLPerf's
//! checker.

use std::{
    collections::HashMap,
    io::{self, BufRead, Read as _},
};

use serde::Deserialize;
use serde_json::Value;

/// Maximum length of a line, in bytes. The longest line that LoadGen writes lists the samples of a set, with half a million characters.
const MAX_LINE: u64 = 4 << 20;
/// Maximum number of different keys. LoadGen has about 150.
const MAX_KEYS: usize = 2_000;
/// Maximum length of a key, in bytes. No rule needs longer keys.
const MAX_KEY: usize = 256;
/// Maximum length of a value, in bytes. No rule needs longer values.
const MAX_TEXT: usize = 16 << 10;
const MARKER: &str = ":::MLLOG";

/// The content of a detail log.
#[derive(Clone, Debug, Default)]
pub(super) struct DetailLog {
    values: HashMap<String, Value>,
    /// Whether the first line lacks the marker.
    pub(super) unmarked: bool,
    /// The first line that is not valid JSON, and its error.
    pub(super) bad_line: Option<(u64, String)>,
    /// Number of lines that are marked as errors.
    pub(super) errors: u64,
    /// The first line that is marked as an error: its number and its text.
    pub(super) first_error: Option<(u64, String)>,
    /// Whether an audit.config was applied.
    pub(super) audited: bool,
}

/// The reason why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    #[error("a file that cannot be read ({0})")]
    Read(#[from] io::Error),
    #[error("a line {line} of more than {MAX_LINE} bytes")]
    TooLong { line: u64 },
    #[error("more than {MAX_KEYS} different keys")]
    TooManyKeys,
}

#[derive(Deserialize)]
struct Entry {
    key: String,
    value: Value,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    is_error: bool,
}

impl DetailLog {
    pub(super) fn read(mut input: impl BufRead) -> Result<DetailLog, LogError> {
        let mut log = DetailLog::default();
        let mut bytes = Vec::new();
        for line in 1_u64.. {
            bytes.clear();
            let read = (&mut input).take(MAX_LINE).read_until(b'\n', &mut bytes)? as u64;
            if read == 0 {
                break;
            }
            if read == MAX_LINE && bytes.last() != Some(&b'\n') {
                return Err(LogError::TooLong { line });
            }
            let text = match str::from_utf8(&bytes) {
                Ok(text) => text,
                Err(error) => {
                    log.bad_line.get_or_insert((line, error.to_string()));
                    continue;
                }
            };
            log.unmarked |= line == 1 && !text.starts_with(MARKER);
            let Some(json) = text.trim().strip_prefix(MARKER) else { continue };
            match entry(json.trim()) {
                Ok(entry) => log.add(line, entry)?,
                Err(error) => {
                    log.bad_line.get_or_insert((line, error.to_string()));
                }
            }
        }
        Ok(log)
    }

    fn add(&mut self, line: u64, entry: Entry) -> Result<(), LogError> {
        let shown = shown(&entry.value);
        if entry.metadata.is_error {
            self.errors += 1;
            self.first_error.get_or_insert_with(|| (line, format!("{}: {shown}", entry.key)));
        }
        self.audited |= entry.key == "warning_generic_message" && shown.contains("Audit Config");
        if entry.key.len() > MAX_KEY || self.values.contains_key(&entry.key) {
            return Ok(());
        }
        if self.values.len() == MAX_KEYS {
            return Err(LogError::TooManyKeys);
        }
        // Lists and long texts are dropped, because no rule needs them.
        let value = match entry.value {
            Value::Array(_) | Value::Object(_) => Value::Null,
            Value::String(text) if text.len() > MAX_TEXT => Value::Null,
            other => other,
        };
        self.values.insert(entry.key, value);
        Ok(())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.as_str()
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.values.get(key)?.as_bool()
    }

    pub(super) fn whole(&self, key: &str) -> Option<u64> {
        self.values.get(key)?.as_u64()
    }

    /// Returns a number, which can be infinite; `None` if the key is missing or has another value.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        match self.values.get(key)? {
            Value::String(text) if NO_JSON.contains(&text.as_str()) => text.parse().ok(),
            other => other.as_f64(),
        }
    }

    /// Returns the value of a key as text for people.
    pub(super) fn shown(&self, key: &str) -> String {
        self.values.get(key).map_or_else(|| "nothing".into(), shown)
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "no such value".into(),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => "a list".into(),
        other => other.to_string(),
    }
}

/// Values that Python's JSON reader accepts, but that are not JSON.
const NO_JSON: [&str; 3] = ["Infinity", "-Infinity", "NaN"];

fn entry(json: &str) -> serde_json::Result<Entry> {
    let parsed = serde_json::from_str(json);
    let Err(error) = parsed else { return parsed };
    let mended = NO_JSON.iter().find_map(|name| {
        let (before, after) = json.split_once(&format!("\"value\": {name},"))?;
        serde_json::from_str(&format!("{before}\"value\": \"{name}\",{after}")).ok()
    });
    mended.ok_or(error)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(key: &str, value: &str, error: bool) -> String {
        format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"metadata\": {{\"is_error\": {error}}}}}\n")
    }

    fn read(text: &str) -> DetailLog {
        DetailLog::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_first_value_of_a_key_counts() {
        let log = read(&(line("a", "1", false) + &line("a", "2", false)));
        assert_eq!((log.whole("a"), log.number("a"), log.text("a"), log.whole("b")), (Some(1), Some(1.0), None, None));
    }

    #[test]
    fn logs_of_loadgen_itself_are_read() {
        const RUN: &str = include_str!(
            "../../loadgen/tests/fixtures/loadgen-vectors/runs/server-submission-tok1/mlperf_log_detail.txt"
        );
        const AUDIT: &str =
            include_str!("../../loadgen/tests/fixtures/loadgen-vectors/runs/audit-test06-style/mlperf_log_detail.txt");
        let log = read(RUN);
        assert_eq!(log.text("effective_test_mode"), Some("SubmissionRun"));
        assert!(matches!(log.text("result_validity"), Some("VALID" | "INVALID")));
        assert!(log.number("result_completed_tokens_per_second").is_some_and(|it| it > 0.0));
        assert!(log.has("loaded_qsl_set") && !log.unmarked && log.bad_line.is_none() && !log.audited);
        let log = read(AUDIT);
        assert!(log.audited);
    }

    #[test]
    fn seeds_keep_all_their_bits() {
        let log = read(&line("seed", "16159082839903944936", false));
        assert_eq!(log.whole("seed"), Some(16_159_082_839_903_944_936));
    }

    #[test]
    fn errors_are_counted_and_the_first_is_told() {
        let log = read(&(line("a", "1", false) + &line("b", "\"x\"", true) + &line("c", "2", true)));
        assert_eq!((log.errors, log.first_error), (2, Some((2, "b: x".into()))));
    }

    #[test]
    fn what_python_reads_is_read_and_what_it_does_not_is_told() {
        let log = read(&(line("a", "Infinity", false) + &line("b", "NaN", false) + &line("c", "inf", false)));
        assert_eq!(log.number("a"), Some(f64::INFINITY));
        assert!(log.number("b").unwrap().is_nan());
        assert_eq!(log.bad_line.unwrap().0, 3);
        let log = DetailLog::read(&b":::MLLOG {\"key\": \"a\", \"value\": \"\xFF\"}\n"[..]).unwrap();
        assert_eq!(log.bad_line.unwrap().0, 1);
    }

    #[test]
    fn a_log_without_its_marker_is_told() {
        assert!(read("hello\n").unmarked);
        assert!(read(&format!(" {}", line("a", "1", false))).unmarked);
        assert!(!read(&(line("a", "1", false) + "hello\n")).unmarked);
    }

    #[test]
    fn logs_beyond_all_bounds_are_refused() {
        let endless = io::BufReader::new(io::repeat(b' '));
        assert!(matches!(DetailLog::read(endless), Err(LogError::TooLong { line: 1 })));
        let long = "k".repeat(MAX_KEY + 1);
        assert!(!read(&line(&long, "1", false)).has(&long));
        let many: String = (0..=MAX_KEYS).map(|it| line(&format!("k{it}"), "1", false)).collect();
        assert!(matches!(DetailLog::read(many.as_bytes()), Err(LogError::TooManyKeys)));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in any::<Vec<u8>>(), json in ".{0,40}") {
            prop_assert!(DetailLog::read(text.as_slice()).is_ok());
            let marked = format!("{MARKER}{json}\n");
            prop_assert!(DetailLog::read(marked.as_bytes()).is_ok());
        }
    }
}
