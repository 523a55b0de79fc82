//! Tests of every shape of load, with each time computed by hand. A stage begins 2 ms after all workers are ready. The server takes 20 ms
//! per step for any number of sequences, so 5 tokens always take 100 ms.

use std::time::Duration;

use crds::units::Span;
use engine::stop::{Stop, StopReason};
use measurement::record::{RequestOutcome, RequestRecord};
use workload_profiles::workload::{
    Abandonment, Arrivals, Departure, Load, Probes, RampUpStrategy, Rate, RatePoint, RateShape, Stage, Trace,
    TraceEntry,
};

use super::common::*;

const START: Duration = millis(2);
/// The time that this server takes for five tokens.
const TOOK: Duration = millis(100);

/// Runs a stage against this server, and returns its records.
async fn run(stage: Stage) -> Vec<RequestRecord> {
    let result = issue(&workload(vec![stage], 5), &simulated(server(millis(20), millis(20)))).await;
    assert!(all(&result, RequestOutcome::Ok));
    records(&result)
}

/// Returns when requests were due, in milliseconds from the start of the stage.
fn due(records: &[RequestRecord]) -> Vec<u128> {
    records.iter().map(|it| (it.scheduled - START).as_millis()).collect()
}

/// Checks when each request was due and sent, in milliseconds from the start, and that it waited for a permit in between.
fn check(records: &[RequestRecord], times: &[(u64, u64)]) {
    assert_eq!(records.len(), times.len());
    for (record, (due, sent)) in records.iter().zip(times) {
        assert_eq!(record.scheduled, START + millis(*due), "{record:?}");
        assert_eq!(record.sent, Some(START + millis(*sent)), "{record:?}");
        assert_eq!(record.permit_wait, Some(millis(sent - due)), "{record:?}");
        assert_eq!(record.send_lag(), Some(Duration::ZERO), "{record:?}");
        assert_eq!(record.last_token, Some(START + millis(*sent) + TOOK), "{record:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn paced_requests_are_sent_at_exact_times() {
    let records = run(paced(50.0, 100)).await;
    assert_eq!(records.len(), 100);
    for (record, number) in records.iter().zip(0..) {
        assert_eq!((record.scheduled, record.sent), (START + millis(20) * number, record.sent));
        assert_eq!((record.sent, record.permit_wait), (Some(record.scheduled), None));
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_steps_and_ramps_is_sent_as_drawn() {
    // The rate is 5 per second for 1 s, and then 20. From 2 s on it falls to 0 within 1 s, which adds 10 requests.
    let point = |at: u64, rate: f64| RatePoint { at: Span(millis(at)), rate };
    let points = vec![point(0, 5.0), point(1_000, 5.0), point(1_000, 20.0), point(2_000, 20.0), point(3_000, 0.0)];
    let records = run(varying(Arrivals::Constant, RateShape::Points(points), Some(5_000), None)).await;
    let due = due(&records);
    assert_eq!(due[..6], [0, 200, 400, 600, 800, 1_000]);
    assert_eq!(due[6..25], (1..20).map(|it| 1_000 + 50 * it).collect::<Vec<u128>>());
    // On the ramp, request k is due where 20 x - 10 x^2 = k, at 1 - sqrt(1 - k / 10) s. The tenth request is due at the end of the ramp.
    let ramp: Vec<u128> =
        (0..=10_u32).map(|k| 2_000 + ((1.0 - (1.0 - f64::from(k) / 10.0).sqrt()) * 1e3) as u128).collect();
    assert_eq!(due[25..], ramp);
    assert!(records.iter().all(|it| it.send_lag().unwrap() < millis(1)));
}

/// Even arrivals with a varying rate.
fn varying(arrivals: Arrivals, shape: RateShape, duration: Option<u64>, count: Option<u64>) -> Stage {
    let duration = duration.map(|it| Span(millis(it)));
    let load = Load::Open { arrivals, rate: Rate::Varying(shape), duration, count, max_concurrency: None };
    Stage::new("varying", load)
}

#[tokio::test(start_paused = true)]
async fn a_day_is_busy_in_its_first_half() {
    // The mean rate is 2 per second, and it swings between 4 and 0. By time t, 2 (t + 10 / tau (1 - cos(tau t / 10))) requests are due. By
    // 5 s that is 2 (5 + 20 / tau) = 16.37, which means the numbers 0 to 16. By 10 s it is 20.
    let (mean, period) = (2.0.try_into().unwrap(), Span(millis(10_000)));
    let shape = RateShape::Sinusoid { mean, amplitude: 1.0, period, phase: Span::default() };
    let due = due(&run(varying(Arrivals::Constant, shape, Some(10_000), None)).await);
    assert_eq!((due.len(), due.iter().filter(|it| **it < 5_000).count()), (20, 17));
    for (at, number) in due.iter().zip(0_u32..) {
        let seconds = *at as f64 / 1_000.0;
        let by =
            |it: f64| 2.0 * (it + 10.0 / std::f64::consts::TAU * (1.0 - (std::f64::consts::TAU * it / 10.0).cos()));
        // The due times are truncated to milliseconds, hence the tolerance of 0.001 s.
        assert!(by(seconds) <= f64::from(number) + 1e-6 && by(seconds + 0.001) >= f64::from(number), "{number} {at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_ramp_up_gives_each_request_the_gap_of_its_own_rate() {
    // The rates are 1, 2, 4 and 8, so the gaps are 1000, 500, 250 and 125 ms.
    let (from, to) = (1.0.try_into().unwrap(), 8.0.try_into().unwrap());
    let shape = RateShape::RampUp { strategy: RampUpStrategy::Exponential, from, to };
    let records = run(varying(Arrivals::ConstantAfterGap, shape, None, Some(4))).await;
    assert_eq!(due(&records), [1_000, 1_500, 1_750, 1_875]);
}

#[tokio::test(start_paused = true)]
async fn drawn_arrivals_are_sent_as_drawn() {
    for arrivals in [Arrivals::Poisson, Arrivals::Gamma { burstiness: 0.5 }] {
        let mut stage = paced(40.0, 200);
        if let Load::Open { arrivals: drawn, .. } = &mut stage.load {
            *drawn = arrivals;
        }
        let records = run(stage.clone()).await;
        let seed = crds::units::Seed(42).derive("stage/0/arrivals");
        let schedule = engine::schedule::schedule(&stage.load, &[], seed).unwrap();
        // 200 requests are expected, with a standard deviation of at most sqrt(200 / burstiness) = 20. The tolerance is five standard
        // deviations.
        assert!((100..300).contains(&records.len()), "{}", records.len());
        assert!(schedule.iter().eq(records.iter().map(|it| it.scheduled - START)));
        assert!(records.iter().all(|it| it.send_lag().unwrap() < millis(1)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_sent_at_once_or_in_waves_of_its_permits() {
    let stage = Stage::new("burst", Load::Burst { count: 7, max_concurrency: None });
    let records = run(stage.clone()).await;
    assert!(records.iter().all(|it| (it.scheduled, it.sent, it.permit_wait) == (START, Some(START), None)));
    // With three permits and 100 ms per request, the waves have 3, 3 and 1 requests.
    let waves = [(0, 0), (0, 0), (0, 0), (0, 100), (0, 100), (0, 100), (0, 200)];
    check(&run(bounded(stage, 3)).await, &waves);
}

#[tokio::test(start_paused = true)]
async fn requests_that_wait_for_room_are_late_for_their_latency_and_not_for_the_launcher() {
    // A request is due every 50 ms, but there is one permit and each request takes 100 ms. Request i is due at 50 i and sent at 100 i.
    let stage = bounded(paced(20.0, 20), 1);
    let times: Vec<(u64, u64)> = (0..20).map(|it| (50 * it, 100 * it)).collect();
    let result = issue(&workload(vec![stage], 5), &simulated(server(millis(20), millis(20)))).await;
    check(&records(&result), &times);
    let tally = &result.recorder.stages[0];
    assert_eq!((tally.send_lag.histogram().max(), tally.permit_wait.histogram().len()), (0, 20));
    // The last request waited 950 ms. Its latency is 1,050 ms from its due time, and 100 ms from its send time.
    let near = |nanos: u64, millis: f64| assert!((nanos as f64 / 1e6 / millis - 1.0).abs() < 0.001, "{nanos}");
    near(tally.latency_scheduled.histogram().max(), 1_050.0);
    near(tally.latency_sent.histogram().max(), 100.0);
    near(tally.permit_wait.histogram().max(), 950.0);
}

#[tokio::test(start_paused = true)]
async fn a_trace_is_replayed_at_its_speed_with_its_lengths() {
    let entry = |at, input, output| TraceEntry { at: Span(millis(at)), input, output };
    let entries =
        vec![entry(0, Some(30), Some(2)), entry(0, None, None), entry(900, Some(7), Some(1)), entry(950, None, None)];
    let load =
        Load::Trace { trace: Trace::Inline(entries), speed: 2.0, count: Some(3), lengths: true, max_concurrency: None };
    let records = run(Stage::new("trace", load)).await;
    assert_eq!(due(&records), [0, 0, 450]);
    let lengths: Vec<_> = records.iter().map(|it| (it.input_tokens, it.output_tokens)).collect();
    assert_eq!(lengths, [(Some(30), Some(2)), (Some(10), Some(5)), (Some(7), Some(1))]);
}

#[tokio::test(start_paused = true)]
async fn slots_open_within_the_ramp_and_send_until_the_time_is_over() {
    // Slot j of 4 opens at 100 j ms, and sends every 100 ms until 1 s has passed: 10 + 9 + 8 + 7 requests.
    let stage = closed_for(4, millis(1_000), millis(400));
    let records = records(&issue(&workload(vec![stage], 1), &answering(|_| TOOK)).await);
    let mut expected: Vec<u128> = (0..4).flat_map(|slot| (slot..10).map(|it| 100 * it)).collect();
    expected.sort_unstable();
    let mut found = due(&records);
    found.sort_unstable();
    assert_eq!(found, expected);
    assert!(records.iter().all(|it| it.ended == it.scheduled + TOOK));
}

#[tokio::test(start_paused = true)]
async fn clients_that_go_away_end_their_connections() {
    // The server processes one request at a time. An answer has 50 tokens and takes 1,000 ms. Request 1 arrives at 500 ms.
    let options = simulator::SimOptions { max_num_seqs: 1, ..server(millis(20), millis(20)) };
    for (after, last) in [
        (Departure::Tokens(3), millis(60)),
        (Departure::Uniform { min: Span(millis(70)), max: Span(millis(70)) }, millis(70)),
    ] {
        let mut workload = workload(vec![paced(2.0, 4)], 50);
        workload.abandonment = Some(Abandonment { share: 1.0, after });
        let result = issue(&workload, &simulated(options.clone())).await;
        assert_eq!(outcomes(&result, 0), [("abandoned".to_owned(), 4)]);
        for record in records(&result) {
            // The first token would be late if the server were still processing the previous, abandoned request.
            assert_eq!(after_send(&record, record.first_token), millis(20));
            assert_eq!((after_send(&record, Some(record.ended)), record.content_events), (last, 3));
        }
        // An abandoned request counts neither as a success nor as a failure.
        let tally = &result.recorder.stages[0];
        assert_eq!((tally.latency_sent.histogram().len(), tally.send_lag.histogram().len()), (0, 4));
        assert_eq!((result.stopped, tally.error_samples.len()), (None, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_share_of_the_clients_goes_and_the_same_ones_for_a_seed() {
    let run = async || {
        let mut workload = workload(vec![paced(50.0, 200)], 5);
        workload.abandonment = Some(Abandonment { share: 0.3, after: Departure::Tokens(2) });
        let result = issue(&workload, &simulated(server(millis(20), millis(20)))).await;
        records(&result).iter().map(|it| it.outcome).collect::<Vec<_>>()
    };
    let outcomes = run().await;
    let gone = outcomes.iter().filter(|it| **it == RequestOutcome::Abandoned).count();
    // 60 are expected, with a standard deviation of sqrt(200 x 0.3 x 0.7) = 6.5. The tolerance is five standard deviations.
    assert!((28..92).contains(&gone), "{gone}");
    assert!(outcomes.iter().all(|it| matches!(it, RequestOutcome::Ok | RequestOutcome::Abandoned)));
    assert_eq!(outcomes, run().await);
}

#[tokio::test(start_paused = true)]
async fn probes_go_beside_the_load_and_count_apart() {
    // Requests are sent at 0 and 1,000 ms. The last one ends at 1,100 ms, or one step later if a probe arrived just before it. Until then
    // there is one probe every 125 ms, whose single token takes 20 ms.
    let mut workload = workload(vec![paced(1.0, 2), closed(1, 1)], 5);
    workload.probes = Some(Probes { rate: 8.0.try_into().unwrap(), input: 4, output: 1 });
    let result = issue(&workload, &simulated(server(millis(20), millis(20)))).await;
    assert_eq!((outcomes(&result, 0), outcomes(&result, 1)), (vec![("ok".into(), 2)], vec![("ok".into(), 1)]));
    assert_eq!((records(&result).len(), result.issued), (3, 3));
    let [first, second] = &result.recorder.probes[..] else { panic!("there are two stages") };
    assert_eq!((first.succeeded(), second.succeeded()), (9, 1));
    assert_eq!((first.input_tokens_total, first.output_tokens_total), (36, 9));
    // A probe that arrives during a step waits for the end of that step, so none takes longer than two steps.
    assert!(first.latency_scheduled.histogram().max() <= 40_020_000);
    assert!(first.send_lag.histogram().max() < 1_000_000);
}

#[tokio::test(start_paused = true)]
async fn slots_start_no_faster_than_their_start_rate() {
    // Eight slots are free at the start, and may start 10 requests per second. An answer takes 100 ms. After that, each slot waits until
    // the other slots have had their turns, so the rate stays 10 per second.
    let mut stage = closed(8, 30);
    if let Load::Closed { start_rate, .. } = &mut stage.load {
        *start_rate = Some(10.0.try_into().unwrap());
    }
    let records = run(stage).await;
    let mut found = due(&records);
    found.sort_unstable();
    assert_eq!(found, (0..30).map(|it| 100 * it).collect::<Vec<_>>());
    assert!(records.iter().all(|it| it.send_lag() == Some(Duration::ZERO)));
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_waits_to_start_ends_with_its_stage_or_with_the_load() {
    let limited = |mut stage: Stage| {
        if let Load::Closed { start_rate, .. } = &mut stage.load {
            *start_rate = Some(2.0.try_into().unwrap());
        }
        stage
    };
    // Requests start at 0, 500 and 1,000 ms. The next one would start at 1,500 ms, after the end.
    let result =
        issue(&workload(vec![limited(closed_for(4, millis(1_200), millis(0)))], 1), &answering(|_| TOOK)).await;
    assert_eq!((due(&records(&result)), result.wall), (vec![0, 500, 1_000], START + millis(1_200)));
    assert!(!result.recorder.stages[0].stopped_early);

    let stop = Stop::default();
    let (end, at) = (stop.clone(), millis(700));
    tokio::spawn(async move {
        tokio::time::sleep(at).await;
        end.drain(StopReason::Signal);
    });
    let result = issue_until(&workload(vec![limited(closed(4, 4))], 1), &answering(|_| TOOK), &stop).await;
    assert_eq!((due(&records(&result)), result.wall, result.unissued), (vec![0, 500], at, 0));
    assert!(result.recorder.stages[0].stopped_early, "two requests were not sent");
}

#[tokio::test(start_paused = true)]
async fn users_send_their_turns_at_a_constant_rate() {
    let rate = 8.0.try_into().unwrap();
    let load = Load::Users { users: 4, rate, turns: 3, duration: Some(Span(millis(2_500))), count: None };
    let records = run(Stage::new("users", load)).await;
    assert_eq!(due(&records), (0..20).map(|it| 125 * it).collect::<Vec<_>>());
    assert!(records.iter().all(|it| it.send_lag() == Some(Duration::ZERO)));
}
