//! SelfJudgement: what the launcher says of its own measurement, beside the verdict.
//!
//! Remarks do not make a run invalid. They tell which figure to read with care, and why.

use std::time::Duration;

use crds::{resolve::ResolvedRun, units::Span};
use workload_profiles::workload::{Arrivals, Load};

use super::{
    Measured,
    figures::{Figures, StageAnalysis, TokenCount},
};

/// Past this share of its threads' time the launcher may be what limits the load.
const BUSY_SHARE: f64 = 0.8;
/// Past this share of coalesced reads the gaps within them shift the percentiles of ITL.
const COALESCED_SHARE: f64 = 0.01;
/// Below this share of the asked rate the load was another one.
const RATE_SHARE: f64 = 0.95;

/// How far the measurement itself can be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfJudgement {
    /// 99th percentile of the send lag of all requests that were sent.
    pub send_lag_p99: Option<Duration>,
    /// CPU time of this process, user and system, while the load ran.
    pub own_cpu: Duration,
    /// How long the load ran.
    pub wall: Duration,
    /// Threads that issued it.
    pub threads: usize,
    /// CPU time divided by time: 0.5 is half a core.
    pub cores: Option<f64>,
    /// CPU time divided by the time of all threads: at 1 they never waited.
    pub cpu_share: Option<f64>,
    /// Reads that held more than one content event, of all that held content.
    pub coalesced_share: Option<f64>,
    /// One sentence for each doubt.
    pub remarks: Vec<String>,
}

pub(super) fn judge(
    measured: &Measured<'_>,
    run: &ResolvedRun,
    all: &Figures,
    stages: &[StageAnalysis],
) -> SelfJudgement {
    let wall = measured.wall.as_secs_f64();
    let cores = (wall > 0.0).then(|| measured.own_cpu.as_secs_f64() / wall);
    let mut judgement = SelfJudgement {
        send_lag_p99: all.send_lag.map(|it| it.p99),
        own_cpu: measured.own_cpu,
        wall: measured.wall,
        threads: measured.threads,
        cores,
        cpu_share: cores.map(|it| it / measured.threads.max(1) as f64),
        coalesced_share: all.coalesced_share(),
        remarks: Vec::new(),
    };
    judgement.remarks = [cpu(&judgement), coalesced(&judgement), usage(all), lengths(all)]
        .into_iter()
        .flatten()
        .chain(stages.iter().flat_map(|stage| rate(stage).into_iter().chain(lag(stage, run))))
        .collect();
    judgement
}

fn cpu(judgement: &SelfJudgement) -> Option<String> {
    let share = judgement.cpu_share.filter(|share| *share > BUSY_SHARE)?;
    let threads = judgement.threads;
    Some(format!(
        "the launcher was busy {:.0} % of the time of its {threads} threads: give it more CPU, or expect it to limit the load",
        share * 100.0
    ))
}

fn coalesced(judgement: &SelfJudgement) -> Option<String> {
    let share = judgement.coalesced_share.filter(|share| *share > COALESCED_SHARE)?;
    Some(format!(
        "{:.1} % of the reads held more than one token event, which then share one time: low percentiles of ITL are too small, high ones too large",
        share * 100.0
    ))
}

fn usage(all: &Figures) -> Option<String> {
    match all.token_count? {
        TokenCount::Server => None,
        TokenCount::Client => {
            Some("the server sent no usage: an event counts as one token, so OSL, TPOT, NTPOT and token rates are too small or too large where an event holds several tokens".into())
        }
        TokenCount::Mixed => Some(format!(
            "{} of {} answers had no usage: in their case an event counts as one token",
            all.without_usage, all.succeeded
        )),
    }
}

fn lengths(all: &Figures) -> Option<String> {
    let misses = [
        (all.input_length_misses, "a prompt of another length than asked"),
        (all.output_length_misses, "another output length than asked"),
    ];
    let told: Vec<String> = misses
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} of {} requests had {what}", all.succeeded))
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn rate(stage: &StageAnalysis) -> Option<String> {
    let Load::Open { arrivals: Arrivals::ConditionedPoisson, .. } = stage.stage.load else { return None };
    let (asked, achieved) = (stage.asked_rate?, stage.achieved_rate?);
    (achieved < asked * RATE_SHARE).then(|| {
        format!("stage {}: requests left at {achieved:.4} per second, and {asked} were asked", stage.stage.name)
    })
}

fn lag(stage: &StageAnalysis, run: &ResolvedRun) -> Option<String> {
    let bound = run.validity.max_send_lag_p99;
    let found = stage.figures.send_lag.map(|it| it.p99).filter(|found| *found > bound.0)?;
    let found = Span(found).rounded();
    Some(format!(
        "stage {}: the 99th percentile of the send lag is {found}, above the bound of {bound}",
        stage.stage.name
    ))
}
