//! Reads a data set in CSV, or with one prompt per line.

use std::{
    cell::Cell,
    io::{self, BufRead},
};

use serde::de::value::{Error, MapDeserializer};

use super::{
    DataSetError,
    label::Label,
    sink::{RowSink, no_utf8},
};
use files::lines::{Bounded, Line, read_line};

/// The name of the only column in a file with one prompt per line.
const TEXT: &str = "text";

/// Reads CSV with a header line. The separator is a tab if the header has tabs and no comma. The first column contains the row labels if its name is
/// empty, or is pandas' name for row labels.
pub(super) fn csv<S: RowSink>(sink: &mut S, bytes: &mut impl BufRead) -> Result<(), DataSetError> {
    // A quoted field can contain line breaks. Without its closing quote, it would extend to the end of the file. So the length of a row is limited.
    let left = Cell::new(sink.longest());
    let start = bytes.fill_buf().map_err(|cause| sink.read_error(cause))?;
    let first = start.split(|it| *it == b'\n').next().unwrap_or_default();
    let delimiter = if first.contains(&b'\t') && !first.contains(&b',') { b'\t' } else { b',' };
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).delimiter(delimiter).from_reader(Bounded { bytes, left: &left });
    let broken = |sink: &S, line: u64, error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(_) if left.get() == 0 => sink.too_long(format!("line {line}")),
        csv::ErrorKind::Io(cause) => sink.read_error(cause),
        _ => sink.wrong(format!("line {line}"), "is no CSV; write values separated by commas".to_owned()),
    };
    let header = reader.byte_headers().map_err(|error| broken(sink, 1, error))?.clone();
    let header: Vec<String> = header.iter().map(|it| String::from_utf8_lossy(it).trim().to_owned()).collect();
    let names: Vec<&str> = header.iter().map(String::as_str).collect();
    // A file with a single column may not be CSV at all. Then its first line can be content, which messages must not repeat.
    let places = sink.choose(&names, names.len() > 1).map_err(|what| sink.wrong("line 1".to_owned(), what))?;
    let has_labels = names.len() > 1 && matches!(names.first(), Some(&("" | "Unnamed: 0")));
    let mut record = csv::ByteRecord::new();
    left.set(sink.longest());
    loop {
        let line = reader.position().line();
        if !reader.read_byte_record(&mut record).map_err(|error| broken(sink, line, error))? {
            return Ok(());
        }
        left.set(sink.longest());
        let at = || format!("line {}", record.position().map_or(line, csv::Position::line));
        let mut fields = Vec::with_capacity(places.len());
        if let Some(label) = record.get(0).filter(|_| has_labels) {
            sink.label(Label::from_text(&String::from_utf8_lossy(label)));
        }
        for place in &places {
            let (Some(field), Some(name)) = (record.get(*place), names.get(*place)) else { continue };
            match std::str::from_utf8(field) {
                Ok(text) => fields.push((*name, text)),
                Err(_) => return Err(sink.wrong(at(), format!("{name}: {}", no_utf8(field).unwrap_or_default()))),
            }
        }
        if !row(sink, fields, at)? {
            return Ok(());
        }
    }
}

/// Reads lines. Each line is a prompt; empty lines are skipped.
pub(super) fn text(sink: &mut impl RowSink, bytes: &mut impl BufRead) -> Result<(), DataSetError> {
    if let Some(name) = sink.other_than(TEXT) {
        let what = format!("has no {name}; a file with a prompt on each line has only the column {TEXT}");
        return Err(sink.wrong("line 1".to_owned(), what));
    }
    let mut line_bytes = Vec::new();
    let mut line = 0;
    loop {
        line += 1 + skip_empty(bytes).map_err(|cause| sink.read_error(cause))?;
        let at = || format!("line {line}");
        match read_line(bytes, sink.longest(), &mut line_bytes).map_err(|cause| sink.read_error(cause))? {
            Line::End => break,
            Line::TooLong => return Err(sink.too_long(at())),
            Line::Read => {}
        }
        let text = std::str::from_utf8(&line_bytes)
            .map_err(|_| sink.wrong(at(), no_utf8(&line_bytes).unwrap_or_default()))?
            .trim_end_matches(['\n', '\r']);
        if !text.trim().is_empty() && !row(sink, vec![(TEXT, text)], at)? {
            break;
        }
    }
    Ok(())
}

/// Skips empty lines, and returns their number. Does not store them, because a small compressed file can contain billions.
fn skip_empty(bytes: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let part = bytes.fill_buf()?;
        // A carriage return at the start of a line belongs to a line break, or has no meaning.
        let ends = part.iter().take_while(|it| matches!(it, b'\n' | b'\r')).count();
        let goes_on = ends > 0 && ends == part.len();
        skipped += part[..ends].iter().filter(|it| **it == b'\n').count() as u64;
        bytes.consume(ends);
        if !goes_on {
            return Ok(skipped);
        }
    }
}

/// Passes the fields of a row to the sink. Returns `false` if no further rows are needed.
fn row(sink: &mut impl RowSink, fields: Vec<(&str, &str)>, at: impl Fn() -> String) -> Result<bool, DataSetError> {
    let fields = MapDeserializer::<_, Error>::new(fields.into_iter());
    if sink.read(fields).is_err() || !sink.take() {
        return Err(sink.wrong(at(), sink.problem()));
    }
    Ok(!sink.is_complete())
}
