//! Matches the stages of two runs.

use ::document::{ReportDocument, StageDocument};
use serde_json::Value;
use workload_profiles::workload::Load;

use crate::document::UnmatchedDocument;

/// The stages that both runs have, in pairs, and the stages that only one run has.
pub(crate) struct Matched<'a> {
    pub(crate) pairs: Vec<(&'a StageDocument, &'a StageDocument)>,
    pub(crate) unmatched: Vec<UnmatchedDocument>,
}

/// Matches the stages of two runs. Stages match if they have the same name and the same load, even if their lengths differ. If each run has only one
/// stage, these two always match. A stage that a profiler affects matches none.
pub(crate) fn matched<'a>(base: &'a ReportDocument, other: &'a ReportDocument, name: &str) -> Matched<'a> {
    if let ([one], [two]) = (&base.stages[..], &other.stages[..])
        && !one.profiled
        && !two.profiled
    {
        return Matched { pairs: vec![(one, two)], unmatched: Vec::new() };
    }
    let partner = |stage: &StageDocument, of: &'a ReportDocument| of.stages.iter().find(|it| it.name == stage.name);
    let mut found = Matched { pairs: Vec::new(), unmatched: profiled("A", base) };
    found.unmatched.extend(profiled(name, other));
    for stage in base.stages.iter().filter(|it| !it.profiled) {
        match partner(stage, other) {
            // This stage is not reported as unmatched, because a remark already explains why it is not compared.
            Some(two) if two.profiled => {}
            Some(two) if shape(&stage.load) == shape(&two.load) => found.pairs.push((stage, two)),
            other_load => found.unmatched.push(alone("A", stage, other_load.is_some(), name)),
        }
    }
    for stage in other.stages.iter().filter(|it| !it.profiled) {
        let of_base = partner(stage, base);
        if of_base.is_some_and(|it| it.profiled) {
            continue;
        }
        if of_base.is_none_or(|it| shape(&it.load) != shape(&stage.load)) {
            found.unmatched.push(alone(name, stage, of_base.is_some(), "A"));
        }
    }
    found
}

/// The stages of a run that a profiler affects.
fn profiled(run: &str, report: &ReportDocument) -> Vec<UnmatchedDocument> {
    let why = || "the server was profiled in it, and a profiler slows the server down".to_owned();
    let stages = report.stages.iter().filter(|it| it.profiled);
    stages.map(|it| UnmatchedDocument { run: run.to_owned(), stage: it.name.clone(), why: why() }).collect()
}

fn alone(run: &str, stage: &StageDocument, has_namesake: bool, missing_in: &str) -> UnmatchedDocument {
    let why = match has_namesake {
        true => format!("{missing_in} has a stage of this name with another load"),
        false => format!("{missing_in} has no stage of this name"),
    };
    UnmatchedDocument { run: run.to_owned(), stage: stage.name.clone(), why }
}

/// The length of a stage as text; empty for a burst.
pub(crate) fn length(load: &Load) -> String {
    let value = serde_json::to_value(load).unwrap_or_default();
    let fields = value.as_object().into_iter().flatten().flat_map(|(kind, load)| {
        let fields = load.as_object().into_iter().flatten();
        fields.filter(move |(name, _)| is_length(kind, name)).map(|(name, value)| format!("{name} {value}"))
    });
    fields.collect::<Vec<_>>().join(", ")
}

fn is_length(kind: &str, field: &str) -> bool {
    kind != "burst" && matches!(field, "duration" | "count")
}

/// A load without its length, so that a longer stage has the same load. For a burst, the number of requests is part of the load.
pub(crate) fn shape(load: &Load) -> Value {
    let mut shape = serde_json::to_value(load).unwrap_or_default();
    for (kind, load) in shape.as_object_mut().into_iter().flatten() {
        if let Some(fields) = load.as_object_mut() {
            fields.retain(|name, _| !is_length(kind, name));
        }
    }
    shape
}
