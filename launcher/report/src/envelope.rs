//! Converts the analysis to the launcher's termination message.

use crds::{
    envelope::{Core, Envelope},
    resolve::RunIdentity,
};

use super::folder::Stored;
use analysis::{Accuracy, Analysis, ObjectiveResult, Objectives};

/// The results of a measurement, for the operator. `stored` is the results folder, if there is one.
pub fn envelope(run: &RunIdentity, analysis: &Analysis, stored: Option<&Stored>) -> Envelope {
    let reason = analysis.verdict.headline();
    Envelope {
        core: Core {
            run_uid: run.uid.clone(),
            attempt: run.attempt,
            outcome: analysis.verdict.outcome,
            reason: reason.name.into(),
            message: analysis.status_message(),
            model: analysis.model.clone(),
            load_start_time: Some(analysis.started),
            folder: stored.map(|it| it.name.clone()),
            partial: analysis.partial,
            summary: Some(analysis.summary()),
            search: analysis.search.as_ref().map(|it| Box::new(it.status())),
            objectives: analysis.objectives.as_ref().map(Objectives::counts),
            deleted_folders: 0,
            artifacts: stored.map(|it| it.artifacts.clone()).unwrap_or_default(),
        },
        stages: analysis.stage_summaries(),
        stages_truncated: false,
        objectives: analysis.objectives.iter().flat_map(|it| &it.results).map(ObjectiveResult::status).collect(),
        accuracy: analysis.accuracy.as_ref().map(Accuracy::status),
    }
}
