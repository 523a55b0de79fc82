//! Reads a data set in JSON: an array of objects, or one object per line.

use std::{cell::Cell, fmt, io::BufRead};

use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use serde_json::{Deserializer, error::Category};

use super::{
    DataSetError,
    sink::{RowSink, Seed, no_utf8},
};
use files::lines::{Bounded, Line, read_line};

/// Reads an array.
pub(super) fn array(sink: &mut impl RowSink, bytes: &mut impl BufRead) -> Result<(), DataSetError> {
    let (left, is_read) = (Cell::new(sink.longest()), Cell::new(false));
    let mut json = Deserializer::from_reader(Bounded { bytes, left: &left });
    let read = json.deserialize_any(Array(&mut *sink, &left, &is_read)).and_then(|()| json.end());
    read.map_err(|error| {
        let at = sink.at(is_read.get());
        match error.classify() {
            Category::Io if left.get() == 0 => sink.too_long(at),
            // If enough rows were read before this error, they are used, and the error is ignored.
            Category::Io => sink.read_error(error.into()),
            Category::Syntax | Category::Eof => {
                let (line, column) = (error.line(), error.column());
                sink.wrong(format!("line {line}, column {column}"), "is no JSON in UTF-8 from here on".to_owned())
            }
            Category::Data => {
                let array = "is no JSON array of objects; write one, or an object a line into a file named .jsonl";
                sink.wrong(at, sink.found_problem().unwrap_or_else(|| array.to_owned()))
            }
        }
    })
}

/// Reads an array row by row. The second field is the number of bytes that the current row can still have. The third field is true if reading ended
/// on purpose after a complete row.
struct Array<'a, S>(&'a mut S, &'a Cell<usize>, &'a Cell<bool>);

impl<'de, S: RowSink> Visitor<'de> for Array<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Array(sink, left, is_read) = self;
        while list.next_element_seed(Seed(&mut *sink))?.is_some() {
            // Serde can skip the rest of the array only by an error.
            if !sink.take() || sink.is_complete() {
                is_read.set(true);
                return Err(A::Error::custom("enough"));
            }
            left.set(sink.longest());
        }
        Ok(())
    }
}

/// Reads one object per line.
pub(super) fn lines(sink: &mut impl RowSink, bytes: &mut impl BufRead) -> Result<(), DataSetError> {
    let mut text = Vec::new();
    for line in 1_u64.. {
        let at = || format!("line {line}");
        match read_line(bytes, sink.longest(), &mut text).map_err(|cause| sink.read_error(cause))? {
            Line::End => break,
            Line::TooLong => return Err(sink.too_long(at())),
            Line::Read => {}
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let mut json = Deserializer::from_slice(&text);
        let read = sink.read(&mut json);
        if let Err(error) = read.and_then(|()| json.end()) {
            let problem = sink.found_problem().filter(|_| error.is_data()).or_else(|| no_utf8(&text));
            return Err(sink.wrong(at(), problem.unwrap_or_else(|| "is no JSON object; write one per line".to_owned())));
        }
        if !sink.take() {
            return Err(sink.wrong(at(), sink.problem()));
        }
        if sink.is_complete() {
            break;
        }
    }
    Ok(())
}
