//! Which stages are valid, and the verdict on each stage.

use std::collections::HashMap;

use crds::{Met, ObjectiveCounts, Outcome};

use crate::{EstimateDocument, ReportDocument, StageDocument};

impl ReportDocument {
    /// Whether the figures of a stage are valid. If the run is invalid but no stage has a reason of its own, no stage is valid.
    pub fn counts(&self, stage: &StageDocument) -> bool {
        let is_whole_run = || {
            matches!(self.outcome, Outcome::Invalid | Outcome::Error)
                && self.stages.iter().all(|it| it.invalid.is_empty())
        };
        stage.invalid.is_empty() && !is_whole_run()
    }

    /// Whether the figures of at least one stage are valid.
    pub fn any_counts(&self) -> bool {
        self.stages.iter().any(|it| self.counts(it))
    }

    /// The combined verdict of all objectives that cover a stage, by stage name. Stages that no objective covers are not included.
    pub fn verdicts(&self) -> HashMap<&str, Met> {
        let mut results: HashMap<&str, Vec<Met>> = HashMap::new();
        for it in self.objectives.iter().flat_map(|it| &it.stages) {
            results.entry(it.stage.as_str()).or_default().push(it.met);
        }
        results.into_iter().map(|(stage, all)| (stage, ObjectiveCounts::count(all).all())).collect()
    }
}

impl EstimateDocument {
    /// The 95 % interval, limited to values of at least 0. `None` if there were too few values.
    pub fn interval(&self) -> Option<(f64, f64)> {
        Some((self.low?.max(0.0), self.high?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_without_a_fault_counts_if_another_stage_has_one() {
        let mut document = ReportDocument::read(include_str!("../../page/fixtures/report.json")).unwrap();
        let stage = StageDocument { invalid: Vec::new(), ..document.stages.remove(0) };
        document.stages = vec![stage.clone(), StageDocument { invalid: vec!["CpuSaturated".to_owned()], ..stage }];
        let counted =
            |document: &ReportDocument| -> Vec<bool> { document.stages.iter().map(|it| document.counts(it)).collect() };
        for outcome in Outcome::ALL {
            assert_eq!(counted(&ReportDocument { outcome, ..document.clone() }), [true, false], "{outcome:?}");
        }
        document.stages[1].invalid.clear();
        for outcome in Outcome::ALL {
            let counts = !matches!(outcome, Outcome::Invalid | Outcome::Error);
            let document = ReportDocument { outcome, ..document.clone() };
            assert_eq!(counted(&document), [counts, counts], "{outcome:?}");
        }
    }
}
