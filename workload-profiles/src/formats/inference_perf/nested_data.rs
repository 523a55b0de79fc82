//! A section `data` that is indented too far, so that it is inside another section. inference-perf then finds no `data` at the root, and silently
//! sends mock prompts.

use serde_json::Value;

use super::SECTIONS;
use crate::{
    problem::Findings,
    reader::Section,
    yaml::{child, report_unfilled},
};

/// A profile with `data` inside another section.
pub(super) struct NestedData<'a> {
    /// The section `data`.
    pub data: &'a Value,
    /// The path of `data`, such as `tokenizer.data`.
    pub path: String,
    /// The profile without this section.
    pub rest: Value,
}

/// Finds a `data` section inside another section, if the root has none, and adds a notice. A nested `data` that contains placeholders without a value
/// is not moved: the profile cannot run, and [`report_missing`] reports the missing section.
pub(super) fn find<'a>(profile: &'a Value, findings: &Findings) -> Option<NestedData<'a>> {
    let (section, data) = nested(profile)?;
    let path = child(section, "data");
    let unfilled = Findings::default();
    report_unfilled(data, &path, &unfilled);
    unfilled.into_result().ok()?;
    let mut rest = profile.clone();
    rest.get_mut(section)?.as_object_mut()?.remove("data");
    findings.notice(
        &path,
        "is indented too far, and is read as if it were at the root, as its author meant; inference-perf finds no data \
         there and sends mock prompts",
    );
    Some(NestedData { data, path, rest })
}

fn nested(profile: &Value) -> Option<(&'static str, &Value)> {
    let entries = profile.as_object()?;
    if entries.get("data").is_some_and(|it| !it.is_null()) {
        return None;
    }
    let data_of =
        |section: &'static str| Some((section, entries.get(section)?.get("data").filter(|it| it.is_object())?));
    SECTIONS.into_iter().find_map(data_of)
}

/// Adds a problem for a profile without `data` at its root.
pub(super) fn report_missing(root: &Section, profile: &Value) {
    let remedy = match nested(profile) {
        Some((section, _)) => format!(
            "move {section}.data to the root of the profile; in its present place inference-perf would ignore it and send mock prompts without a warning"
        ),
        None => "write what to send, or data: {type: mock} for the mock prompts that inference-perf sends without it"
            .to_owned(),
    };
    root.require("data", &remedy);
}
