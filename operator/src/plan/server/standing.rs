//! The progress and the failures of a server, independent of attempts.

use crds::{Reason, ServerStatus};
use jiff::Timestamp;

use super::{ServerPod, ServerState, failure::describe};
use crate::plan::{Presence, times::seconds_since};

/// Time in seconds after which the status reports that a node has not mounted the volumes.
const MOUNT_SECONDS: u32 = 60;
/// Maximum time in seconds for which image pulls on a node can fail. It covers a busy registry. A wrong image name never succeeds.
const PULL_SECONDS: u32 = 300;
/// The kubelet's reason for a container that it will restart after a delay.
const CRASH_LOOP: &str = "CrashLoopBackOff";

/// The reason why a server is not ready, or cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The reason in the status.
    pub reason: Reason,
    /// What happened, and what to do.
    pub message: String,
}

/// The state of a server that a run needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The Deployment or a Service of the server does not exist.
    Absent,
    /// The server is being deleted, or pods of an earlier server are still being deleted.
    Going,
    /// An object with the server's name belongs to somebody else.
    Foreign,
    /// The server is starting. Contains the reason why it is not ready.
    Starting(Fault),
    /// The server will not become ready.
    Failed(Fault),
    /// All replicas are ready.
    Ready,
}

/// The recorded status of a server, its observed state, and its time limits.
pub(super) struct View<'a> {
    pub(super) status: &'a ServerStatus,
    pub(super) state: &'a ServerState,
    /// Whether other runs can use the server as well.
    pub(super) shared: bool,
    pub(super) image: &'a str,
    /// The path of the server's readiness probe.
    pub(super) path: &'a str,
    /// Number of the server's Services.
    pub(super) services: usize,
    /// When the run began to wait for the server.
    pub(super) since: Timestamp,
    /// Maximum time until the server's pods run, in seconds.
    pub(super) start_seconds: u32,
    /// Maximum time from the start of a container until it is ready, in seconds.
    pub(super) ready_seconds: u32,
    pub(super) now: Timestamp,
}

impl View<'_> {
    /// The state of the server, before the load begins.
    pub(super) fn standing(&self) -> Standing {
        let state = self.state;
        match state.deployment {
            Presence::Foreign => return Standing::Foreign,
            Presence::Ours if state.deleting => return Standing::Going,
            Presence::Absent | Presence::Unknown if !state.pods.is_empty() => return Standing::Going,
            Presence::Absent | Presence::Unknown => return Standing::Absent,
            Presence::Ours if state.services.len() < self.services => return Standing::Absent,
            Presence::Ours => {}
        }
        if let Some(fault) = self.ended_before_ready() {
            return Standing::Failed(fault);
        }
        let ready = self.live().filter(|it| it.state.ready).count();
        let replicas = self.status.replicas;
        if ready >= replicas as usize {
            return Standing::Ready;
        }
        let waits_for = self.waits_for();
        match self.too_late(&waits_for) {
            Some(fault) => Standing::Failed(fault),
            None => {
                let message = format!(
                    "{ready} of {replicas} replicas of server {} are ready; {}",
                    self.status.name, waits_for.message
                );
                Standing::Starting(Fault { reason: waits_for.reason, message })
            }
        }
    }

    /// The fault of a server that was ready but can no longer be measured. `None` if there is none.
    pub(super) fn fault(&self) -> Option<Fault> {
        let (state, name) = (self.state, &self.status.name);
        self.status.ready_time?;
        if state.deployment == Presence::Unknown {
            return None;
        }
        if state.deployment != Presence::Ours || state.deleting {
            let message = format!("Deployment {name} of the server was deleted while the run needed it");
            return Some(Fault { reason: Reason::ServerDied, message });
        }
        // Pods that were created after `pods_time` are ignored, because they are additional replicas or replace other pods.
        let known = |it: &&ServerPod| it.created <= self.status.pods_time;
        for pod in state.pods.iter().filter(known) {
            if pod.state.deleting.is_some() || pod.disrupted.is_some() {
                let why = pod.disrupted.as_deref().unwrap_or("somebody deleted it");
                let message = format!("pod {} of the server went while the run needed it: {why}", pod.name());
                return Some(Fault { reason: Reason::Disrupted, message });
            }
        }
        let restarted = state.restarts() > self.status.restarts;
        let worst = state.pods.iter().filter(|it| it.ended.is_some() && (restarted || !it.state.running));
        if let Some(pod) = worst.max_by_key(|it| (!it.state.running, it.restarts))
            && let Some(ended) = &pod.ended
        {
            return Some(Fault { reason: Reason::ServerDied, message: describe(pod, ended) });
        }
        let left = state.pods.iter().filter(known).filter(|it| !it.over).count();
        (left < self.status.replicas as usize).then(|| {
            let message = format!(
                "only {left} of the {} ready pods of server {name} are left: the others were deleted or evicted",
                self.status.replicas
            );
            Fault { reason: Reason::Disrupted, message }
        })
    }

    /// Whether the server became ready, has had no fault since, and is still ready.
    pub(super) fn is_healthy(&self) -> bool {
        self.status.ready_time.is_some()
            && self.status.last_failure.is_empty()
            && self.fault().is_none()
            && self.standing() == Standing::Ready
    }

    /// The pods that count. Failed pods, which an eviction might have left, are excluded. The pods of a shared server can be older than the run.
    fn live(&self) -> impl Iterator<Item = &ServerPod> {
        self.state.staying().filter(|it| !it.over)
    }

    /// The fault of a container that ended before it was ready.
    fn ended_before_ready(&self) -> Option<Fault> {
        let pods = self.state.staying().filter(|it| !it.over || !self.shared);
        let waits = |it: &ServerPod| it.state.waiting.as_ref().is_some_and(|(reason, _)| reason == CRASH_LOOP);
        for pod in pods {
            let Some(ended) = &pod.ended else { continue };
            // Only a new failure counts: a shared server might have been restarted long ago, and a server that an earlier attempt used can have
            // restarts from that time.
            let is_new = pod.restarts > self.status.restarts || !pod.state.running;
            if self.shared && pod.state.running && !waits(pod) || !is_new {
                continue;
            }
            let mut message = describe(pod, ended);
            if self.shared {
                message.push_str(&format!(
                    "\nruns share this server; to restart it: kubectl delete deployment {}",
                    self.status.name
                ));
            }
            let reason = if ended.disrupted.is_some() { Reason::Disrupted } else { Reason::ServerFailed };
            return Some(Fault { reason, message });
        }
        None
    }

    /// The reason why the pod with the least progress is not ready.
    fn waits_for(&self) -> Fault {
        let fault = |reason, message| Fault { reason, message };
        let name = &self.status.name;
        if let Some(refused) = &self.state.refused {
            let message = format!(
                "Deployment {name} can create no pod: {refused}; a quota, Pod Security or a webhook refuses it"
            );
            return fault(Reason::PodRefused, message);
        }
        let mut waiting: Vec<_> = self.live().filter(|it| !it.state.ready).collect();
        // The pod with the least progress has the most informative reason.
        waiting.sort_by_key(|it| (it.state.running, it.state.unschedulable.is_none(), it.state.waiting.is_none()));
        let Some(pod) = waiting.first() else {
            let message = format!("Deployment {name} creates its pods");
            return fault(Reason::ServerStarting, message);
        };
        let (state, pod_name) = (&pod.state, pod.name());
        match (&state.unschedulable, &state.waiting) {
            (Some(why), _) => fault(
                Reason::Unschedulable,
                format!(
                    "no node takes pod {pod_name}: {why}; check resources and scheduling of spec.target.server, and what the nodes have free"
                ),
            ),
            (None, Some((reason, why))) if is_image_problem(reason) => fault(
                Reason::ImagePull,
                format!(
                    "image {:?} of the server cannot be pulled: {reason}: {why}; check spec.target.server.image, and that the namespace may pull it",
                    self.image
                ),
            ),
            (None, Some((reason, why))) if reason.starts_with("CreateContainer") => fault(
                Reason::ContainerRefused,
                format!(
                    "the node cannot create the container of pod {pod_name}: {reason}: {why}; check the objects and keys that spec.target.server names"
                ),
            ),
            _ if state.running => fault(
                Reason::ServerStarting,
                format!(
                    "the server in pod {pod_name} has started and does not answer {} with 200 yet; it has {} seconds for that (target.readiness.timeoutSeconds)",
                    self.path, self.ready_seconds
                ),
            ),
            _ if self.waits_for_mounts(pod) => fault(
                Reason::MountPending,
                format!(
                    "the node has not mounted the volumes of pod {pod_name}, or not set up its network, for {MOUNT_SECONDS} seconds; its events say more: kubectl describe pod {pod_name}"
                ),
            ),
            _ => fault(
                Reason::ServerStarting,
                format!(
                    "pod {pod_name} is being created, or its node pulls the image; kubectl describe pod {pod_name} shows its events"
                ),
            ),
        }
    }

    fn waits_for_mounts(&self, pod: &ServerPod) -> bool {
        let since = pod.state.accepted.filter(|_| pod.state.without_sandbox);
        since.is_some_and(|it| seconds_since(it, self.now) > MOUNT_SECONDS)
    }

    /// The fault if waiting longer is useless. `None` otherwise.
    fn too_late(&self, waits_for: &Fault) -> Option<Fault> {
        if let Some(fault) = self.hopeless_image(waits_for) {
            return Some(fault);
        }
        for pod in self.live().filter(|it| !it.state.ready) {
            // A shared server might have started long before the run, so the time counts from the beginning of the run's wait at the earliest.
            let Some(since) = pod.running_since.map(|it| it.max(self.since)) else { continue };
            if seconds_since(since, self.now) > self.ready_seconds {
                let message = format!(
                    "the server in pod {0} has run for {1} seconds and does not answer {2} with 200 (target.readiness.timeoutSeconds); its log says why: kubectl logs {0}; raise the limit if it only needs longer",
                    pod.name(),
                    self.ready_seconds,
                    self.path
                );
                return Some(Fault { reason: Reason::ServerFailed, message });
            }
        }
        let waited = seconds_since(self.since, self.now);
        let all_run = self.live().filter(|it| it.state.running).count() >= self.status.replicas as usize;
        let in_time = waited <= self.start_seconds
            || (all_run && waited <= self.start_seconds.saturating_add(self.ready_seconds));
        if in_time {
            return None;
        }
        let reason = match waits_for.reason {
            Reason::ServerStarting => Reason::ServerFailed,
            reason => reason,
        };
        let message = format!(
            "server {} was not ready within {waited} seconds (execution.deadlines.startSeconds): {}",
            self.status.name, waits_for.message
        );
        Some(Fault { reason, message })
    }

    fn hopeless_image(&self, waits_for: &Fault) -> Option<Fault> {
        if waits_for.reason != Reason::ImagePull {
            return None;
        }
        let fault = |message: String| Some(Fault { reason: Reason::ImagePull, message });
        let stuck =
            self.live().filter(|it| it.state.waiting.as_ref().is_some_and(|(reason, _)| is_image_problem(reason)));
        for pod in stuck {
            let reason = pod.state.waiting.as_ref().map_or("", |(reason, _)| reason);
            let since = pod.state.accepted.unwrap_or(self.since).max(self.since);
            if ["InvalidImageName", "ErrImageNeverPull"].contains(&reason) {
                return fault(waits_for.message.clone());
            }
            if seconds_since(since, self.now) > PULL_SECONDS {
                return fault(format!("{}; the node has tried for {PULL_SECONDS} seconds", waits_for.message));
            }
        }
        None
    }
}

pub(super) fn is_image_problem(reason: &str) -> bool {
    reason.starts_with("ErrImage") || reason.starts_with("ImagePull") || reason == "InvalidImageName"
}
