//! Reads a data set that has values separated by commas, or a prompt on each line.

use std::{cell::Cell, io::BufRead};

use serde::de::{
    DeserializeSeed as _,
    value::{Error, MapDeserializer},
};

use super::{
    DataSetError,
    row::{Row, RowSeed},
    sink::{Sink, no_utf8},
};
use crate::lines::{Bounded, Line, read_line};

/// The column of a file with a prompt on each line.
const TEXT: &str = "text";

/// Reads values separated by commas, behind a line with the names of the columns.
pub(super) fn csv(sink: &mut Sink<'_>, bytes: &mut impl BufRead) -> Result<(), DataSetError> {
    // A quoted field may contain line ends. Without its closing quote it would extend to the end of the file.
    let left = Cell::new(sink.longest);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(Bounded { bytes, left: &left });
    let broken = |sink: &Sink<'_>, line: u64, error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(_) if left.get() == 0 => sink.too_long(format!("line {line}")),
        csv::ErrorKind::Io(cause) => sink.read_error(cause),
        _ => sink.wrong(format!("line {line}"), "is no CSV; write values separated by commas".to_owned()),
    };
    let header = reader.byte_headers().map_err(|error| broken(sink, 1, error))?.clone();
    let header: Vec<String> = header.iter().map(|it| String::from_utf8_lossy(it).trim().to_owned()).collect();
    let mut places = Vec::new();
    for name in sink.columns.names() {
        let Some(place) = header.iter().position(|it| it == name) else {
            // A file with one column may be no CSV at all, and its first line content.
            let names = if header.len() > 1 { Row::names(header.iter().map(String::as_str)) } else { String::new() };
            return Err(sink.wrong("line 1".to_owned(), Row::missing(name, &names)));
        };
        places.push((name, place));
    }
    let mut record = csv::ByteRecord::new();
    left.set(sink.longest);
    loop {
        let line = reader.position().line();
        if !reader.read_byte_record(&mut record).map_err(|error| broken(sink, line, error))? {
            return Ok(());
        }
        left.set(sink.longest);
        let at = || format!("line {}", record.position().map_or(line, csv::Position::line));
        let mut fields = Vec::with_capacity(places.len());
        for (name, place) in &places {
            let Some(field) = record.get(*place) else { continue };
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

/// Reads lines that are prompts. Empty lines are left out.
pub(super) fn text(sink: &mut Sink<'_>, bytes: &mut impl BufRead) -> Result<(), DataSetError> {
    if let Some(name) = sink.columns.names().find(|it| *it != TEXT) {
        let what = format!("has no {name}; a file with a prompt on each line has only the column {TEXT}");
        return Err(sink.wrong("line 1".to_owned(), what));
    }
    let mut line_bytes = Vec::new();
    for line in 1_u64.. {
        let at = || format!("line {line}");
        match read_line(bytes, sink.longest, &mut line_bytes).map_err(|cause| sink.read_error(cause))? {
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

/// Takes the fields of a row; `false` when further rows are not needed.
fn row(sink: &mut Sink<'_>, fields: Vec<(&str, &str)>, at: impl Fn() -> String) -> Result<bool, DataSetError> {
    let fields = MapDeserializer::<_, Error>::new(fields.into_iter());
    let read = RowSeed { columns: sink.columns, row: &mut sink.row }.deserialize(fields);
    if read.is_err() || !sink.take() {
        return Err(sink.wrong(at(), sink.problem()));
    }
    Ok(!sink.is_complete())
}
