//! Rules on the launcher itself. If one of their bounds is exceeded, the figures describe the launcher or its machine instead of the server.

use crds::{LauncherReason, units::Span};
use workload_profiles::workload::{Load, Phase};

use super::{Findings, Reason};
use crate::{StallEffect, stage::StageAnalysis};

/// A stage with at least this many values is also judged separately, because a bad stage can disappear in the percentile of a long run. With fewer
/// values, the 99th percentile is the largest value.
const ENOUGH: u64 = 100;

/// Stalls make a figure invalid only if their effect exceeds this share of its percentile.
const STALL_PART: f64 = 0.05;

/// A rule. It returns its findings, each of which is about the run or about one stage.
type Rule = fn(&Findings<'_>) -> Vec<Found>;

/// A bound that was exceeded.
pub(super) struct Found {
    /// The stage of the finding; `None` if it is about the whole run.
    pub(super) stage: Option<usize>,
    pub(super) reason: Reason,
}

fn of_run(reason: Option<Reason>) -> Vec<Found> {
    reason.into_iter().map(|reason| Found { stage: None, reason }).collect()
}

/// The order of the rules is that of reports: first effects on the figures, then their possible causes.
pub(super) const RULES: [Rule; 9] = [
    send_lag,
    receive_delay,
    reads_coalesced,
    cpu_saturated,
    |it| of_run(cpu_throttled(it)),
    |it| of_run(cpu_stolen(it)),
    scheduler_stalled,
    |it| of_run(clock_stepped(it)),
    |it| of_run(events_dropped(it)),
];

fn send_lag(findings: &Findings<'_>) -> Vec<Found> {
    let bound = findings.run.validity.max_send_lag_p99;
    let of_stage = |stage: &StageAnalysis| stage.figures.send_lag.map(|it| (it.p99, it.count));
    past(
        LauncherReason::SendLagTooLarge,
        bound.0,
        findings.judgement.send_lag_p99,
        findings,
        of_stage,
        |found, place| {
            format!(
                "the launcher sent late: the 99th percentile of the send lag is {}{place}, and validity.maxSendLagP99Milliseconds is {}; give it more CPU and no CPU limit, or lower the rate",
                Span(found).rounded(),
                bound.as_millis_f64()
            )
        },
    )
}

fn receive_delay(findings: &Findings<'_>) -> Vec<Found> {
    let bound = findings.run.validity.max_receive_delay_p99;
    let of_run = findings.judgement.receive_delay.map(|it| it.p99);
    let of_stage = |stage: &StageAnalysis| stage.receive_delay.map(|it| (it.p99, it.count));
    past(LauncherReason::ReceiveDelayTooLarge, bound.0, of_run, findings, of_stage, |found, place| {
        format!(
            "the launcher read late: received bytes may have waited {} at the 99th percentile{place}, and validity.maxReceiveDelayP99Milliseconds is {}; give it more CPU and no CPU limit, or lower the load",
            Span(found).rounded(),
            bound.as_millis_f64()
        )
    })
}

fn reads_coalesced(findings: &Findings<'_>) -> Vec<Found> {
    let bound = findings.run.validity.max_coalesced_read_share;
    let of_stage = |stage: &StageAnalysis| stage.figures.late_share().map(|it| (it, stage.figures.reads));
    past(LauncherReason::ReadsCoalesced, bound, findings.judgement.late_share, findings, of_stage, |share, place| {
        format!(
            "a share of {share:.4} of the reads came late and held several tokens, whose gaps are lost{place}, and validity.maxCoalescedReadShare is {bound}; give the launcher more CPU, or lower the load",
        )
    })
}

fn cpu_saturated(findings: &Findings<'_>) -> Vec<Found> {
    let bound = findings.run.validity.max_cpu_share;
    let Some(busiest) = findings.judgement.busiest.as_ref().filter(|it| it.share > bound) else { return Vec::new() };
    let place = busiest.stage.as_ref().map(|it| format!(" in stage {it}")).unwrap_or_default();
    let waited = busiest.waited_share.map(|it| format!(", including {it:.4} waiting for one")).unwrap_or_default();
    let message = format!(
        "the launcher was the limit: one of its {} load threads needed a CPU for a share of {:.4} of the time{place}{waited}, and validity.maxCpuShare is {bound}; give it more CPU, or lower the load",
        findings.judgement.threads, busiest.share
    );
    of_run(Some(Reason { name: LauncherReason::CpuSaturated, message }))
}

fn cpu_throttled(findings: &Findings<'_>) -> Option<Reason> {
    let bound = findings.run.validity.max_throttled_share;
    let share = findings.judgement.throttled_share().filter(|share| *share > bound)?;
    let message = format!(
        "the launcher was paused at its CPU limit in a share of {share:.4} of the kernel's scheduling periods, and validity.maxThrottledShare is {bound}; remove the CPU limit in launcher.resources, or raise it",
    );
    Some(Reason { name: LauncherReason::CpuThrottled, message })
}

fn cpu_stolen(findings: &Findings<'_>) -> Option<Reason> {
    let bound = findings.run.validity.max_steal_share;
    let share = findings.judgement.steal_share.filter(|share| *share > bound)?;
    let message = format!(
        "the hypervisor gave a share of {share:.4} of the machine's CPU time to others, and validity.maxStealShare is {bound}; run on a machine that is not overbooked",
    );
    Some(Reason { name: LauncherReason::CpuStolen, message })
}

fn scheduler_stalled(findings: &Findings<'_>) -> Vec<Found> {
    let bound = findings.run.validity.max_stalled_share;
    let Some(stalls) = findings.judgement.stalls else { return Vec::new() };
    let Some(share) = stalls.share.filter(|share| *share > bound) else { return stalls_moved(findings) };
    let message = format!(
        "the launcher could not run for a share of {share:.4} of the time, {} times, the longest for {}, and validity.maxStalledShare is {bound}; give it CPUs that no other process uses",
        stalls.count,
        Span(stalls.longest).rounded()
    );
    of_run(Some(Reason { name: LauncherReason::SchedulerStalled, message }))
}

/// Stalls that change a p99 although they take only a small share of the time. Their effect must exceed both the bound on the receive delay and a
/// share of the percentile. Because of that share, a larger effect is allowed if the server is slow.
fn stalls_moved(findings: &Findings<'_>) -> Vec<Found> {
    let bound = findings.run.validity.max_receive_delay_p99;
    let moved = |it: &&StallEffect| it.added > bound.0 && it.added_share() > STALL_PART;
    let mut found: Vec<Found> = Vec::new();
    for effect in findings.judgement.stall_effects.iter().filter(moved) {
        let stage = findings.stages.iter().position(|it| it.stage.name == effect.stage);
        let stage = stage.filter(|_| are_judged_apart(findings.stages));
        // Effects are sorted, so the first effect of a stage is its largest. Only that one is reported.
        if found.iter().any(|it| it.stage == stage) {
            continue;
        }
        let share = effect.touched_share;
        let (added, measured) = (Span(effect.added).rounded(), Span(effect.measured).rounded());
        let message = format!(
            "stalls of the launcher touched a share of {share:.4} of the requests in stage {}, and added up to {added} to the stage's {} p99 of {measured}; validity.maxReceiveDelayP99Milliseconds is {}; give it CPUs that no other process uses",
            effect.stage,
            effect.figure,
            bound.as_millis_f64()
        );
        found.push(Found { stage, reason: Reason { name: LauncherReason::SchedulerStalled, message } });
    }
    found
}

fn clock_stepped(findings: &Findings<'_>) -> Option<Reason> {
    let bound = findings.run.validity.max_clock_step;
    let found = findings.judgement.largest_step().filter(|found| *found > bound.0)?;
    let message = format!(
        "the clock stepped by {}, or the machine slept for that long, and validity.maxClockStepMilliseconds is {}; run on a machine that stays awake and whose clock is synchronised",
        Span(found).rounded(),
        bound.as_millis_f64()
    );
    Some(Reason { name: LauncherReason::ClockStepped, message })
}

fn events_dropped(findings: &Findings<'_>) -> Option<Reason> {
    let dropped = findings.judgement.dropped;
    (dropped > 0).then(|| {
        let message = format!(
            "{dropped} values could not be recorded exactly, and none may be lost; causes are times above one hour, lengths above 100 million tokens, or four billion equal values; shorten the run, or set a request timeout"
        );
        Reason { name: LauncherReason::EventsDropped, message }
    })
}

/// Whether the run has no timed figures because it tests only accuracy.
pub(super) fn is_untimed(stages: &[StageAnalysis]) -> bool {
    !stages.is_empty() && !stages.iter().any(is_timed)
}

/// Whether the figures of a stage are times. In an accuracy test they are not, and late requests do not change the answers.
fn is_timed(stage: &StageAnalysis) -> bool {
    !matches!(stage.stage.load, Load::LoadGen { phase: Phase::Accuracy { .. }, .. })
}

/// Whether the rules judge each stage separately. The stages of a LoadGen run are its tests, which are judged together.
fn are_judged_apart(stages: &[StageAnalysis]) -> bool {
    stages.len() > 1 && !stages.iter().any(|it| matches!(it.stage.load, Load::LoadGen { .. }))
}

/// Returns findings for the values past the bound. `message` takes the value and a phrase that names the stage.
///
/// In a run of several stages, each stage with at least [`ENOUGH`] values is judged separately, so that a disturbed stage leaves the others valid. If
/// the value of the whole run is past the bound but no such stage is, stages with fewer values are judged too. If none of those is past the bound,
/// the finding is about the run.
fn past<T: PartialOrd + Copy>(
    name: LauncherReason,
    bound: T,
    of_run: Option<T>,
    findings: &Findings<'_>,
    of_stage: impl Fn(&StageAnalysis) -> Option<(T, u64)>,
    message: impl Fn(T, &str) -> String,
) -> Vec<Found> {
    let stages = findings.stages;
    let found = |stage: Option<usize>, value: T, place: &str| Found {
        stage,
        reason: Reason { name, message: message(value, place) },
    };
    if are_judged_apart(stages) {
        let past = |fewest: u64| -> Vec<Found> {
            let values = stages.iter().enumerate().filter_map(|(index, it)| Some((index, it, of_stage(it)?)));
            let past = values.filter(|(_, _, (value, count))| *value > bound && *count >= fewest);
            past.map(|(index, it, (value, _))| found(Some(index), value, &format!(" in stage {}", it.stage.name)))
                .collect()
        };
        let of_run = of_run.filter(|it| *it > bound);
        let by_stage = past(ENOUGH);
        return match (by_stage.is_empty(), of_run) {
            (true, Some(of_run)) => {
                let every = past(1);
                if every.is_empty() { vec![found(None, of_run, "")] } else { every }
            }
            _ => by_stage,
        };
    }
    let untimed = !stages.iter().all(is_timed);
    let of_run = of_run.filter(|_| !untimed);
    let enough = if untimed { 1 } else { ENOUGH };
    let values = stages.iter().filter(|it| is_timed(it));
    let values = values.filter_map(|it| of_stage(it).map(|(value, count)| (value, count, &it.stage.name)));
    let worse = |a: (T, u64, _), b: (T, u64, _)| if b.0 > a.0 { b } else { a };
    if let Some(of_run) = of_run.filter(|it| *it > bound) {
        let worst = values.reduce(worse).filter(|_| stages.len() > 1);
        let place = worst.map(|(_, _, stage)| format!(", worst in stage {stage}")).unwrap_or_default();
        return vec![found(None, of_run, &place)];
    }
    let worst = values.filter(|(value, count, _)| *value > bound && *count >= enough).reduce(worse);
    worst.map(|(value, _, stage)| found(None, value, &format!(" in stage {stage}"))).into_iter().collect()
}
