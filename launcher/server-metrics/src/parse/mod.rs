//! Parses Prometheus text (format 0.0.4) and OpenMetrics text (1.0) to samples. Pure.
//!
//! Parsing is lenient: lines that cannot be read are counted and skipped. Timestamps and exemplars from the server are ignored, because samples get
//! their time from the launcher's clock. Types and help texts are ignored too, because [`crate::families`] knows the meaning of names. A last line
//! without a line feed is skipped, because its number can be cut off. Source: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

mod labels;
#[cfg(test)]
mod tests;

pub use labels::{Label, labels};

/// Maximum length of a name with its labels, in bytes. The longest ones of vLLM have about 1,500 bytes.
pub const MAX_SERIES_BYTES: usize = 8 << 10;
/// Maximum length of a metric name, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// One value of one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// The name of the metric, with its suffix such as `_total` or `_bucket`.
    pub name: &'a str,
    /// The text between the braces, for [`labels`]; empty if there are no labels.
    pub labels: &'a str,
    /// The value, which can be infinite or NaN.
    pub value: f64,
}

/// Statistics about a text that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of samples with a wanted name.
    pub samples: usize,
    /// Number of samples with another name.
    pub unwanted: usize,
    /// Number of lines that could not be read.
    pub bad: usize,
}

/// Calls `each` for every sample with a wanted name, in the order of the text. Stops when `each` returns `false`.
pub fn scan<'a>(text: &'a [u8], wanted: impl Fn(&str) -> bool, mut each: impl FnMut(Sample<'a>) -> bool) -> Counts {
    let mut counts = Counts::default();
    let mut rest = text;
    while let Some(end) = rest.iter().position(|it| *it == b'\n') {
        let line = rest[..end].trim_ascii();
        rest = &rest[end + 1..];
        match line.first() {
            None => continue,
            Some(b'#') if is_end(line) => return counts,
            Some(b'#') => continue,
            Some(_) => {}
        }
        match read(line, &wanted) {
            Line::Sample(sample) => {
                counts.samples += 1;
                if !each(sample) {
                    return counts;
                }
            }
            Line::Unwanted => counts.unwanted += 1,
            Line::Bad => counts.bad += 1,
        }
    }
    counts.bad += usize::from(!rest.trim_ascii().is_empty() && !is_end(rest.trim_ascii()));
    counts
}

/// Whether this is the last line of an OpenMetrics text.
fn is_end(line: &[u8]) -> bool {
    line.strip_prefix(b"#").is_some_and(|it| it.trim_ascii() == b"EOF")
}

enum Line<'a> {
    Sample(Sample<'a>),
    Unwanted,
    Bad,
}

fn read<'a>(line: &'a [u8], wanted: &impl Fn(&str) -> bool) -> Line<'a> {
    let is_name = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b':');
    let name_end = line.iter().position(|it| !is_name(it)).unwrap_or(line.len());
    let name = &line[..name_end];
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name[0].is_ascii_digit() {
        return Line::Bad;
    }
    let Ok(name) = str::from_utf8(name) else { return Line::Bad };
    let rest = line[name_end..].trim_ascii_start();
    let (labels, rest) = match rest.strip_prefix(b"{") {
        None => (&rest[..0], rest),
        Some(inner) => match closing_brace(inner) {
            Some(end) => (&inner[..end], &inner[end + 1..]),
            None => return Line::Bad,
        },
    };
    let Some((value, rest)) = number(rest) else { return Line::Bad };
    // After the value, only a timestamp and an exemplar are allowed. Without this rule, a line of a web page such as `margin 0 auto` would be a
    // sample.
    let rest = number(rest).map_or(rest, |(_, rest)| rest).trim_ascii_start();
    if !rest.is_empty() && rest[0] != b'#' {
        return Line::Bad;
    }
    if !wanted(name) {
        return Line::Unwanted;
    }
    match str::from_utf8(labels) {
        Ok(labels) => Line::Sample(Sample { name, labels, value }),
        Err(_) => Line::Bad,
    }
}

/// Splits a text into the number at its start and the rest.
fn number(text: &[u8]) -> Option<(f64, &[u8])> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    Some((str::from_utf8(&text[..end]).ok()?.parse().ok()?, &text[end..]))
}

/// The value of the first sample with this name and without labels. This is fast, because it compares only the start of each line.
pub fn value_of(text: &[u8], name: &str) -> Option<f64> {
    let mut lines = text.split_inclusive(|it| *it == b'\n').filter_map(|it| it.strip_suffix(b"\n"));
    lines.find_map(|line| {
        let rest = line.strip_prefix(name.as_bytes())?;
        rest.first().is_some_and(u8::is_ascii_whitespace).then(|| number(rest))?.map(|(value, _)| value)
    })
}

/// The position of the closing brace. Ignores braces within quotes. `None` if there is none within [`MAX_SERIES_BYTES`].
fn closing_brace(text: &[u8]) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (place, byte) in text.iter().take(MAX_SERIES_BYTES).enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return Some(place),
            _ => {}
        }
    }
    None
}
