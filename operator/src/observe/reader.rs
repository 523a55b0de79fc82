//! [I/O] Reads that can fail. A transient failure fails the reconciliation, and the next reconciliation tries again. A permanent failure is part of
//! the observations, so that the deadlines of the run still apply and its status reports what cannot be read.

use crds::BenchmarkRun;
use kube::ResourceExt as _;

use crate::{
    context::Context,
    error::{Error, FORBIDDEN},
    plan::{Unread, What},
};

/// After this number of consecutive failed reconciliations, about half a minute, a failed read no longer fails the reconciliation. Without this rule
/// the deadlines of a run would not apply as long as one kind of object cannot be read.
pub(super) const PATIENCE: u32 = 5;

/// Makes read requests, and records those that failed.
pub(crate) struct Reader {
    /// Whether a transient failure fails the reconciliation. False after [`PATIENCE`] consecutive failed reconciliations.
    pub(super) is_patient: bool,
    pub(crate) unread: Vec<Unread>,
}

/// A request as messages describe it: a verb such as `get`, a resource such as `jobs`, and a name.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(super) verb: &'static str,
    pub(super) resource: &'static str,
    pub(super) name: String,
}

impl Request {
    pub(crate) fn get(resource: &'static str, name: &str) -> Self {
        Request { verb: "get", resource, name: name.to_owned() }
    }
}

impl Reader {
    /// Creates a reader for one reconciliation of a run.
    pub(crate) fn of_turn(context: &Context, run: &BenchmarkRun) -> Self {
        let failures = context.failures.count(&run.uid().unwrap_or_default());
        Reader { is_patient: failures < PATIENCE, unread: Vec::new() }
    }

    /// Sends the request. `None` if it failed and the failure was recorded.
    pub(crate) async fn read<T>(
        &mut self,
        what: What,
        request: Request,
        answer: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<Option<T>, Error> {
        let Request { verb, resource, name } = request;
        let (problem, passing) = match answer.await.map_err(Error::from) {
            Ok(found) => return Ok(Some(found)),
            Err(error) if is_for_good(&error) => (explained(&error), false),
            Err(error) if self.is_patient => return Err(error),
            Err(error) => (explained(&error), true),
        };
        let message = format!("the operator cannot {verb} {resource} {name:?}: {problem}");
        self.unread.push(Unread { what, message, passing });
        Ok(None)
    }
}

/// Whether the error is permanent: a retry would fail as well, until somebody changes something.
fn is_for_good(error: &Error) -> bool {
    match error {
        Error::Api(kube::Error::Api(status)) => status.code == FORBIDDEN,
        Error::Api(kube::Error::SerdeError(_) | kube::Error::FromUtf8(_)) => true,
        _ => false,
    }
}

/// The text of the error with its remedy.
fn explained(error: &Error) -> String {
    match error {
        Error::Api(kube::Error::Api(status)) if status.code == FORBIDDEN => format!(
            "{}; grant the operator this right: `helm upgrade` restores the chart's Role or ClusterRole",
            status.message
        ),
        Error::Api(kube::Error::SerdeError(problem)) => {
            format!("the object has an unexpected form: {problem}; find out what changed it, or delete it")
        }
        error => format!("{error}; the operator tries again until the deadline of this phase"),
    }
}
