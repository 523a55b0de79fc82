//! Evaluates objectives other than those of the run on its document.

use analysis::objectives::{OTHER_MODEL, Objectives, Source, other_model, why_undecided};
use crds::{LauncherReason, Outcome, Word as _, resolve::ResolvedSlo};
use workload_profiles::workload::Margin;

use crate::{ReasonDocument, ReportDocument, objectives};

impl ReportDocument {
    /// Returns the same measurement with the results for these objectives. With the objectives of the run itself, the document does not change. If
    /// the measurement is invalid, all objectives stay undecided and the outcome does not change. `baseline` is the earlier run with which figures
    /// are compared.
    pub fn judged(&self, slo: &ResolvedSlo, baseline: Option<&dyn Source>) -> ReportDocument {
        let reason = self.reasons.first().map_or("", |it| it.reason.as_str());
        let measured = self.stages.iter().filter(|it| it.warm_up != Some(Margin::All));
        let measured: Vec<&str> = measured.map(|it| it.name.as_str()).collect();
        let undecided = why_undecided(self.outcome, self.partial, reason);
        let found = Objectives::of_report(slo, self, &self.stage_names(), &measured, baseline, undecided);
        let mut judged = self.clone();
        judged.objectives = objectives::documents(Some(&found));
        judged.resolved_run.slo = Some(slo.clone());
        if self.outcome.has_valid_figures() {
            let (outcome, name, message) = match found.verdict() {
                Some((outcome, reason)) => (outcome, reason.name, reason.message),
                None => (Outcome::Passed, LauncherReason::RunSucceeded, String::new()),
            };
            judged.outcome = outcome;
            judged.reasons = vec![ReasonDocument { reason: name.name().to_owned(), message }];
        }
        let remarks = &mut judged.self_judgement.remarks;
        remarks.retain(|it| !it.starts_with(OTHER_MODEL));
        remarks.extend(baseline.filter(|_| slo.baseline.is_some()).and_then(|it| other_model(it, &self.model)));
        judged
    }
}
