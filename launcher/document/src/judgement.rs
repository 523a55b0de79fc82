//! `selfJudgement` in `report.json`: the launcher's measurements of itself.

use analysis::{SelfJudgement, StallEffect};
use serde::{Deserialize, Serialize};

use super::values::{Statistics, millis, times};

/// What the launcher measured about itself.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgementDocument {
    pub send_lag_p99_ms: Option<f64>,
    pub receive_delay_ms: Option<Statistics>,
    pub own_cpu_ms: f64,
    pub process_cpu_ms: Option<f64>,
    pub wall_ms: f64,
    pub threads: usize,
    pub cores: Option<f64>,
    pub cpu_share: Option<f64>,
    pub busiest_share: Option<f64>,
    pub busiest_waited_share: Option<f64>,
    pub busiest_stage: Option<String>,
    pub throttled_share: Option<f64>,
    pub throttled_ms: Option<f64>,
    pub steal_share: Option<f64>,
    pub stalls: Option<u64>,
    pub stalled_share: Option<f64>,
    pub longest_stall_ms: Option<f64>,
    pub longest_stall_ended_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stall_effects: Vec<StallEffectDocument>,
    pub clock_steps: Option<u64>,
    pub largest_clock_step_ms: Option<f64>,
    pub slept_ms: Option<f64>,
    pub coarse_timer: bool,
    pub coalesced_share: Option<f64>,
    pub late_share: Option<f64>,
    pub dropped: u64,
    pub remarks: Vec<String>,
}

impl JudgementDocument {
    pub(super) fn new(judgement: &SelfJudgement) -> Self {
        let (busiest, steps) = (judgement.busiest.as_ref(), judgement.clock_steps.as_ref());
        JudgementDocument {
            send_lag_p99_ms: judgement.send_lag_p99.map(millis),
            receive_delay_ms: times(&judgement.receive_delay),
            own_cpu_ms: millis(judgement.own_cpu),
            process_cpu_ms: judgement.process_cpu.map(millis),
            wall_ms: millis(judgement.wall),
            threads: judgement.threads,
            cores: judgement.cores,
            cpu_share: judgement.cpu_share,
            busiest_share: busiest.map(|it| it.share),
            busiest_waited_share: busiest.and_then(|it| it.waited_share),
            busiest_stage: busiest.and_then(|it| it.stage.clone()),
            throttled_share: judgement.throttled_share(),
            throttled_ms: judgement.throttling.map(|it| millis(it.time)),
            steal_share: judgement.steal_share,
            stalls: judgement.stalls.map(|it| it.count),
            stalled_share: judgement.stalls.and_then(|it| it.share),
            longest_stall_ms: judgement.stalls.map(|it| millis(it.longest)),
            longest_stall_ended_ms: judgement.stalls.filter(|it| it.count > 0).map(|it| millis(it.longest_ended)),
            stall_effects: judgement.stall_effects.iter().map(StallEffectDocument::new).collect(),
            clock_steps: steps.map(|it| it.count),
            largest_clock_step_ms: steps.map(|it| millis(it.largest)),
            slept_ms: steps.map(|it| millis(it.slept)),
            coarse_timer: judgement.coarse_timer,
            coalesced_share: judgement.coalesced_share,
            late_share: judgement.late_share,
            dropped: judgement.dropped,
            remarks: judgement.remarks.clone(),
        }
    }
}

/// The effect of stalls on the p99 of a latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StallEffectDocument {
    pub stage: String,
    pub figure: String,
    pub p99_ms: f64,
    pub added_ms: f64,
    pub touched_share: f64,
}

impl StallEffectDocument {
    fn new(effect: &StallEffect) -> Self {
        StallEffectDocument {
            stage: effect.stage.clone(),
            figure: effect.figure.to_owned(),
            p99_ms: millis(effect.measured),
            added_ms: millis(effect.added),
            touched_share: effect.touched_share,
        }
    }
}
