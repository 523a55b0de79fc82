//! The figures of traffic classes, such as LoRA adapters.

use workload_profiles::{Workload, workload::TrafficClass};

use super::{
    figures::{Figures, LatencyOrigin},
    rates::Plateau,
    timings::Timings,
};
use measurement::recorder::StageTally;

/// A traffic class as measured.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassAnalysis {
    /// The name of the class, unique in the workload.
    pub name: String,
    /// Whether headline latencies of the class count from the scheduled time or from sending. If the stages of the run differ in this, all latencies
    /// of the class count from sending.
    pub latency_origin: LatencyOrigin,
    /// The figures of the class. Percentiles come from histograms.
    pub figures: Figures,
}

/// The figures of each class. `origins` are the latency origins of the stages.
pub(super) fn classes(
    tallies: &[StageTally],
    plateaus: &[Option<Plateau>],
    workload: &Workload,
    origins: &[LatencyOrigin],
) -> Vec<ClassAnalysis> {
    let all_scheduled = origins.iter().all(|it| *it == LatencyOrigin::Scheduled);
    let latency_origin = if all_scheduled { LatencyOrigin::Scheduled } else { LatencyOrigin::Sent };
    let class = |((class, tally), plateau): ((&TrafficClass, &StageTally), &Option<Plateau>)| ClassAnalysis {
        name: class.name.clone(),
        latency_origin,
        figures: Figures::from_tally(tally, &Timings::of_tally(tally, latency_origin), workload, plateau.as_ref()),
    };
    workload.classes.classes.iter().zip(tallies).zip(plateaus).map(class).collect()
}
