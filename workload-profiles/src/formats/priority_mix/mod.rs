//! The traffic classes of llm-d-benchmark's priority-mix.

use serde_json::Value;

use super::Target;
use crate::{problem::Findings, workload::Workload};

/// Reads a profile. `None` goes with at least one problem in the findings.
pub(super) fn parse(_profile: &Value, _target: Target, findings: &Findings) -> Option<Workload> {
    findings.problem("profile", "has the format of priority-mix, which cannot be read yet");
    None
}
