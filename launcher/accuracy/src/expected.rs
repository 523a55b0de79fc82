//! Reads what was expected out of a data set in JSON: an array of objects, or an object a line. Pure over its reader.
//!
//! The file is read as a stream, and of each row only two columns are kept: the rest, as its hundreds of tokens a line each, takes no memory.

use std::{
    fmt,
    io::{self, BufRead, Read},
};

use serde::de::{DeserializeSeed, Deserializer as _, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::{benchmark::Benchmark, sample::Expected};

/// Why a data set cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ExpectedError {
    /// As the source says.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// It is no JSON of this form, or a row lacks a column.
    #[error(
        "cannot be used: {0}; give the data set of the benchmark as JSON: an array of objects, or an object a line"
    )]
    Json(#[from] serde_json::Error),
}

/// The rows of a data set, in the order of the file. `column`: the one of the expected text; `None`: the first that is there of those that
/// the benchmark knows. A row without the column of the expected text is an error that lists its columns.
///
/// # Errors
/// The reader fails; the content is none of the two forms; a row lacks a column, or has no text or number in it.
pub fn read(
    mut input: impl BufRead,
    benchmark: Benchmark,
    column: Option<&str>,
) -> Result<Vec<Expected>, ExpectedError> {
    let first = first_sign(&mut input)?;
    let rows = Rows { benchmark, column };
    if first == Some(b'[') {
        let mut json = serde_json::Deserializer::from_reader(input);
        let found = json.deserialize_seq(rows)?;
        json.end()?;
        return Ok(found);
    }
    let mut found = Vec::new();
    let mut json = serde_json::Deserializer::from_reader(input);
    // A stream of values; white space between them is skipped.
    while json.end().is_err() {
        found.push(Row { benchmark, column, number: found.len() }.deserialize(&mut json)?);
    }
    Ok(found)
}

/// The first byte after white space and a byte-order mark, which are skipped.
fn first_sign(input: &mut impl BufRead) -> io::Result<Option<u8>> {
    if input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        input.consume(3);
    }
    loop {
        let buffer = input.fill_buf()?;
        let Some(first) = buffer.first().copied() else { return Ok(None) };
        if !first.is_ascii_whitespace() {
            return Ok(Some(first));
        }
        input.consume(1);
    }
}

struct Rows<'a> {
    benchmark: Benchmark,
    column: Option<&'a str>,
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = Vec<Expected>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Vec<Expected>, A::Error> {
        let mut found = Vec::new();
        while let Some(row) =
            rows.next_element_seed(Row { benchmark: self.benchmark, column: self.column, number: found.len() })?
        {
            found.push(row);
        }
        Ok(found)
    }
}

#[derive(Clone, Copy)]
struct Row<'a> {
    benchmark: Benchmark,
    column: Option<&'a str>,
    /// From 0.
    number: usize,
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = Expected;

    fn deserialize<D: serde::Deserializer<'de>>(self, row: D) -> Result<Expected, D::Error> {
        row.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = Expected;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object as row {}", self.number)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut columns: A) -> Result<Expected, A::Error> {
        let own: Option<[&str; 1]> = self.column.map(|it| [it]);
        let expected = own.as_ref().map_or(self.benchmark.expected_columns(), |it| it.as_slice());
        let wanted = [expected, self.benchmark.kind_columns()];
        // The place of the column in its list, and its content: the lowest place counts.
        let mut found: [Option<(usize, String)>; 2] = [None, None];
        let mut others = Vec::new();
        while let Some(name) = columns.next_key::<String>()? {
            let place = |list: &[&str]| list.iter().position(|it| *it == name);
            match wanted.iter().enumerate().find_map(|(role, list)| Some((role, place(list)?))) {
                Some((role, place)) => {
                    let content = columns.next_value_seed(Content { row: self.number, name: &name })?;
                    if found[role].as_ref().is_none_or(|(before, _)| place < *before) {
                        found[role] = Some((place, content));
                    }
                }
                None => {
                    columns.next_value::<IgnoredAny>()?;
                    others.push(name);
                }
            }
        }
        let [text, kind] = found;
        let lacks = |list: &[&str]| {
            A::Error::custom(format!(
                "row {} has no column {}; it has {}",
                self.number,
                list.join(" or "),
                others.join(", ")
            ))
        };
        let (_, text) = text.ok_or_else(|| lacks(wanted[0]))?;
        let (place, mut kind) = match kind {
            Some(it) => it,
            None if wanted[1].is_empty() => (0, String::new()),
            None => return Err(lacks(wanted[1])),
        };
        if self.benchmark == Benchmark::DeepseekR1 && place > 0 {
            // The reference makes the name of a data set of that of a metric.
            kind = kind.replace("_em", "").replace('_', "");
        }
        Ok(Expected { text, kind })
    }
}

/// A text; a number as its text; null as none.
struct Content<'a> {
    row: usize,
    name: &'a str,
}

impl<'de> DeserializeSeed<'de> for Content<'_> {
    type Value = String;

    fn deserialize<D: serde::Deserializer<'de>>(self, value: D) -> Result<String, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Content<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text or a number in the column {} of row {}", self.name, self.row)
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_u64<E>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_i64<E>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E>(self, number: f64) -> Result<String, E> {
        Ok(crate::figures::text(number))
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok(String::new())
    }
}

/// As [`read`], of a reader that is not buffered.
///
/// # Errors
/// As [`read`].
pub fn read_unbuffered(
    input: impl Read,
    benchmark: Benchmark,
    column: Option<&str>,
) -> Result<Vec<Expected>, ExpectedError> {
    read(io::BufReader::with_capacity(1 << 18, input), benchmark, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(benchmark: Benchmark, text: &str) -> Vec<(String, String)> {
        read(text.as_bytes(), benchmark, None).unwrap().into_iter().map(|it| (it.kind, it.text)).collect()
    }

    fn check_error(benchmark: Benchmark, text: &str, part: &str) {
        let error = read(text.as_bytes(), benchmark, None).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn arrays_and_lines_are_read() {
        let of = |text: &str| (String::new(), text.to_owned());
        let array = "\u{feff} [{\"input\": [1, {\"a\": 2}], \"output\": \"x\"},\n{\"output\": 5}]\n";
        assert_eq!(rows(Benchmark::Llama3_1_8b, array), [of("x"), of("5")]);
        let lines = "{\"output\": \"x\"}\n\n{\"output\": null}\n";
        assert_eq!(rows(Benchmark::Llama3_1_8b, lines), [of("x"), of("")]);
        assert!(rows(Benchmark::Llama3_1_8b, "").is_empty());
    }

    #[test]
    fn the_first_of_several_columns_counts() {
        let text = r#"[{"ground_truth": "g", "metric": "a_em", "gt_output": "t"}]"#;
        assert_eq!(rows(Benchmark::DeepseekR1, text), [("a".to_owned(), "t".to_owned())]);
    }

    #[test]
    fn a_column_may_be_named() {
        let text = r#"[{"output": "o", "summary": "s"}]"#;
        let found = read(text.as_bytes(), Benchmark::Llama3_1_8b, Some("summary")).unwrap();
        assert_eq!(found[0].text, "s");
        let error = read(text.as_bytes(), Benchmark::Llama3_1_8b, Some("other")).unwrap_err().to_string();
        assert!(error.contains("row 0 has no column other; it has output, summary"), "{error}");
    }

    #[test]
    fn a_missing_column_is_named_with_those_that_there_are() {
        let text = r#"[{"output": "a"}, {"input": "b", "id": 1}]"#;
        check_error(Benchmark::Llama3_1_8b, text, "row 1 has no column output; it has input, id");
        check_error(Benchmark::GptOss120b, r#"{"ground_truth": "a"}"#, "row 0 has no column dataset");
    }

    #[test]
    fn other_forms_are_refused() {
        check_error(Benchmark::Llama3_1_8b, "[1]", "an object as row 0");
        check_error(Benchmark::Llama3_1_8b, r#"[{"output": [1]}]"#, "a text or a number in the column output of row 0");
        check_error(Benchmark::Llama3_1_8b, r#"[{"output": "a"}"#, "EOF");
        check_error(Benchmark::Llama3_1_8b, "PAR1", "an array of objects, or an object a line");
    }
}
