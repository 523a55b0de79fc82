//! Section `tokenizer`: the tokenizer with which prompts get their exact lengths.

use std::path::Path;

use crate::{
    formats::common::files::from_text,
    problem::quoted,
    reader::{Section, ValueType},
    workload::FileSource,
};

/// The name of the tokenizer's file in its folder.
const FILE: &str = "tokenizer.json";

/// Returns the tokenizer file, if the section names one.
pub(super) fn read(section: Option<Section>) -> Option<FileSource> {
    const KEY: &str = "pretrained_model_name_or_path";
    let section = section?;
    section.all_ignored(&[
        ("trust_remote_code", ValueType::Bool),
        ("token", ValueType::Text),
        ("load_timeout", ValueType::Number),
    ]);
    let name = section.text(KEY).map(str::trim).filter(|it| !it.is_empty());
    let file = name.and_then(path);
    if let (Some(name), None) = (name, &file) {
        let message = format!(
            "is {}, a name of Hugging Face, which is not downloaded: prompts are made of words and have about the requested length; \
             write the path of its {FILE} for exact lengths",
            quoted(name)
        );
        section.notice(KEY, message);
    }
    let file = file.and_then(|it| from_text(&section, KEY, &it));
    section.finish();
    file
}

/// Returns the path of the file: the name itself, or a file in the named folder. Names from Hugging Face contain at most one slash, and do not begin
/// with a slash or a dot.
fn path(name: &str) -> Option<String> {
    if Path::new(name).extension().is_some_and(|it| it.eq_ignore_ascii_case("json")) {
        return Some(name.to_owned());
    }
    let is_folder = name.starts_with(['/', '.']) || name.ends_with('/') || name.matches('/').count() > 1;
    is_folder.then(|| format!("{}/{FILE}", name.trim_end_matches('/')))
}
