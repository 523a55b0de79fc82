//! [I/O] Checks the runs of all cells before the first one starts.

use std::path::Path;

use crds::{benchmark_sweep::ResolvedSweep, wording::cut};

use crate::input::{Input, InputError, LocalOptions, RunSource, SweepFile, from_source};

/// Maximum length of a cell's name in bytes, because it names a folder. File systems allow 255.
const MAX_NAME: usize = 200;
/// Maximum number of problems in one error.
const MAX_LISTED: usize = 24;

/// A sweep whose runs can all be run.
#[derive(Clone, Debug)]
pub(super) struct CheckedSweep {
    pub(super) sweep: ResolvedSweep,
    /// The input of the first run of each cell.
    pub(super) inputs: Vec<Input>,
}

/// Resolves the sweep, and checks the runs of all of its cells. `uid`: a text that is new for each sweep.
///
/// # Errors
/// One error contains all wrong fields of the sweep, or the wrong fields of its cells.
pub(super) fn check(
    file: &SweepFile,
    path: &Path,
    uid: &str,
    options: &LocalOptions,
) -> Result<CheckedSweep, InputError> {
    let sweep = file.cells(path, uid)?;
    let names = sweep.engaged.iter().enumerate();
    let unknown = names.filter_map(|(at, it)| Some((at, sweep::figure_named(&it.figure).err()?)));
    let unknown: Vec<String> = unknown.map(|(at, error)| format!("spec.engaged[{at}].figure: {error}")).collect();
    if !unknown.is_empty() {
        return Err(InputError::Fields { path: path.to_owned(), problems: unknown });
    }
    if let Some(cell) = sweep.cells.iter().find(|it| it.name.len() > MAX_NAME) {
        let (name, bytes) = (cut(&cell.name), cell.name.len());
        let message = format!(
            "spec.factors: the name of cell {name} has {bytes} bytes, and names a folder; give the levels short names with `levels`: a cell's name \
             has at most {MAX_NAME} bytes"
        );
        return Err(InputError::Fields { path: path.to_owned(), problems: vec![message] });
    }
    // Each problem, and the cells that have it.
    let (mut inputs, mut problems) = (Vec::new(), Vec::<(String, Vec<&str>)>::new());
    for (number, cell) in sweep.cells.iter().enumerate() {
        match from_source(&RunSource::Document(file.document(&sweep, number, 1, false)), options) {
            Ok(input) => inputs.push(input),
            Err(error) => {
                let text = error.causes();
                match problems.iter_mut().find(|it| it.0 == text) {
                    Some((_, cells)) => cells.push(&cell.name),
                    None => problems.push((text, vec![&cell.name])),
                }
            }
        }
    }
    if problems.is_empty() {
        return Ok(CheckedSweep { sweep, inputs });
    }
    let line = |(text, cells): &(String, Vec<&str>)| match cells[..] {
        [first, _, ..] => format!("cell {first} and {} more: {text}", cells.len() - 1),
        [only] => format!("cell {only}: {text}"),
        [] => text.clone(),
    };
    let mut listed: Vec<String> = problems.iter().take(MAX_LISTED).map(line).collect();
    if problems.len() > MAX_LISTED {
        listed.push(format!("and {} more problems", problems.len() - MAX_LISTED));
    }
    Err(InputError::Fields { path: path.to_owned(), problems: listed })
}
