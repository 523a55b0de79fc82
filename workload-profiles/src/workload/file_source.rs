//! Where the launcher finds the files that a workload needs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A file on the machine, on the volume of the launcher's claim, or at a URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FileSource {
    /// A path in the launcher's file system.
    Path(PathBuf),
    /// A file that the launcher downloads once and keeps.
    Url(RemoteFile),
}

/// A file at a URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteFile {
    /// An `http` or `https` URL.
    pub url: String,
    /// The SHA-256 of the content, in hexadecimal digits. A file with another digest is refused. If absent, the content is not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl FileSource {
    /// Returns the path. The launcher downloads each URL, and replaces it with a path before any code reads the file. Until then, this returns the
    /// part of the URL without secrets, for messages.
    pub fn as_path(&self) -> &Path {
        match self {
            FileSource::Path(path) => path,
            FileSource::Url(file) => Path::new(file.parts().1),
        }
    }

    /// Returns the path, or the URL without potential secrets, for messages and reports.
    pub fn shown(&self) -> String {
        match self {
            FileSource::Path(path) => path.display().to_string(),
            FileSource::Url(file) => file.shown(),
        }
    }

    /// Returns the last part of the path or the URL. It determines the format.
    pub fn file_name(&self) -> String {
        self.shown().rsplit('/').next().unwrap_or_default().to_owned()
    }
}

impl RemoteFile {
    /// Returns the URL for messages and reports, without user and query, because the query of a signed URL grants access to the file.
    pub fn shown(&self) -> String {
        let (scheme, rest) = self.parts();
        format!("{scheme}{rest}")
    }

    /// Returns the scheme with `://`, and the rest without user and query.
    fn parts(&self) -> (&str, &str) {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        let (scheme, rest) = url.split_at(url.find("://").map_or(0, |it| it + "://".len()));
        // Search for `@` only in the host, because the path can contain an `@`, too.
        let host = rest.find(['/', '\\']).unwrap_or(rest.len());
        match rest[..host].rfind('@') {
            Some(at) => (scheme, &rest[at + 1..]),
            // There is no user to hide, so the whole URL is shown.
            None => ("", url),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        for (url, shown, name) in [
            ("https://server/a/d.json?token=secret", "https://server/a/d.json", "d.json"),
            ("https://me:secret@server/d.json#secret", "https://server/d.json", "d.json"),
            ("https://me:a@b@server/d@1.json", "https://server/d@1.json", "d@1.json"),
            ("https://server/d@1.json", "https://server/d@1.json", "d@1.json"),
            ("me:secret@server", "server", "server"),
        ] {
            let file = FileSource::Url(RemoteFile { url: url.into(), sha256: None });
            assert_eq!((file.shown().as_str(), file.file_name().as_str()), (shown, name));
            let path = file.as_path().display().to_string();
            assert!(!path.contains("secret") && shown.ends_with(&path), "{path}");
        }
    }
}
