//! [I/O] The folder for the copied files. It appears under its name only when it is complete.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::failure::Failure;

/// A folder under a temporary name, next to its final location. It is deleted on drop, unless `keep` was called.
#[derive(Debug)]
pub(crate) struct Partial {
    folder: TempDir,
    wanted: PathBuf,
}

impl Partial {
    /// Creates the temporary folder. If `wanted` exists, it must be an empty folder.
    pub(crate) fn beside(wanted: &Path) -> Result<Partial, Failure> {
        let shown = wanted.display();
        let wrong = |why: String| Failure::error(format!("DIR is {shown}, {why}"));
        let path = match fs::read_dir(wanted) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(wrong("which is not empty; name a new folder, or empty this one".into()));
                }
                wanted.canonicalize().map_err(|it| wrong(format!("which cannot be used: {it}; name a new folder")))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => wanted.to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(wrong("which is no folder; name a new folder".into()));
            }
            Err(error) => return Err(wrong(format!("which cannot be read: {error}; name a new folder"))),
        };
        let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
            return Err(wrong("which has no name; name a new folder".into()));
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let folder = tempfile::Builder::new()
            .prefix(&format!(".{}.", name.to_string_lossy()))
            .suffix(".partial")
            // As for any new folder, the umask removes some of these permissions.
            .permissions(Permissions::from_mode(0o777))
            .tempdir_in(parent)
            .map_err(|it| {
                wrong(format!(
                    "whose parent folder cannot be written to: {it}; create the parent folder, or name another one"
                ))
            })?;
        Ok(Partial { folder, wanted: path })
    }

    /// The temporary folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Renames the folder to its final name.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        // A rename can only replace an empty folder.
        fs::rename(self.folder.path(), &self.wanted).map_err(|error| {
            Failure::error(format!(
                "DIR is {}, to which the files cannot be moved: {error}; name a new folder",
                self.wanted.display()
            ))
        })?;
        // The folder was renamed, so the destructor must not delete it.
        let _ = self.folder.keep();
        Ok(())
    }
}
