//! What the launcher says of its own measurement, as `report.json` has it: `selfJudgement`.

use serde::Serialize;

use super::json::{Statistics, millis, times};
use analysis::SelfJudgement;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JudgementJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    send_lag_p99_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_delay_ms: Option<Statistics>,
    own_cpu_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    process_cpu_ms: Option<f64>,
    wall_ms: f64,
    threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cores: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    busiest_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    busiest_waited_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    busiest_stage: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    throttled_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    throttled_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steal_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stalls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stalled_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_stall_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_stall_ended_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_clock_step_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slept_ms: Option<f64>,
    coarse_timer: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    coalesced_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    late_share: Option<f64>,
    dropped: u64,
    remarks: &'a [String],
}

impl<'a> JudgementJson<'a> {
    pub(super) fn of(of: &'a SelfJudgement) -> Self {
        let (busiest, steps) = (of.busiest.as_ref(), of.clock_steps.as_ref());
        JudgementJson {
            send_lag_p99_ms: of.send_lag_p99.map(millis),
            receive_delay_ms: times(&of.receive_delay),
            own_cpu_ms: millis(of.own_cpu),
            process_cpu_ms: of.process_cpu.map(millis),
            wall_ms: millis(of.wall),
            threads: of.threads,
            cores: of.cores,
            cpu_share: of.cpu_share,
            busiest_share: busiest.map(|it| it.share),
            busiest_waited_share: busiest.and_then(|it| it.waited_share),
            busiest_stage: busiest.and_then(|it| it.stage.as_deref()),
            throttled_share: of.throttled_share(),
            throttled_ms: of.throttling.map(|it| millis(it.time)),
            steal_share: of.steal_share,
            stalls: of.stalls.map(|it| it.count),
            stalled_share: of.stalls.and_then(|it| it.share),
            longest_stall_ms: of.stalls.map(|it| millis(it.longest)),
            longest_stall_ended_ms: of.stalls.filter(|it| it.count > 0).map(|it| millis(it.longest_ended)),
            clock_steps: steps.map(|it| it.count),
            largest_clock_step_ms: steps.map(|it| millis(it.largest)),
            slept_ms: steps.map(|it| millis(it.slept)),
            coarse_timer: of.coarse_timer,
            coalesced_share: of.coalesced_share,
            late_share: of.late_share,
            dropped: of.dropped,
            remarks: &of.remarks,
        }
    }
}
