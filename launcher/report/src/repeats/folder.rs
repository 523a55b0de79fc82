//! [I/O] The folder of a series. It contains one folder per run, and at the end `repeats.json`, `repeats.md` and `junit.xml`.
//!
//! Unlike the folder of a run, the folder of a series has its final name from the start: the name of each run's folder shows whether that run is
//! complete. A folder without `repeats.json` belongs to a series that is still running or was killed.

use files::{Written, write_whole};
use std::{
    fs,
    path::{Path, PathBuf},
};

use crds::{envelope::ArtifactRef, resolve::repeat_name};

use super::{RepeatsDocument, Series, markdown};
use crate::{
    folder::{StorageError, Stored, claim},
    junit,
};

/// The folder of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesFolder {
    path: PathBuf,
    name: String,
}

impl SeriesFolder {
    /// Creates the folder below `root`. If the name is taken, the suffix `-2` and so on is added.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn create(root: &Path, name: &str) -> Result<SeriesFolder, StorageError> {
        let name = claim(root, name)?;
        Ok(SeriesFolder { path: root.join(&name), name })
    }

    /// The path of a run's folder relative to the root, such as `chat/r2`.
    pub fn name_of(&self, number: u32) -> String {
        format!("{}/{}", self.name, repeat_name(number))
    }

    /// Writes the combined results of the runs.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, series: &Series<'_>) -> Result<Stored, StorageError> {
        let document = RepeatsDocument::new(series);
        let page = markdown(series);
        let json = self.write_file("repeats.json", |file| document.write(file))?;
        let markdown = self.write_file("repeats.md", |file| file.write_all(page.as_bytes()))?;
        let suites: Vec<_> = series.repeats.iter().map(|it| it.cases.clone()).collect();
        let junit = self.write_file(junit::FILE_NAME, |file| ::junit::write(&suites, file))?;
        Ok(Stored { path: self.path.clone(), name: self.name.clone(), artifacts: vec![json, markdown, junit] })
    }

    fn write_file(
        &self,
        name: &str,
        fill: impl FnOnce(&mut (dyn std::io::Write + Send)) -> std::io::Result<()>,
    ) -> Result<ArtifactRef, StorageError> {
        let path = self.path.join(name);
        let Written { bytes, sha256 } = write_whole(&path, fill).map_err(|source| StorageError::new(&path, source))?;
        Ok(ArtifactRef { name: name.to_owned(), uri: String::new(), bytes, sha256 })
    }

    /// Deletes the folder if it contains no run.
    pub fn discard(self) {
        // Fails, and keeps the folder, if it contains a run.
        let _ = fs::remove_dir(&self.path);
    }
}
