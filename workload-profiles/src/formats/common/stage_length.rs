//! Checks how long the stages of a complete workload take. A stage with a number of requests has to reach this number within the maximum stage
//! length. A stage with a duration has to send at least one request. The slots of a closed loop have to open before the stage ends.

use super::bounds::MAX_STAGE_SECONDS;
use crate::{
    problem::Findings,
    workload::{Load, Rate, RateShape, Stage},
};

/// The names of the keys that determine a stage's length, for error messages.
#[derive(Clone, Copy, Debug)]
pub(in crate::formats) struct Keys {
    /// The key of the number of requests.
    pub count: fn(&Stage) -> &'static str,
    /// The key of the rate.
    pub rate: fn(&Stage) -> &'static str,
    /// The key of the time in which the slots of a closed loop open.
    pub ramp_up: &'static str,
}

/// Reports the first stage that cannot reach its count, the first stage that sends no request, and the first stage that ends before its ramp-up does.
pub(in crate::formats) fn check(stages: &[Stage], keys: &Keys, findings: &Findings) {
    if let Some((stage, count)) = stages.iter().find_map(|it| unreachable_count(&it.load).map(|count| (it, count))) {
        let what = format!("lets the {count} requests of stage {} take more than {MAX_STAGE_SECONDS}s", stage.name);
        let remedy = format!("raise it, or lower {}", (keys.count)(stage));
        findings.problem((keys.rate)(stage), format!("{what}, the longest stage; {remedy}"));
    }
    if let Some(stage) = stages.iter().find(|it| sends_nothing(&it.load)) {
        let what = format!("gives stage {} less than one request in its time", stage.name);
        findings.problem((keys.rate)(stage), format!("{what}; raise one of them"));
    }
    let endless_ramp_up = |stage: &Stage| match &stage.load {
        Load::Closed { ramp_up, duration: Some(duration), .. } if duration < ramp_up => Some((*ramp_up, *duration)),
        _ => None,
    };
    if let Some((stage, (ramp_up, duration))) =
        stages.iter().find_map(|it| endless_ramp_up(it).map(|found| (it, found)))
    {
        let what = format!("is {ramp_up}, longer than stage {}, which takes {duration}", stage.name);
        findings.problem(keys.ramp_up, format!("{what}; shorten it"));
    }
}

/// Whether the mean number of requests due within the load's duration is below one.
pub(in crate::formats) fn sends_nothing(load: &Load) -> bool {
    match load {
        Load::Open { rate: Rate::Varying(RateShape::RampUp { .. } | RateShape::Measured(_)), .. } => false,
        Load::Open { duration: Some(_), .. } | Load::Users { duration: Some(_), .. } => load.mean_count() < 1.0,
        Load::Open { .. }
        | Load::Users { .. }
        | Load::Closed { .. }
        | Load::Burst { .. }
        | Load::Trace { .. }
        | Load::LoadGen { .. } => false,
    }
}

/// Returns the load's count, if it cannot be reached within the maximum stage length.
pub(in crate::formats) fn unreachable_count(load: &Load) -> Option<u64> {
    let reaches = |rate: &Rate, count| rate.reaches(count, MAX_STAGE_SECONDS as f64);
    match load {
        Load::Open { rate, count: Some(count), duration: None, .. } => Some(*count).filter(|it| !reaches(rate, *it)),
        Load::Users { rate, count: Some(count), duration: None, .. }
        | Load::Closed { start_rate: Some(rate), count: Some(count), duration: None, .. } => {
            Some(*count).filter(|it| !reaches(&Rate::Steady(*rate), *it))
        }
        Load::Open { .. }
        | Load::Users { .. }
        | Load::Closed { .. }
        | Load::Burst { .. }
        | Load::Trace { .. }
        | Load::LoadGen { .. } => None,
    }
}
