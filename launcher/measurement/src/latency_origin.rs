//! The time from which the headline latencies of a stage are counted. Pure.

use workload_profiles::{loadgen::Scenario, workload::Load};

use crate::wire::variants;

/// The time from which a latency is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LatencyOrigin {
    /// When the schedule wanted the request to be sent. Used for open-loop loads, because it avoids coordinated omission.
    Scheduled,
    /// When the request was sent. Used for closed-loop loads, where a request is due when its slot becomes free.
    Sent,
}

impl LatencyOrigin {
    /// Returns the origin of a stage's headline latencies.
    pub fn from_load(load: &Load) -> LatencyOrigin {
        match load {
            Load::Open { .. } | Load::Burst { .. } | Load::Trace { .. } | Load::Users { .. } => {
                LatencyOrigin::Scheduled
            }
            Load::LoadGen { scenario: Scenario::Server | Scenario::Offline, .. } => LatencyOrigin::Scheduled,
            Load::Closed { .. } | Load::LoadGen { .. } => LatencyOrigin::Sent,
        }
    }

    /// Returns the name of the origin for labels and tables.
    pub fn name(self) -> &'static str {
        match self {
            LatencyOrigin::Scheduled => "scheduled",
            LatencyOrigin::Sent => "sent",
        }
    }
}

variants!(LatencyOrigin { Scheduled = 0, Sent = 1 });
