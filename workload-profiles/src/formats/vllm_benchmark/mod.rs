//! The flags of `vllm bench serve`, as a flat mapping or as a command line.

use serde_json::Value;

use super::Target;
use crate::{problem::Findings, workload::Workload};

/// Reads a profile. `None` goes with at least one problem in the findings.
pub(super) fn parse(_profile: &Value, _target: Target, findings: &Findings) -> Option<Workload> {
    findings.problem("profile", "has the format of vllm bench serve, which cannot be read yet");
    None
}
