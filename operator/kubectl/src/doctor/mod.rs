//! [I/O] Checks whether the cluster meets the needs of runs. It uses the user's rights, and creates nothing.

mod definition;
mod finding;
mod operator;
mod rights;
mod server;
mod storage;

use std::fmt::Write as _;

use crds::wording::one_line;

pub(crate) use finding::{Finding, State};

use crate::connection::Connection;

/// Runs all checks. If the API server does not answer, runs only the check of the server.
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

/// One line per finding.
pub(crate) fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|it| it.subject.len()).max().unwrap_or_default();
    let mut text = String::new();
    for Finding { state, subject, text: said } in findings {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<8} {subject:<width$}  {}", state.name(), one_line(said));
    }
    text
}
