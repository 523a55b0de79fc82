//! Files that a profile names: a path, or a URL.

use std::path::PathBuf;

use serde_json::Value;

use crate::{
    problem::quoted,
    reader::{Section, described},
    workload::{FileSource, RemoteFile},
};

/// Maximum length of a path or a URL, in bytes.
const MAX_BYTES: usize = 4096;

/// Reads a file: a path, a URL, or `{url: ..., sha256: ...}`.
pub(in crate::formats) fn file_source(section: &Section, key: &'static str) -> Option<FileSource> {
    from_value(section, key, section.value(key)?)
}

/// Reads a list of files, which must not be empty.
pub(in crate::formats) fn file_sources(section: &Section, key: &'static str) -> Option<Vec<FileSource>> {
    let items = section.list(key)?;
    if items.is_empty() {
        section.problem(key, "is an empty list; write at least one file");
        return None;
    }
    let count = items.len();
    let read = |(index, (_, value)): (usize, (String, &Value))| from_value(section, &format!("{key}[{index}]"), value);
    let files: Vec<FileSource> = items.into_iter().enumerate().filter_map(read).collect();
    (files.len() == count).then_some(files)
}

fn from_value(section: &Section, key: &str, value: &Value) -> Option<FileSource> {
    match value {
        Value::Object(_) => remote(section.element(value, section.path(key))?),
        Value::String(text) => from_text(section, key, text),
        _ => {
            section.problem(key, format!("is {}; write a path, a URL, or {{url: ...}}", described(value)));
            None
        }
    }
}

/// Returns the file that the text of a key names: a path, or an http or https URL. Other URLs add a problem.
pub(in crate::formats) fn from_text(section: &Section, key: &str, text: &str) -> Option<FileSource> {
    let wanted = if text.trim().is_empty() || text.len() > MAX_BYTES {
        format!("write a path or a URL of 1 to {MAX_BYTES} bytes")
    } else if !text.contains("://") {
        return Some(FileSource::Path(PathBuf::from(text)));
    } else if is_url(text) {
        return Some(FileSource::Url(RemoteFile { url: text.to_owned(), sha256: None }));
    } else {
        "write a path, or an http or https URL without blanks".to_owned()
    };
    section.problem(key, format!("is {}; {wanted}", quoted(text)));
    None
}

fn remote(section: Section) -> Option<FileSource> {
    section.require("url", "write the URL of the file, or only a path in place of the mapping");
    let url = section.text("url").filter(|url| {
        let right = is_url(url) && url.len() <= MAX_BYTES;
        if !right {
            section.problem("url", format!("is {}; write an http or https URL without blanks", quoted(url)));
        }
        right
    });
    let sha256 = section.text("sha256").filter(|digest| {
        let right = digest.len() == 64 && digest.bytes().all(|it| it.is_ascii_hexdigit());
        if !right {
            section.problem("sha256", format!("is {}; write 64 hexadecimal digits", quoted(digest)));
        }
        right
    });
    let sha256 = sha256.map(str::to_owned);
    section.finish();
    Some(FileSource::Url(RemoteFile { url: url?.to_owned(), sha256 }))
}

fn is_url(text: &str) -> bool {
    let has_scheme = ["http://", "https://"].iter().any(|it| text.len() > it.len() && text.starts_with(it));
    has_scheme && !text.contains(char::is_whitespace)
}
