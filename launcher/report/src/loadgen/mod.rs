//! The files of LoadGen tests: the logs of each in a folder of its own, `config.json` and `summary.json` beside them.

mod documents;

use std::{
    io::{self, Write},
    time::Duration,
};

use serde::Serialize;
use workload_profiles::{
    loadgen::{Mode, Scenario},
    workload::LoadGenTest,
};

use super::{Folder, Report, StorageError, text};
use analysis::loadgen::{
    outcome::TestOutcome,
    verdict::{CorrectedFigures, Headline, TestVerdict, TrialVerdict},
};
use loadgen::logs::{accuracy_log, detail, summary};

pub use documents::{LoadGenConfig, LoadGenSummary};

/// The tests of a run and what they came to.
#[derive(Clone, Debug)]
pub struct LoadGenReport {
    /// Each with its verdict, in order.
    pub tests: Vec<(TestOutcome, TestVerdict)>,
    /// The trials before them.
    pub trials: Vec<TrialVerdict>,
}

impl LoadGenReport {
    /// Judges the tests of a run.
    pub fn from_tests(tests: Vec<TestOutcome>, trials: Vec<TrialVerdict>) -> LoadGenReport {
        let judged = |test: TestOutcome| {
            let verdict = TestVerdict::from_outcome(&test);
            (test, verdict)
        };
        LoadGenReport { tests: tests.into_iter().map(judged).collect(), trials }
    }

    /// As tests of a profile: those of a search, whose last load need not have had all of them, too.
    fn as_requested(&self) -> Vec<LoadGenTest> {
        let logs = self.tests.iter().map(|(test, _)| &test.log);
        logs.map(|it| LoadGenTest { settings: it.settings.clone(), audited: it.audited, trials_before: Vec::new() })
            .collect()
    }

    /// The verdicts, in order.
    pub fn verdicts(&self) -> impl Iterator<Item = &TestVerdict> {
        self.tests.iter().map(|(_, verdict)| verdict)
    }
}

/// Writes the files; none where the run has no such tests.
///
/// # Errors
/// The folder cannot be written.
pub(super) fn write(folder: &mut Folder, report: &Report<'_>) -> Result<(), StorageError> {
    let (Some(loadgen), Some(tests)) = (&report.workload.loadgen, report.loadgen) else { return Ok(()) };
    for (test, _) in &tests.tests {
        let name = |file: &str| format!("{}/mlperf_log_{file}", test.folder);
        folder.write(&name("summary.txt"), |file| summary::write(&test.log, file))?;
        folder.write(&name("detail.txt"), |file| detail::write(&test.log, file))?;
        folder.write(&name("accuracy.json"), |file| {
            let mut log = accuracy_log::Writer::new(file)?;
            test.answers.iter().try_for_each(|it| log.add(it))?;
            log.finish().map(drop)
        })?;
    }
    folder.write("config.json", |file| {
        write_json(&LoadGenConfig::new(report, loadgen, tests).without_secrets()?, file)
    })?;
    folder.write("summary.json", |file| write_json(&LoadGenSummary::new(report, loadgen, tests), file))
}

/// A test as a row of a table.
pub(super) struct TestRow {
    /// The folder of its logs.
    pub(super) name: String,
    /// What stands beside it.
    pub(super) cells: Vec<String>,
}

/// The columns of [`rows`], behind the first.
pub(super) const COLUMNS: [&str; 10] =
    ["scenario", "mode", "result", "queries", "target/s", "samples/s", "tokens/s", "TTFT p99", "TPOT p99", "errors"];

/// The tests as rows of a table. Rates are those of the logs, and until the latest completion where the logs have none.
pub(super) fn rows(tests: &LoadGenReport) -> impl Iterator<Item = TestRow> {
    tests.verdicts().map(|it| {
        let headline = it.headline.as_ref();
        let nanos = |of: fn(&Headline) -> Option<i64>| {
            let nanos = headline.and_then(of).and_then(|it| u64::try_from(it).ok());
            text::optional(nanos, |it| text::time(Duration::from_nanos(it)))
        };
        let rate = |logged: fn(&Headline) -> Option<f64>, of: fn(&CorrectedFigures) -> Option<f64>| {
            let rate = headline.and_then(logged).or_else(|| it.corrected.as_ref().and_then(of));
            text::optional(rate, text::number)
        };
        let mode = it.mode.name();
        let cells = vec![
            it.scenario.name().into(),
            if it.audited { format!("{mode}, audit") } else { mode.into() },
            it.result.to_string(),
            text::optional(headline, |it| it.queries.to_string()),
            text::optional(it.target_qps, text::number),
            rate(|it| it.samples_per_second, |it| it.samples_per_second),
            rate(|it| it.tokens_per_second, |it| it.tokens_per_second),
            nanos(|it| it.ttft_p99_ns),
            nanos(|it| it.tpot_p99_ns),
            it.errors.to_string(),
        ];
        TestRow { name: it.folder.clone().into_owned(), cells }
    })
}

/// What the logs do not say, or say under another name.
pub(super) fn notes(tests: &LoadGenReport) -> Vec<String> {
    let mut notes = Vec::new();
    for test in tests.verdicts() {
        let mut note = |text: String| notes.push(format!("{}: {text}", test.folder));
        if test.audited {
            note(
                "an audit, which has too few queries to be VALID; `benchwright submission test06` judges its answers"
                    .into(),
            );
        }
        if let Some(warning) = &test.first_warning {
            note(format!("a warning in the detail log: {warning}"));
        }
        let peak = tests.trials.iter().filter(|it| it.met).map(|it| it.rate).reduce(f64::max);
        if let Some(peak) = peak.filter(|_| test.mode == Mode::FindPeakPerformance) {
            note(format!("the highest rate that met the limits is {} queries/s", text::number(peak)));
        }
        let Some(quirks) = &test.corrected else { continue };
        if test.scenario == Scenario::Server
            && let (Some(logged), Some(rate)) =
                (test.headline.as_ref().and_then(|it| it.samples_per_second), quirks.samples_per_second)
            // The other way round the log is lower by one sample, which a schedule has more than gaps.
            && logged / rate > 1.01
        {
            let (logged, rate) = (text::number(logged), text::number(rate));
            note(format!(
                "the log has {logged} completed samples/s, until the query that was issued last was complete; until the latest completion they were {rate}"
            ));
        }
        if let Some(estimate) = quirks.early_stopping_latency_ns
            && quirks.ttft_early_stopping_met.is_some()
        {
            let estimate = text::time(Duration::from_nanos(estimate.unsigned_abs()));
            note(format!(
                "the log's early_stopping_latency figures are of first tokens; of whole answers the estimate is {estimate}"
            ));
        }
        if let (Some(ttft), Some(false)) = (quirks.ttft_early_stopping_met, quirks.tpot_early_stopping_met) {
            let met = if ttft { "is" } else { "is not" };
            note(format!("early stopping fails on TPOT, so that the log does not tell of TTFT, where it {met} met"));
        }
        if quirks.too_few_tokens > 0 {
            note(format!(
                "{} samples have fewer than two tokens; their TPOT is negative in the log",
                quirks.too_few_tokens
            ));
        }
    }
    notes
}

fn write_json(value: &impl Serialize, mut to: &mut (dyn Write + Send)) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut to, value)?;
    to.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use workload_profiles::{
        loadgen::{Qsl, Settings},
        workload::{LoadGen, Phase},
    };

    use super::*;
    use analysis::loadgen::outcome::{LogClock, test_log};
    use loadgen::{
        logs::{
            messages::Messages,
            test_log::{Generated, PhaseLog},
        },
        results::PhaseResult,
    };

    /// A test of 50 samples: the last query was complete, and the latest completion was, after so many seconds.
    fn outcome(test: &LoadGenTest, last_query: f64, latest: u64) -> TestOutcome {
        let qsl = Qsl { name: "q".into(), total_sample_count: 9, performance_sample_count: 9 };
        let loadgen = LoadGen {
            benchmark: "b".into(),
            round: "v6.1".into(),
            sut_name: "s".into(),
            qsl,
            batch_size: None,
            max_concurrency: None,
            tests: Vec::new(),
            auto_qps: None,
            user_conf: String::new(),
        };
        let phase = PhaseLog {
            phase: Phase::Performance,
            tried: None,
            loaded: Vec::new(),
            generated: Generated::default(),
            messages: Messages::default(),
            loaded_at: Duration::ZERO,
            generated_at: Duration::ZERO,
            ended_at: Duration::ZERO,
            power_begin: Timestamp::UNIX_EPOCH,
            lasted: Duration::from_secs(latest),
            result: Some(PhaseResult {
                sample_latencies_ns: vec![1; 50],
                final_query_all_samples_done_time_s: last_query,
                ..PhaseResult::default()
            }),
            failed: Default::default(),
            stopped_early: None,
        };
        let clock = LogClock { zero: Duration::ZERO, started: Timestamp::UNIX_EPOCH };
        let log = test_log(&loadgen, test, vec![phase], &clock);
        TestOutcome { folder: "Performance", log, answers: Vec::new() }
    }

    fn server(target_qps: f64) -> LoadGenTest {
        let settings = Settings { scenario: Scenario::Server, server_target_qps: target_qps, ..Settings::default() };
        LoadGenTest { settings, audited: true, trials_before: Vec::new() }
    }

    fn check(last_query: f64, latest: u64) -> Vec<String> {
        let test = LoadGenTest { audited: false, ..server(1.0) };
        notes(&LoadGenReport::from_tests(vec![outcome(&test, last_query, latest)], Vec::new()))
    }

    #[test]
    fn tests_of_several_loads_are_told_together() {
        let tests = [server(10.0), server(9.5)];
        let report = LoadGenReport::from_tests(tests.iter().map(|it| outcome(it, 1.0, 1)).collect(), Vec::new());
        assert_eq!(report.as_requested(), tests);
    }

    #[test]
    fn a_completed_rate_that_is_too_high_is_told_and_one_of_few_samples_is_not() {
        let told = check(8.0, 10);
        assert!(matches!(&told[..], [note] if note.contains("6.125") && note.contains("were 5")), "{told:?}");
        assert_eq!(check(10.0, 10), Vec::<String>::new());
    }

    #[test]
    fn an_audit_is_told_as_such_and_not_asked_to_be_valid() {
        let report = LoadGenReport::from_tests(vec![outcome(&server(1.0), 10.0, 10)], Vec::new());
        let verdict = report.verdicts().next().unwrap();
        assert_eq!((verdict.valid, verdict.counts(), &*verdict.result), (Some(false), true, "INVALID"));
        assert!(notes(&report)[0].contains("submission test06"));
        assert_eq!(rows(&report).next().unwrap().cells[1], "PerformanceOnly, audit");
    }
}
