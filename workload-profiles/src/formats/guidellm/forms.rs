//! Converts each form of a profile to the nested form.

use serde_json::Value;

use super::{
    command_line, flat,
    scenario::{ROOT, Scenario},
};
use crate::{problem::Findings, reader::described};

/// Reads any form of a profile. Returns `None` if at least one problem was reported.
pub(super) fn read(profile: &Value, findings: &Findings) -> Option<Scenario> {
    if let Value::String(text) = profile {
        return command_line::read(text, findings);
    }
    let Some(root) = profile.as_object() else {
        let remedy = "write a scenario of GuideLLM, with spec, or its command line, guidellm run ...";
        findings.problem("profile", format!("is {}; {remedy}", described(profile)));
        return None;
    };
    // A result file contains its scenario under `config`, or under `args` before version 0.7.
    for key in ["config", "args"] {
        if let Some(inner) = root.get(key).filter(|it| it.is_object()) {
            findings
                .notice(key, "is the scenario of a result file, and is run again; the results beside it are not read");
            let mut scenario = from_mapping(inner, findings)?;
            let named = ROOT.map(|it| (it.to_owned(), format!("{key}.{it}")));
            scenario.names.extend(named);
            return Some(scenario);
        }
    }
    from_mapping(profile, findings)
}

fn from_mapping(profile: &Value, findings: &Findings) -> Option<Scenario> {
    let root = profile.as_object()?;
    let nested = ROOT.iter().any(|it| root.contains_key(*it));
    if nested { Scenario::nested(profile, findings) } else { flat::read(profile, flat::Origin::File, findings) }
}
