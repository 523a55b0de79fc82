//! The harnesses' profile formats, one file each: a parsed profile in, a [`Workload`] out.

pub(crate) mod inference_perf;

use crds::benchmark_run::Harness;
use serde_json::Value;

use crate::{problem::Findings, workload::Workload};

/// Where a run goes, to be compared with what its profile says. Both are `None` where only the profile is at hand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Target<'a> {
    /// The base URL.
    pub url: Option<&'a str>,
    /// The model that the run asks for.
    pub model: Option<&'a str>,
}

/// Reads a profile. `None` goes with at least one problem in the findings.
pub(crate) fn parse(harness: Harness, profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    match harness {
        Harness::InferencePerf => inference_perf::parse(profile, target, findings),
    }
}
