//! The formats of GuideLLM: the scenarios up to version 0.6, those from 0.7, and the command lines of both.

mod command_line;

use serde_json::Value;

use super::Target;
use crate::{problem::Findings, workload::Workload};

/// Reads a profile. `None` goes with at least one problem in the findings.
pub(super) fn parse(profile: &Value, _target: Target, findings: &Findings) -> Option<Workload> {
    if let Value::String(text) = profile {
        command_line::read(text, findings)?;
    }
    findings.problem("profile", "has the format of GuideLLM, which cannot be read yet");
    None
}
