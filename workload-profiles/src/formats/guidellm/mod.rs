//! The formats of GuideLLM (0.3 to 0.8): flat scenarios up to version 0.6, nested scenarios from 0.7 on, the scenario in a result file, and the
//! command lines of both forms.
//!
//! Every form is converted to the nested form, which [`spec`] reads. A problem or a notice names the key as its author wrote it. A feature of
//! GuideLLM that this engine does not support is a problem. A feature that has another effect here than in GuideLLM causes a notice.

mod backend;
mod command_line;
mod constraints;
mod data;
mod entries;
mod flat;
mod forms;
mod paths;
mod phases;
mod profile;
mod scenario;
mod spec;
mod stages;
mod values;
mod words;

use serde_json::Value;

use super::{
    common::stage_length,
    format::{Format, profile},
    target::Target,
};
use crate::{
    problem::{Findings, Problem},
    workload::Workload,
};

/// The names of the keys that determine a strategy's length, for error messages.
const STAGE_LENGTH: stage_length::Keys = stage_length::Keys {
    count: |_| "max_requests",
    rate: |_| "spec.profile.rate",
    ramp_up: "spec.profile.rampup_duration",
};

/// The profiles of GuideLLM.
pub(super) const FORMAT: Format = Format {
    parse,
    // The key of the tokenizer in the flat form. The nested form contains it in `spec`.
    root_keys: || &["processor"],
    stage_length: None,
    shipped: &[
        profile!("guidellm", "concurrent-1k-1k"),
        profile!("guidellm", "concurrent-heavy-heterogeneous"),
        profile!("guidellm", "multi-turn"),
        profile!("guidellm", "random_concurrent"),
        profile!("guidellm", "sanity_concurrent"),
        profile!("guidellm", "sanity_random"),
        profile!("guidellm", "shared_prefix_synthetic"),
        profile!("guidellm", "summarization_synthetic"),
    ],
};

/// Reads a profile. `None` means that the findings contain at least one problem.
pub(super) fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let scenario = forms::read(profile, findings)?;
    let nested = Findings::default();
    if scenario.is_flat {
        nested.tolerate_unknown_keys("GuideLLM up to 0.6 ignores it");
    }
    let workload = spec::read(&scenario.value, target, &nested);
    if let Some(workload) = &workload {
        stage_length::check(&workload.stages, &STAGE_LENGTH, &nested);
    }
    // GuideLLM also refuses unknown keys outside the data, such as unknown keys of the backend.
    nested.refuse_unknown_keys(|path| !path.starts_with("spec.data["));
    nested.named_url().iter().for_each(|it| findings.names_url(it));
    match nested.into_result() {
        Ok(notices) => {
            notices.into_iter().for_each(|it| findings.notice(scenario.name(&it.path), it.message));
            workload
        }
        Err(error) => {
            findings.add_new(error.problems.into_iter().map(|it| Problem::new(scenario.name(&it.path), it.message)));
            None
        }
    }
}

#[cfg(test)]
mod tests;
