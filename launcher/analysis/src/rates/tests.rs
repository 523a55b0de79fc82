//! Rates of loads for which the correct rate is known.

use crds::units::{RequestRate, Span};
use workload_profiles::workload::{Arrivals, Goodput, Margin, Rate, Window};

use super::*;
use measurement::{
    recorder::{Keep, RecordBudget, WireTally},
    schedule::Schedule,
    window::StageWindow,
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A successful request: sent at `at`, its first token after `ttft`, and each further token 20 ms later.
fn answer(number: u64, at: Duration, ttft: Duration, tokens: u32) -> RequestRecord {
    let first = at + ttft;
    let last = first + ms(20) * (tokens - 1);
    let (record, _) = crate::tests::request(0, 0, 0, tokens);
    RequestRecord {
        number,
        scheduled: at,
        sent: Some(at),
        first_token: Some(first),
        last_token: Some(last),
        ended: last,
        ..record
    }
}

/// A length from 512 to 1,535, uniformly distributed and in scrambled order.
fn length(number: u64) -> u32 {
    512 + (number * 389 % 1_024) as u32
}

fn open_load(rate: f64, seconds: u64) -> Load {
    let rate = Rate::Steady(RequestRate::try_from(rate).unwrap());
    let duration = Some(Span(Duration::from_secs(seconds)));
    Load::Open { arrivals: Arrivals::Constant, rate, duration, count: None, max_concurrency: None }
}

/// The due times of the requests of a load in these tests; `None` for a closed loop.
fn schedule(load: &Load) -> Option<Schedule> {
    match load {
        Load::Open { rate: Rate::Steady(rate), duration: Some(duration), .. } => {
            let count = (duration.0.as_secs_f64() * rate.per_second()).round() as u32;
            Some((0..count).map(|it| Duration::from_secs_f64(f64::from(it) / rate.per_second())).collect())
        }
        Load::Burst { count, .. } => Some((0..*count).map(|_| Duration::ZERO).collect()),
        _ => None,
    }
}

struct Rates {
    requests: f64,
    output_tokens: f64,
    plateau: Plateau,
}

fn recorder(stage: &Stage, kind: Window, records: impl IntoIterator<Item = RequestRecord>) -> (Recorder, Workload) {
    let mut workload = crate::tests::workload(vec![stage.clone()]);
    workload.window = kind;
    let schedule = schedule(&stage.load);
    let mut recorder = Recorder::new(1, Goodput::default(), Keep::Records);
    recorder.open(0, StageWindow::new(stage, kind, schedule.as_ref()), Duration::ZERO);
    for record in records {
        let wire = even(&record);
        recorder.record(record, &wire);
    }
    (recorder, workload)
}

/// Token gaps of equal length for the tokens of a record.
fn even(record: &RequestRecord) -> WireTally {
    let mut wire = WireTally::default();
    if let (Some(first), Some(last), gaps @ 1..) = (record.first_token, record.last_token, record.osl() - 1) {
        (0..gaps).for_each(|_| wire.gaps.push((last - first) / gaps));
    }
    wire
}

fn rates_in(stage: &Stage, kind: Window, records: impl IntoIterator<Item = RequestRecord>) -> Option<Rates> {
    let (recorder, workload) = recorder(stage, kind, records);
    let plateau = Plateaus::new(&recorder, &workload).stages[0]?;
    let rate = |it: f64| it / plateau.length.as_secs_f64();
    Some(Rates { requests: rate(plateau.work.requests), output_tokens: rate(plateau.work.output_tokens), plateau })
}

fn rates(load: Load, records: impl IntoIterator<Item = RequestRecord>) -> Option<Rates> {
    rates_in(&Stage::new("s", load), Window::All, records)
}

/// The relative error of a figure.
fn error(found: f64, expected: f64) -> f64 {
    (found / expected - 1.0).abs()
}

/// The requests of `count` slots until the time `until`. Each slot sends its next request when its previous one has ended.
fn slots(count: u64, ramp: Duration, until: Duration, ttft: Duration) -> Vec<RequestRecord> {
    let mut number = 0;
    let of_slot = |slot: u64| {
        let mut at = ramp * slot as u32 / count as u32;
        let mut records = Vec::new();
        while at < until {
            let record = answer(number, at, ttft, length(number));
            at = record.ended;
            number += 1;
            records.push(record);
        }
        records
    };
    (0..count).flat_map(of_slot).collect()
}

#[test]
fn two_slots_of_one_second_each_are_two_requests_a_second() {
    // Each answer takes 820 + 9 * 20 = 1,000 ms, and each slot sends ten: at 0, 1, ... 9 s.
    let record = |number: u64| answer(number, ms(1_000) * (number / 2) as u32, ms(820), 10);
    let found = rates(Load::closed(2, 20), (0..20).map(record)).unwrap();
    // The window lasts from the end of the first two requests until the last two are sent. It contains 16 requests.
    assert_eq!(found.plateau.window, Some(RateWindow { from: ms(1_000), to: ms(9_000) }));
    assert!(error(found.plateau.work.requests, 16.0) <= 1e-9);
    assert!(error(found.requests, 2.0) <= 1e-9);
    assert!(error(found.output_tokens, 20.0) <= 1e-9);
}

#[test]
fn a_server_that_keeps_up_has_the_rate_that_was_asked() {
    // Answers take 10 to 30 s. So the fill is half of the 60 s, and a drain of 30 s follows.
    let records: Vec<_> = (0..300).map(|it| answer(it, ms(200) * it as u32, ms(130), length(it))).collect();
    let mean = records.iter().map(|it| f64::from(it.osl())).sum::<f64>() / 300.0;
    let last = records.iter().map(|it| it.ended).max().unwrap();
    assert!(error(300.0 / last.as_secs_f64(), 3.4) <= 0.05);
    let found = rates(open_load(5.0, 60), records).unwrap();
    assert!(error(found.requests, 5.0) <= 0.01);
    assert!(error(found.output_tokens, 5.0 * mean) <= 0.02);
}

#[test]
fn slots_that_are_always_busy_have_a_token_every_20_ms() {
    for ramp in [0, 4_000] {
        let load = Load::Closed {
            concurrency: 40,
            count: None,
            duration: Some(Span(ms(60_000))),
            ramp_up: Span(ms(ramp)),
            start_rate: None,
        };
        let records = slots(40, ms(ramp), ms(60_000), ms(20));
        let found = rates(load, records).unwrap();
        assert!(error(found.output_tokens, 40.0 / 0.020) <= 0.002);
        // Expected rate: 40 slots, 20 ms per token, mean length 1,023.5 tokens.
        assert!(error(found.requests, 40.0 / 0.020 / 1_023.5) <= 0.06);
    }
}

#[test]
fn an_overloaded_server_has_its_own_rate() {
    // Twenty requests arrive per second. The server answers ten per second, one after another, in 100 ms each. Waiting in the queue is not work.
    let record = |number: u64| {
        let (due, ended) = (ms(50) * number as u32, ms(100) * (number as u32 + 1));
        RequestRecord { first_token: Some(ended - ms(80)), ..answer(number, due, ended - due - ms(80), 5) }
    };
    let found = rates(open_load(20.0, 60), (0..1_200).map(record)).unwrap();
    assert!(error(found.requests, 10.0) <= 0.001);
    assert!(error(found.output_tokens, 50.0) <= 0.001);
}

#[test]
fn answers_in_one_piece_count_when_they_come() {
    let record =
        |number: u64| RequestRecord { first_token: None, ..answer(number, ms(100) * number as u32, ms(250), 1) };
    let found = rates(open_load(10.0, 60), (0..600).map(record)).unwrap();
    assert_eq!(found.plateau.window, Some(RateWindow { from: ms(250), to: ms(59_900) }));
    // The window lasts from 350 to 59,850 ms.
    assert!(error(found.plateau.work.requests, 596.0) <= 1e-9);
    assert!(error(found.requests, 10.0) <= 0.002);
}

#[test]
fn the_window_is_within_the_warm_up_and_the_cool_down_and_counts_their_requests() {
    let margin = |seconds: u64| Some(Margin::Duration(Span(Duration::from_secs(seconds))));
    let stage = Stage { warm_up: margin(20), cool_down: margin(10), ..Stage::new("s", open_load(5.0, 60)) };
    let records = || (0..300).map(|it| answer(it, ms(200) * it as u32, ms(180), 42));
    // Each request takes one second.
    let found = rates_in(&stage, Window::All, records()).unwrap();
    assert_eq!(found.plateau.window, Some(RateWindow { from: ms(20_000), to: ms(49_800) }));
    assert!(error(found.requests, 5.0) <= 1e-3);
    let cut = rates_in(&stage, Window::Cut, records()).unwrap();
    assert_eq!(cut.plateau.window, Some(RateWindow { from: ms(20_000), to: ms(49_800) }));
    assert!(error(cut.output_tokens, 210.0) <= 1e-3);
}

#[test]
fn the_window_ends_before_requests_that_were_cut_off() {
    // Answers take 10 to 30 s, and the stage takes 120 s.
    let mut records = slots(40, Duration::ZERO, ms(120_000), ms(20));
    for record in records.iter_mut().filter(|it| it.ended > ms(120_000)) {
        *record = RequestRecord { outcome: RequestOutcome::Incomplete, ended: ms(120_000), ..*record };
    }
    let found = rates(Load::closed(40, 1_000), records.clone()).unwrap();
    let first = records.iter().filter(|it| !it.outcome.is_success()).filter_map(|it| it.sent).min();
    assert_eq!(found.plateau.window.map(|it| it.to), first);
    assert!(error(found.output_tokens, 40.0 / 0.020) <= 0.002);
}

#[test]
fn without_a_window_there_is_no_plateau() {
    let burst = Load::Burst { count: 40, max_concurrency: None };
    assert!(rates(burst, (0..40).map(|it| answer(it, Duration::ZERO, ms(100), 10 + it as u32))).is_none());
    // Only nine requests are in the window.
    assert!(rates(Load::closed(1, 10), (0..10).map(|it| answer(it, ms(20) * it as u32, ms(20), 1))).is_none());
    // All requests are sent before the first one has ended.
    assert!(rates(open_load(5.0, 4), (0..20).map(|it| answer(it, ms(200) * it as u32, ms(20), 250))).is_none());
    let (mut recorder, workload) = recorder(&Stage::new("s", Load::closed(1, 90)), Window::All, []);
    recorder = recorder.with_record_budget(RecordBudget::for_records(0));
    (0..90).for_each(|it| recorder.record(answer(it, ms(20) * it as u32, ms(20), 1), &WireTally::default()));
    assert_eq!(Plateaus::new(&recorder, &workload).stages, [None]);
}

#[test]
fn several_stages_are_weighted_by_their_time() {
    let stages = vec![Stage::new("a", Load::closed(1, 100)), Stage::new("b", Load::closed(2, 200))];
    let workload = crate::tests::workload(stages);
    let mut recorder = Recorder::new(2, Goodput::default(), Keep::Records);
    // Each request takes one second, and an hour passes between the stages.
    for number in 0..100_u64 {
        recorder.record(answer(number, ms(1_000) * number as u32, ms(1_000), 1), &WireTally::default());
    }
    for number in 0..200_u64 {
        let at = ms(3_600_000) + ms(1_000) * (number / 2) as u32;
        recorder.record(RequestRecord { stage: 1, ..answer(number, at, ms(1_000), 1) }, &WireTally::default());
    }
    let plateaus = Plateaus::new(&recorder, &workload);
    let all = plateaus.of_run(&recorder.stages).unwrap();
    assert_eq!((all.length, all.window), (ms(2 * 98_000), None));
    assert!(error(all.work.requests, 98.0 + 2.0 * 98.0) <= 1e-9);
}

/// Ten requests per second with 100 tokens each. A token takes 50 ms; after the last send it takes 10 ms.
#[test]
fn a_drain_that_is_faster_than_the_load_adds_nothing() {
    let last_sent = 400_u32 * 50;
    let at_token = |sent: u32, token: u32| {
        let even = sent + 50 * token;
        if even <= last_sent { even } else { last_sent.max(sent) + (even - last_sent.max(sent)) / 5 }
    };
    let stage = Stage::new("s", open_load(10.0, 20));
    let (mut recorder, workload) = recorder(&stage, Window::All, []);
    for number in 0..=200_u32 {
        let sent = number * 100;
        let times: Vec<u64> = (1..=100).map(|it| u64::from(at_token(sent, it))).collect();
        let mut wire = WireTally::default();
        times.windows(2).for_each(|it| wire.gaps.push(ms(it[1] - it[0])));
        let record = answer(u64::from(number), ms(u64::from(sent)), ms(times[0] - u64::from(sent)), 100);
        let last = ms(times[99]);
        recorder.record(RequestRecord { last_token: Some(last), ended: last, ..record }, &wire);
    }
    let plateaus = Plateaus::new(&recorder, &workload);
    assert!((0.9..0.97).contains(&plateaus.scales[0]), "{:?}", plateaus.scales);
    let plateau = plateaus.stages[0].unwrap();
    assert!(error(plateau.rate(plateau.work.output_tokens), 1_000.0) <= 0.01);
    assert!(error(plateau.rate(plateau.work.requests), 10.0) <= 0.01);
}

#[test]
fn answers_of_few_events_have_the_rate_of_their_slots() {
    // Eight slots. Each answer takes one second and has two events, at 500 and 1,000 ms.
    for concurrency in [1_u64, 8] {
        let load = Load::closed(concurrency as u32, 15 * concurrency);
        let record = |number: u64| {
            let sent = ms(1_000) * (number / concurrency) as u32 + ms(37) * (number % concurrency) as u32;
            let (first, last) = (sent + ms(500), sent + ms(1_000));
            RequestRecord {
                last_token: Some(last),
                ended: last,
                content_events: 2,
                ..answer(number, sent, first - sent, 2)
            }
        };
        let found = rates(load, (0..15 * concurrency).map(record)).unwrap();
        assert!(error(found.requests, concurrency as f64) <= 0.01, "{concurrency}: {}", found.requests);
    }
}
