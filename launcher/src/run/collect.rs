//! [I/O] A run with `spec.execution.collect`: reports the finished results folder of another run, and sends no load.

use std::io;

use crds::{Envelope, LauncherReason, Outcome};
use document::ReportDocument;
use report::{baseline, earlier_attempt, partial::SUFFIX};
use tracing::info;

use super::{Failure, RunOptions};
use crate::input::Input;
use analysis::{Objectives, objectives::Source};

/// Returns the termination message of this run: the figures in the folder, judged by this run's objectives.
///
/// # Errors
/// The folder does not exist, its run has not finished measuring, or its report cannot be read.
pub(super) fn collect(
    input: &Input,
    folder: &str,
    baseline: Option<&ReportDocument>,
    options: &RunOptions,
) -> Result<Envelope, Failure> {
    let root = options.results();
    let (mut envelope, report) = earlier_attempt::read_any(&root, folder).map_err(|error| {
        let unfinished = || root.join(format!("{folder}{SUFFIX}")).exists();
        let why = match error.kind() {
            io::ErrorKind::NotFound if unfinished() => {
                "its run has not ended, or was killed; wait for its end, or name a finished folder".to_owned()
            }
            io::ErrorKind::NotFound => {
                "the claim of storage.pvc.claimName has no such folder; name an existing folder, or the claim that has it".to_owned()
            }
            io::ErrorKind::InvalidData => format!("{error}; name the folder of a run in a cluster that measured completely"),
            _ => format!("it cannot be read: {error}"),
        };
        Failure::configuration(format!("spec.execution.collect.folder: is {folder:?}: {why}"))
    })?;
    let of = std::mem::replace(&mut envelope.core.run_uid, input.run.run.uid.clone());
    envelope.core.attempt = input.run.run.attempt;
    envelope.core.folder = Some(folder.to_owned());
    judge(&mut envelope, &report, input, baseline)?;
    let core = &mut envelope.core;
    let told = format!("these are the figures of folder {folder}, which the run with UID {of} wrote; no load was sent");
    info!("{told}");
    core.message = if core.message.is_empty() { told } else { format!("{told}; {}", core.message) };
    Ok(envelope)
}

/// Replaces the objectives of the run that wrote the folder with this run's objectives.
fn judge(
    envelope: &mut Envelope,
    report: &str,
    input: &Input,
    baseline: Option<&ReportDocument>,
) -> Result<(), Failure> {
    let core = &mut envelope.core;
    let counts = core.outcome.has_valid_figures();
    if counts {
        (core.outcome, core.reason) = (Outcome::Passed, LauncherReason::RunSucceeded.into());
        core.message.clear();
    }
    core.objectives = None;
    envelope.objectives.clear();
    let Some(slo) = &input.run.slo else { return Ok(()) };
    let objectives = if counts {
        let figures = baseline::parse(report).map_err(|error| {
            let folder = core.folder.as_deref().unwrap_or_default();
            Failure::configuration(format!("spec.execution.collect.folder: is {folder:?}, whose report.json {error}"))
        })?;
        let baseline = baseline.map(|it| it as &dyn Source);
        Objectives::of_report(slo, &figures, &figures.stage_names(), &figures.measured_stages(), baseline, None)
    } else {
        Objectives::undecided(slo, &format!("the run is not valid ({}), so its figures do not count", core.reason))
    };
    if let Some((outcome, reason)) = objectives.verdict().filter(|_| counts) {
        (core.outcome, core.reason, core.message) = (outcome, reason.name.into(), reason.message);
    }
    core.objectives = Some(objectives.counts());
    envelope.objectives = objectives.results.iter().map(analysis::ObjectiveResult::status).collect();
    Ok(())
}
