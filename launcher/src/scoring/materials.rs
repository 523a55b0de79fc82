//! [I/O] Reads the data for scoring answers: the expected answers and Punkt's tables.

use files::{file_digest::FileDigest, user_file};
use std::path::{Path, PathBuf};

use accuracy::{
    benchmark::Benchmark,
    expected::{Columns, RowProblem, by_sample},
    punkt::Punkt,
    sample::Expected,
};
use anyhow::Context as _;
use data_sets::columns::{Label, read_columns};
use tracing::warn;

/// The environment variable with the path of the folder that contains Punkt's tables.
pub const PUNKT_VARIABLE: &str = "PUNKT_DATA";
/// Maximum size of one of Punkt's tables, in bytes.
const MAX_TABLE: u64 = 4 << 20;

/// The folder of Punkt's tables, if the environment names it.
pub(super) fn punkt_folder() -> Option<PathBuf> {
    std::env::var_os(PUNKT_VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from)
}

/// Reads Punkt's tables. `named` describes where the folder's name comes from, for messages.
///
/// # Errors
/// A table cannot be read, or differs from the reference implementation's table.
pub fn tables(folder: &Path, named: &str) -> anyhow::Result<Punkt> {
    let read = |name: &'static str| user_file::read(&folder.join(name), MAX_TABLE);
    Punkt::read(read).with_context(|| format!("cannot use the folder {} of {named}", folder.display()))
}

/// Reads the expected answer for each sample from a data set, in any format that requests can have. `column` is the column with the answers. `None`
/// means the check's default column.
///
/// # Errors
/// The file cannot be read, or a row lacks the column.
pub fn expected(
    path: &Path,
    benchmark: Benchmark,
    column: Option<&str>,
) -> anyhow::Result<(Vec<Expected>, FileDigest)> {
    let columns = Columns::new(benchmark, column);
    let mut rows = Vec::new();
    let read = read_columns(path, &columns.names(), |row| {
        let value = |place: usize| row.values.get(place)?.as_ref().map(|(name, value)| (*name, value));
        let expected = columns.row([value(0), value(1)]).map_err(|problem| match problem {
            RowProblem::Lacks(names) => row.lacks(&names),
            RowProblem::NoText(_) => format!("{problem}; name another column"),
        })?;
        let label = if let Label::Number(number) = row.label { Some(number) } else { None };
        rows.push((label, expected));
        Ok(())
    })?;
    for notice in read.notices {
        warn!("the data set {}: {notice}", path.display());
    }
    Ok((by_sample(benchmark, rows), read.file))
}
