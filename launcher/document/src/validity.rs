//! Which stages count.

use crds::Outcome;

use crate::{ReportDocument, StageDocument};

impl ReportDocument {
    /// Whether the figures of a stage count. If no stage of an invalid run is at fault, none of them counts.
    pub fn counts(&self, stage: &StageDocument) -> bool {
        let is_invalid = matches!(self.outcome, Outcome::Invalid | Outcome::Error);
        let is_whole = is_invalid && self.stages.iter().all(|it| it.invalid.is_empty());
        stage.invalid.is_empty() && !is_whole
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
