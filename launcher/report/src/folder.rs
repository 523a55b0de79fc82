//! [I/O] The results folder. It is built under `<name>.partial`, and renamed to `<name>` when it is complete.
//!
//! Each file is written under a temporary name, flushed to disk and then renamed, so that a reader never sees a partial file. A killed launcher
//! leaves a folder with the suffix `.partial`. It contains the files that were complete by then, and a file that explains the folder.

use files::{Written, write_whole};
use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use crds::envelope::ArtifactRef;
use jiff::Timestamp;

use super::partial::{self, MARKER, SUFFIX};

/// Maximum number of folders that share a name with a suffix: `<name>`, `<name>-2` and so on.
const MAX_SAME_NAME: u32 = 1_000;

/// Results cannot be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}; {remedy}", path = path.display(), remedy = remedy(source, *chosen_by))]
pub struct StorageError {
    /// The file or folder that cannot be written.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
    /// The setting that the error message advises to change.
    pub chosen_by: ChosenBy,
}

/// The setting that determines where results are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChosenBy {
    /// `--results` on the command line.
    #[default]
    Flag,
    /// `spec.storage` of a BenchmarkRun in a cluster.
    Spec,
}

impl ChosenBy {
    /// Advice on what to change if the results cannot be stored.
    pub fn other_place(self) -> &'static str {
        match self {
            ChosenBy::Flag => "choose another folder with --results",
            ChosenBy::Spec => "choose another place in spec.storage (pvc.claimName, s3 or none)",
        }
    }
}

impl StorageError {
    pub(super) fn new(path: &Path, source: io::Error) -> Self {
        StorageError { path: path.to_owned(), source, chosen_by: ChosenBy::default() }
    }
}

fn remedy(error: &io::Error, chosen_by: ChosenBy) -> String {
    let first = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            return "free space there, or request a larger volume in spec.storage.pvc.size".to_owned();
        }
        // Errors of these kinds come from the JSON and YAML encoders, not from the disk.
        ErrorKind::InvalidData | ErrorKind::Other => {
            return "the content cannot be encoded, which is a defect of benchwright: report it with this message and the profile"
                .to_owned();
        }
        ErrorKind::FileTooLarge => "raise the limit of file sizes (ulimit -f)",
        ErrorKind::ReadOnlyFilesystem => "mount it writable",
        ErrorKind::PermissionDenied => "allow the user of this process to write there",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => {
            "another file has this path: move it away"
        }
        _ => "check that the folder exists and its disk works",
    };
    format!("{first}, or {}", chosen_by.other_place())
}

/// Creates a folder below `root` and returns its name. If a complete or partial folder already has the name, the suffix `-2` and so on is added.
///
/// # Errors
/// The folder cannot be created.
pub fn claim(root: &Path, name: &str) -> Result<String, StorageError> {
    fs::create_dir_all(root).map_err(|source| StorageError::new(root, source))?;
    for number in 1..=MAX_SAME_NAME {
        let name = numbered(name, number);
        if root.join(format!("{name}{SUFFIX}")).symlink_metadata().is_ok() {
            continue;
        }
        let path = root.join(&name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(source) => return Err(StorageError::new(&path, source)),
        }
    }
    Err(StorageError::new(&root.join(name), ErrorKind::AlreadyExists.into()))
}

fn numbered(name: &str, number: u32) -> String {
    if number == 1 { name.to_owned() } else { format!("{name}-{number}") }
}

/// A results folder that is being written.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    name: String,
    partial: PathBuf,
    artifacts: Vec<ArtifactRef>,
    /// The marker file, which is locked until the process ends. `None` if the folder has no marker.
    marker: Option<File>,
}

/// A complete results folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The path of the folder.
    pub path: PathBuf,
    /// The name of the folder below the root, such as `chat/a1`.
    pub name: String,
    /// The files of the folder, in the order in which they were written.
    pub artifacts: Vec<ArtifactRef>,
}

impl Folder {
    /// Creates a folder below `root`. This also checks, before any load is issued, whether results can be stored. `name` can have several parts, such
    /// as `chat/a1`. If a complete or partial folder already has the name, the suffix `-2` and so on is added.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn create(root: &Path, name: &str) -> Result<Folder, StorageError> {
        let wanted = root.join(name);
        let parent = wanted.parent().unwrap_or(root);
        fs::create_dir_all(parent).map_err(|source| StorageError::new(parent, source))?;
        for number in 1..=MAX_SAME_NAME {
            let name = numbered(name, number);
            let partial = root.join(format!("{name}{SUFFIX}"));
            if root.join(&name).symlink_metadata().is_ok() {
                continue;
            }
            match fs::create_dir(&partial) {
                Ok(()) => {
                    return Ok(Folder { root: root.to_owned(), name, partial, artifacts: Vec::new(), marker: None });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(source) => return Err(StorageError::new(&partial, source)),
            }
        }
        Err(StorageError::new(&wanted, ErrorKind::AlreadyExists.into()))
    }

    /// Writes a marker file for users, which states that the folder is not complete yet.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn mark(&mut self, begun: Timestamp) -> Result<(), StorageError> {
        let marked = partial::mark(&self.partial, begun);
        self.marker = Some(marked.map_err(|source| StorageError::new(&self.partial.join(MARKER), source))?);
        Ok(())
    }

    /// Whether all written files still exist.
    pub fn is_there(&self) -> bool {
        self.artifacts.iter().all(|it| self.partial.join(&it.name).is_file())
    }

    /// The path of the folder while it is not complete.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Writes one file with the content that `fill` writes. `name` can include a folder, such as `Accuracy/a.json`. If this fails, no partial file
    /// remains.
    ///
    /// # Errors
    /// The file cannot be written, or `fill` returns an error.
    pub fn write(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), StorageError> {
        let path = self.partial.join(name);
        let Written { bytes, sha256 } = write_whole(&path, fill).map_err(|source| StorageError::new(&path, source))?;
        // A file that disappeared can be written a second time.
        self.artifacts.retain(|it| it.name != name);
        self.artifacts.push(ArtifactRef { name: name.to_owned(), uri: String::new(), bytes, sha256 });
        Ok(())
    }

    /// Deletes the folder, because nothing was measured.
    ///
    /// # Errors
    /// The folder cannot be deleted.
    pub fn discard(self) -> Result<(), StorageError> {
        fs::remove_dir_all(&self.partial).map_err(|source| StorageError::new(&self.partial, source))
    }

    /// Describes the folder as it will be after [`Folder::finish`], with the files written so far.
    pub fn when_finished(&self) -> Stored {
        Stored { path: self.root.join(&self.name), name: self.name.clone(), artifacts: self.artifacts.clone() }
    }

    /// Renames the folder to its final name, which marks it as complete.
    ///
    /// # Errors
    /// The folder cannot be renamed. Its files stay in the partial folder.
    pub fn finish(self) -> Result<Stored, StorageError> {
        let path = self.root.join(&self.name);
        // The marker might have disappeared together with the folder.
        match fs::remove_file(self.partial.join(MARKER)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(StorageError::new(&self.partial, error)),
            _ => {}
        }
        fs::rename(&self.partial, &path)
            .and_then(|()| sync_folder(path.parent().unwrap_or(&self.root)))
            .map_err(|source| StorageError::new(&path, source))?;
        Ok(Stored { path, name: self.name, artifacts: self.artifacts })
    }
}

/// Makes a rename durable. Some network file systems cannot sync a folder; this is ignored, because the rename itself is done.
fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path).and_then(|folder| folder.sync_all()) {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_has_its_name_only_when_it_is_whole() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(root.path(), "chat/a1").unwrap();
        folder.write("report.md", |file| file.write_all(b"abc")).unwrap();
        assert_eq!(names(&root.path().join("chat")), ["a1.partial"]);
        folder.write("Accuracy/log.json", |file| file.write_all(b"[]")).unwrap();
        let stored = folder.finish().unwrap();
        assert_eq!(names(&root.path().join("chat")), ["a1"]);
        assert_eq!(names(&stored.path), ["Accuracy", "report.md"]);
        assert_eq!(names(&stored.path.join("Accuracy")), ["log.json"]);
        assert_eq!(fs::read(stored.path.join("report.md")).unwrap(), b"abc");
        assert_eq!(stored.artifacts[0].bytes, 3);
        assert_eq!(stored.artifacts[0].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_folder_of_which_nothing_came_goes_again() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(root.path(), "a1").unwrap();
        folder.write("run.yaml", |file| file.write_all(b"abc")).unwrap();
        folder.discard().unwrap();
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let root = tempfile::tempdir().unwrap();
        Folder::create(root.path(), "a1").unwrap().finish().unwrap();
        let killed = Folder::create(root.path(), "a1").unwrap();
        let third = Folder::create(root.path(), "a1").unwrap().finish().unwrap();
        assert_eq!(third.name, "a1-3");
        drop(killed);
        assert_eq!(names(root.path()), ["a1", "a1-2.partial", "a1-3"]);
    }

    #[test]
    fn a_full_disk_leaves_no_half_file_and_says_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(root.path(), "a1").unwrap();
        folder.write("first.txt", |file| file.write_all(b"whole")).unwrap();
        let error = folder
            .write("second.txt", |file| {
                file.write_all(&[0; 100_000])?;
                Err(ErrorKind::StorageFull.into())
            })
            .unwrap_err();
        let message = error.to_string();
        assert!(message.contains("second.txt") && message.contains("storage.pvc.size"), "{message}");
        assert_eq!(names(folder.path()), ["first.txt"]);
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_told() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("results");
        fs::write(&file, "").unwrap();
        let message = Folder::create(&file, "chat/a1").unwrap_err().to_string();
        assert!(message.contains("results") && message.contains("--results"), "{message}");
    }

    #[test]
    fn each_kind_of_failure_has_its_remedy() {
        for (kind, part) in [
            (ErrorKind::StorageFull, "free space"),
            (ErrorKind::QuotaExceeded, "free space"),
            (ErrorKind::FileTooLarge, "ulimit -f"),
            (ErrorKind::ReadOnlyFilesystem, "writable"),
            (ErrorKind::PermissionDenied, "allow the user"),
            (ErrorKind::NotADirectory, "has this path"),
            (ErrorKind::InvalidData, "a defect of benchwright"),
            (ErrorKind::NotFound, "exists"),
        ] {
            let error = StorageError::new(Path::new("/results/a1"), kind.into());
            let message = error.to_string();
            assert!(message.contains("/results/a1") && message.contains(part), "{message}");
            // The message for a cluster does not mention the command line.
            let in_cluster = StorageError { chosen_by: ChosenBy::Spec, ..error }.to_string();
            assert!(in_cluster.contains(part) && !in_cluster.contains("--results"), "{in_cluster}");
            assert_eq!(in_cluster.contains("spec.storage"), !part.contains("defect"), "{in_cluster}");
        }
    }
}
