//! `startups` in `report.json`: how the servers started that the run itself launched.

use crds::resolve::PodTimes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use startup::{SleepWake, SleepWakeKind, Startup};

/// The start of a server that the run itself launched.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStart {
    /// The name of the server, such as `1`.
    pub server: String,
    /// The path of the server's log within the results folder. Absent if the log was not read; the start is then unknown.
    pub log: Option<String>,
    /// Seconds from the launch of its process to its first answer, on the launcher's clock. Absent if it never answered.
    pub observed_ready_seconds: Option<f64>,
    /// How its pod started, if the operator started it.
    pub pod: Option<PodStart>,
    pub startup: Startup,
    /// Pairs of a sleep and a wake that the run requested after its load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sleep_cycles: Vec<SleepCycle>,
}

/// A sleep of a server and the following wake, on the launcher's clock. Times that were not measured are absent, and the remark gives the reason.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SleepCycle {
    /// The level of vLLM's sleep mode: 1 or 2.
    pub level: u8,
    /// When the sleep was requested.
    pub asked: Option<Timestamp>,
    /// Seconds from the sleep request until the server reported that it sleeps.
    pub sleep_seconds: Option<f64>,
    /// Seconds from the first wake request until the server reported that it is awake. After a sleep of level 2, this includes loading the weights.
    pub wake_seconds: Option<f64>,
    /// The part of `wake_seconds` during which the weights were loaded.
    pub reload_seconds: Option<f64>,
    /// Seconds from sending the first request after the wake, which has one output token, to its complete answer.
    pub first_request_seconds: Option<f64>,
    /// The reason why the cycle was not measured completely.
    pub remark: Option<String>,
}

/// How the pod of a server started, up to the launch of the server's process.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStart {
    /// The times that the operator observed.
    #[serde(default)]
    pub times: PodTimes,
    /// Seconds from the creation of the pod until it was assigned to a node. Absent if one of the times is unknown.
    pub scheduling_seconds: Option<f64>,
    /// Seconds from the assignment to the node until the container started, by the clock of the node. The node spends this time on volumes and
    /// images.
    pub container_seconds: Option<f64>,
    /// Seconds from the assignment to the node until the server answered.
    pub ready_seconds: Option<f64>,
}

impl PodStart {
    /// Computes the durations. `ready` is the time when the server answered for the first time, by the clock of its node.
    pub fn new(times: PodTimes, ready: Option<Timestamp>) -> PodStart {
        // The times come from different machines with different clocks. So a duration can be negative; it is then discarded.
        let between = |from: Option<Timestamp>, to: Option<Timestamp>| {
            Some(to?.duration_since(from?).as_secs_f64()).filter(|it| *it >= 0.0)
        };
        PodStart {
            times,
            scheduling_seconds: between(times.created, times.scheduled),
            container_seconds: between(times.scheduled, times.container),
            ready_seconds: between(times.scheduled, ready),
        }
    }

    /// Explains why a duration is absent although both of its times are known; `None` if no such duration is absent.
    pub fn remark(&self) -> Option<String> {
        let PodTimes { scheduled, container, .. } = self.times;
        let behind = scheduled?.duration_since(container?).as_secs_f64();
        (behind > 0.0).then(|| {
            format!(
                "the report lacks the time from the pod's node to its container: by the clock of the node the container started {behind} s before the control plane \
                 chose the node, so one of both clocks is wrong; set them by NTP"
            )
        })
    }
}

impl ServerStart {
    /// The start according to the log. If the log has no sleeps and wakes, adds those that the run measured.
    pub fn with_sleeps(&self) -> Startup {
        let mut startup = self.startup.clone();
        if startup.sleep_wake.is_empty() {
            let change = |kind, at, seconds| SleepWake { kind, at, seconds, freed_gib: None, in_use_gib: None };
            for it in &self.sleep_cycles {
                startup.sleep_wake.extend(it.sleep_seconds.map(|took| change(SleepWakeKind::Sleep, it.asked, took)));
                startup.sleep_wake.extend(it.wake_seconds.map(|took| change(SleepWakeKind::Wake, None, took)));
            }
        }
        startup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_between_clocks_that_disagree_is_absent_and_said() {
        let at = |second: i64| Some(Timestamp::from_second(1_700_000_000 + second).unwrap());
        let times = PodTimes { created: at(0), scheduled: at(2), container: at(1) };
        let pod = PodStart::new(times, at(1));
        assert_eq!((pod.scheduling_seconds, pod.container_seconds, pod.ready_seconds), (Some(2.0), None, None));
        assert!(pod.remark().unwrap().contains("started 1 s before"), "{:?}", pod.remark());
        let right = PodStart::new(PodTimes { container: at(2), ..times }, at(5));
        assert_eq!((right.container_seconds, right.ready_seconds, right.remark()), (Some(0.0), Some(3.0), None));
    }
}
