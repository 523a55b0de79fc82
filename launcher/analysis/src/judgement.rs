//! SelfJudgement: what the launcher measured about its own measurement. The module `validity` has the bounds. The module `remarks` has a sentence for
//! each value that is within its bound but notable.

use std::time::Duration;

use super::{
    Measured,
    distribution::Distribution,
    figures::Figures,
    stage::StageAnalysis,
    stalls::{self, StallEffect},
};
use measurement::vitals::{Throttling, clocks::ClockSteps, worker::StageVitals};

/// A share of time is computed only for windows of at least this length. In a shorter window, one disturbance would dominate the share.
const MIN_WINDOW: Duration = Duration::from_secs(1);

/// How far the measurement itself can be trusted. A field is `None` if it was not measured, or is not available on this system.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfJudgement {
    /// 99th percentile of the send lag of all sent requests.
    pub send_lag_p99: Option<Duration>,
    /// An upper bound on how long bytes waited before they were read and stamped, one value per read.
    pub receive_delay: Option<Distribution<Duration>>,
    /// CPU time of the threads that issued the load, user and system.
    pub own_cpu: Duration,
    /// CPU time of the whole process while the load ran, including its other threads and an embedded simulator.
    pub process_cpu: Option<Duration>,
    /// How long the load ran.
    pub wall: Duration,
    /// Number of threads that issued the load.
    pub threads: usize,
    /// CPU time of these threads divided by wall time, in cores: 0.5 is half a core.
    pub cores: Option<f64>,
    /// `cores` divided by the number of threads. It is 1 if the threads were never idle.
    pub cpu_share: Option<f64>,
    /// The busiest thread, with its values in the stage in which it was busiest.
    pub busiest: Option<Busiest>,
    /// Throttling by the CPU limit.
    pub throttling: Option<Throttling>,
    /// CPU time that the hypervisor gave to other machines, as a share of the machine's CPU time.
    pub steal_share: Option<f64>,
    /// When the process could not run.
    pub stalls: Option<StallFigures>,
    /// The effects of stalls on percentiles, in descending order of their share of the percentile. Empty if no percentile changed, or if the effects
    /// are unknown.
    pub stall_effects: Vec<StallEffect>,
    /// Clock adjustments during the run.
    pub clock_steps: Option<ClockSteps>,
    /// Whether a thread could wake up only at whole milliseconds.
    pub coarse_timer: bool,
    /// Reads with more than one content event, as a share of reads with content.
    pub coalesced_share: Option<f64>,
    /// Possibly late reads with more than one content event, as a share of reads with content.
    pub late_share: Option<f64>,
    /// Number of values that the figures contain inexactly or not at all, for example times above an hour.
    pub dropped: u64,
    /// One sentence per doubt.
    pub remarks: Vec<String>,
}

/// The busiest thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Busiest {
    /// Share of the time in which the thread used a CPU or waited for one. Excludes waiting for bytes and for due requests.
    pub share: f64,
    /// The part of `share` in which the thread waited for a CPU. `None` if the kernel does not report it; `share` then excludes that wait.
    pub waited_share: Option<f64>,
    /// The stage in which this was measured. `None` if no stage lasted a second; the values then cover the whole run.
    pub stage: Option<String>,
}

/// Times in which the process could not run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StallFigures {
    /// Number of stalls.
    pub count: u64,
    /// Stalled time as a share of the run; `None` for a run of less than a second.
    pub share: Option<f64>,
    /// The longest stall.
    pub longest: Duration,
    /// When the longest stall ended, from the start of the run.
    pub longest_ended: Duration,
}

impl SelfJudgement {
    /// `excused`: stages in which the launcher may have been the limit, because their figures do not count: trials of a search that the launcher
    /// limited.
    pub(super) fn new(
        measured: &Measured<'_>,
        all: &Figures,
        stages: &[StageAnalysis],
        excused: &[&str],
    ) -> SelfJudgement {
        let wall = measured.wall.as_secs_f64();
        let cores = (wall > 0.0).then(|| measured.own_cpu.as_secs_f64() / wall);
        let vitals = measured.vitals;
        let stalls = vitals.stalls.as_ref().map(|it| StallFigures {
            count: it.count,
            share: (measured.wall >= MIN_WINDOW).then(|| (it.stalled.as_secs_f64() / wall).min(1.0)),
            longest: it.longest,
            longest_ended: it.longest_ended,
        });
        SelfJudgement {
            send_lag_p99: all.send_lag.map(|it| it.p99),
            receive_delay: measured.receive_delay(None),
            own_cpu: measured.own_cpu,
            process_cpu: vitals.process_cpu,
            wall: measured.wall,
            threads: measured.threads,
            cores,
            cpu_share: cores.map(|it| it / measured.threads.max(1) as f64),
            busiest: busiest(measured, stages, excused),
            throttling: vitals.throttling,
            steal_share: vitals.steal_share,
            stalls,
            stall_effects: stalls::effects(measured.recorder, stages, vitals.stalls.as_ref()),
            clock_steps: vitals.clock_steps.clone(),
            coarse_timer: measured.workers.iter().any(|it| it.coarse_timer),
            coalesced_share: all.coalesced_share(),
            late_share: all.late_share(),
            dropped: measured.recorder.dropped(),
            remarks: Vec::new(),
        }
    }

    /// Share of the observed periods in which the process reached its CPU limit.
    pub fn throttled_share(&self) -> Option<f64> {
        self.throttling.map(|it| it.throttled as f64 / it.periods.max(1) as f64)
    }

    /// The largest clock step, or the time that the machine slept if that is longer.
    pub fn largest_step(&self) -> Option<Duration> {
        self.clock_steps.as_ref().map(|it| it.largest.max(it.slept))
    }
}

fn busiest(measured: &Measured<'_>, stages: &[StageAnalysis], excused: &[&str]) -> Option<Busiest> {
    let counts = |it: &&StageAnalysis| !excused.contains(&it.stage.name.as_str());
    let of = |vitals: &StageVitals, stage: Option<&StageAnalysis>| {
        let share = |time: Duration| time.as_secs_f64() / vitals.wall.as_secs_f64();
        (vitals.wall >= MIN_WINDOW).then(|| Busiest {
            share: share(vitals.cpu + vitals.waited.unwrap_or_default()).min(1.0),
            waited_share: vitals.waited.map(|it| share(it).min(1.0)),
            stage: stage.map(|it| it.stage.name.clone()),
        })
    };
    let of_stages = measured
        .workers
        .iter()
        .flat_map(|worker| worker.stages.iter().zip(stages))
        .filter(|(_, stage)| counts(stage))
        .filter_map(|(vitals, stage)| of(vitals, Some(stage)));
    let most = |busy: &mut dyn Iterator<Item = Busiest>| busy.max_by(|a, b| a.share.total_cmp(&b.share));
    let whole = measured.workers.iter().filter_map(|worker| of(&worker.whole(), None));
    most(&mut { of_stages }).or_else(|| most(&mut { whole }))
}
