//! TestLog: everything that a test's logs report, in one value. [`summary`](super::summary) and [`detail`](super::detail) write it.
//!
//! Times count from the start of the test. No trace file is written: nothing reads it, and it takes a kilobyte per query.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use workload_profiles::{
    loadgen::{Effective, Qsl, Settings},
    workload::Phase,
};

use crate::{
    logs::messages::{Event, Messages},
    peak::{self, Next, Tried},
    queries::PhaseQueries,
    results::{PhaseResult, Results, validity::Validity},
};

/// How many failure reasons of samples are reported individually.
const MOST_REASONS: usize = 20;

/// A test, from its start to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct TestLog {
    /// Who wrote the logs.
    pub build: Build,
    /// When the test began. The logs have UTC; LoadGen's have local time.
    pub started: Timestamp,
    /// The process that ran it.
    pub pid: u32,
    /// The system under test.
    pub sut_name: String,
    /// How long it took to learn its name.
    pub get_sut_name: Duration,
    /// What the sample library reported.
    pub qsl: Qsl,
    /// As requested, after all configuration files.
    pub settings: Settings,
    /// As normalised.
    pub effective: Effective,
    /// An audit.config was applied.
    pub audited: bool,
    /// Events before the first phase: errors in configuration and settings.
    pub messages: Messages,
    /// The phases of the test, or the trials of a search for the peak, in order.
    pub phases: Vec<PhaseLog>,
}

/// The version block. It marks these logs as not from an official build.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are LoadGen's, without `loadgen_`")]
pub struct Build {
    pub version: String,
    pub build_date_local: String,
    pub build_date_utc: String,
    pub git_commit_date: String,
    pub git_log_message: String,
    pub git_status_message: String,
}

impl Build {
    /// This launcher. Unknown build facts are "NA".
    pub fn own() -> Build {
        let unknown = || "NA".to_owned();
        Build {
            version: concat!("6.0.17-compatible (benchwright ", env!("CARGO_PKG_VERSION"), ")").into(),
            build_date_local: unknown(),
            build_date_utc: unknown(),
            git_commit_date: unknown(),
            git_log_message: unknown(),
            git_status_message: unknown(),
        }
    }
}

/// A phase, or a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseLog {
    pub phase: Phase,
    /// In a search for the peak: the trial and its result.
    pub tried: Option<Tried>,
    /// The samples that were loaded, with MultiStream's padding.
    pub loaded: Vec<u32>,
    /// The queries that were generated.
    pub generated: Generated,
    /// Events during the phase.
    pub messages: Messages,
    /// When its samples were loaded, from the start of the test.
    pub loaded_at: Duration,
    /// When its queries were generated.
    pub generated_at: Duration,
    /// When all its samples were complete.
    pub ended_at: Duration,
    /// The time of day when issuing began.
    pub power_begin: Timestamp,
    /// From `power_begin` to the latest completion.
    pub lasted: Duration,
    /// The measurements of a performance phase. Among trials, only the reported one needs them.
    pub result: Option<PhaseResult>,
    /// Samples that failed, by reason. They are in no figure.
    pub failed: BTreeMap<String, u64>,
    /// Why the phase ended early, such as the deadline or a signal.
    pub stopped_early: Option<String>,
}

/// The queries generated for a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generated {
    /// Queries.
    pub queries: u64,
    /// Samples of each, after padding.
    pub samples_per_query: u64,
    /// The time that would be the next query's.
    pub duration: Duration,
}

impl Generated {
    /// The logged facts about these queries.
    pub fn from_queries(queries: &PhaseQueries) -> Generated {
        Generated {
            queries: queries.len() as u64,
            samples_per_query: queries.samples_per_query as u64,
            duration: queries.duration,
        }
    }
}

impl PhaseLog {
    /// The same phase as a trial of a search, which began this long before.
    pub fn later(mut self, by: Duration, tried: Option<Tried>) -> PhaseLog {
        self.messages.delay(by);
        for at in [&mut self.loaded_at, &mut self.generated_at, &mut self.ended_at] {
            *at += by;
        }
        PhaseLog { tried, ..self }
    }

    /// The text about failed samples.
    fn failed_fault(&self) -> Option<String> {
        let failed: u64 = self.failed.values().sum();
        let reasons = self.reasons().into_iter().map(|(reason, count)| format!("{reason}: {count}"));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        (failed > 0).then(|| {
            let samples = if failed == 1 { "sample" } else { "samples" };
            format!("{failed} {samples} failed ({reasons}); a run with failed samples is never VALID.")
        })
    }

    fn cut_fault(&self) -> Option<String> {
        self.stopped_early.as_ref().map(|why| format!("The run was ended before its time: {why}."))
    }

    /// Failures, early ends and omitted messages, as error lines of the detail log.
    pub(crate) fn own_errors(&self) -> Vec<Event> {
        let failed = self.reasons().into_iter().map(|(reason, count)| {
            let samples = if count == 1 { "sample" } else { "samples" };
            format!("{count} {samples} failed: {reason}")
        });
        let cut = self.stopped_early.as_ref().map(|why| format!("Ending early: {why}"));
        let left_out = self.messages.left_out();
        let more =
            (left_out > 0).then(|| format!("{left_out} further errors and warnings are counted, and not written."));
        more.into_iter().chain(failed).chain(cut).map(Event::Runtime).collect()
    }

    /// The errors of the phase: messages, and a line for each of [`Self::own_errors`].
    pub fn errors(&self) -> u64 {
        self.messages.errors() + self.own_errors().len() as u64
    }

    /// The reasons of failed samples, the most frequent first. Reasons beyond a limit are combined.
    fn reasons(&self) -> Vec<(String, u64)> {
        let mut reasons: Vec<(String, u64)> =
            self.failed.iter().map(|(reason, count)| (reason.clone(), *count)).collect();
        reasons.retain(|(_, count)| *count > 0);
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        if reasons.len() > MOST_REASONS {
            let rest = reasons.split_off(MOST_REASONS);
            reasons.push(("other reasons".into(), rest.iter().map(|(_, count)| count).sum()));
        }
        reasons
    }
}

impl TestLog {
    /// The phase with the figures that the logs report: the performance phase, or the last trial that met the limits, or the first trial if
    /// none did.
    pub fn reported(&self) -> Option<&PhaseLog> {
        let tried = self.tried();
        if tried.is_empty() {
            return self.phases.iter().find(|it| it.phase == Phase::Performance);
        }
        self.phases.get(tried.iter().rposition(|it| it.met).unwrap_or_default())
    }

    /// The settings of a phase; a trial's settings contain its own rate.
    pub fn effective_of(&self, phase: &PhaseLog) -> Effective {
        let mut effective = self.effective.clone();
        if let Some(tried) = &phase.tried {
            effective.target_qps = tried.trial.rate();
        }
        effective
    }

    /// The figures that the logs report, and their verdict; `None` without a performance phase with measurements. Sorts all latencies: this
    /// takes a second for some millions.
    pub fn judged<T>(&self, tell: impl FnOnce(&Results, &Validity) -> T) -> Option<T> {
        let phase = self.reported()?;
        let effective = self.effective_of(phase);
        let results = Results::new(phase.result.as_ref()?, &self.settings, &effective);
        let validity = Validity::from_results(&results, self.faults());
        Some(tell(&results, &validity))
    }

    /// Why the test does not count by the run's own rule; empty if nothing failed. Failed samples in unreported
    /// trials are ignored, because they already affected the search. An early end of any phase counts.
    pub fn faults(&self) -> Vec<String> {
        let reported = self.reported();
        let counts =
            |it: &&PhaseLog| it.tried.is_none() || reported.is_some_and(|reported| std::ptr::eq(*it, reported));
        let failed = self.phases.iter().filter(counts).filter_map(PhaseLog::failed_fault);
        let mut cut: Vec<String> = self.phases.iter().filter_map(PhaseLog::cut_fault).collect();
        // An end of one phase also ends the phases after it, for the same reason.
        cut.dedup();
        failed.chain(cut).collect()
    }

    /// All errors of the test.
    pub fn errors(&self) -> u64 {
        let base = u64::from(self.base_fails());
        self.messages.errors() + self.phases.iter().map(PhaseLog::errors).sum::<u64>() + base
    }

    /// All warnings of the test.
    pub fn warnings(&self) -> u64 {
        let found = self.settings_warnings().len() as u64;
        found + self.messages.warnings() + self.phases.iter().map(|it| it.messages.warnings()).sum::<u64>()
    }

    /// Errors, warnings and other messages, in the order of the detail log.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        let kept = |messages: &Messages| messages.kept().iter().map(|it| it.event.clone()).collect::<Vec<_>>();
        let phases = |trials: bool| {
            let phases = self.phases.iter().filter(move |it| it.tried.is_some() == trials);
            phases.flat_map(move |it| kept(&it.messages).into_iter().chain(it.own_errors()))
        };
        let head = self.settings_warnings().into_iter().chain(kept(&self.messages));
        head.chain(phases(true)).chain(self.base_error()).chain(phases(false))
    }

    /// LoadGen's warnings before it logs the settings. In an audit the first warning announces the audit.
    pub(crate) fn settings_warnings(&self) -> Vec<Event> {
        let audited = self
            .audited
            .then_some("Found Audit Config file (audit.config). Overriding TestSettings from audit.config file.");
        let test05 = self.settings.test05.then_some("Test05 flag detected Overriding random seeds");
        audited.into_iter().chain(test05).map(|it| Event::Warning(it.into())).collect()
    }

    /// The error of a search that ended with its first trial.
    pub(crate) fn base_error(&self) -> Option<Event> {
        let advice = || self.judged(|_, validity| validity.perf_advice.replace('\n', " ")).unwrap_or_default();
        self.base_fails().then(|| Event::Runtime(peak::base_fails_text(&advice())))
    }

    /// The search ended with its first trial, which is an error.
    fn base_fails(&self) -> bool {
        let tried = self.tried();
        !tried.is_empty() && peak::next(&self.settings, &tried) == Next::BaseFails
    }

    /// Whether the search completed.
    pub(crate) fn found_peak(&self) -> bool {
        matches!(peak::next(&self.settings, &self.tried()), Next::Found(_))
    }

    fn tried(&self) -> Vec<Tried> {
        self.phases.iter().filter_map(|it| it.tried.clone()).collect()
    }
}
