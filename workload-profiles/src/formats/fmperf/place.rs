//! The keys of a workload that specify where the original runs.

use crate::reader::{Section, ValueType};

/// Checks the types of keys that specify where the original runs, not what it sends.
pub(super) fn place(root: &Section) {
    root.all_ignored(&[
        ("image", ValueType::Text),
        ("pvc_name", ValueType::Text),
        ("service_account", ValueType::Text),
        ("overwrite", ValueType::Bool),
    ]);
}
