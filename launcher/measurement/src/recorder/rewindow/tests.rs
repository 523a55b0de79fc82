//! Tests that a recomputed load has the same counts as a recorder that had the new windows from the start.

use std::time::Duration;

use proptest::prelude::*;
use workload_profiles::workload::{Load as StageLoad, Margin, Stage, Window};

use super::RewindowError;
use crate::{
    histogram::TimeHistogram,
    recorder::{Breakdown, Keep, RecordBudget, Recorder, StageTally, Tape, WireTally},
    window::{MarginError, StageWindow},
    wire::{
        Wire, Writer,
        tests::random::{Draws, Load},
    },
};

/// For each load, records the same events on several recorders, and merges them.
fn recorded<const N: usize>(loads: [&Load; N], seed: u64, count: usize, events: u64) -> [Recorder; N] {
    loads.map(|load| {
        let mut draws = Draws(seed);
        // The recorders are created and not cloned: a clone's chunks have no spare capacity, which changes its binary form.
        let mut workers: Vec<Recorder> = (0..count).map(|_| load.recorder()).collect();
        let mut sum = load.recorder();
        for number in 0..events {
            let event = load.event(&mut draws, number);
            let worker = draws.below(count as u64) as usize;
            event.record(&mut workers[worker]);
            if draws.below(40) == 0 {
                let now = Duration::from_secs(draws.below(60));
                workers[worker].stop_early(draws.below(2) as usize, now, draws.below(2) == 0);
            }
        }
        workers.into_iter().for_each(|it| sum.add(it));
        sum
    })
}

/// Removes the data that cannot be recomputed in a run without times between tokens.
fn without_token_times(tally: &mut StageTally) {
    (tally.itl, tally.itl_of_several) = (TimeHistogram::default(), TimeHistogram::default());
    (tally.gaps_of_several, tally.breakdown) = (TimeHistogram::default(), Breakdown::default());
}

/// Returns the names of the parts in which two recorders differ.
fn differences(one: &Recorder, other: &Recorder) -> Vec<&'static str> {
    fn form(value: &impl Wire) -> Vec<u8> {
        let mut to = Writer::default();
        value.write(&mut to);
        to.into_bytes()
    }
    let parts = |it: &Recorder| {
        [
            ("stages", form(&it.stages)),
            ("records", form(&it.records)),
            ("strays", form(&it.strays)),
            ("tape", form(&it.tape)),
            ("outputs", form(&it.outputs)),
            ("classes", form(&it.classes)),
            ("probes", form(&it.probes)),
            ("sessions", form(&it.sessions)),
            ("series", form(&it.series)),
            ("sample", form(&it.sample)),
            ("windows", form(&it.windows)),
            ("goodput", form(&it.goodput)),
        ]
    };
    parts(one).into_iter().zip(parts(other)).filter(|(one, other)| one != other).map(|(one, _)| one.0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_load_counted_again_is_the_load_with_these_margins(seed: u64, count in 1_usize..4, events in 0_u64..120) {
        let mut draws = Draws(seed);
        let load = Load::new(&mut draws).with_keep(Keep::RecordsAndGaps);
        let other = load.with_other_margins(&mut draws);
        let [run, expected] = recorded([&load, &other], seed, count, events);
        let again = run.with_margins(&load.stages, &other.stages).unwrap();
        prop_assert_eq!(differences(&again, &expected), Vec::<&str>::new());
        prop_assert!(again.to_bytes() == expected.to_bytes());
    }

    #[test]
    fn without_token_times_all_else_is_the_same(seed: u64, count in 1_usize..4, events in 0_u64..120) {
        let mut draws = Draws(seed);
        let load = Load::new(&mut draws).with_keep(Keep::Records);
        let other = load.with_other_margins(&mut draws);
        let margins = |it: &Stage| (it.warm_up, it.cool_down);
        let is_changed = load.stages.iter().zip(&other.stages).any(|(one, other)| margins(one) != margins(other));
        let [run, mut expected] = recorded([&load, &other], seed, count, events);
        let again = run.with_margins(&load.stages, &other.stages);
        if load.kind == Window::Cut && is_changed {
            let is_refused = matches!(again, Err(RewindowError::NoTokenTimes { .. }));
            prop_assert!(is_refused);
            return Ok(());
        }
        let tallies = expected.stages.iter_mut().chain(&mut expected.classes);
        tallies.filter(|_| is_changed).for_each(without_token_times);
        prop_assert_eq!(differences(&again.unwrap(), &expected), Vec::<&str>::new());
    }
}

/// Returns a load with one stage whose margins can be changed, and the same load with other margins.
fn one_stage(keep: Keep) -> (Load, Load) {
    let mut seeds = 0..;
    loop {
        let load = Load::new(&mut Draws(seeds.next().unwrap())).with_keep(keep);
        if load.stages() == 1 && load.kind == Window::All {
            let mut other = load.clone();
            other.stages[0].warm_up = Some(Margin::Count(99));
            return (load, other);
        }
    }
}

#[test]
fn what_was_not_kept_is_told() {
    let (load, other) = one_stage(Keep::Summary);
    let [run] = recorded([&load], 1, 2, 50);
    let form = run.to_bytes();
    assert_eq!(run.clone().with_margins(&load.stages, &other.stages).unwrap_err(), RewindowError::NoRecords);
    assert!(run.with_margins(&load.stages, &load.stages).unwrap().to_bytes() == form);
    let (load, other) = one_stage(Keep::Records);
    let mut run = load.recorder().with_record_budget(RecordBudget::for_records(0));
    let mut draws = Draws(3);
    (0..200).for_each(|number| load.event(&mut draws, number).record(&mut run));
    let error = run.with_margins(&load.stages, &other.stages).unwrap_err();
    assert!(matches!(error, RewindowError::LeftOut { kept: 0, requests: 1.. }), "{error}");
}

#[test]
fn the_entry_of_a_request_takes_a_few_bytes() {
    let (load, _) = one_stage(Keep::Records);
    let mut run = load.recorder();
    let mut draws = Draws(9);
    let requests: Vec<_> =
        (0..).map(|it| load.event(&mut draws, it)).filter_map(|it| it.request()).take(20_000).collect();
    for (request, wire) in &requests {
        // Replaces the random wire tallies: they have rare properties far more often than requests of a real run.
        let (reads, gaps) = (request.content_events.into(), wire.gaps.clone());
        let usual = WireTally { reads, gaps, has_exact_prompt: true, silent_events: 1, ..WireTally::default() };
        run.record(request.clone(), &usual);
    }
    let bytes: usize = run.tape.iter().flat_map(Tape::chunks).flatten().map(Vec::len).sum();
    assert!(bytes < 7 * requests.len(), "{bytes} of {}", requests.len());
}

#[test]
fn an_error_text_is_kept_once_and_the_number_of_texts_is_bounded() {
    let (load, other) = one_stage(Keep::Records);
    let recorded = |text: fn(usize) -> String| {
        let mut run = load.recorder();
        let mut draws = Draws(9);
        let requests = (0..).map(|it| load.event(&mut draws, it)).filter_map(|it| it.request());
        for (index, (request, _)) in requests.take(2_000).enumerate() {
            run.record(request, &WireTally { error: Some(text(index)), ..WireTally::default() });
        }
        run
    };
    for text in [|_| "x".repeat(200), |index| format!("{index:0200}")] as [fn(usize) -> String; 2] {
        let run = recorded(text);
        let bytes: usize = run.tape.iter().flat_map(Tape::chunks).flatten().map(Vec::len).sum();
        assert!(bytes < 64 * 210 + 2_000 * 16, "{bytes}");
        assert!(run.with_margins(&load.stages, &other.stages).is_ok());
    }
}

#[test]
fn token_times_take_no_more_memory_than_the_budget() {
    let (load, other) = one_stage(Keep::RecordsAndGaps);
    let recorded = |budget| {
        let mut run = load.recorder().with_record_budget(budget);
        let mut draws = Draws(9);
        (0..20_000).for_each(|number| load.event(&mut draws, number).record(&mut run));
        run
    };
    let again = |run: Recorder| run.with_margins(&load.stages, &other.stages);
    assert!(again(recorded(RecordBudget::default())).is_ok());
    // There is room for the records only, and not for the tape.
    let run = recorded(RecordBudget::for_records(12_288));
    assert!(run.tape.iter().all(|it| it.chunks().is_empty()));
    let error = again(run).unwrap_err();
    assert!(matches!(error, RewindowError::Lost | RewindowError::LeftOut { .. }), "{error}");
}

#[test]
fn a_margin_that_needs_more_than_is_known_is_refused() {
    let check = |load: StageLoad, kind, (warm_up, cool_down), expected: Option<MarginError>| {
        let window = StageWindow::new(&Stage::new("s", load.clone()), kind, None);
        let found = window.with_margins(&Stage { warm_up, cool_down, ..Stage::new("s", load) });
        assert_eq!(found.err(), expected);
    };
    let by_count = || StageLoad::closed(1, 9);
    let timed = || match by_count() {
        StageLoad::Closed { concurrency, ramp_up, start_rate, .. } => StageLoad::Closed {
            concurrency,
            count: None,
            duration: Some(crds::units::Span(Duration::from_secs(9))),
            ramp_up,
            start_rate,
        },
        other => other,
    };
    let second = Some(Margin::Duration(crds::units::Span(Duration::from_secs(1))));
    let one = Some(Margin::Count(1));
    check(by_count(), Window::All, (second, None), None);
    check(by_count(), Window::All, (one, one), None);
    check(by_count(), Window::All, (None, second), Some(MarginError::NoEnd));
    check(timed(), Window::All, (one, second), None);
    check(timed(), Window::All, (None, one), Some(MarginError::NoCount));
    check(timed(), Window::Trimmed, (second, second), None);
    check(timed(), Window::Cut, (one, None), Some(MarginError::NoTime));
}
