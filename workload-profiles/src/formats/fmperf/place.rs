//! Keys that specify where fmperf runs a workload.

use crate::reader::{Section, ValueType};

/// Checks the types of the keys that specify where fmperf runs. These keys have no effect here.
pub(super) fn place(root: &Section) {
    root.all_ignored(&[
        ("image", ValueType::Text),
        ("pvc_name", ValueType::Text),
        ("service_account", ValueType::Text),
        ("overwrite", ValueType::Bool),
    ]);
}
