//! [I/O] The termination message, from which the operator reads the result.

use std::{fs::File, io::Write as _, os::unix::fs::OpenOptionsExt as _, path::Path};

use crds::{
    Outcome,
    envelope::{Core, Envelope},
};
use document::answer::Answer;
use rustix::fs::OFlags;
use tracing::warn;

use super::{measured::Measurement, options::RunOptions, outcome::Failure};
use crate::input::Input;

/// Writes the termination message, if one is wanted.
pub(super) fn leave_message(options: &RunOptions, envelope: impl FnOnce() -> Envelope) {
    if options.termination_log().is_some() {
        leave_text(options, &envelope().to_text());
    }
}

/// The termination message before there is a result. Without it, the kubelet would use the end of the log, which may contain text from a server.
pub(super) const ENDED_EARLY: &str = "ended before there was a result; the log of the pod has the reason";

pub(super) fn leave_text(options: &RunOptions, text: &str) {
    write(options.termination_log().as_deref(), text);
}

/// The termination message, from which the operator learns the result.
pub(super) fn envelope(input: &Input, done: &Result<Measurement, Failure>) -> Envelope {
    let failure = match done {
        Ok(measurement) => return of_measurement(input, measurement),
        Err(failure) => failure,
    };
    let mut envelope = match failure.measured() {
        Some(measurement) => of_measurement(input, measurement),
        None => Envelope {
            core: Core {
                run_uid: input.run.run.uid.clone(),
                attempt: input.run.run.attempt,
                outcome: Outcome::Error,
                reason: failure.reason.into(),
                message: String::new(),
                model: String::new(),
                load_start_time: None,
                folder: None,
                partial: false,
                summary: None,
                search: None,
                objectives: None,
                deleted_folders: 0,
                artifacts: Vec::new(),
            },
            stages: Vec::new(),
            stages_truncated: false,
            objectives: Vec::new(),
            accuracy: None,
        },
    };
    envelope.core.outcome = failure.into();
    envelope.core.reason = failure.reason.into();
    envelope.core.message = failure.status_message().to_owned();
    envelope
}

fn of_measurement(input: &Input, measurement: &Measurement) -> Envelope {
    let mut envelope = report::envelope::envelope(&input.run.run, &measurement.analysis, measurement.stored.as_ref());
    // The message of an invalid run is its reason, which contains no text from a server.
    if measurement.analysis.verdict.outcome.has_valid_figures() {
        let reason = std::mem::take(&mut envelope.core.message);
        let parts = [Answer::new(&measurement.document).sentence, reason];
        envelope.core.message = parts.join(" ").trim_end().to_owned();
    }
    envelope.core.deleted_folders = measurement.deleted_folders.len().try_into().unwrap_or(u32::MAX);
    envelope
}

/// Writes the termination message. If the file is a pipe without a reader, only logs a warning.
pub(super) fn write(path: Option<&Path>, text: &str) {
    let Some(path) = path else { return };
    // Without this flag, opening a pipe without a reader would block forever.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().write(true).create(true).truncate(true).custom_flags(flags).open(path);
    if let Err(error) = file.and_then(|mut it| it.write_all(text.as_bytes())) {
        warn!(path = %path.display(), %error, "the termination message was not written");
    }
}
