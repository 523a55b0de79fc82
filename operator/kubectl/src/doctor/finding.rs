//! The result of a check.

use crate::failure;

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ok,
    /// Runs work, but something else does not, or can fail later.
    Warning,
    /// Runs do not work.
    Failed,
    /// The check was not possible: the user may not read the object, or the API server did not answer.
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

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) state: State,
    /// The object that was checked.
    pub(super) subject: &'static str,
    /// What was found, and what to do about it.
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

    /// The result of a check that could not read its object. `what` is the needed right, such as `list deployments.apps in all namespaces`.
    pub(super) fn not_checked(subject: &'static str, what: &str, error: &kube::Error) -> Finding {
        let why = match failure::code_of(error) {
            Some(403) => format!("you may not {what}; ask an administrator to run this command"),
            Some(code) => format!("the API server answered {code} when asked to {what}; try again"),
            None => failure::unreachable(error),
        };
        Finding { state: State::Unknown, subject, text: format!("not checked, because {why}") }
    }
}
