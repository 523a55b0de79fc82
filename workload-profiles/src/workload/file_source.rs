//! Files that a workload needs: where the launcher finds them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A file on the machine or the claim of the launcher, or behind a URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FileSource {
    /// A path, as the launcher sees it.
    Path(PathBuf),
    /// A file that the launcher downloads once and keeps.
    Url(RemoteFile),
}

/// A file behind a URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteFile {
    /// An `http` or `https` URL.
    pub url: String,
    /// The SHA-256 of the content in hexadecimal digits. A file with another digest is refused. Absent: not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl FileSource {
    /// The path. The launcher puts the downloaded file in the place of a URL before anything reads it.
    pub fn as_path(&self) -> &Path {
        match self {
            FileSource::Path(path) => path,
            FileSource::Url(file) => Path::new(&file.url),
        }
    }

    /// The path or the URL, for messages.
    pub fn shown(&self) -> String {
        match self {
            FileSource::Path(path) => path.display().to_string(),
            FileSource::Url(file) => file.url.clone(),
        }
    }

    /// The last part of the path or the URL, which tells the format.
    pub fn file_name(&self) -> String {
        let shown = self.shown();
        let path = shown.split(['?', '#']).next().unwrap_or_default();
        path.rsplit('/').next().unwrap_or_default().to_owned()
    }
}

impl From<PathBuf> for FileSource {
    fn from(path: PathBuf) -> Self {
        FileSource::Path(path)
    }
}

impl From<&str> for FileSource {
    fn from(path: &str) -> Self {
        FileSource::Path(path.into())
    }
}
