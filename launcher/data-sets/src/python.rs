//! Reads data sets that Python wrote: pickles, `npy`, `npz`, folders of arrays as vendors publish them, and zip archives.
//!
//! A file is completely in memory while it is read. Of a compressed file, only the decompressed content is. The crate `python_data` documents how
//! much memory it needs in addition.

use std::path::Path;

use python_data::{
    Problem, Table,
    npy::{self, Npy},
    pickle::{self, Pickle},
    zip,
};

use super::{DataSetError, label::Label, sink::RowSink, tree::take};

/// The names of the files in a folder of arrays.
pub(super) const PADDED: [&str; 3] = ["input_ids_padded.npy", "input_lens.npy", "masked_tokens.npy"];

fn wrong(sink: &impl RowSink, kind: &str, problem: &Problem) -> DataSetError {
    sink.wrong(format!("as {kind}"), problem.to_string())
}

/// Reads a pickle.
pub(super) fn pickle(sink: &mut impl RowSink, bytes: &[u8]) -> Result<(), DataSetError> {
    let problem = |sink: &_, problem: &Problem| {
        let remedy = pickle::REMEDY.replace("FILE", &name(sink));
        RowSink::wrong(sink, "as a pickle".to_owned(), format!("{problem}; {remedy}"))
    };
    let pickle = Pickle::read(bytes).map_err(|it| problem(sink, &it))?;
    let table = pickle.table().map_err(|it| problem(sink, &it))?;
    rows(sink, &table)
}

fn name(sink: &impl RowSink) -> String {
    sink.path().file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Reads an array.
pub(super) fn npy(sink: &mut impl RowSink, bytes: &[u8]) -> Result<(), DataSetError> {
    let array = Npy::read(bytes).map_err(|it| wrong(sink, "npy", &it))?;
    let table = array.table().map_err(|it| wrong(sink, "npy", &it))?;
    rows(sink, &table)
}

/// Reads an archive of arrays. Each array is a column.
pub(super) fn npz(sink: &mut impl RowSink, files: &[(String, Vec<u8>)]) -> Result<(), DataSetError> {
    fn array((name, bytes): &(String, Vec<u8>)) -> Result<(String, Npy<'_>), Problem> {
        Ok((name.strip_suffix(".npy").unwrap_or(name).to_owned(), Npy::read(bytes)?))
    }
    let arrays: Result<Vec<_>, _> = files.iter().map(array).collect();
    let arrays = arrays.map_err(|it| wrong(sink, "npz", &it))?;
    let table = npy::table_of(&arrays).map_err(|it| wrong(sink, "npz", &it))?;
    rows(sink, &table)
}

/// Reads a folder of arrays that contain ids, lengths and a mask.
pub(super) fn padded(sink: &mut impl RowSink, files: [Option<Vec<u8>>; 3]) -> Result<(), DataSetError> {
    let mut arrays = Vec::new();
    for (bytes, name) in files.iter().zip(PADDED) {
        let array = bytes.as_deref().map(Npy::read).transpose();
        let named = |it: Problem| Problem { at: it.at, what: format!("{name} {}", it.what) };
        arrays.push(array.map_err(|it| wrong(sink, "a folder of arrays", &named(it)))?);
    }
    let [Some(ids), Some(lengths), mask] = arrays.as_slice() else {
        let what = format!("lacks {} or {}", PADDED[0], PADDED[1]);
        return Err(sink.wrong("as a folder of arrays".to_owned(), what));
    };
    let table = npy::padded(ids, lengths, mask.as_ref()).map_err(|it| wrong(sink, "a folder of arrays", &it))?;
    rows(sink, &table)
}

/// Returns the names and the contents of the files in a zip archive.
pub(super) fn unpack(sink: &impl RowSink, bytes: &[u8], most: u64) -> Result<Vec<(String, Vec<u8>)>, DataSetError> {
    zip::unpack(bytes, most).map_err(|it| wrong(sink, "a zip archive", &it))
}

pub(super) fn is_npy(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it.eq_ignore_ascii_case("npy"))
}

/// Passes the rows of a table to the sink.
fn rows(sink: &mut impl RowSink, table: &Table<'_>) -> Result<(), DataSetError> {
    let names: Vec<&str> = table.names().iter().map(String::as_str).collect();
    let places = sink.choose(&names, true).map_err(|what| sink.wrong("in its columns".to_owned(), what))?;
    for row in 0..table.rows() {
        let cells = places.iter().map(|it| (names[*it], table.get(row, *it))).collect();
        take(sink, Label::from_cell(&table.label(row)), cells)?;
        if sink.is_complete() {
            break;
        }
    }
    Ok(())
}
