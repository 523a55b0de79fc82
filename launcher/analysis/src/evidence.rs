//! The input of [`crate::analyse`]: the measurement, and everything else that is known about the run.

use std::sync::Arc;

use crds::resolve::ResolvedRun;
use server_metrics::scraped::Scraped;
use workload_profiles::Workload;

use crate::{Accuracy, Measured, Profiling, loadgen::judged::LoadGenTests, objectives::Source};

/// All that a run produced. [`crate::analyse`] needs no other input, and no later step completes its result.
#[derive(Clone)]
pub struct Evidence<'a> {
    /// What the engine measured.
    pub measured: Measured<'a>,
    /// The load as it was issued.
    pub workload: &'a Workload,
    /// The spec of the run, with its bounds and objectives.
    pub run: &'a ResolvedRun,
    /// The model that answered.
    pub model: &'a str,
    /// Doubts that the launcher found outside the measurement, one sentence each.
    pub doubts: Vec<String>,
    /// Why the target stopped answering, without text from a server; `None`: it did not stop, or the reason is unknown.
    pub lost_target: Option<String>,
    /// The LoadGen tests of the run; `None`: the run has no LoadGen tests.
    pub loadgen: Option<&'a LoadGenTests>,
    /// The scores of the answers; `None`: the answers were not scored.
    pub accuracy: Option<Accuracy>,
    /// What a profiler recorded; `None`: the run requested no profile.
    pub profiling: Option<Profiling>,
    /// Prompt tokens found in the servers' prefix caches, and prompt tokens looked up there. Used when the metrics themselves are not available.
    pub cache_counts: Option<(f64, f64)>,
    /// The metrics that the servers reported during the load; `None`: none were read.
    pub scraped: Option<Arc<Scraped>>,
    /// The earlier run to compare objectives with; `None` without a baseline.
    pub baseline: Option<&'a dyn Source>,
}

impl<'a> Evidence<'a> {
    /// The evidence of a run if only its measurement is known.
    pub fn new(measured: Measured<'a>, workload: &'a Workload, run: &'a ResolvedRun, model: &'a str) -> Evidence<'a> {
        Evidence {
            measured,
            workload,
            run,
            model,
            doubts: Vec::new(),
            lost_target: None,
            loadgen: None,
            accuracy: None,
            profiling: None,
            cache_counts: None,
            scraped: None,
            baseline: None,
        }
    }
}
