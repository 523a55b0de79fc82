//! [I/O] Waits until the pod that reads the claim is running. If the pod cannot start, reports the reason.

use std::time::Duration;

use crds::wording::one_line;
use k8s_openapi::api::core::v1::{ContainerStatus, Event, Pod};
use kube::{Api, api::ListParams};
use tokio::time::sleep;

use crate::{
    connection::Connection,
    console::say,
    failure::{self, Failure, Right},
};

pub(crate) const GET_POD: Right = Right::new("get", "", "pods", "view");
/// Time between two checks of the pod.
const INTERVAL: Duration = Duration::from_millis(500);
/// The pod's events are read once per this number of checks. They explain why a volume is not mounted.
const LOOKS_PER_EVENTS: u32 = 10;
/// Maximum number of consecutive checks that can fail before the wait is aborted.
const MAX_SILENT: u32 = 5;

/// The state of the copy pod.
#[derive(Debug, PartialEq)]
pub(super) enum State {
    Running,
    /// The pod can still start. Contains the reason for the wait, if known.
    Waiting(Option<String>),
    /// The pod will not start. Contains the reason.
    Failed(String),
}

/// Waits until the pod's container is running.
pub(super) async fn wait(connection: &Connection, name: &str) -> Result<(), Failure> {
    let pods: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let (mut shown, mut looks, mut silent) = (String::new(), 0_u32, 0_u32);
    loop {
        let state = match pods.get(name).await {
            Ok(pod) => state(&pod),
            Err(error) if failure::code_of(&error) == Some(404) => {
                return Err(Failure::error(format!("pod {name} was deleted by someone else; try again")));
            }
            Err(error) if failure::code_of(&error).is_none() && silent < MAX_SILENT => {
                silent += 1;
                State::Waiting(Some(failure::unreachable(&error)))
            }
            Err(error) => return Err(failure::refused(&error, GET_POD, name, &connection.namespace)),
        };
        let reason = match state {
            State::Running => return Ok(()),
            State::Failed(why) => return Err(Failure::error(format!("pod {name} cannot read the results: {why}"))),
            State::Waiting(reason) => reason,
        };
        looks += 1;
        let reason = match reason {
            None if looks.is_multiple_of(LOOKS_PER_EVENTS) => warning(connection, name).await,
            reason => reason,
        };
        if let Some(reason) = reason.filter(|it| *it != shown) {
            say(format_args!("pod {name} waits: {reason}"));
            shown = reason;
        }
        sleep(INTERVAL).await;
    }
}

/// The newest warning event of a pod. `None` if there is none, or if the user may not read events.
async fn warning(connection: &Connection, name: &str) -> Option<String> {
    let events: Api<Event> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let selector = format!("involvedObject.kind=Pod,involvedObject.name={name},type=Warning");
    let found = events.list(&ListParams::default().fields(&selector)).await.ok()?;
    let time = |it: &Event| it.last_timestamp.as_ref().or(it.first_timestamp.as_ref()).map(|it| it.0);
    let newest = found.items.into_iter().filter(|it| it.type_.as_deref() == Some("Warning")).max_by_key(time)?;
    let message = one_line(&newest.message.unwrap_or_default());
    let remedy = remedy(&message);
    Some(format!("{}: {message}{remedy}", newest.reason.unwrap_or_default()))
}

/// Derives the state of the copy pod from its status.
pub(super) fn state(pod: &Pod) -> State {
    let Some(status) = &pod.status else { return State::Waiting(None) };
    let container = status.container_statuses.iter().flatten().next();
    let phase = status.phase.as_deref().unwrap_or_default();
    if matches!(phase, "Failed" | "Succeeded") {
        return State::Failed(end(container, status.reason.as_deref(), status.message.as_deref()));
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return State::Failed("it is being deleted by someone else; try again".into());
    }
    let container_state = container.and_then(|it| it.state.as_ref());
    if container_state.is_some_and(|it| it.running.is_some()) {
        return State::Running;
    }
    if let Some(waiting) = container_state.and_then(|it| it.waiting.as_ref()) {
        let reason = waiting.reason.as_deref().unwrap_or_default();
        let message = one_line(waiting.message.as_deref().unwrap_or_default());
        return match reason {
            "ImagePullBackOff" | "InvalidImageName" | "ErrImageNeverPull" => {
                State::Failed(format!("{reason}: {message}; give an image that the cluster can pull with --image"))
            }
            "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
                State::Failed(format!("{reason}: {message}{}", remedy(&message)))
            }
            "" | "ContainerCreating" | "PodInitializing" => State::Waiting(None),
            _ => State::Waiting(Some(format!("{reason}: {message}"))),
        };
    }
    let conditions = status.conditions.iter().flatten();
    let unscheduled = conditions.into_iter().find(|it| it.type_ == "PodScheduled" && it.status == "False");
    State::Waiting(unscheduled.map(|it| {
        let message = one_line(it.message.as_deref().unwrap_or_default());
        format!("{}: {message}{}", it.reason.as_deref().unwrap_or_default(), remedy(&message))
    }))
}

/// The reason why the container ended before the copy began.
fn end(container: Option<&ContainerStatus>, reason: Option<&str>, message: Option<&str>) -> String {
    let ended = container.and_then(|it| it.state.as_ref()?.terminated.as_ref());
    let said = ended.and_then(|it| it.message.as_deref()).map(one_line).unwrap_or_default();
    if said.contains("archive") && said.contains("subcommand") {
        return "the launcher's image is of a release without `benchwright archive`; give the image of this release with --image".into();
    }
    let reason = ended.and_then(|it| it.reason.as_deref()).or(reason).unwrap_or("it has ended");
    let message = if said.is_empty() { one_line(message.unwrap_or_default()) } else { said };
    match (reason, message.is_empty()) {
        (reason, true) => format!("{reason}; try again"),
        (reason, false) => format!("{reason}: {message}"),
    }
}

/// The remedy for typical problems with claims that the scheduler and the kubelet report.
fn remedy(message: &str) -> &'static str {
    let has = |part: &str| message.contains(part);
    if has("ReadWriteOncePod") {
        "; only one pod may use the claim, and another pod uses it: wait until that pod has ended"
    } else if has("volume node affinity conflict") || has("didn't match PersistentVolume's node affinity") {
        "; the volume of the claim is on a node that is gone, full or closed to new pods: bring that node back, or restore the volume"
    } else if has("Multi-Attach") {
        "; a pod on another node uses the claim: wait until that pod has ended"
    } else if has("subPath") || has("subpath") {
        "; the folder is no longer on the claim: it was deleted or moved"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn assert_state(status: Value, expected: &State) {
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p"}, "status": status})).unwrap();
        assert_eq!(&state(&pod), expected, "{status}");
    }

    fn waiting(reason: &str, message: &str) -> Value {
        json!({"phase": "Pending", "containerStatuses": [{
            "name": "archive", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": reason, "message": message}},
        }]})
    }

    #[test]
    fn a_pod_runs_waits_or_will_not_start() {
        let failed = |it: &str| State::Failed(it.to_owned());
        let waits = |it: &str| State::Waiting(Some(it.to_owned()));
        assert_state(json!({"phase": "Pending"}), &State::Waiting(None));
        assert_state(waiting("ContainerCreating", ""), &State::Waiting(None));
        assert_state(waiting("ErrImagePull", "not found"), &waits("ErrImagePull: not found"));
        assert_state(
            waiting("ImagePullBackOff", "back-off"),
            &failed("ImagePullBackOff: back-off; give an image that the cluster can pull with --image"),
        );
        assert_state(
            waiting("CreateContainerConfigError", "failed to create subPath directory for volumeMount \"results\""),
            &failed(
                "CreateContainerConfigError: failed to create subPath directory for volumeMount \"results\"; the folder is no longer on the \
                 claim: it was deleted or moved",
            ),
        );
        let mut running = waiting("", "");
        running["phase"] = json!("Running");
        running["containerStatuses"][0]["state"] = json!({"running": {}});
        assert_state(running, &State::Running);
        assert_state(
            json!({"phase": "Failed", "reason": "Evicted", "message": "the node was low on memory"}),
            &failed("Evicted: the node was low on memory"),
        );
        let mut older = waiting("", "");
        older["phase"] = json!("Failed");
        older["containerStatuses"][0]["state"] = json!({"terminated": {
            "exitCode": 10, "reason": "Error", "message": "error: unrecognized subcommand 'archive'\n",
        }});
        assert_state(
            older,
            &failed(
                "the launcher's image is of a release without `benchwright archive`; give the image of this release with --image",
            ),
        );
    }

    #[test]
    fn the_schedulers_words_have_a_remedy() {
        let unscheduled = |message: &str| {
            json!({"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message},
            ]})
        };
        for (message, remedy) in [
            ("0/2 nodes are available: 2 Insufficient cpu.", ""),
            (
                "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.",
                "; only one pod may use the claim, and another pod uses it: wait until that pod has ended",
            ),
            (
                "0/2 nodes are available: 2 node(s) had volume node affinity conflict.",
                "; the volume of the claim is on a node that is gone, full or closed to new pods: bring that node back, or restore the volume",
            ),
        ] {
            let expected = State::Waiting(Some(format!("Unschedulable: {message}{remedy}")));
            assert_state(unscheduled(message), &expected);
        }
    }
}
