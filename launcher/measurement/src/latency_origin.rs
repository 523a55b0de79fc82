//! The time from which the headline latencies of a stage count. Pure.

use workload_profiles::{loadgen::Scenario, workload::Load};

use crate::wire::variants;

/// The time from which a latency counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LatencyOrigin {
    /// When the schedule wanted the request sent: open-loop load. Free of coordinated omission.
    Scheduled,
    /// When it was sent: closed-loop load, where a request is due when its slot becomes free.
    Sent,
}

impl LatencyOrigin {
    /// The origin of the headline latencies of a stage.
    pub fn from_load(load: &Load) -> LatencyOrigin {
        match load {
            Load::Open { .. } | Load::Burst { .. } | Load::Trace { .. } | Load::Users { .. } => {
                LatencyOrigin::Scheduled
            }
            Load::LoadGen { scenario: Scenario::Server | Scenario::Offline, .. } => LatencyOrigin::Scheduled,
            Load::Closed { .. } | Load::LoadGen { .. } => LatencyOrigin::Sent,
        }
    }

    /// The name of the origin in labels and tables.
    pub fn name(self) -> &'static str {
        match self {
            LatencyOrigin::Scheduled => "scheduled",
            LatencyOrigin::Sent => "sent",
        }
    }
}

variants!(LatencyOrigin { Scheduled = 0, Sent = 1 });
