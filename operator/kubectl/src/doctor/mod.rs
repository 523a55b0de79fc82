//! [I/O] Checks what runs need, with the rights of the user and without creating anything.

mod definition;
mod operator;
mod rights;
mod server;
mod storage;

use std::fmt::Write as _;

use crds::wording::one_line;

use crate::{connection::Connection, failure};

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
    fn name(self) -> &'static str {
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
    subject: &'static str,
    /// What is there, and what to do about it.
    text: String,
}

impl Finding {
    fn ok(subject: &'static str, text: impl Into<String>) -> Finding {
        Finding { state: State::Ok, subject, text: text.into() }
    }

    fn warning(subject: &'static str, text: impl Into<String>) -> Finding {
        Finding { state: State::Warning, subject, text: text.into() }
    }

    fn failed(subject: &'static str, text: impl Into<String>) -> Finding {
        Finding { state: State::Failed, subject, text: text.into() }
    }

    /// A check that a refusal or an error prevented. `what`: a right, such as `list deployments.apps in all namespaces`.
    fn not_checked(subject: &'static str, what: &str, error: &kube::Error) -> Finding {
        let why = match failure::code_of(error) {
            Some(403) => format!("you may not {what}; ask an administrator to run this command"),
            Some(code) => format!("the API server answered {code} when asked to {what}; try again"),
            None => failure::unreachable(error),
        };
        Finding { state: State::Unknown, subject, text: format!("not checked, because {why}") }
    }
}

/// Runs all checks. If the API server does not answer, there is only that.
pub(crate) async fn examine(connection: &Connection) -> Vec<Finding> {
    let mut findings = server::check(connection).await;
    if findings.iter().any(|it| it.state == State::Failed && it.subject == server::SUBJECT) {
        return findings;
    }
    findings.push(definition::check(connection).await);
    findings.extend(operator::check(connection).await);
    findings.extend(storage::check(connection).await);
    findings.extend(rights::check(connection).await);
    findings
}

/// A line for each finding.
pub(crate) fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|it| it.subject.len()).max().unwrap_or_default();
    let mut text = String::new();
    for Finding { state, subject, text: said } in findings {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<8} {subject:<width$}  {}", state.name(), one_line(said));
    }
    text
}
