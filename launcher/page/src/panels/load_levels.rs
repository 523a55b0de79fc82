//! The load of each stage as a number, for curves over the load.

use charts::{Axis, Point};
use document::{EstimateDocument, ReportDocument, StageDocument};
use workload_profiles::workload::Load;

use super::plot::loads;
use crate::text;

/// A stage with figures, and its load.
#[derive(Clone, Copy)]
pub(super) struct Level<'a> {
    pub(super) stage: &'a StageDocument,
    pub(super) load: f64,
}

/// The stages with figures, sorted by load, and the axis of the load.
pub(super) struct LoadLevels<'a> {
    pub(super) axis: Axis,
    noun: &'static str,
    pub(super) levels: Vec<Level<'a>>,
}

/// The ways to measure a stage's load as a number. The first one that every stage has is used.
const MEASURES: [Measure; 4] = [
    Measure { label: "Concurrency", unit: "", noun: "", is_set: true, of: concurrency },
    // In an open loop the actual rate is used, because random arrivals differ from the requested rate, by a tenth or more in a short stage.
    Measure {
        label: "Offered load",
        unit: "requests/s",
        noun: " requests/s",
        is_set: true,
        of: |it| it.asked_requests_per_second.map(|asked| it.achieved_requests_per_second.unwrap_or(asked)),
    },
    Measure {
        label: "Mean requests in flight",
        unit: "",
        noun: " in flight",
        is_set: false,
        of: |it| it.uncertainty.littles_law.as_ref().map(|it| it.mean_concurrency),
    },
    Measure {
        label: "Completed requests",
        unit: "requests/s",
        noun: " requests/s",
        is_set: false,
        of: |it| it.figures.throughput.as_ref().map(|it| it.requests_per_second),
    },
];

impl LoadLevels<'_> {
    /// A point for each stage: its load and a value, with the interval of the value.
    pub(super) fn points(
        &self,
        value: impl Fn(&StageDocument) -> Option<f64>,
        estimate: fn(&StageDocument) -> Option<&EstimateDocument>,
    ) -> Vec<Point> {
        let point = |it: &Level<'_>| {
            let range = estimate(it.stage).and_then(EstimateDocument::interval);
            Some(Point { x: it.load, y: value(it.stage)?, range, label: it.stage.name.clone(), ..Point::default() })
        };
        self.levels.iter().filter_map(point).collect()
    }

    /// A load with its unit, such as `concurrency 8` or `20 requests/s`.
    pub(super) fn words(&self, level: &Level<'_>) -> String {
        let number = text::short(level.load);
        if self.noun.is_empty() { format!("concurrency {number}") } else { format!("{number}{}", self.noun) }
    }
}

struct Measure {
    label: &'static str,
    unit: &'static str,
    /// The text after the number of a load.
    noun: &'static str,
    /// Whether the user sets this load, instead of it being a result of the run.
    is_set: bool,
    of: fn(&StageDocument) -> Option<f64>,
}

fn concurrency(stage: &StageDocument) -> Option<f64> {
    match stage.load {
        Load::Closed { concurrency, .. } => Some(concurrency.into()),
        _ => None,
    }
}

/// The stages with a successful request, sorted by load, or a sentence why there are none.
pub(super) fn levels(document: &ReportDocument) -> Result<LoadLevels<'_>, String> {
    let succeeded: Vec<&StageDocument> = document.stages.iter().filter(|it| it.figures.succeeded > 0).collect();
    if succeeded.is_empty() {
        return Err("No stage has a request that succeeded within its window.".to_owned());
    }
    // Invalid stages are left out. If no stage is valid, all are kept: the page then shows no chart, but `plot` draws them.
    let is_drawn = |it: &&StageDocument| document.counts(it) || !document.any_counts();
    let measured: Vec<&StageDocument> = succeeded.into_iter().filter(is_drawn).collect();
    let Some((measure, mut levels)) = measured_by(&measured) else {
        return Err("No load can be shown, because all requests took no time.".to_owned());
    };
    levels.sort_by(|one, other| one.load.total_cmp(&other.load));
    let axis = loads(measure.label, measure.unit, levels.iter().map(|it| it.load));
    Ok(LoadLevels { axis, noun: measure.noun, levels })
}

/// Returns the first measure that every stage has, with the load of each stage.
fn measured_by<'a>(stages: &[&'a StageDocument]) -> Option<(&'static Measure, Vec<Level<'a>>)> {
    MEASURES.iter().find_map(|measure| {
        let levels: Option<Vec<Level<'_>>> =
            stages.iter().map(|stage| Some(Level { stage, load: (measure.of)(stage)? })).collect();
        Some((measure, levels?))
    })
}

/// The names of stages in tables next to a curve over the load.
pub(crate) struct LoadNames {
    /// What the names mean, such as `Concurrency`.
    pub(crate) title: &'static str,
    /// The head of the column with these names, such as `Offered load (requests/s)`.
    pub(crate) head: String,
    /// The name of each stage, such as `8`, in the order of the document.
    pub(crate) names: Vec<String>,
    /// The text before and after a name in a sentence.
    around: (&'static str, &'static str),
    /// Whether each stage has a different load that the user set.
    pub(crate) is_sweep: bool,
}

impl LoadNames {
    /// Names stages by the loads that the user set, if all of them differ. Otherwise uses the names of the stages.
    pub(crate) fn new(document: &ReportDocument) -> LoadNames {
        let stages: Vec<&StageDocument> = document.stages.iter().collect();
        // Uses the requested rate, because random arrivals result in a slightly different one.
        let load = |it: &Level<'_>| it.stage.asked_requests_per_second.unwrap_or(it.load);
        let found =
            measured_by(&stages).map(|(measure, levels)| (measure, levels.iter().map(load).collect::<Vec<f64>>()));
        match found.filter(|(measure, loads)| measure.is_set && are_distinct(loads)) {
            Some((measure, loads)) => LoadNames {
                title: measure.label,
                head: match measure.unit {
                    "" => measure.label.to_owned(),
                    unit => format!("{} ({unit})", measure.label),
                },
                names: loads.iter().map(|it| text::short(*it)).collect(),
                around: if measure.noun.is_empty() { ("concurrency ", "") } else { ("", measure.noun) },
                is_sweep: loads.len() > 1,
            },
            None => LoadNames {
                title: "Stage",
                head: "Stage".to_owned(),
                names: stages.iter().map(|it| crate::table::cut(&it.name)).collect(),
                around: ("stage ", ""),
                is_sweep: false,
            },
        }
    }

    /// The load of a stage for a sentence, such as `concurrency 8` or `20 requests/s`.
    pub(crate) fn words(&self, index: usize) -> String {
        let name = self.names.get(index).map_or("", String::as_str);
        format!("{}{name}{}", self.around.0, self.around.1)
    }
}

fn are_distinct(loads: &[f64]) -> bool {
    let mut loads = loads.to_vec();
    loads.sort_by(f64::total_cmp);
    loads.windows(2).all(|pair| pair[0] < pair[1])
}
