//! The result of a run: why it failed, and its exit code.

use std::{error::Error, io};

use crds::{ExitCode, LauncherReason, Outcome, units::Span, wording::with_causes};
use rustix::io::Errno;

use super::measured::Measurement;
use engine::issue::LoadError;
use workload_files::FilesError;

/// The reason why a run has no valid result.
pub(crate) struct Failure {
    pub(crate) exit: ExitCode,
    pub(super) reason: LauncherReason,
    pub(crate) message: String,
    /// The message for the status, without text from a server. `None` if `message` contains no such text.
    status_message: Option<String>,
    /// The measurement, if only storing its results failed.
    measured: Option<Box<Measurement>>,
}

impl Failure {
    pub(super) fn configuration(message: String) -> Self {
        Failure {
            exit: ExitCode::Configuration,
            reason: LauncherReason::ConfigInvalid,
            message,
            status_message: None,
            measured: None,
        }
    }

    /// The files or the workload cannot be used for the load.
    pub(super) fn unusable(error: &FilesError) -> Self {
        let failure = Failure::configuration(with_causes(error));
        match error.without_words() {
            Some(message) => failure.shown_as(format!("{message}; the launcher's log has the rest")),
            None => failure,
        }
    }

    /// The system refused threads, memory or files, or the launcher has a bug. Changing the input would not help.
    pub(super) fn system(error: &dyn Error) -> Self {
        Failure {
            exit: ExitCode::Failed,
            reason: LauncherReason::LauncherFailed,
            message: with_causes(error),
            status_message: None,
            measured: None,
        }
    }

    pub(super) fn status_port(port: u16, source: io::Error) -> Self {
        if is_shortage(&source) {
            return Failure::system(&LoadError::System { what: "the status port", source });
        }
        Failure::configuration(format!("--status-port {port} cannot be opened: {source}; choose a free one"))
    }

    pub(super) fn target(message: String) -> Self {
        Failure {
            exit: ExitCode::Target,
            reason: LauncherReason::TargetUnavailable,
            message,
            status_message: None,
            measured: None,
        }
    }

    pub(super) fn ambiguous_model(message: String) -> Self {
        Failure { reason: LauncherReason::AmbiguousModel, ..Failure::configuration(message) }
    }

    pub(super) fn storage(message: String) -> Self {
        Failure {
            exit: ExitCode::Storage,
            reason: LauncherReason::StorageFailed,
            message,
            status_message: None,
            measured: None,
        }
    }

    pub(super) fn storage_of(message: String, measured: Measurement) -> Self {
        Failure { measured: Some(Box::new(measured)), ..Failure::storage(message) }
    }

    /// Sets the text that the status shows instead of the message, which contains text from a server.
    pub(super) fn shown_as(self, status_message: String) -> Self {
        Failure { status_message: Some(status_message), ..self }
    }

    /// Adds a line for the user at the terminal. The status does not show it.
    #[cfg(target_os = "linux")]
    pub(super) fn followed_by(self, text: &str) -> Self {
        let status_message = self.status_message().to_owned();
        Failure { message: format!("{}{text}", self.message), status_message: Some(status_message), ..self }
    }

    /// Replaces the path of a downloaded file with its URL.
    pub(super) fn renamed(self, path: &str, url: &str) -> Self {
        let status_message = self.status_message.map(|it| it.replace(path, url));
        Failure { message: self.message.replace(path, url), status_message, ..self }
    }

    /// The message without text from a server.
    pub(super) fn status_message(&self) -> &str {
        self.status_message.as_deref().unwrap_or(&self.message)
    }

    /// Takes the measurement, if only storing its results failed.
    pub(super) fn take_measured(&mut self) -> Option<Measurement> {
        self.measured.take().map(|it| *it)
    }

    /// The measurement, if only storing its results failed.
    pub(super) fn measured(&self) -> Option<&Measurement> {
        self.measured.as_deref()
    }

    /// The failure of a series whose deadline passed before the next run could start.
    pub(super) fn deadline_before() -> Self {
        let message = "not started: the run before it ended at its deadline; raise execution.deadlines.runSeconds, or shorten the profile";
        Failure {
            exit: ExitCode::Failed,
            reason: LauncherReason::DeadlineExceeded,
            message: message.into(),
            status_message: None,
            measured: None,
        }
    }

    /// A signal ended the wait in a run with `spec.launcher.debug`.
    pub(super) fn cancelled_in_debug() -> Self {
        let message = "ended by a signal; nothing was sent, as spec.launcher.debug says".into();
        Failure { message, ..Failure::cancelled() }
    }

    /// A signal ended the wait of `benchwright server start`.
    #[cfg(target_os = "linux")]
    pub(super) fn cancelled_in_start() -> Self {
        Failure { message: "ended by a signal before the server was ready".into(), ..Failure::cancelled() }
    }

    /// The deadline passed during the wait in a run with `spec.launcher.debug`.
    pub(super) fn not_debugged_in_time(limit: Span) -> Self {
        let message = format!(
            "the launcher waited for a person for {limit} and sent nothing, as spec.launcher.debug says; raise execution.deadlines.runSeconds, or \
             create the run without debug"
        );
        Failure { message, ..Failure::deadline_before() }
    }

    pub(super) fn cancelled() -> Self {
        let message = "ended by a signal before the first request".into();
        Failure {
            exit: ExitCode::Cancelled,
            reason: LauncherReason::Cancelled,
            message,
            status_message: None,
            measured: None,
        }
    }
}

/// Whether the system lacks files, memory or threads.
fn is_shortage(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN))
}

impl From<&Failure> for Outcome {
    fn from(failure: &Failure) -> Outcome {
        if failure.exit == ExitCode::Cancelled { Outcome::Cancelled } else { Outcome::Error }
    }
}

/// The exit code of a run.
pub(super) fn exit_status(done: &Result<Measurement, Failure>, gate: bool) -> u8 {
    match done {
        Ok(measurement) => exit_status_of(measurement.analysis.verdict.outcome, None, gate),
        Err(failure) => exit_status_of(failure.into(), Some(failure.exit), gate),
    }
}

/// The exit code for an outcome. `failed` is the exit code of the failure, if there was one. With `gate`, the exit code reports the outcome to a
/// pipeline.
pub fn exit_status_of(outcome: Outcome, failed: Option<ExitCode>, gate: bool) -> u8 {
    let measured = if outcome == Outcome::Cancelled { ExitCode::Cancelled } else { ExitCode::Done };
    let status = failed.unwrap_or(measured);
    if gate { outcome.gate_code() } else { status.code() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_is_the_launchers_failure_and_names_its_cause() {
        let source = io::Error::from_raw_os_error(rustix::io::Errno::AGAIN.raw_os_error());
        let failure = Failure::system(&LoadError::System { what: "a thread", source });
        assert_eq!((failure.exit, failure.reason), (ExitCode::Failed, LauncherReason::LauncherFailed));
        let message = &failure.message;
        assert!(message.contains("cannot start a thread") && message.contains("unavailable"), "{message}");
        assert_eq!(exit_status(&Err(failure), true), 3);
    }
}
