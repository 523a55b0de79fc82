//! [I/O] Finds the files of a split (such as `test` or `dev`) in a folder, in any layout in which MMLU is distributed:
//!
//! - Hugging Face: `all/test-00000-of-00001.parquet`, or one folder per subject, `anatomy/test-00000-of-00001.parquet`;
//! - the authors' archive: `test/anatomy_test.csv`, also within the folder `data`;
//! - files of any format that are named like the split: `test.jsonl`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use workload_profiles::workload::Split;

use super::error::{QuestionsError, listed};

/// File name extensions of files with questions.
const EXTENSIONS: [&str; 5] = ["parquet", "jsonl", "ndjson", "json", "csv"];
/// Folder names that are not names of subjects.
const NOT_SUBJECTS: [&str; 7] = ["all", "data", "test", "val", "validation", "dev", "auxiliary_train"];
/// Maximum number of entries read from a folder.
const MAX_ENTRIES: usize = 100_000;

/// A file of a split.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// The subject, if the name of the file or of its folder contains one.
    pub(super) subject: Option<String>,
}

impl Found {
    /// Represents a file that the user names.
    pub(super) fn file(path: &Path) -> Found {
        Found { path: path.to_owned(), subject: None }
    }
}

/// Returns the files of a split, sorted by name.
pub(super) fn find(folder: &Path, split: Split, remedy: &'static str) -> Result<Vec<Found>, QuestionsError> {
    for base in [folder.join("all"), folder.to_owned(), folder.join("data")] {
        for name in split.file_names() {
            let found = named(&base, name)?;
            if !found.is_empty() {
                return Ok(found.into_iter().map(|path| Found { path, subject: None }).collect());
            }
            let found = of_authors(&base, name)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
    }
    let found = of_subjects(folder, split)?;
    if !found.is_empty() {
        return Ok(found);
    }
    let name = split.file_names()[0];
    let here = entries(folder)?;
    Err(QuestionsError::NoSplit {
        path: folder.to_owned(),
        split: split.name(),
        wanted: format!("{name}-*.parquet, {name}/*_{name}.csv, {name}.jsonl, {name}.csv"),
        found: if here.is_empty() { "nothing".to_owned() } else { listed(here.iter().filter_map(|it| file_name(it))) },
        remedy,
    })
}

/// Returns the files that are named like a split: `test.jsonl`, `test-00000-of-00002.parquet`.
fn named(folder: &Path, name: &str) -> Result<Vec<PathBuf>, QuestionsError> {
    let is_named = |path: &PathBuf| {
        let stem = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
        let rest = stem.strip_prefix(name);
        rest.is_some_and(|it| it.is_empty() || it.starts_with('-')) && has_extension(path) && path.is_file()
    };
    Ok(entries(folder)?.into_iter().filter(is_named).collect())
}

/// Returns files in the layout of the authors: `test/anatomy_test.csv`.
fn of_authors(base: &Path, name: &str) -> Result<Vec<Found>, QuestionsError> {
    let end = format!("_{name}");
    let files = entries(&base.join(name))?.into_iter();
    let file = |path: PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        // The files of auxiliary_train have the names of their sources, not of subjects.
        let subject = stem.strip_suffix(&end).unwrap_or(stem).to_owned();
        (path.extension()?.to_str()? == "csv" && path.is_file()).then_some(Found { path, subject: Some(subject) })
    };
    Ok(files.filter_map(file).collect())
}

/// Returns files in the layout with one folder per subject.
fn of_subjects(folder: &Path, split: Split) -> Result<Vec<Found>, QuestionsError> {
    let mut all = Vec::new();
    for subject in entries(folder)? {
        let Some(name) = file_name(&subject).filter(|it| !NOT_SUBJECTS.contains(it)) else { continue };
        for split in split.file_names() {
            let files = named(&subject, split)?;
            let is_there = !files.is_empty();
            all.extend(files.into_iter().map(|path| Found { path, subject: Some(name.to_owned()) }));
            if is_there {
                break;
            }
        }
    }
    // Hugging Face keeps the training questions in a separate folder.
    if all.is_empty() && split == Split::AuxiliaryTrain {
        all.extend(named(&folder.join("auxiliary_train"), "train")?.into_iter().map(|it| Found::file(&it)));
    }
    Ok(all)
}

/// Returns the entries of a folder, sorted by name. Empty if it is not a folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, QuestionsError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let error = |cause| QuestionsError::Read { path: folder.to_owned(), cause };
    let entries = fs::read_dir(folder).map_err(error)?.take(MAX_ENTRIES);
    let mut all = entries.map(|it| it.map(|it| it.path())).collect::<Result<Vec<_>, _>>().map_err(error)?;
    all.sort();
    Ok(all)
}

fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn has_extension(path: &Path) -> bool {
    path.extension().and_then(|it| it.to_str()).is_some_and(|it| EXTENSIONS.contains(&it))
}
