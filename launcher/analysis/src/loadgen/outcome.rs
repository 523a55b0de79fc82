//! Builds the logs of each LoadGen test from what the engine recorded. Pure, except that it reads the process id, which the logs contain.

use std::{process, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use workload_profiles::{
    loadgen::Effective,
    workload::{Load, LoadGen, LoadGenTest, Phase, Stage},
};

use super::{
    answers::answers,
    measure::{Measured, measure},
};
use loadgen::{
    logs::{
        accuracy_log::AccuracyEntry,
        messages::{Event, Messages},
        test_log::{Build, Generated, PhaseLog, TestLog},
    },
    phase_end,
    phases::PlannedPhase,
    queries::PhaseQueries,
};
use measurement::{
    load_result::LoadResult,
    phase::{IssuedPhase, PhaseEnd},
    record::RequestRecord,
    recorder::KeptOutput,
};

/// The warning that answers are logged as text.
const NO_IDS: &str = "The server sent no token ids: answers without them are logged as their text in UTF-8.";

/// A test that was run, completely or until time ran out.
#[derive(Clone, Debug, PartialEq)]
pub struct TestOutcome {
    /// The folder of its logs.
    pub folder: &'static str,
    /// The content of its summary and detail logs.
    pub log: TestLog,
    /// The content of its accuracy log.
    pub answers: Vec<AccuracyEntry>,
}

/// Returns the tests of a load that issued `phases`, in order. A phase that never began appears in no log.
pub fn outcomes(
    loadgen: &LoadGen,
    stages: &[Stage],
    phases: &[Option<Arc<PlannedPhase>>],
    load: &LoadResult,
) -> Vec<TestOutcome> {
    let mut records: Vec<Vec<&RequestRecord>> = vec![Vec::new(); stages.len()];
    for record in load.recorder.records.iter().flatten() {
        records.get_mut(record.stage as usize).into_iter().for_each(|it| it.push(record));
    }
    let mut outputs: Vec<Vec<&KeptOutput>> = vec![Vec::new(); stages.len()];
    for output in &load.recorder.outputs {
        outputs.get_mut(output.stage as usize).into_iter().for_each(|it| it.push(output));
    }
    let of_test = |(index, test): (usize, &LoadGenTest)| {
        let phases = stages.iter().zip(phases.iter().zip(&load.phases)).zip(records.iter().zip(&outputs));
        let phases = phases.filter_map(|((stage, (planned, issued)), (records, outputs))| {
            let Load::LoadGen { test, phase, .. } = stage.load else { return None };
            let issued = issued.filter(|it| test as usize == index && has_begun(it, records))?;
            let queries = &planned.as_ref()?.queries;
            Some(Began { phase, queries, at: issued.began?, end: issued.end, records, outputs })
        });
        let phases: Vec<Began<'_>> = phases.collect();
        // The times in a test's logs count from the beginning of its first phase.
        let zero = phases.first().map_or(Duration::ZERO, |it| it.at);
        let clock = LogClock { zero, started: load.started };
        let of_phase = |it: &Began<'_>| answers(&test.settings, it.queries, it.outputs);
        TestOutcome {
            folder: test.folder(),
            answers: phases.iter().flat_map(of_phase).collect(),
            log: test_log(loadgen, test, phases.iter().map(|it| phase_log(test, it, &clock)).collect(), &clock),
        }
    };
    loadgen.tests.iter().enumerate().map(of_test).collect()
}

/// Whether a phase began. A phase that was stopped before its first send is in no log.
fn has_begun(issued: &IssuedPhase, records: &[&RequestRecord]) -> bool {
    !(records.is_empty() && matches!(issued.end, Some(PhaseEnd::Stopped(_))))
}

/// A phase that began, with its records.
#[derive(Clone, Debug)]
pub struct Began<'a> {
    pub phase: Phase,
    /// The queries that were issued.
    pub queries: &'a PhaseQueries,
    /// The time at which it began, on the clock of the run.
    pub at: Duration,
    /// The reason why the phase stopped issuing queries; `None` for an accuracy phase that issued all of them.
    pub end: Option<PhaseEnd>,
    pub records: &'a [&'a RequestRecord],
    /// The outputs that were kept for the accuracy log.
    pub outputs: &'a [&'a KeptOutput],
}

/// Converts times of the run to times of a test's logs.
#[derive(Clone, Copy, Debug)]
pub struct LogClock {
    /// When the test began, on the clock of the run.
    pub zero: Duration,
    /// The wall-clock time at time zero of the run.
    pub started: Timestamp,
}

impl LogClock {
    fn since_start(&self, time: Duration) -> Duration {
        time.saturating_sub(self.zero)
    }

    fn time_of_day(&self, time: Duration) -> Timestamp {
        // Time stamps reach far beyond the end of any run, so the addition never fails.
        self.started.checked_add(SignedDuration::try_from(time).unwrap_or_default()).unwrap_or(self.started)
    }
}

/// The logs of a test with these phases.
pub fn test_log(loadgen: &LoadGen, test: &LoadGenTest, phases: Vec<PhaseLog>, clock: &LogClock) -> TestLog {
    TestLog {
        build: Build::own(),
        started: clock.time_of_day(clock.zero),
        pid: process::id(),
        sut_name: loadgen.sut_name.clone(),
        get_sut_name: Duration::ZERO,
        qsl: loadgen.qsl.clone(),
        settings: test.settings.clone(),
        effective: Effective::new(&test.settings, &loadgen.qsl),
        audited: test.audited,
        messages: Messages::default(),
        phases,
    }
}

/// The log of a phase.
pub fn phase_log(test: &LoadGenTest, began: &Began<'_>, clock: &LogClock) -> PhaseLog {
    let Began { phase, queries, at, end, records, outputs } = began;
    let Measured { result, failed, mut errors, last_completion } = measure(&test.settings, queries, *at, records);
    let ended = *at + last_completion;
    let last_issue = records.iter().filter_map(|it| it.sent).max().unwrap_or(*at);
    let ending = end.and_then(|it| phase_end::event(it, test.settings.scenario));
    errors.extend(ending.map(|it| (last_issue, it)));
    let text_only = outputs.iter().any(|it| it.output.token_ids.is_empty() && !it.output.text.is_empty());
    errors.extend(text_only.then(|| (ended, Event::Warning(NO_IDS.into()))));
    errors.sort_by_key(|(at, _)| *at);
    let mut messages = Messages::default();
    errors.into_iter().for_each(|(at, event)| messages.push(clock.since_start(at), event));
    PhaseLog {
        phase: *phase,
        tried: None,
        loaded: queries.set.indices.clone(),
        generated: Generated::from_queries(queries),
        messages,
        loaded_at: clock.since_start(*at),
        generated_at: clock.since_start(*at),
        ended_at: clock.since_start(ended),
        power_begin: clock.time_of_day(*at),
        lasted: last_completion,
        result: (*phase == Phase::Performance).then_some(result),
        failed,
        stopped_early: end.and_then(phase_end::stopped_early).map(str::to_owned),
    }
}
