//! The analysis of one stage: its figures, its rates, and its labels.

use std::time::Duration;

use workload_profiles::workload::{Load, Rate, Stage, Window, Workload};

use super::{
    backlog::Queue,
    distribution::Distribution,
    distribution_function::DistributionFunctions,
    figures::{Figures, LatencyOrigin},
    labels,
    rates::Plateau,
    sessions::SessionFigures,
    time_series::SeriesFigures,
    timings::Timings,
    uncertainty::{Absent, Uncertainty},
    validity::Reason,
};
use measurement::{
    load_result::{NotMeasured, RuleEnd, StageResult},
    recorder::{SessionTally, StageTally},
};

/// The stop rule that ended a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedBy {
    pub rule: String,
    /// The time of the stop, from the start of the run.
    pub at: Duration,
}

impl EndedBy {
    fn new(end: RuleEnd, workload: &Workload) -> Option<EndedBy> {
        let rule = workload.stop_rules.get(usize::try_from(end.rule).ok()?)?;
        Some(EndedBy { rule: rule.name.clone(), at: end.at })
    }
}

/// A stage with its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct StageAnalysis {
    /// The stage as requested.
    pub stage: Stage,
    /// Whether its headline latencies count from the scheduled time or from sending.
    pub latency_origin: LatencyOrigin,
    /// The reason why the stage was not run; `None` if it ran, or if the load ended before the stage could begin.
    pub not_run: Option<NotMeasured>,
    /// The reason why this stage is invalid; empty for a valid stage.
    pub invalid: Vec<Reason>,
    /// The stop rule that ended the stage or the whole load; `None` if none did.
    pub ended_by: Option<EndedBy>,
    /// Requested rate in requests per second, from the profile or derived from earlier stages; `None` for a closed loop and for a varying rate.
    pub asked_rate: Option<f64>,
    /// The rate of sending: (requests sent - 1) / (last sent - first sent). `None` for a closed loop, for fewer than two requests, and if the stage
    /// was stopped early.
    pub achieved_rate: Option<f64>,
    /// (last due - first due) / (last sent - first sent). Below 1, the load was sent more slowly than planned. `None` under the same conditions as
    /// [`StageAnalysis::achieved_rate`].
    pub pace: Option<f64>,
    /// State of the server's queue; `None` unless the load is open.
    pub(super) queue: Option<Queue>,
    /// The time after the last send, as a share of the stage's duration. Present only if the rates cover the whole duration. `None` if they exclude
    /// fill and drain, and if all requests were sent at the same time.
    pub drain_share: Option<f64>,
    /// An upper bound on how long bytes waited before they were read, one value per read; `None` if unknown.
    pub receive_delay: Option<Distribution<Duration>>,
    pub figures: Figures,
    /// The uncertainty of the figures, or why it is unknown.
    pub uncertainty: Result<Uncertainty, Absent>,
    /// The distributions of the latencies.
    pub distributions: DistributionFunctions,
    /// Which requests the figures cover: `all`, `margins`, `trimmed` or `cut`.
    pub window: &'static str,
    /// The labels that are the same for all stages of the run.
    pub of_run: labels::OfRun,
    /// The figures of the probes during the stage; `None` if the workload has none.
    pub probes: Option<Figures>,
    /// The figures of the sessions; `None` if requests form no sessions.
    pub sessions: Option<SessionFigures>,
    /// The time series of the stage; `None` if no request was due. Also `None` in a run of one stage, because the run has the same time series.
    pub series: Option<SeriesFigures>,
}

impl StageAnalysis {
    /// Computes the figures of one stage.
    #[expect(clippy::too_many_arguments, reason = "each is a part of what was measured of the stage")]
    pub(super) fn new(
        stage: &Stage,
        result: Option<&StageResult>,
        tally: &StageTally,
        (timings, plateau): (&Timings, Option<&Plateau>),
        uncertainty: Result<Uncertainty, Absent>,
        receive_delay: Option<Distribution<Duration>>,
        (probes, sessions, series, queue): (
            Option<&StageTally>,
            Option<&SessionTally>,
            Option<SeriesFigures>,
            Option<Queue>,
        ),
        workload: &Workload,
        of_run: labels::OfRun,
    ) -> StageAnalysis {
        let latency_origin = LatencyOrigin::from_load(&stage.load);
        let figures = Figures::from_tally(tally, timings, workload, plateau);
        let asked_rate = match &stage.load {
            Load::Open { rate: Rate::Steady(rate), .. } | Load::Users { rate, .. } => Some(rate.per_second()),
            _ => None,
        };
        let measured_rate = result.and_then(|it| it.measured_rate.as_ref());
        let asked_rate = asked_rate.or_else(|| Some(measured_rate?.as_ref().ok()?.per_second()));
        // With a trimmed window, requests that ended late are excluded. So the remaining requests have gaps between them.
        let whole = workload.window != Window::Trimmed;
        let achieved_rate = asked_rate.filter(|_| whole).and_then(|_| achieved_rate(tally, &figures));
        let pace = achieved_rate.and_then(|_| pace(tally));
        let sessions = sessions.map(|it| SessionFigures::new(it, figures.duration, workload.streaming));
        let of_stage = std::iter::once((tally, latency_origin));
        let distributions = DistributionFunctions::new(of_stage, workload.streaming, uncertainty.as_ref().ok());
        let has_records = !matches!(uncertainty, Err(Absent::NoRecords | Absent::RecordsLeftOut));
        StageAnalysis {
            stage: stage.clone(),
            latency_origin,
            not_run: measured_rate.and_then(|it| it.as_ref().err().cloned()),
            invalid: Vec::new(),
            ended_by: result.and_then(|it| it.ended_by).and_then(|it| EndedBy::new(it, workload)),
            asked_rate,
            achieved_rate,
            pace,
            queue,
            drain_share: drain_share(tally).filter(|_| plateau.is_none() && has_records),
            receive_delay,
            figures,
            uncertainty,
            distributions,
            window: match workload.window {
                Window::All if stage.warm_up.is_none() && stage.cool_down.is_none() => "all",
                Window::All => "margins",
                Window::Trimmed => "trimmed",
                Window::Cut => "cut",
            },
            of_run,
            probes: probes.map(|it| Figures::of_probes(it, workload)),
            sessions,
            series,
        }
    }
}

impl StageAnalysis {
    /// Whether the server fell behind its load, so that TTFT and latency grow with the length of the stage. `None` if the load is not open, or if the
    /// stage is too short for a decision.
    pub fn is_overloaded(&self) -> Option<bool> {
        match self.queue? {
            Queue::Steady => Some(false),
            Queue::Grew(_) => Some(true),
            Queue::Unknown { .. } => None,
        }
    }
}

fn achieved_rate(tally: &StageTally, figures: &Figures) -> Option<f64> {
    let sent = figures.send_lag?.count;
    let gaps = sent.checked_sub(1).filter(|gaps| *gaps > 0 && !figures.is_cut_off())?;
    let span = tally.last_sent?.saturating_sub(tally.first_sent?);
    (!span.is_zero()).then(|| gaps as f64 / span.as_secs_f64())
}

fn drain_share(tally: &StageTally) -> Option<f64> {
    let ((first, end), last_sent) = (tally.span()?, tally.last_sent?);
    let is_at_once = tally.first_sent == tally.last_sent;
    (!is_at_once && end > first)
        .then(|| end.saturating_sub(last_sent).as_secs_f64() / end.saturating_sub(first).as_secs_f64())
}

fn pace(tally: &StageTally) -> Option<f64> {
    let due = tally.last_scheduled?.saturating_sub(tally.first_scheduled?);
    let sent = tally.last_sent?.saturating_sub(tally.first_sent?);
    (!sent.is_zero()).then(|| due.as_secs_f64() / sent.as_secs_f64())
}
