//! The tokenizer that the flags of a tool name.

use serde_json::Value;

use super::{files::from_text, flags::word};
use crate::{reader::Section, workload::FileSource};

/// The flag `tokenizer`, where it names a file. It is `needed` where prompts get or are chosen by a length; then its absence is noticed.
pub(in crate::formats) fn tokenizer(root: &Section, tool: &str, needed: bool) -> Option<FileSource> {
    let name = name(root, "tokenizer");
    let file = name.as_deref().and_then(file);
    if file.is_none() && needed {
        let what = "here a token is counted as a word; for exact lengths write the path of a tokenizer.json";
        let message = match name {
            Some(name) => format!("is {name}, which is not loaded: {what}"),
            None => format!("is left out, and {tool} loads that of the model; {what}"),
        };
        root.notice("tokenizer", message);
    }
    from_text(root, "tokenizer", &file?)
}

/// A name that a template may leave empty, if the run does not name a model.
pub(in crate::formats) fn name(root: &Section, key: &'static str) -> Option<String> {
    if root.value(key).and_then(Value::as_str).is_some_and(|it| it.trim().is_empty()) { None } else { word(root, key) }
}

/// The file of a tokenizer that is named by a path or a URL: itself, or in a folder.
fn file(name: &str) -> Option<String> {
    if name.ends_with("tokenizer.json") {
        return Some(name.to_owned());
    }
    let is_folder = name.starts_with(['/', '.']) || name.contains("://");
    is_folder.then(|| format!("{}/tokenizer.json", name.trim_end_matches('/')))
}
