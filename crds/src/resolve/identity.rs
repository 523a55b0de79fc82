//! The identity of a run: its name, its UID, and names derived from them.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Errors;
use crate::{
    benchmark_run::{MAX_GENERATE_NAME_BYTES, MAX_NAME_BYTES},
    hex,
    wording::quoted,
};

/// The name, UID and attempt of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunIdentity {
    /// Name of the BenchmarkRun.
    pub name: String,
    /// The namespace of the run; empty outside of a cluster.
    #[serde(default)]
    pub namespace: String,
    /// The UID of the run: the object's UID in a cluster, generated elsewhere.
    pub uid: String,
    /// Number of the attempt, counted from 1.
    pub attempt: u32,
    /// Number of the repeat, counted from 1. It is absent if the load runs only once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_number: Option<u32>,
}

impl RunIdentity {
    /// The identity of the first attempt, without a repeat number.
    pub fn first_attempt(name: impl Into<String>, namespace: impl Into<String>, uid: impl Into<String>) -> RunIdentity {
        RunIdentity { name: name.into(), namespace: namespace.into(), uid: uid.into(), attempt: 1, repeat_number: None }
    }

    /// The name of the attempt, used for its Job, its ConfigMap and its results folder in a cluster. It contains a part of the run's UID,
    /// because a second run with the same name must not reuse the objects or the folder of the first run. At most 58 bytes, so that
    /// `<name>-<index>` is a valid host name.
    pub fn attempt_name(&self) -> String {
        format!("{}-a{}", self.stem(), self.attempt)
    }

    /// The common prefix of the names of the run's objects. At most 53 bytes.
    pub(super) fn stem(&self) -> String {
        let uid = Sha256::digest(&self.uid);
        format!("{}-{}", self.name, hex(&uid[..3]))
    }

    /// A prompt salt that no other run, attempt or repeat uses.
    pub fn prompt_salt(&self) -> String {
        format!("{}-a{}{}", self.uid, self.attempt, self.dashed_repeat())
    }

    /// The name that people see: the run's name, with the suffix `-r2` for the second repeat.
    pub fn title(&self) -> String {
        format!("{}{}", self.name, self.dashed_repeat())
    }

    fn dashed_repeat(&self) -> String {
        self.repeat_number.map_or_else(String::new, |number| format!("-{}", repeat_name(number)))
    }
}

/// The name of a repeat and of its results folder, such as `r2` for the second.
pub fn repeat_name(number: u32) -> String {
    format!("r{number}")
}

/// Returns what is wrong with `metadata.generateName`. `None` if every name that the API server generates from it is valid for a run.
pub fn generate_name_problem(prefix: &str) -> Option<String> {
    let plain = prefix.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-');
    let fits =
        plain && prefix.len() <= MAX_GENERATE_NAME_BYTES && prefix.starts_with(|it: char| it.is_ascii_lowercase());
    (!fits).then(|| {
        format!(
            "is {}; use at most {MAX_GENERATE_NAME_BYTES} letters a-z, digits and dashes, and begin with a letter: the API server adds five characters, and a name has at most {MAX_NAME_BYTES}",
            quoted(prefix)
        )
    })
}

pub(super) fn check_name(name: &str, errors: &mut Errors) {
    let label = name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
        && name.starts_with(|it: char| it.is_ascii_lowercase())
        && !name.ends_with('-');
    if !label || name.len() > MAX_NAME_BYTES {
        errors.add(
            "metadata.name",
            &format!(
                "is {}; use at most {MAX_NAME_BYTES} letters a-z, digits and dashes, and begin with a letter",
                quoted(name)
            ),
        );
    }
}
