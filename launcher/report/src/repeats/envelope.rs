//! Converts a series to the launcher's termination message.

use analysis::Accuracy;
use crds::{
    AccuracyStatus, AccuracyVerdict,
    envelope::{ArtifactRef, Core, Envelope},
    resolve::repeat_name,
};

use super::{Repeat, Series};
use crate::{REPORT_FILE_NAME, folder::Stored};

/// The results of a series, for the operator. `stored` is the folder of the series, if there is one. Lists the files of this folder first, then the
/// report of each run.
pub fn envelope(series: &Series<'_>, stored: Option<&Stored>) -> Envelope {
    let verdict = series.verdict();
    let (counts, objectives) = series.objectives().unzip();
    let first = series.repeats.first().map(|it| &it.analysis);
    let own = stored.iter().flat_map(|it| it.artifacts.clone());
    let artifacts = own.chain(series.repeats.iter().filter_map(report)).collect();
    Envelope {
        core: Core {
            run_uid: series.run.uid.clone(),
            attempt: series.run.attempt,
            outcome: verdict.outcome,
            reason: verdict.reason.into(),
            message: verdict.status_message,
            model: first.map(|it| it.model.clone()).unwrap_or_default(),
            load_start_time: first.map(|it| it.started),
            folder: stored.map(|it| it.name.clone()),
            partial: series.is_partial(),
            summary: series.summary(),
            search: None,
            objectives: counts,
            deleted_folders: 0,
            artifacts,
        },
        stages: series.stage_summaries(),
        stages_truncated: false,
        objectives: objectives.unwrap_or_default(),
        accuracy: worst_accuracy(series),
    }
}

/// The accuracy of the run that is furthest from passing. Among equals, the first run.
fn worst_accuracy(series: &Series<'_>) -> Option<AccuracyStatus> {
    let rank = |it: &Accuracy| match it.verdict {
        AccuracyVerdict::Failed => 0,
        AccuracyVerdict::Undecided => 1,
        AccuracyVerdict::Passed | AccuracyVerdict::NotJudged => 2,
    };
    series.repeats.iter().filter_map(|it| it.analysis.accuracy.as_ref()).min_by_key(|it| rank(it)).map(Accuracy::status)
}

fn report(run: &Repeat) -> Option<ArtifactRef> {
    let found = run.stored.as_ref()?.artifacts.iter().find(|it| it.name == REPORT_FILE_NAME)?;
    Some(ArtifactRef { name: format!("{}/{REPORT_FILE_NAME}", repeat_name(run.number)), ..found.clone() })
}
