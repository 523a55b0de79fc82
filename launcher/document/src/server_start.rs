//! How a server that the run itself started came up, in `report.json`: `startups`.

use crds::resolve::PodTimes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use startup::{SleepWake, SleepWakeKind, Startup};

/// The start of a server that the run itself started.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStart {
    /// The name of the server, such as `1`.
    pub server: String,
    /// The log of the server, as a path within the results folder. Absent: it was not read, and the start is unknown.
    pub log: Option<String>,
    /// From the launch of its process to its first answer, on the launcher's clock, in seconds. Absent: it never answered.
    pub observed_ready_seconds: Option<f64>,
    /// How its pod started, if the operator started it.
    pub pod: Option<PodStart>,
    pub startup: Startup,
    /// Sleeps and wakes that the run requested after its request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sleep_cycles: Vec<SleepCycle>,
}

/// A sleep of a server and the wake after it, on the launcher's clock. A time that was not measured is absent, and the remark gives the reason.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SleepCycle {
    /// The level of vLLM's sleep mode: 1 or 2.
    pub level: u8,
    /// When the sleep was requested.
    pub asked: Option<Timestamp>,
    /// From then until the server reported that it sleeps, in seconds.
    pub sleep_seconds: Option<f64>,
    /// From the first wake request until the server reported that it is awake, in seconds; includes the load of the weights after a sleep of level
    /// 2.
    pub wake_seconds: Option<f64>,
    /// The part of `wake_seconds` in which the weights were loaded, in seconds.
    pub reload_seconds: Option<f64>,
    /// The first request of one token after the wake, from sending to its complete answer, in seconds.
    pub first_request_seconds: Option<f64>,
    /// Why it was not measured completely.
    pub remark: Option<String>,
}

/// How the pod of a server started, before the start of its process.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStart {
    /// The times that the operator saw.
    #[serde(default)]
    pub times: PodTimes,
    /// From the creation of the pod until it had a node, in seconds. Absent: one of the two times is unknown.
    pub scheduling_seconds: Option<f64>,
    /// From then until its container started, by the clock of the node, in seconds: volumes and images.
    pub container_seconds: Option<f64>,
    /// From the node until the server answered, in seconds.
    pub ready_seconds: Option<f64>,
}

impl PodStart {
    /// `ready`: when the server answered, by the clock of its node.
    pub fn new(times: PodTimes, ready: Option<Timestamp>) -> PodStart {
        // The clocks of several machines differ: a negative time is discarded.
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

    /// Why a time is absent although both of its ends are known; `None`: no such time.
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
    /// The start from its log, with the sleeps and wakes that the run measured if the log has none.
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
