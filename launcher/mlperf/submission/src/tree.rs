//! [I/O] Reads files in a submission tree, with limits. Links are not followed, because a tree is copied to other places and a link may
//! lead anywhere.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read as _},
    path::{Path, PathBuf},
};

use super::{findings::Findings, rules::Rule};

/// Maximum number of entries in a folder.
const MAX_ENTRIES: usize = 10_000;
/// Maximum size of a file that is read as a whole, in bytes. Such files are descriptions and outputs of scripts.
pub(super) const MAX_TEXT: u64 = 4 << 20;

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum TreeError {
    #[error("nothing")]
    Missing,
    #[error("an empty file")]
    Empty,
    #[error("a link")]
    Link,
    #[error("something that is not a file")]
    NoFile,
    #[error("more than {0} bytes")]
    TooLarge(u64),
    #[error("more than {MAX_ENTRIES} entries")]
    TooMany,
    #[error("a file that cannot be read ({0})")]
    Read(#[from] io::Error),
}

/// The tree to check.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(super) fn new(root: &Path) -> Tree {
        Tree { root: root.to_owned() }
    }

    /// Returns the path and the metadata of a file or folder, after checking every component of the path.
    fn path(&self, name: &str) -> Result<(PathBuf, fs::Metadata), TreeError> {
        let mut path = self.root.clone();
        let mut found = fs::metadata(&path)?;
        for part in name.split('/').filter(|it| !it.is_empty()) {
            path.push(part);
            found = match fs::symlink_metadata(&path) {
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    return Err(TreeError::Missing);
                }
                other => other?,
            };
            if found.is_symlink() {
                return Err(TreeError::Link);
            }
        }
        Ok((path, found))
    }

    /// Opens a file that is not empty. Also returns its length in bytes.
    pub(super) fn open(&self, name: &str) -> Result<(File, u64), TreeError> {
        let (path, found) = self.path(name)?;
        match (found.is_file(), found.len()) {
            (false, _) => Err(TreeError::NoFile),
            (true, 0) => Err(TreeError::Empty),
            (true, bytes) => Ok((File::open(path)?, bytes)),
        }
    }

    /// Returns the text of a file of at most `limit` bytes.
    pub(super) fn text(&self, name: &str, limit: u64) -> Result<String, TreeError> {
        let (file, _) = self.open(name)?;
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(TreeError::TooLarge(limit));
        }
        String::from_utf8(bytes).map_err(|error| TreeError::Read(io::Error::new(ErrorKind::InvalidData, error)))
    }

    /// Whether an entry with this name exists. A link counts too.
    pub(super) fn has(&self, name: &str) -> bool {
        !matches!(self.path(name), Err(TreeError::Missing))
    }

    /// Returns the names in a folder, sorted, each with whether it is a folder. Hidden entries are omitted, because no checker reads them.
    pub(super) fn entries(&self, name: &str) -> Result<Vec<(String, bool)>, TreeError> {
        let (path, found) = self.path(name)?;
        if !found.is_dir() {
            return Err(TreeError::NoFile);
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entries.len() == MAX_ENTRIES {
                return Err(TreeError::TooMany);
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') {
                entries.push((name, entry.file_type()?.is_dir()));
            }
        }
        entries.sort();
        Ok(entries)
    }

    /// Returns the folders in a folder, sorted. Empty if the folder does not exist. A link is added to the findings.
    pub(super) fn folders(&self, name: &str, findings: &mut Findings) -> Vec<String> {
        let entries = match self.entries(name) {
            Ok(entries) => entries,
            Err(TreeError::Missing) => return Vec::new(),
            Err(error) => {
                findings.fault(name, &error, Rule::Unreadable);
                return Vec::new();
            }
        };
        for (entry, _) in entries.iter().filter(|(_, folder)| !folder) {
            let path = if name.is_empty() { entry.clone() } else { format!("{name}/{entry}") };
            if matches!(self.path(&path), Err(TreeError::Link)) {
                findings.fault(&path, &TreeError::Link, Rule::Link);
            }
        }
        entries.into_iter().filter(|(_, folder)| *folder).map(|(name, _)| name).collect()
    }
}

impl Findings {
    /// Adds a finding about a file that cannot be read. `missing` is the rule that is violated if the file does not exist.
    pub(super) fn fault(&mut self, file: &str, error: &TreeError, missing: Rule) {
        let rule = match error {
            TreeError::Missing | TreeError::Empty => missing,
            TreeError::Link => Rule::Link,
            TreeError::NoFile | TreeError::TooLarge(_) | TreeError::TooMany | TreeError::Read(_) => Rule::Unreadable,
        };
        self.add(rule, file, "", error, "a file with something in it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_up_to_their_bound() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "12345").unwrap();
        fs::write(root.path().join("empty"), "").unwrap();
        let tree = Tree::new(root.path());
        assert_eq!(tree.text("a", 5).unwrap(), "12345");
        assert!(matches!(tree.text("a", 4), Err(TreeError::TooLarge(4))));
        assert!(matches!(tree.text("empty", 4), Err(TreeError::Empty)));
        assert!(matches!(tree.text("a/b", 4), Err(TreeError::Missing)));
        assert!(matches!(tree.text("", 4), Err(TreeError::NoFile)));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_anywhere_in_a_path_is_refused() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), root.path().join("file")).unwrap();
        let tree = Tree::new(root.path());
        assert!(matches!(tree.text("folder/secret", 9), Err(TreeError::Link)));
        assert!(matches!(tree.text("file", 9), Err(TreeError::Link)));
        let mut findings = Findings::default();
        assert!(tree.folders("", &mut findings).is_empty());
        assert_eq!(findings.count, 2);
    }
}
