//! What a check found.

use crate::failure;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ok,
    /// Runs work, but something does not, or may not later.
    Warning,
    /// Runs do not work.
    Failed,
    /// The user may not see it, or there was no answer.
    Unknown,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Failed => "failed",
            State::Unknown => "-",
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) state: State,
    /// What was looked at.
    pub(super) subject: &'static str,
    /// What is there, and what to do about it.
    pub(super) text: String,
}

impl Finding {
    pub(super) fn ok(subject: &'static str, text: impl Into<String>) -> Finding {
        Finding { state: State::Ok, subject, text: text.into() }
    }

    pub(super) fn warning(subject: &'static str, text: impl Into<String>) -> Finding {
        Finding { state: State::Warning, subject, text: text.into() }
    }

    pub(super) fn failed(subject: &'static str, text: impl Into<String>) -> Finding {
        Finding { state: State::Failed, subject, text: text.into() }
    }

    /// A check that a refusal or an error prevented. `what`: a right, such as `list deployments.apps in all namespaces`.
    pub(super) fn not_checked(subject: &'static str, what: &str, error: &kube::Error) -> Finding {
        let why = match failure::code_of(error) {
            Some(403) => format!("you may not {what}; ask an administrator to run this command"),
            Some(code) => format!("the API server answered {code} when asked to {what}; try again"),
            None => failure::unreachable(error),
        };
        Finding { state: State::Unknown, subject, text: format!("not checked, because {why}") }
    }
}
