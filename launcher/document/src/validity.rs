//! Which stages count, and the verdict on each.

use std::collections::HashMap;

use crds::{Met, ObjectiveCounts, Outcome};

use crate::{EstimateDocument, ReportDocument, StageDocument};

impl ReportDocument {
    /// Whether the figures of a stage count. If no stage is at fault, the outcome of the run decides.
    pub fn counts(&self, stage: &StageDocument) -> bool {
        let is_whole_run = || {
            matches!(self.outcome, Outcome::Invalid | Outcome::Error)
                && self.stages.iter().all(|it| it.invalid.is_empty())
        };
        stage.invalid.is_empty() && !is_whole_run()
    }

    /// Whether the figures of any stage count.
    pub fn any_counts(&self) -> bool {
        self.stages.iter().any(|it| self.counts(it))
    }

    /// The verdict on all objectives that cover a stage, by the name of the stage. A stage that no objective covers is not in the map.
    pub fn verdicts(&self) -> HashMap<&str, Met> {
        let mut results: HashMap<&str, Vec<Met>> = HashMap::new();
        for it in self.objectives.iter().flat_map(|it| &it.stages) {
            results.entry(it.stage.as_str()).or_default().push(it.met);
        }
        results.into_iter().map(|(stage, all)| (stage, ObjectiveCounts::count(all).all())).collect()
    }
}

impl EstimateDocument {
    /// The 95 % interval, from 0 at least; `None` with too few values.
    pub fn interval(&self) -> Option<(f64, f64)> {
        Some((self.low?.max(0.0), self.high?))
    }
}
