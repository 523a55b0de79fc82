//! The load of each stage as a number, for curves over load.

use charts::Axis;
use document::{ReportDocument, StageDocument};
use workload_profiles::workload::Load;

use super::plot::quantity;

/// A stage with figures, and its load.
#[derive(Clone, Copy)]
pub(super) struct Level<'a> {
    pub(super) stage: &'a StageDocument,
    pub(super) load: f64,
}

/// The stages with figures, by increasing load, and the axis of the load.
pub(super) struct LoadLevels<'a> {
    pub(super) axis: Axis,
    pub(super) levels: Vec<Level<'a>>,
}

/// How the load of a stage is measured: by the first of these that every stage has.
const MEASURES: [Measure; 4] = [
    Measure { label: "Concurrency", unit: "requests", of: concurrency },
    // Random arrivals differ from the requested rate, by a tenth and more in a short stage.
    Measure {
        label: "Offered load",
        unit: "requests/s",
        of: |it| it.asked_requests_per_second.map(|asked| it.achieved_requests_per_second.unwrap_or(asked)),
    },
    Measure {
        label: "Mean requests under way",
        unit: "requests",
        of: |it| it.uncertainty.littles_law.as_ref().map(|it| it.mean_concurrency),
    },
    Measure {
        label: "Completed requests",
        unit: "requests/s",
        of: |it| it.figures.throughput.as_ref().map(|it| it.requests_per_second),
    },
];

struct Measure {
    label: &'static str,
    unit: &'static str,
    of: fn(&StageDocument) -> Option<f64>,
}

fn concurrency(stage: &StageDocument) -> Option<f64> {
    match stage.load {
        Load::Closed { concurrency, .. } => Some(concurrency.into()),
        _ => None,
    }
}

/// The stages with a successful request, by increasing load, or why there are none.
pub(super) fn levels(document: &ReportDocument) -> Result<LoadLevels<'_>, String> {
    let measured: Vec<&StageDocument> = document.stages.iter().filter(|it| it.figures.succeeded > 0).collect();
    if measured.is_empty() {
        return Err("No stage has a request that succeeded within its window.".to_owned());
    }
    let measure = MEASURES.iter().find_map(|measure| {
        let levels: Option<Vec<Level<'_>>> =
            measured.iter().map(|stage| Some(Level { stage, load: (measure.of)(stage)? })).collect();
        Some((measure, levels?))
    });
    let Some((measure, mut levels)) = measure else {
        return Err("The load of the stages has no common measure: their requests took no time.".to_owned());
    };
    levels.sort_by(|one, other| one.load.total_cmp(&other.load));
    Ok(LoadLevels { axis: quantity(measure.label, measure.unit), levels })
}
