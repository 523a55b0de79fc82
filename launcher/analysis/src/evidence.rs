//! The input of [`crate::analyse`]: the measurement, and everything else that is known about the run.

use std::sync::Arc;

use crds::resolve::ResolvedRun;
use server_metrics::scraped::Scraped;
use workload_profiles::Workload;

use crate::{Accuracy, Measured, Profiling, loadgen::judged::LoadGenTests, objectives::Source, search::SearchResult};

/// Everything that a run produced: the complete input of [`crate::analyse`].
#[derive(Clone)]
pub struct Evidence<'a> {
    /// What the engine measured.
    pub measured: Measured<'a>,
    /// The load as it was issued.
    pub workload: &'a Workload,
    /// The spec of the run, including the bounds of the validity rules, and the objectives.
    pub run: &'a ResolvedRun,
    /// The model that answered.
    pub model: &'a str,
    /// Doubts about the run that did not come from the measurement, one sentence each.
    pub doubts: Vec<String>,
    /// The reason why the target stopped answering, without text from the server. `None` if it did not stop, or if the reason is unknown.
    pub lost_target: Option<String>,
    /// The LoadGen tests of the run; `None` if it has none.
    pub loadgen: Option<&'a LoadGenTests>,
    /// What the search found. `None` if the run is not a search.
    pub search: Option<&'a SearchResult>,
    /// The scores of the answers; `None` if the answers were not scored.
    pub accuracy: Option<Accuracy>,
    /// What a profiler recorded; `None` if the run requested no profile.
    pub profiling: Option<Profiling>,
    /// (Prompt tokens found in the servers' prefix caches, prompt tokens looked up there). Used only if the servers' metrics are not available.
    pub cache_counts: Option<(f64, f64)>,
    /// The metrics that the servers reported during the load; `None` if none were read.
    pub scraped: Option<Arc<Scraped>>,
    /// The earlier run to compare objectives with; `None` without a baseline.
    pub baseline: Option<&'a dyn Source>,
}

impl<'a> Evidence<'a> {
    /// Evidence that contains only a measurement.
    pub fn new(measured: Measured<'a>, workload: &'a Workload, run: &'a ResolvedRun, model: &'a str) -> Evidence<'a> {
        Evidence {
            measured,
            workload,
            run,
            model,
            doubts: Vec::new(),
            lost_target: None,
            loadgen: None,
            search: None,
            accuracy: None,
            profiling: None,
            cache_counts: None,
            scraped: None,
            baseline: None,
        }
    }
}
