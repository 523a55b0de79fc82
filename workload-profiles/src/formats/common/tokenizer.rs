//! The tokenizer that a tool's flags name.

use serde_json::Value;

use super::{files::from_text, flags::word};
use crate::{reader::Section, workload::FileSource};

/// Reads the flag `tokenizer`, if it names a file. If there is no file but the tokenizer is `needed` for the lengths of the prompts, adds a notice.
pub(in crate::formats) fn tokenizer(root: &Section, tool: &str, needed: bool) -> Option<FileSource> {
    let name = name(root, "tokenizer");
    let file = name.as_deref().and_then(file);
    if file.is_none() && needed {
        let what = "here a token is counted as a word; for exact lengths write the path of a tokenizer.json";
        let message = match name {
            Some(name) => format!("is {name}, which is not loaded: {what}"),
            None => format!("is missing, and {tool} then loads the model's tokenizer; {what}"),
        };
        root.notice("tokenizer", message);
    }
    from_text(root, "tokenizer", &file?)
}

/// Reads a name. Templates leave it empty if the run names no model.
pub(in crate::formats) fn name(root: &Section, key: &'static str) -> Option<String> {
    if root.value(key).and_then(Value::as_str).is_some_and(|it| it.trim().is_empty()) { None } else { word(root, key) }
}

/// Returns the `tokenizer.json` that a path or a URL names, directly or by its folder.
fn file(name: &str) -> Option<String> {
    if name.ends_with("tokenizer.json") {
        return Some(name.to_owned());
    }
    let is_folder = name.starts_with(['/', '.']) || name.contains("://");
    is_folder.then(|| format!("{}/tokenizer.json", name.trim_end_matches('/')))
}
