//! Everything that the logs of a test report, in one value. [`summary`](super::summary) and [`detail`](super::detail) write it.
//!
//! Times count from the start of the test. No trace file is written, because nothing reads it, and it would need a kilobyte per query.

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

/// Maximum number of different failure reasons that are reported.
const MOST_REASONS: usize = 20;

/// The results of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestLog {
    /// The program that ran the test.
    pub build: Build,
    /// When the test began. Written to the logs in UTC, whereas LoadGen writes local time.
    pub started: Timestamp,
    /// Id of the process that ran the test.
    pub pid: u32,
    /// Name of the system under test.
    pub sut_name: String,
    /// How long it took to get the name of the system under test.
    pub get_sut_name: Duration,
    /// What the sample library reported about itself.
    pub qsl: Qsl,
    /// The settings as requested, after applying all configuration files.
    pub settings: Settings,
    /// The settings as LoadGen normalises them.
    pub effective: Effective,
    /// Whether an audit.config was applied.
    pub audited: bool,
    /// Events before the first phase, such as errors in configuration and settings.
    pub messages: Messages,
    /// The phases of the test, or the trials of a peak search, in order.
    pub phases: Vec<PhaseLog>,
}

/// The version block of the logs. It shows that they do not come from an official build.
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
    /// Describes this launcher. Unknown values are "NA".
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

/// The results of a phase, or of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseLog {
    pub phase: Phase,
    /// The trial and its result, in a peak search.
    pub tried: Option<Tried>,
    /// The samples that were loaded, including MultiStream's padding.
    pub loaded: Vec<u32>,
    /// The queries that were generated.
    pub generated: Generated,
    /// Events during the phase.
    pub messages: Messages,
    /// When the phase's samples were loaded, from the start of the test.
    pub loaded_at: Duration,
    /// When the phase's queries were generated, from the start of the test.
    pub generated_at: Duration,
    /// When all samples of the phase were complete, from the start of the test.
    pub ended_at: Duration,
    /// The wall-clock time when issuing began.
    pub power_begin: Timestamp,
    /// Time from `power_begin` to the last completion.
    pub lasted: Duration,
    /// The measurements of a performance phase. In a search, only the trial that is reported needs them.
    pub result: Option<PhaseResult>,
    /// Number of failed samples per reason. Failed samples are not part of any figure.
    pub failed: BTreeMap<String, u64>,
    /// The reason why the phase ended early, for example because of a deadline or a signal; `None` if it did not.
    pub stopped_early: Option<String>,
}

/// The queries generated for a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generated {
    /// Number of queries.
    pub queries: u64,
    /// Number of samples per query, including padding.
    pub samples_per_query: u64,
    /// The time at which the query after the last one would have been due.
    pub duration: Duration,
}

impl Generated {
    /// Summarises generated queries for the logs.
    pub fn from_queries(queries: &PhaseQueries) -> Generated {
        Generated {
            queries: queries.len() as u64,
            samples_per_query: queries.samples_per_query as u64,
            duration: queries.duration,
        }
    }
}

impl PhaseLog {
    /// Converts the phase to a trial of a search that began earlier by `by`. Its times then count from the start of the search.
    pub fn later(mut self, by: Duration, tried: Option<Tried>) -> PhaseLog {
        self.messages.delay(by);
        for at in [&mut self.loaded_at, &mut self.generated_at, &mut self.ended_at] {
            *at += by;
        }
        PhaseLog { tried, ..self }
    }

    /// Returns the text about failed samples; `None` if no sample failed.
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

    /// Returns failures, early ends and dropped messages, as the text of error lines in the detail log.
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

    /// Returns the number of errors in the phase: errors among its messages, plus the lines of [`Self::own_errors`].
    pub fn errors(&self) -> u64 {
        self.messages.errors() + self.own_errors().len() as u64
    }

    /// Returns the reasons why samples failed, the most frequent first. Combines reasons beyond the maximum number.
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
    /// Returns the phase whose figures the logs report. It is the performance phase. In a peak search, it is the last trial that met the limits; if
    /// none did, it is the first trial.
    pub fn reported(&self) -> Option<&PhaseLog> {
        let tried = self.tried();
        if tried.is_empty() {
            return self.phases.iter().find(|it| it.phase == Phase::Performance);
        }
        self.phases.get(tried.iter().rposition(|it| it.met).unwrap_or_default())
    }

    /// Returns the settings of a phase. The settings of a trial contain its own rate.
    pub fn effective_of(&self, phase: &PhaseLog) -> Effective {
        let mut effective = self.effective.clone();
        if let Some(tried) = &phase.tried {
            effective.target_qps = tried.trial.rate();
        }
        effective
    }

    /// Calls `tell` with the figures that the logs report, and with their verdict. Returns the result of `tell`; `None` if no performance phase has
    /// measurements. Sorts all latencies, which takes about a second for a few million.
    pub fn judged<T>(&self, tell: impl FnOnce(&Results, &Validity) -> T) -> Option<T> {
        let phase = self.reported()?;
        let effective = self.effective_of(phase);
        let results = Results::new(phase.result.as_ref()?, &self.settings, &effective);
        let validity = Validity::from_results(&results, self.faults());
        Some(tell(&results, &validity))
    }

    /// Returns why the test does not count by rules that only this launcher has; empty if it counts. An early end of any phase counts. Failed samples
    /// count only in the reported trial, because those in other trials already affected the search.
    pub fn faults(&self) -> Vec<String> {
        let reported = self.reported();
        let counts =
            |it: &&PhaseLog| it.tried.is_none() || reported.is_some_and(|reported| std::ptr::eq(*it, reported));
        let failed = self.phases.iter().filter(counts).filter_map(PhaseLog::failed_fault);
        let mut cut: Vec<String> = self.phases.iter().filter_map(PhaseLog::cut_fault).collect();
        // If a phase ends early, the phases after it end for the same reason. The reason is reported once.
        cut.dedup();
        failed.chain(cut).collect()
    }

    /// Returns the number of all errors of the test.
    pub fn errors(&self) -> u64 {
        let base = u64::from(self.base_fails());
        self.messages.errors() + self.phases.iter().map(PhaseLog::errors).sum::<u64>() + base
    }

    /// Returns the number of all warnings of the test.
    pub fn warnings(&self) -> u64 {
        let found = self.settings_warnings().len() as u64;
        found + self.messages.warnings() + self.phases.iter().map(|it| it.messages.warnings()).sum::<u64>()
    }

    /// Returns errors, warnings and other messages, in the order of the detail log.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        let kept = |messages: &Messages| messages.kept().iter().map(|it| it.event.clone()).collect::<Vec<_>>();
        let phases = |trials: bool| {
            let phases = self.phases.iter().filter(move |it| it.tried.is_some() == trials);
            phases.flat_map(move |it| kept(&it.messages).into_iter().chain(it.own_errors()))
        };
        let head = self.settings_warnings().into_iter().chain(kept(&self.messages));
        head.chain(phases(true)).chain(self.base_error()).chain(phases(false))
    }

    /// Returns the warnings that LoadGen logs before the settings. In an audit, the first one announces the audit.
    pub(crate) fn settings_warnings(&self) -> Vec<Event> {
        let audited = self
            .audited
            .then_some("Found Audit Config file (audit.config). Overriding TestSettings from audit.config file.");
        let test05 = self.settings.test05.then_some("Test05 flag detected Overriding random seeds");
        audited.into_iter().chain(test05).map(|it| Event::Warning(it.into())).collect()
    }

    /// Returns the error of a peak search whose first trial failed; `None` if there was none.
    pub(crate) fn base_error(&self) -> Option<Event> {
        let advice = || self.judged(|_, validity| validity.perf_advice.replace('\n', " ")).unwrap_or_default();
        self.base_fails().then(|| Event::Runtime(peak::base_fails_text(&advice())))
    }

    /// Whether a peak search ended because its first trial failed.
    fn base_fails(&self) -> bool {
        let tried = self.tried();
        !tried.is_empty() && peak::next(&self.settings, &tried) == Next::BaseFails
    }

    /// Whether a peak search was completed.
    pub(crate) fn found_peak(&self) -> bool {
        matches!(peak::next(&self.settings, &self.tried()), Next::Found(_))
    }

    fn tried(&self) -> Vec<Tried> {
        self.phases.iter().filter_map(|it| it.tried.clone()).collect()
    }
}
