//! Allows only one load at a time per target: the key of a target, the line of waiting runs, and the plan of a waiting run.

mod key;
pub mod line;
mod wait;

use std::collections::BTreeMap;

use crds::{Reason, status::Phase};
use k8s_openapi::api::batch::v1::Job;

pub use key::{Target, TargetKey};
pub use wait::Wait;

use super::{LauncherInput, Plan, decision::Decision, meta, status::NextStatus};

impl Decision<'_> {
    /// Waits for the target. This time counts toward no deadline.
    pub(super) fn wait_in_line(&self, wait: &Wait, input: &LauncherInput) -> Plan {
        let message = match wait.keep_message && self.before.reason == Reason::TargetBusy {
            true => self.last_message().to_owned(),
            false => wait.busy.message(input.run.endpoint.name()),
        };
        let mut plan = self.status_plan(NextStatus::new(Phase::Pending, Reason::TargetBusy, message));
        // The endpoint is written into the status because a restarted operator has no other source for the target behind a Gateway.
        plan.status.resolved = Some(self.resolved(input));
        plan.next_look = Some(wait.next_look);
        plan
    }
}

/// Labels a Job and its pod with the key of their target. By this label the operator finds the pod of a deleted run.
pub(super) fn label(job: &mut Job, key: TargetKey) {
    let add = |labels: &mut Option<BTreeMap<String, String>>| {
        labels.get_or_insert_default().insert(meta::TARGET.to_owned(), key.to_string());
    };
    add(&mut job.metadata.labels);
    if let Some(metadata) = job.spec.as_mut().and_then(|it| it.template.metadata.as_mut()) {
        add(&mut metadata.labels);
    }
}
