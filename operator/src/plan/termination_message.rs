//! The text of the launcher's termination message -> figures, or why there are none.

use crds::{BenchmarkRun, Envelope, ExitCode, Reason, envelope::EnvelopeError};

use super::Ended;

/// The longest part of a log that goes into a message.
const MAX_DIAGNOSIS: usize = 600;

/// An attempt that left no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoResult {
    /// In one word.
    pub reason: Reason,
    /// What is known, and what to do.
    pub message: String,
}

/// Reads how an attempt ended. Only a message of this run and this attempt is believed.
///
/// # Errors
/// The launcher left no envelope, or another one's.
pub fn read(run: &BenchmarkRun, attempt: u32, ended: &Ended) -> Result<Envelope, NoResult> {
    match Envelope::parse(&ended.message) {
        Ok(envelope)
            if Some(&envelope.core.run_uid) == run.metadata.uid.as_ref() && envelope.core.attempt == attempt =>
        {
            Ok(envelope)
        }
        Ok(_) => Err(NoResult {
            reason: Reason::LauncherFailed,
            message: "the termination message is another run's; see that nothing else writes it".into(),
        }),
        Err(error) => Err(without_envelope(ended, &error)),
    }
}

fn without_envelope(ended: &Ended, error: &EnvelopeError) -> NoResult {
    let code = ended.exit_code;
    if ended.reason == "OOMKilled" {
        let message =
            "the launcher outgrew its memory limit; raise launcher.resources.limits.memory, or lower the load".into();
        return NoResult { reason: Reason::OOMKilled, message };
    }
    if let Some(why) = &ended.disrupted {
        return NoResult { reason: Reason::Disrupted, message: format!("the pod was taken away: {why}") };
    }
    let start = ended.message.len().saturating_sub(MAX_DIAGNOSIS);
    let start = (start..).find(|it| ended.message.is_char_boundary(*it)).unwrap_or(ended.message.len());
    let said = ended.message[start..].trim();
    let said = if said.is_empty() { "nothing".to_owned() } else { format!("{said:?}") };
    let reason = match (error, code) {
        (EnvelopeError::Missing, code) if code == i32::from(ExitCode::Configuration.code()) => Reason::ConfigInvalid,
        _ => Reason::LauncherFailed,
    };
    let message = format!("the launcher ended with status {code} ({}) and {error}; it said {said}", ended.reason);
    NoResult { reason, message }
}
