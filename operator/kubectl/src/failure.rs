//! The failure of a command: its exit code and its message with the remedy.

use std::fmt;

use crds::wording::{self, one_line};
use kube::core::Status;

use crate::time_limit::NoAnswer;

/// The exit code for an error, equal to the exit code of a run with the outcome Error.
pub(crate) const ERROR: u8 = 3;
/// The exit code for a wait that timed out. The program `timeout` uses the same code.
pub(crate) const TIMEOUT: u8 = 124;
/// The exit code after Ctrl-C, as a shell reports it.
pub(crate) const INTERRUPTED: u8 = 130;
/// The exit code after SIGTERM, as a shell reports it.
pub(crate) const TERMINATED: u8 = 143;

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    message: String,
}

impl Failure {
    /// An error. The message includes the remedy.
    pub(crate) fn error(message: impl Into<String>) -> Failure {
        Failure { code: ERROR, message: message.into() }
    }

    /// The early end of a wait. The message includes the next step for the user.
    pub(crate) fn ended(code: u8, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A right that a command needs, in the terms of the API server, and the role that grants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Right {
    pub(crate) verb: &'static str,
    pub(crate) group: &'static str,
    /// The resource, with its subresource if there is one, such as `pods/exec`.
    pub(crate) resource: &'static str,
    /// The Kubernetes role that grants this right. For rights on runs it is the suffix of the name of the chart's role.
    role: &'static str,
}

impl Right {
    pub(crate) const fn new(
        verb: &'static str,
        group: &'static str,
        resource: &'static str,
        role: &'static str,
    ) -> Right {
        Right { verb, group, resource, role }
    }

    /// The role that the user needs. Kubernetes' own roles only include rights on runs if the chart sets `aggregateRoles`.
    pub(crate) fn role(&self) -> String {
        match self.group {
            crds::benchmark_run::GROUP => format!("the chart's role *-operator-{}", self.role),
            _ => format!("the role {}", self.role),
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = if self.group.is_empty() { String::new() } else { format!(".{}", self.group) };
        match self.resource.split_once('/') {
            Some((resource, sub)) => write!(f, "{} {resource}{group}/{sub}", self.verb),
            None => write!(f, "{} {}{group}", self.verb, self.resource),
        }
    }
}

/// The Status object in the API server's response. `None` if it did not respond.
pub(crate) fn status_of(error: &kube::Error) -> Option<&Status> {
    match error {
        kube::Error::Api(status) => Some(status),
        _ => None,
    }
}

/// The HTTP status code of the API server's response. `None` if it did not respond.
pub(crate) fn code_of(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        kube::Error::UpgradeConnection(kube::client::UpgradeConnectionError::ProtocolSwitch(status)) => {
            Some(status.as_u16())
        }
        _ => None,
    }
}

/// The failure for a request that was refused, on an object in a namespace. The request needs `right`.
pub(crate) fn refused(error: &kube::Error, right: Right, name: &str, namespace: &str) -> Failure {
    let resource = right.resource;
    let object = if name.is_empty() { resource.to_owned() } else { format!("{resource} {name}") };
    Failure::error(match (code_of(error), status_of(error)) {
        (Some(401), _) => {
            "the API server does not know you (401); sign in again, or choose another --context".to_owned()
        }
        // Admission policies and quotas also respond with 403, but their own messages are more useful.
        (Some(403), Some(status)) if !status.message.contains(&format!("cannot {} resource", right.verb)) => {
            format!("{object}: {}", one_line(&status.message))
        }
        (Some(403), _) => format!(
            "you may not {right} in namespace {namespace}; ask for {} in that namespace, or for this right alone",
            right.role()
        ),
        (Some(404), Some(status)) if status.details.as_ref().is_some_and(|it| it.kind == "namespaces") => {
            format!("namespace {namespace} does not exist; choose another with -n, or see `kubectl get namespaces`")
        }
        (Some(404), _) if right.group == crds::benchmark_run::GROUP && is_without_kind(error) => {
            "the cluster does not know BenchmarkRuns; install the chart, or choose another --context".to_owned()
        }
        (Some(404), _) => {
            format!(
                "{object} does not exist in namespace {namespace}; choose another with -n, or see `kubectl get {resource} -A`"
            )
        }
        (Some(_), Some(status)) => format!("{object}: {}", one_line(&status.message)),
        _ => unreachable(error),
    })
}

/// The message for an error that prevented a response of the API server.
pub(crate) fn unreachable(error: &kube::Error) -> String {
    match error {
        kube::Error::SerdeError(cause) => {
            format!("the API server's answer cannot be read: {cause}; take the plugin of the operator's release")
        }
        _ => format!("the API server does not answer: {}; check --context and the network", with_causes(error)),
    }
}

/// Whether the connection succeeded, but the API server did not respond in time.
pub(crate) fn is_unanswered(error: &kube::Error) -> bool {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |it| it.source());
    causes.into_iter().any(|it| it.is::<NoAnswer>())
}

/// Whether the API server does not know this kind of object, as opposed to a missing object.
fn is_without_kind(error: &kube::Error) -> bool {
    status_of(error).is_some_and(|it| it.details.as_ref().is_none_or(|it| it.name.is_empty()))
}

/// The text of an error with its causes, on one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    one_line(&wording::with_causes(error))
}
