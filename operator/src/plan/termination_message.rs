//! Reads the launcher's termination message, and returns the figures or the reason why there are none.

use crds::{BenchmarkRun, Envelope, ExitCode, Reason, envelope::EnvelopeError};

use super::{
    Ended,
    server::failure::{SIGNALS, signal},
};

/// Maximum length of a log excerpt in a message, in bytes.
const MAX_DIAGNOSIS: usize = 600;

/// The error that an attempt left no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoResult {
    /// The reason of the attempt's end.
    pub reason: Reason,
    /// What is known about the cause, and the remedy.
    pub message: String,
}

/// Reads the envelope of an attempt. It must contain the UID of this run and the number of this attempt.
///
/// # Errors
/// The launcher left no envelope, or the envelope belongs to another run or attempt.
pub fn read(run: &BenchmarkRun, attempt: u32, ended: &Ended) -> Result<Envelope, NoResult> {
    match Envelope::parse(&ended.message) {
        Ok(envelope)
            if Some(&envelope.core.run_uid) == run.metadata.uid.as_ref() && envelope.core.attempt == attempt =>
        {
            if run.spec.launcher.debug && envelope.core.summary.is_some() {
                return Err(measured_by_hand());
            }
            Ok(envelope)
        }
        Ok(_) => Err(NoResult {
            reason: Reason::LauncherFailed,
            message: "the termination message names another run or attempt; check that only the launcher writes it"
                .into(),
        }),
        Err(error) => Err(without_envelope(ended, &error)),
    }
}

/// The error for figures of a debugging run. The launcher of such a run sends no load, and figures that a user measured in its pod are not accepted.
fn measured_by_hand() -> NoResult {
    let message = "the launcher reports figures, and with spec.launcher.debug it sends no load: its image is of another release, or somebody \
                   wrote the report by hand; create a run without debug for figures that count";
    NoResult { reason: Reason::LauncherFailed, message: message.into() }
}

fn without_envelope(ended: &Ended, error: &EnvelopeError) -> NoResult {
    let code = ended.exit_code;
    if ended.reason == "OOMKilled" {
        let message =
            "the launcher exceeded its memory limit; raise launcher.resources.limits.memory, or lower the load".into();
        return NoResult { reason: Reason::OOMKilled, message };
    }
    if let Some(why) = &ended.disrupted {
        return NoResult { reason: Reason::Disrupted, message: format!("Kubernetes disrupted the pod: {why}") };
    }
    let start = ended.message.len().saturating_sub(MAX_DIAGNOSIS);
    let start = (start..).find(|it| ended.message.is_char_boundary(*it)).unwrap_or(ended.message.len());
    let tail = ended.message[start..].trim();
    let tail = if tail.is_empty() { "it wrote nothing".to_owned() } else { format!("its last output is {tail:?}") };
    let reason = match (error, code) {
        (EnvelopeError::Missing, code) if code == i32::from(ExitCode::Configuration.code()) => Reason::ConfigInvalid,
        _ => Reason::LauncherFailed,
    };
    let how = match (code, error) {
        // Without an envelope, `message` is the end of the log: the kubelet inserts it if the termination message is empty.
        (129.., EnvelopeError::Missing) => format!("was ended by {}, and left no result", signal(code - SIGNALS)),
        (1.., EnvelopeError::Missing) => format!("ended with exit code {code} ({}), and left no result", ended.reason),
        _ => format!("ended with exit code {code} ({}) and {error}", ended.reason),
    };
    NoResult { reason, message: format!("the launcher {how}; {tail}") }
}
