//! Several runs of the same load and their combined result.

use ::document::{ManagedServerDocument, ServerStart};
use analysis::{Analysis, repeats};
use crds::{
    LauncherReason, Outcome,
    objective::{ObjectiveCounts, ObjectiveStatus},
    resolve::{RunIdentity, repeat_name},
    summary::{RunSummary, StageSummary},
};
use junit::Suite;

use crate::folder::Stored;

/// The format version of `repeats.json`. The version of `report.json` is [`document::FORMAT`].
pub const FORMAT: &str = "benchwright.dev/repeats/v1";

/// A measured run of a series.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// The number of the run, from 1.
    pub number: u32,
    /// The salt from which the texts of its prompts were derived.
    pub prompt_salt: String,
    /// The results folder of the run; `None` if none was kept.
    pub stored: Option<Stored>,
    /// How long its server took to start.
    pub start: StartTimes,
    pub analysis: Analysis,
    /// The test cases of the run for `junit.xml`.
    pub cases: Suite,
}

/// How long the server of a run took to start, in seconds. With several replicas: the longest time of any replica, absent if a replica lacks it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StartTimes {
    /// From the launch of the process to its first answer, measured by the launcher.
    pub launch_to_ready: Option<f64>,
    /// From start to ready, according to the log that the server wrote.
    pub start_to_ready: Option<f64>,
}

impl StartTimes {
    /// `starts`: what the logs of the replicas report. Contains only replicas with a known engine.
    pub fn new(server: &ManagedServerDocument, starts: &[ServerStart]) -> StartTimes {
        let longest = |all: Option<Vec<f64>>| all?.into_iter().reduce(f64::max);
        let is_whole = starts.len() == server.replicas.len();
        StartTimes {
            launch_to_ready: longest(server.replicas.iter().map(|it| Some(it.ready_ms? as f64 / 1e3)).collect()),
            start_to_ready: longest(starts.iter().map(|it| it.startup.ready_seconds).collect()).filter(|_| is_whole),
        }
    }
}

/// The reason why a series ended before all requested runs, or why its last run has no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The number of the run that ended the series, from 1. That run can have no figures.
    pub number: u32,
    pub outcome: Outcome,
    pub reason: LauncherReason,
    pub message: String,
    /// The message without text from the server.
    pub status_message: String,
}

/// Several runs of the same load, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// The commit of the binary.
    pub commit: &'a str,
    /// The identity of the series as a whole, without the number of a run.
    pub run: &'a RunIdentity,
    /// Requested number of runs.
    pub asked: u32,
    /// Whether each run starts a new server and measures how long that takes.
    pub measures_start: bool,
    /// The measured runs, in order.
    pub repeats: &'a [Repeat],
    /// The reason why the series ended early; `None` if all requested runs finished.
    pub ended_by: Option<&'a Ending>,
}

/// The verdict on a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesVerdict {
    pub outcome: Outcome,
    pub reason: LauncherReason,
    /// The message. It begins with the name of the run that decides the verdict. Empty if every run passed.
    pub message: String,
    /// The message without text from the server.
    pub status_message: String,
}

impl<'a> Series<'a> {
    /// The verdict. If a run ended the series early, that run decides. Otherwise the first run that did not pass decides. Exception: a run that
    /// missed an objective takes precedence over one that left it undecided.
    pub fn verdict(&self) -> SeriesVerdict {
        if let Some(Ending { number, outcome, reason, message, status_message }) = self.ended_by {
            let last = if *number < self.asked { ", which ended the series" } else { "" };
            let run = format!("run {} of {}{last}", repeat_name(*number), self.asked);
            let [message, status_message] = [message, status_message].map(|it| format!("{run}: {it}"));
            return SeriesVerdict { outcome: *outcome, reason: *reason, message, status_message };
        }
        let deciding = repeats::deciding(self.repeats.iter().map(|it| &it.analysis.verdict));
        match deciding.and_then(|it| self.repeats.get(it)) {
            None => SeriesVerdict {
                outcome: Outcome::Passed,
                reason: LauncherReason::RunSucceeded,
                message: String::new(),
                status_message: String::new(),
            },
            Some(run) => {
                let headline = run.analysis.verdict.headline();
                SeriesVerdict {
                    outcome: run.analysis.verdict.outcome,
                    reason: headline.name,
                    message: format!("run {}: {}", repeat_name(run.number), headline.message),
                    status_message: format!("run {}: {}", repeat_name(run.number), run.analysis.status_message()),
                }
            }
        }
    }

    /// Whether a requested run is missing, or was cut off.
    pub fn is_partial(&self) -> bool {
        self.ended_by.is_some() || self.repeats.iter().any(|it| it.analysis.partial)
    }

    /// The runs that the means include: the valid runs, or all measured runs if none is valid.
    pub fn counted(&self) -> Vec<&'a Repeat> {
        let counted: Vec<&Repeat> = self.repeats.iter().filter(|it| repeats::counts(&it.analysis)).collect();
        if counted.is_empty() { self.repeats.iter().collect() } else { counted }
    }

    /// The means of the headline figures; `None` if nothing was measured.
    pub fn summary(&self) -> Option<RunSummary> {
        let all: Vec<RunSummary> = self.counted().iter().map(|it| it.analysis.summary()).collect();
        repeats::mean_of_summaries(&all)
    }

    /// The means of the stages.
    pub(super) fn stage_summaries(&self) -> Vec<StageSummary> {
        let all: Vec<Vec<StageSummary>> = self.counted().iter().map(|it| it.analysis.stage_summaries()).collect();
        repeats::mean_of_stages(&all)
    }

    /// The worst result of each objective over all runs; `None` if the run has no objectives.
    pub(super) fn objectives(&self) -> Option<(ObjectiveCounts, Vec<ObjectiveStatus>)> {
        let judged = |it: &'a Repeat| Some((repeat_name(it.number), it.analysis.objectives.as_ref()?));
        repeats::worst_objectives(self.repeats.iter().filter_map(judged))
    }
}
