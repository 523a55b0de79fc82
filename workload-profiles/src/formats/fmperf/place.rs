//! Keys of a workload that specify where the original runs.

use crate::reader::{Section, ValueType};

/// Checks the types of the keys that specify where the original runs. They have no effect here.
pub(super) fn place(root: &Section) {
    root.all_ignored(&[
        ("image", ValueType::Text),
        ("pvc_name", ValueType::Text),
        ("service_account", ValueType::Text),
        ("overwrite", ValueType::Bool),
    ]);
}
