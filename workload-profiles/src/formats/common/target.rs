//! The model and the server that a profile names, beside those of the run.

use crate::{formats::Target, reader::Section};

/// Adds a notice where the run asks for another model.
pub(in crate::formats) fn note_model(section: &Section, key: &str, model: &str, target: Target) {
    if let Some(requested) = target.model.filter(|it| *it != model) {
        section.notice(key, format!("is {model}, but target.model of the run is {requested}, which is used"));
    }
}

/// Adds a notice where the run has another target.
pub(in crate::formats) fn note_url(section: &Section, key: &str, url: &str, target: Target) {
    let url = url.trim_end_matches('/');
    if let Some(target) = target.url.filter(|it| it.trim_end_matches('/') != url) {
        section.notice(key, format!("is {url}, but requests are sent to the target of the run, {target}"));
    }
}
