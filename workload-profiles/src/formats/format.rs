//! How the profiles of one harness are read.

use serde_json::Value;

use super::{common::stage_length, target::Target};
use crate::{problem::Findings, workload::Workload};

/// Reads a profile. `None` means that the findings contain at least one problem.
type Parse = fn(&Value, Target, &Findings) -> Option<Workload>;

/// Everything about the profile format of one harness.
pub(crate) struct Format {
    pub parse: Parse,
    /// The keys that an override can add at the root of a profile: the keys of our own formats, and the flags of a command line. In other tools' YAML
    /// formats an override can only change existing keys.
    pub root_keys: fn() -> &'static [&'static str],
    /// The names of the keys that determine a stage's length, for error messages. `None` if the format checks its stages itself, or has no load with
    /// a rate.
    pub(super) stage_length: Option<stage_length::Keys>,
    /// The name and the text of each profile that ships, sorted. A test compares the list with the folder.
    pub shipped: &'static [(&'static str, &'static str)],
}

/// A profile that ships: its folder in this crate, and its name.
macro_rules! profile {
    ($folder:literal, $name:literal) => {
        ($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder, "/", $name, ".yaml.in")))
    };
}

pub(super) use profile;
