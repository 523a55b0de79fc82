//! Hand-made requests that vary over time in a known way.

use std::time::Duration;

use crds::units::{RequestRate, Span as Length};
use measurement::{
    record::{RequestOutcome, RequestRecord},
    recorder::{Keep, RecordBudget, WireTally},
};
use workload_profiles::workload::{Arrivals, Goodput, Load, Rate as RateOf, Stage};

use super::*;

fn ms(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1e3)
}

/// One of 2,000 requests. It is due after `number` x 10 ms and sent 2 ms later. Its first token comes `ttft` ms after sending, followed by nine
/// tokens that are `tpot` ms apart.
fn request(number: u64, ttft: f64, tpot: f64) -> RequestRecord {
    let due = ms(10.0 * number as f64);
    let sent = due + ms(2.0);
    let first = sent + ms(ttft);
    let last = first + ms(9.0 * tpot);
    let (record, _) = crate::tests::request(0, 0, 0, 10);
    RequestRecord {
        number,
        scheduled: due,
        sent: Some(sent),
        first_token: Some(first),
        last_token: Some(last),
        ended: last,
        ..record
    }
}

/// A number from 0 to 1. The same input always gives the same number.
fn noise(number: u64) -> f64 {
    let bits = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let bits = (bits ^ (bits >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (bits >> 40) as f64 / (1_u64 << 24) as f64
}

fn open() -> Load {
    let rate = RateOf::Steady(RequestRate::try_from(100.0).unwrap());
    let duration = Some(Length(Duration::from_secs(20)));
    Load::Open { arrivals: Arrivals::Constant, rate, duration, count: None, max_concurrency: None }
}

fn recorder(requests: impl IntoIterator<Item = RequestRecord>) -> Recorder {
    let mut recorder = Recorder::new(1, Goodput::default(), Keep::Records);
    requests.into_iter().for_each(|it| recorder.record(it, &WireTally::default()));
    recorder
}

fn told(load: Load, recorder: &Recorder) -> Result<Uncertainty, Absent> {
    let workload = crate::tests::workload(vec![Stage::new("s", load)]);
    let mut stages = of_stages(recorder, &workload, &Plateaus::new(recorder, &workload));
    assert_eq!(stages.len(), 1);
    stages.remove(0)
}

/// 2,000 requests over 20 s. `ttft` and `tpot` are functions of the time, which goes from 0 to 1. They get 10 % noise.
fn course(ttft: impl Fn(f64) -> f64, tpot: impl Fn(f64) -> f64) -> Uncertainty {
    let requests = (0..2_000).map(|number| {
        let time = number as f64 / 2_000.0;
        let varied = |level: f64, seed: u64| level * (0.95 + 0.1 * noise(number + seed));
        request(number, varied(ttft(time), 0), varied(tpot(time), 10_000))
    });
    told(open(), &recorder(requests)).unwrap()
}

#[test]
fn what_does_not_change_is_steady_and_its_window_is_the_whole_stage() {
    let found = course(|_| 40.0, |_| 5.0);
    let state = &found.steady_state;
    assert_eq!((state.status, state.verdict, state.judged.len()), (Status::Windowable, SteadyVerdict::Steady, 8));
    assert_eq!(state.judged.iter().filter(|it| it.decides).count(), 4);
    // The first bin lacks answers, because the first request takes 85 ms.
    let window = state.window.unwrap();
    assert!(window.from < 0.5 && window.requests >= 1_950, "{window:?}");
    let plateaus = [window.ttft, window.tpot, window.latency].map(|it| it.is_some_and(|it| it.is_ok()));
    assert_eq!(plateaus, [true; 3]);
    // TTFT counts from the scheduled time, so it is 2 ms longer than from sending.
    let ttft = found.ttft.unwrap();
    assert!(ttft.mean.interval.unwrap().contains(42.0), "{ttft:?}");
    assert!(ttft.percentiles[0].interval.unwrap().contains(42.0), "{ttft:?}");
    assert!(ttft.percentiles.iter().all(|it| it.interval.is_some() && it.value.is_some()), "{ttft:?}");
    assert_eq!(found.steady_state.drift(), None);
    assert_eq!((ttft.count, found.latency.unwrap().count, found.ntpot.unwrap().count), (2_000, 2_000, 2_000));
    // The rates between fill and drain.
    let (requests, tokens) = (found.rates.requests.unwrap(), found.rates.output_tokens.unwrap());
    assert!((requests.value.unwrap() - 100.0).abs() < 0.1, "{requests:?}");
    assert!((tokens.value.unwrap() - 1_000.0).abs() < 1.0, "{tokens:?}");
    assert!(requests.interval.unwrap().contains(100.0), "{requests:?}");
    // 100 requests per second, each in flight for 85 ms.
    let law = found.littles_law.unwrap();
    assert!((law.concurrency - 8.5).abs() < 0.1 && law.residual.abs() < 0.01, "{law:?}");
}

#[test]
fn a_figure_that_drifts_has_no_estimate_in_the_window() {
    let found = course(|time| 40.0 * (1.0 + time), |_| 5.0);
    let state = &found.steady_state;
    assert_eq!((state.status, state.verdict), (Status::Windowable, SteadyVerdict::DriftingUp));
    let drift = state.drift().unwrap();
    assert!(drift.starts_with("drifting up: TTFT p50 by +") && drift.contains(", TTFT p90 by +"), "{drift}");
    let window = state.window.unwrap();
    assert_eq!(window.ttft, Some(Err(State::DriftingUp)));
    assert!(matches!(window.tpot, Some(Ok(_))) && matches!(window.requests_per_second, Some(Ok(_))), "{window:?}");
    let trend = state.judged[0].judged.trend.unwrap();
    // A rise of 40 ms in 20 s is 2 ms/s and two thirds of the median of 62 ms. The rise is slightly smaller, because the time before the window is
    // excluded.
    assert!((trend.slope - 2.0).abs() < 0.1 && (trend.change - 0.62).abs() < 0.04, "{trend:?}");
    // The figures cover the whole stage. Because of the drift, the mean has few effective values.
    let mean = found.ttft.unwrap().mean;
    assert!(mean.effective_values < 20.0 && mean.interval.is_some_and(|it| it.high - it.low > 10.0), "{mean:?}");
}

#[test]
fn a_warm_up_is_left_out_of_the_window() {
    let found = course(|time| if time < 0.2 { 90.0 } else { 40.0 }, |_| 5.0);
    let state = &found.steady_state;
    assert_eq!(state.verdict, SteadyVerdict::Steady);
    let window = state.window.unwrap();
    assert!((window.from - 4.0).abs() < 0.4 && (window.to - 19.99).abs() < 1e-6, "{window:?}");
    assert!(window.requests < found.latency.unwrap().count);
    let whole = found.ttft.unwrap().mean.value.unwrap();
    let within = window.ttft.unwrap().unwrap().mean.value.unwrap();
    assert!(whole > 50.0 && (within - 42.0).abs() < 0.5, "{whole} {within}");
}

#[test]
fn a_closed_loop_counts_from_sending() {
    let requests = (0..400).map(|number| request(number, 40.0 + noise(number), 5.0));
    let found = told(Load::closed(4, 400), &recorder(requests)).unwrap();
    assert!((found.ttft.unwrap().mean.value.unwrap() - 40.5).abs() < 0.2);
}

#[test]
fn too_few_requests_have_no_steady_state_and_no_intervals() {
    let few = told(open(), &recorder((0..7).map(|it| request(it, 40.0 + noise(it), 5.0)))).unwrap();
    assert_eq!(few.ttft.unwrap().mean.interval, None);
    let found = told(open(), &recorder((0..15).map(|it| request(it, 40.0 + noise(it), 5.0)))).unwrap();
    let state = &found.steady_state;
    assert_eq!((state.status, state.verdict), (Status::InsufficientSamples, SteadyVerdict::NotFound));
    assert_eq!((state.window, state.judged.is_empty()), (None, true));
    let ttft = found.ttft.unwrap();
    assert_eq!((ttft.mean.interval.is_some(), ttft.percentiles[2].value), (true, None));
    assert!(ttft.mean.value.is_some() && ttft.percentiles[1].value.is_some());
}

#[test]
fn a_stage_that_is_hardly_longer_than_its_requests_is_too_short() {
    let found = told(open(), &recorder((0..400).map(|it| request(it, 900.0, 5.0)))).unwrap();
    assert_eq!(found.steady_state.status, Status::InsufficientDuration);
}

#[test]
fn answers_in_one_piece_are_judged_by_their_latency() {
    let workload = Workload { streaming: false, ..crate::tests::workload(vec![Stage::new("s", open())]) };
    let recorder = recorder((0..2_000).map(|it| request(it, 40.0 + noise(it), 5.0)));
    let found = of_stages(&recorder, &workload, &Plateaus::new(&recorder, &workload)).remove(0).unwrap();
    assert_eq!((found.ttft, found.tpot), (None, None));
    let deciding = found.steady_state.judged.iter().filter(|it| it.decides).map(|it| it.measure).collect::<Vec<_>>();
    assert_eq!(deciding, [Measure::P50(Figure::Latency), Measure::P90(Figure::Latency)]);
    assert_eq!(found.steady_state.verdict, SteadyVerdict::Steady);
}

#[test]
fn without_all_records_the_reason_is_told() {
    let mut summary = Recorder::new(1, Goodput::default(), Keep::Summary);
    summary.record(request(0, 1.0, 1.0), &WireTally::default());
    assert_eq!(told(open(), &summary), Err(Absent::NoRecords));
    let mut full = Recorder::new(1, Goodput::default(), Keep::Records).with_record_budget(RecordBudget::for_records(0));
    full.record(request(0, 1.0, 1.0), &WireTally::default());
    assert_eq!(told(open(), &full), Err(Absent::RecordsLeftOut));
    let failed = RequestRecord { outcome: RequestOutcome::Empty, ..request(0, 1.0, 1.0) };
    assert_eq!(told(open(), &recorder([failed])), Err(Absent::NoAnswers));
    assert_eq!(told(open(), &recorder([])), Err(Absent::NoAnswers));
}

#[test]
fn goodput_and_failures_have_intervals() {
    // Every tenth request fails; the other requests with an even number meet the goal of 50 ms.
    let requests = (0..2_000).map(|number| {
        let it = request(number, if number % 2 == 0 { 40.0 } else { 60.0 }, 5.0);
        let failed = RequestRecord {
            outcome: RequestOutcome::HttpError(503),
            first_token: None,
            last_token: None,
            ..it.clone()
        };
        if number % 10 == 0 { failed } else { it }
    });
    let goals = Goodput { ttft: Some(Length(ms(50.0))), ..Goodput::default() };
    let mut recorder = Recorder::new(1, goals.clone(), Keep::Records);
    requests.for_each(|it| recorder.record(it, &WireTally::default()));
    let workload = Workload { goodput: goals, ..crate::tests::workload(vec![Stage::new("s", open())]) };
    let outcomes = of_stages(&recorder, &workload, &Plateaus::new(&recorder, &workload)).remove(0).unwrap().outcomes;
    let (good, errors) = (outcomes.good_requests.unwrap(), outcomes.error_ratio.unwrap());
    // 800 good requests in 20.1 s are 39.8 per second.
    assert!((good.value.unwrap() - 39.8).abs() < 0.2 && good.interval.unwrap().contains(40.0), "{good:?}");
    assert!((errors.value.unwrap() - 0.1).abs() < 1e-12, "{errors:?}");
    let interval = errors.interval.unwrap();
    assert!(interval.low > 0.08 && interval.low < 0.1 && interval.high > 0.1 && interval.high < 0.12, "{interval:?}");
    // 800 of 2,000.
    let share = outcomes.good_share.unwrap();
    assert!((share.value.unwrap() - 0.4).abs() < 1e-12 && share.interval.unwrap().contains(0.4), "{share:?}");
    // Without goals there is no goodput.
    let without = told(open(), &recorder).unwrap().outcomes;
    assert_eq!((without.good_requests, without.good_share), (None, None));
    assert_eq!(without.error_ratio, outcomes.error_ratio);
}
