//! Predicts the verdict on a LoadGen phase while the phase runs. Pure.

use std::sync::atomic::Ordering;

use workload_profiles::{
    Workload,
    loadgen::Effective,
    workload::{Load, Phase},
};

use engine::issue::Progress;
use loadgen::{
    phases::PlannedPhases,
    results::forecast::{self, Forecast},
};

/// Returns a short text about the running phase. `None` if there is no forecast.
pub(super) fn forecast_text(workload: &Workload, phases: &PlannedPhases, progress: &Progress) -> Option<String> {
    let loadgen = workload.loadgen.as_ref()?;
    let stage = usize::try_from(progress.stage.load(Ordering::Relaxed)).ok()?;
    let Load::LoadGen { test, phase: Phase::Performance, .. } = workload.stages.get(stage)?.load else { return None };
    let settings = &loadgen.tests.get(test as usize)?.settings;
    let so_far = phases.get(stage)?.as_ref()?.so_far();
    let found = forecast::forecast(settings, &Effective::new(settings, &loadgen.qsl), &so_far);
    let more = match found.more {
        0 => String::new(),
        1 => ", 1 more to complete".into(),
        more => format!(", {more} more to complete"),
    };
    Some(match found.forecast {
        Forecast::Unknown => return None,
        Forecast::Valid => format!("VALID if it goes on like this{more}"),
        Forecast::Invalid(why) => format!("INVALID if it goes on like this: {why}"),
        Forecast::Lost(why) => format!("INVALID: {why}"),
    })
}
