//! The results folder that is reported instead of sending a load.

use super::{Errors, claim};
use crate::{
    benchmark_run::{BenchmarkRunSpec, MAX_FOLDER_BYTES},
    wording::quoted,
};

const FIELD: &str = "spec.execution.collect";

/// The name of the folder to report. `None` if the run sends a load.
pub(super) fn folder(spec: &BenchmarkRunSpec, errors: &mut Errors) -> Option<String> {
    let folder = &spec.execution.collect.as_ref()?.folder;
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '-';
    let is_name = !folder.is_empty()
        && folder.len() <= MAX_FOLDER_BYTES
        && folder.chars().all(is_part)
        && !folder.starts_with('-')
        && !folder.ends_with('-');
    if !is_name {
        let message = format!(
            "is {}, which is no name of a results folder; write the name of the Job that wrote the folder (status.attempts[].jobName of its run), such as \
             chat-2db482-a1",
            quoted(folder)
        );
        errors.add(&format!("{FIELD}.folder"), &message);
    }
    if claim(&spec.storage).is_none() {
        errors.add(
            FIELD,
            "reads a folder on a claim, and spec.storage is none or s3; set storage.pvc to the claim with the folder",
        );
    }
    if spec.repeat.is_some_and(|it| it > 1) {
        errors.add(FIELD, "reports one folder, and spec.repeat asks for several runs; take one of them out");
    }
    if spec.launcher.debug {
        errors.add(FIELD, "sends no load, so spec.launcher.debug has nothing to hold back; take one of them out");
    }
    Some(folder.clone())
}
