use std::collections::{BTreeMap, BTreeSet};

use crds::units::Span;

use super::*;
use crate::{
    histogram::TimeHistogram,
    record::{Cause, Limit, Turn},
};

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A request due at 100 ms and sent at 101 ms, with tokens at 151, 171, 191 and 231 ms, that ended at 232 ms. Its usage reports 4 tokens.
fn request() -> RequestRecord {
    RequestRecord {
        stage: 0,
        number: 0,
        turn: None,
        scheduled: millis(100),
        sent: Some(millis(101)),
        permit_wait: None,
        first_token: Some(millis(151)),
        last_token: Some(millis(231)),
        ended: millis(232),
        outcome: RequestOutcome::Ok,
        requested_input_tokens: Some(100),
        requested_output_tokens: Some(4),
        input_tokens: Some(105),
        cached_tokens: None,
        class: None,
        output_tokens: Some(4),
        content_events: 4,
        replica: None,
    }
}

fn wire() -> WireTally {
    WireTally { gaps: [20, 20, 40].map(millis).into_iter().collect(), reads: 4, ..WireTally::default() }
}

fn tally(requests: &[(RequestRecord, WireTally)], goodput: &Goodput) -> StageTally {
    let mut recorder = Recorder::new(1, goodput.clone(), Keep::Summary);
    for (request, wire) in requests {
        recorder.record(request.clone(), wire);
    }
    recorder.stages.remove(0)
}

/// Checks the values of a histogram, in milliseconds and ascending order.
fn check(times: &TimeHistogram, expected: &[f64]) {
    let found: Vec<f64> = times
        .histogram()
        .iter_recorded()
        .flat_map(|it| vec![it.value_iterated_to() as f64 / 1e6; it.count_since_last_iteration() as usize])
        .collect();
    let near = found.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 0.001);
    assert!(near && found.len() == expected.len(), "{found:?} is not {expected:?}");
}

#[test]
fn the_figures_of_one_request_are_those_of_its_times() {
    let tally = tally(&[(request(), wire())], &Goodput::default());
    check(&tally.send_lag, &[1.0]);
    check(&tally.ttft_scheduled, &[51.0]);
    check(&tally.ttft_sent, &[50.0]);
    check(&tally.latency_scheduled, &[131.0]);
    check(&tally.latency_sent, &[130.0]);
    check(&tally.itl, &[20.0, 20.0, 40.0]);
    // TPOT is (231 - 151) / (4 - 1), and NTPOT is 130 / 4.
    check(&tally.tpot, &[80.0 / 3.0]);
    check(&tally.ntpot, &[32.5]);
    assert_eq!((tally.input_tokens_total, tally.output_tokens_total, tally.with_usage), (105, 4, 1));
    assert_eq!((tally.requests(), tally.succeeded(), tally.reads), (1, 1, 4));
    assert_eq!(tally.first_scheduled, Some(millis(100)));
    assert_eq!((tally.last_scheduled, tally.last_end), (Some(millis(100)), Some(millis(232))));
    assert_eq!((tally.first_sent, tally.last_sent), (Some(millis(101)), Some(millis(101))));
}

#[test]
fn a_request_that_failed_counts_and_has_no_latencies() {
    let mut failed = request();
    failed.outcome = RequestOutcome::HttpError(503);
    let error = |text: &str| WireTally { error: Some(text.into()), ..wire() };
    let tally = tally(&[(failed.clone(), error("503: first")), (failed, error("503: second"))], &Goodput::default());
    assert_eq!((tally.requests(), tally.succeeded(), tally.outcomes[&RequestOutcome::HttpError(503)]), (2, 0, 2));
    for times in [&tally.ttft_sent, &tally.latency_scheduled, &tally.itl, &tally.tpot, &tally.ntpot] {
        check(times, &[]);
    }
    check(&tally.send_lag, &[1.0, 1.0]);
    assert_eq!((tally.output_tokens_total, tally.last_end), (0, Some(millis(232))));
    assert_eq!(*tally.error_samples[&RequestOutcome::HttpError(503)], "503: first");
}

#[test]
fn one_token_has_no_time_between_tokens() {
    let one = RequestRecord { output_tokens: Some(1), content_events: 1, last_token: Some(millis(151)), ..request() };
    let tally = tally(&[(one, WireTally { gaps: InterTokenTimes::default(), ..wire() })], &Goodput::default());
    check(&tally.tpot, &[]);
    check(&tally.itl, &[]);
    check(&tally.ntpot, &[50.0]);
    assert_eq!(tally.output_length_misses, 1);
}

#[test]
fn without_usage_events_are_the_tokens() {
    let silent = RequestRecord { output_tokens: None, input_tokens: None, content_events: 5, ..request() };
    let tally = tally(&[(silent, wire())], &Goodput::default());
    check(&tally.tpot, &[20.0]);
    assert_eq!((tally.with_usage, tally.output_tokens_total, tally.output_length_misses), (0, 5, 1));
    assert_eq!((tally.input_tokens_total, tally.input_length_misses), (0, 0));
}

#[test]
fn a_prompt_misses_its_length_by_more_than_a_tenth() {
    for (found, misses) in [(89, 1), (90, 0), (110, 0), (111, 1)] {
        let request = RequestRecord { input_tokens: Some(found), ..request() };
        assert_eq!(tally(&[(request, wire())], &Goodput::default()).input_length_misses, misses, "{found}");
    }
}

#[test]
fn a_prompt_of_token_ids_has_its_length_or_one_more() {
    let wire = || WireTally { has_exact_prompt: true, ..wire() };
    for (found, misses) in [(0, 1), (99, 1), (100, 0), (101, 0), (102, 1), (u32::MAX, 1)] {
        let request = RequestRecord { input_tokens: Some(found), ..request() };
        assert_eq!(tally(&[(request, wire())], &Goodput::default()).input_length_misses, misses, "{found}");
    }
}

#[test]
fn a_request_is_good_when_it_meets_every_bound() {
    let bound = |count| Some(Span(millis(count)));
    let good = |goodput: Goodput| tally(&[(request(), wire())], &goodput).good == 1;
    assert!(good(Goodput::default()));
    assert!(good(Goodput { ttft: bound(51), ..Goodput::default() }));
    assert!(!good(Goodput { ttft: bound(50), ..Goodput::default() }));
    assert!(good(Goodput { tpot: bound(27), ..Goodput::default() }));
    assert!(!good(Goodput { tpot: bound(26), ..Goodput::default() }));
    // The mean gap is 80 / 3 ms, which is between 26 and 27 ms.
    assert!(good(Goodput { itl: bound(27), ..Goodput::default() }));
    assert!(!good(Goodput { itl: bound(26), ..Goodput::default() }));
    assert!(good(Goodput { ntpot: bound(33), ..Goodput::default() }));
    assert!(!good(Goodput { ntpot: bound(32), ..Goodput::default() }));
    assert!(good(Goodput { latency: bound(131), ..Goodput::default() }));
    assert!(!good(Goodput { latency: bound(130), ttft: bound(51), ..Goodput::default() }));
    // If a figure is missing, its limit is not met.
    let one = RequestRecord { output_tokens: Some(1), ..request() };
    let goodput = Goodput { tpot: bound(1_000), ..Goodput::default() };
    assert_eq!(tally(&[(one, wire())], &goodput).good, 0);
}

#[test]
fn requests_that_were_never_sent_are_cancelled_and_leave_no_record() {
    let mut recorder = Recorder::new(2, Goodput::default(), Keep::Records);
    recorder.record(request(), &wire());
    recorder.count_unissued(0, [], RequestOutcome::Cancelled);
    recorder.count_unissued(1, (0..7).map(|it| (it, None)), RequestOutcome::Cancelled);
    assert_eq!((recorder.stages[0].requests(), recorder.stages[1].requests()), (1, 7));
    assert_eq!(recorder.stages[0].outcomes.len(), 1);
    assert_eq!(recorder.stages[1].outcomes[&RequestOutcome::Cancelled], 7);
    assert_eq!((recorder.stages[1].first_scheduled, recorder.records.unwrap().len()), (None, 1));
}

/// Returns the tally of a stage whose window is from `open` to `close`, in milliseconds from the start of the run.
fn cut(open: u64, close: u64, requests: &[(RequestRecord, WireTally)]) -> StageTally {
    let mut tally = StageTally { window_bounds: Some((millis(open), millis(close))), ..StageTally::default() };
    let one = |(request, wire): &(RequestRecord, WireTally)| {
        tally.record_within((millis(open), millis(close)), request, wire, true)
    };
    let used: Vec<InFigures> = requests.iter().map(one).collect();
    // The figures that were returned for each request must be those in which it was counted.
    let counted = [&tally.send_lag, &tally.latency_sent].map(|it| it.histogram().len() as usize);
    assert_eq!([used.iter().filter(|it| it.send).count(), used.iter().filter(|it| it.answer).count()], counted);
    tally
}

#[test]
fn a_cut_counts_the_tokens_and_gaps_within_it() {
    // The tokens arrive at 151, 171, 191 and 231 ms. The request begins before the window and ends within it.
    let late = cut(160, 300, &[(request(), wire())]);
    assert_eq!((late.succeeded(), late.output_tokens_total, late.output_tokens_of_ended), (1, 3, 4));
    check(&late.itl, &[20.0, 20.0, 40.0]);
    // The latencies of the request count completely. Its send lag does not count, because it was sent before the window.
    check(&late.latency_sent, &[130.0]);
    check(&late.send_lag, &[]);
    assert_eq!(late.span(), Some((millis(160), millis(300))));
    // The request begins within the window and ends after it: two tokens and one gap count, but no latency.
    let early = cut(100, 180, &[(request(), wire())]);
    assert_eq!((early.succeeded(), early.outcomes[&RequestOutcome::Incomplete]), (0, 1));
    assert_eq!((early.output_tokens_total, early.output_tokens_of_ended), (2, 0));
    check(&early.itl, &[20.0]);
    check(&early.ttft_sent, &[]);
    check(&early.send_lag, &[1.0]);
    // A request that fails within the window has no tokens. One that fails after the window is incomplete, and its tokens count.
    let failed = RequestRecord { outcome: RequestOutcome::BrokenStream, ..request() };
    let all = cut(100, 300, &[(failed.clone(), wire())]);
    assert_eq!((all.outcomes[&RequestOutcome::BrokenStream], all.output_tokens_total), (1, 0));
    let open = cut(100, 200, &[(failed, wire())]);
    assert_eq!((open.outcomes[&RequestOutcome::Incomplete], open.output_tokens_total), (1, 3));
}

#[test]
fn tokens_are_shared_out_over_events_and_an_answer_in_one_piece_is_not() {
    // There are 10 tokens in 4 events. Two of the events are within the window, so 5 tokens count.
    let many = RequestRecord { output_tokens: Some(10), ..request() };
    assert_eq!(cut(100, 180, &[(many, wire())]).output_tokens_total, 5);
    let whole = RequestRecord { first_token: None, content_events: 0, ..request() };
    let wire = WireTally { gaps: InterTokenTimes::default(), ..wire() };
    assert_eq!(cut(100, 180, &[(whole.clone(), wire.clone())]).output_tokens_total, 0);
    assert_eq!(cut(200, 300, &[(whole, wire)]).output_tokens_total, 4);
}

/// Returns the mean ITL and the TPOT, in milliseconds, of a stream with one token every 3 ms. Its events contain `sizes` tokens.
fn itl_and_tpot(sizes: &[u32], told: u32, silent: (u32, u32)) -> (f64, f64) {
    let gaps: InterTokenTimes = sizes[1..].iter().map(|it| millis(3) * *it).collect();
    let last_token = Some(millis(151) + gaps.iter().sum::<Duration>());
    let content_events = u32::try_from(sizes.len()).unwrap();
    let request = RequestRecord { output_tokens: Some(told), content_events, last_token, ..request() };
    let (silent_events, silent_length_ends) = silent;
    let wire = WireTally { gaps, silent_events, silent_length_ends, ..wire() };
    let figures = tally(&[(request, wire)], &Goodput::default());
    assert!(figures.itl.histogram().is_empty());
    let mean = |times: &TimeHistogram| times.totals().sum as f64 / times.histogram().len() as f64 / 1e6;
    (mean(&figures.itl_of_several), mean(&figures.tpot))
}

#[test]
fn the_mean_itl_of_a_stream_interval_is_its_tpot() {
    // As vLLM sends with `--stream-interval` 4 and 20: the first token comes alone.
    let four = [vec![1], vec![4; 15], vec![3]].concat();
    for (sizes, tokens) in [(four.as_slice(), 64), (&[1, 20, 20, 9], 50), (&[1, 20], 21)] {
        // The finish reason comes with the last tokens, or in a separate event without a token.
        for silent in [(0, 0), (1, 1)] {
            let (itl, tpot) = itl_and_tpot(sizes, tokens, silent);
            assert!((itl - 3.0).abs() < 1e-5 && (tpot - 3.0).abs() < 1e-5, "{sizes:?} {silent:?}: {itl} {tpot}");
        }
        // The usage counts a stop token at the end. TPOT is then too small, but ITL is not.
        let (itl, tpot) = itl_and_tpot(sizes, tokens + 1, (1, 0));
        let of_tokens = f64::from(tokens - 1) * 3.0 / f64::from(tokens);
        assert!((itl - 3.0).abs() < 1e-5 && (tpot - of_tokens).abs() < 1e-5, "{sizes:?}: {itl} {tpot}");
    }
}

#[test]
fn itl_is_between_tokens_where_events_hold_several() {
    // There are gaps of 20, 20 and 40 ms between 4 events. They contain 1 token and then 15 more, which is 5 per gap.
    let several = RequestRecord { output_tokens: Some(16), requested_output_tokens: Some(16), ..request() };
    let figures = tally(&[(several.clone(), wire())], &Goodput::default());
    check(&figures.itl_of_several, &[4.0, 4.0, 8.0]);
    check(&figures.gaps_of_several, &[20.0, 20.0, 40.0]);
    check(&figures.itl, &[]);
    assert_eq!((figures.event_tokens, figures.events), (16, 4));
    let cut = cut(100, 180, &[(several.clone(), wire())]);
    check(&cut.itl_of_several, &[4.0]);
    // The server reports that the first event contains 4 tokens. The other 12 tokens are 4 per gap.
    let told = WireTally { first_event_tokens: Some(4), ..wire() };
    check(&tally(&[(several.clone(), told)], &Goodput::default()).itl_of_several, &[5.0, 5.0, 10.0]);
    // All but three of the tokens are in the first event.
    let told = WireTally { first_event_tokens: Some(13), ..wire() };
    check(&tally(&[(several.clone(), told)], &Goodput::default()).itl, &[20.0, 20.0, 40.0]);
    // The limit on ITL applies to the time between tokens, 80 / 15 ms.
    let bound = |millis| Goodput { itl: Some(Span(Duration::from_micros(millis))), ..Goodput::default() };
    assert_eq!(tally(&[(several.clone(), wire())], &bound(5_334)).good, 1);
    assert_eq!(tally(&[(several, wire())], &bound(5_333)).good, 0);
    // The end of an answer is often a token without text in a separate event, but sometimes there is no such token.
    for (told, silent_events, silent_length_ends, tokens) in
        [(5, 1, 0, 4), (5, 1, 1, 4), (4, 1, 1, 4), (6, 1, 0, 5), (6, 1, 1, 6), (3, 1, 0, 3), (2, 0, 0, 2)]
    {
        let request = RequestRecord { output_tokens: Some(told), ..request() };
        let wire = WireTally { silent_events, silent_length_ends, ..wire() };
        let figures = tally(&[(request, wire)], &Goodput::default());
        assert_eq!((figures.event_tokens, figures.events), (tokens, 4), "{told} tokens, {silent_events} events");
        assert_eq!(figures.itl.histogram().len(), if tokens > 4 { 0 } else { 3 });
    }
    let untold = RequestRecord { output_tokens: None, ..request() };
    let figures = tally(&[(untold, wire())], &Goodput::default());
    check(&figures.itl, &[20.0, 20.0, 40.0]);
    assert_eq!((figures.event_tokens, figures.events), (0, 0));
}

#[test]
fn what_waited_for_room_was_not_late() {
    let waited = RequestRecord { permit_wait: Some(millis(900)), sent: Some(millis(1_003)), ..request() };
    let tally = tally(&[(waited, wire())], &Goodput::default());
    check(&tally.send_lag, &[3.0]);
    check(&tally.permit_wait, &[900.0]);
}

#[test]
fn what_is_outside_the_window_is_counted_aside() {
    use workload_profiles::workload::{Load, Margin, Stage, Window};
    let load = Load::closed(1, 9);
    let stage = Stage { warm_up: Some(Margin::Count(1)), ..Stage::new("c1", load) };
    let window = StageWindow::new(&stage, Window::All, None);
    let mut recorder = Recorder::new(1, Goodput::default(), Keep::Records).with_windows([window]).with_probes();
    recorder.open(0, window, millis(90));
    recorder.record(request(), &wire());
    recorder.record(RequestRecord { number: 1, ..request() }, &wire());
    recorder.record_probe(&request(), &wire());
    let tally = &recorder.stages[0];
    assert_eq!((tally.requests(), tally.excluded[&WindowPart::WarmUp][&RequestOutcome::Ok]), (1, 1));
    let sampled: BTreeSet<u64> = recorder.sample.requests().iter().map(|it| it.number).collect();
    assert_eq!((recorder.sample.population(), sampled), (2, BTreeSet::from([0, 1])));
    let records = recorder.records.unwrap();
    let used: Vec<InFigures> = records.with_figures().map(|(_, used)| used).collect();
    assert_eq!(used, [InFigures::default(), InFigures { send: true, answer: true, good: true, failed: false }]);
    assert_eq!((recorder.probes[0].succeeded(), records.len()), (1, 2));
}

#[test]
fn what_could_not_be_kept_is_counted() {
    let hour = Duration::from_secs(3_600);
    let slow = RequestRecord { sent: Some(millis(101) + hour), ..request() };
    let of_no_stage = RequestRecord { stage: 1, ..request() };
    let dropped = |requests: &[&RequestRecord]| {
        let mut recorder = Recorder::new(1, Goodput::default(), Keep::Summary);
        requests.iter().for_each(|it| recorder.record((*it).clone(), &wire()));
        let mut sum = Recorder::new(1, Goodput::default(), Keep::Summary);
        sum.add(recorder);
        sum.dropped()
    };
    assert_eq!([dropped(&[&request()]), dropped(&[&slow]), dropped(&[&slow, &of_no_stage])], [0, 1, 2]);
}

#[test]
fn where_every_request_has_a_record_only_gaps_can_be_lost() {
    let hour = Duration::from_secs(3_600);
    let slow = RequestRecord { sent: Some(millis(101) + hour), ..request() };
    let long_gap = WireTally { gaps: [hour + millis(1)].into_iter().collect(), ..wire() };
    let dropped = |budget: RecordBudget, record: &RequestRecord, wire: &WireTally| {
        let mut recorder = Recorder::new(1, Goodput::default(), Keep::Records).with_record_budget(budget);
        recorder.record(record.clone(), wire);
        recorder.dropped()
    };
    // The record contains the time exactly, to the nanosecond.
    assert_eq!(dropped(RecordBudget::default(), &slow, &wire()), 0);
    assert_eq!(dropped(RecordBudget::for_records(0), &slow, &wire()), 1);
    assert_eq!(dropped(RecordBudget::default(), &request(), &long_gap), 1);
}

#[test]
fn recorders_of_two_threads_add_up_to_one() {
    let later = RequestRecord {
        scheduled: millis(50),
        sent: Some(millis(60)),
        ended: millis(900),
        outcome: RequestOutcome::Ok,
        ..request()
    };
    let failed = RequestRecord { outcome: RequestOutcome::Timeout, ..request() };
    let refused = RequestRecord { outcome: RequestOutcome::ConnectError, ..request() };
    let error = WireTally {
        error: Some("late".into()),
        timeout: Some(Limit::TokenGap),
        cause: Some(Cause::Refused),
        retried: true,
        own_connection: true,
        coalesced_reads: 2,
        late_reads: 1,
        ..wire()
    };
    let impossible = RequestRecord { output_tokens: None, scheduled: millis(100), ..later.clone() };
    let told = WireTally { set_aside: Some(9), in_one_piece: true, ..wire() };
    let all = [(request(), wire()), (later, wire()), (failed, error.clone()), (refused, error), (impossible, told)];
    let whole = tally(&all, &Goodput::default());
    let mut first = Recorder::new(1, Goodput::default(), Keep::Records);
    first.record(all[0].0.clone(), &all[0].1);
    let mut second = Recorder::new(1, Goodput::default(), Keep::Records);
    second.record(all[1].0.clone(), &all[1].1);
    second.record(all[2].0.clone(), &all[2].1);
    second.record(all[3].0.clone(), &all[3].1);
    second.record(all[4].0.clone(), &all[4].1);
    first.add(second);
    let sum = &first.stages[0];
    assert_eq!(sum.outcomes, whole.outcomes);
    assert_eq!((sum.own_connections, whole.own_connections), (2, 2));
    assert_eq!((sum.retried, &sum.timeouts), (2, &BTreeMap::from([(Limit::TokenGap, 1)])));
    // A cause counts only for requests whose outcome it explains.
    let causes: Vec<_> = sum.causes.iter().map(|(cause, it)| (*cause, it.count, it.sample())).collect();
    assert_eq!((&causes[..], &whole.causes), (&[(Cause::Refused, 1, "late")][..], &sum.causes));
    assert_eq!((sum.retried, &sum.timeouts), (whole.retried, &whole.timeouts));
    assert_eq!(sum.latency_sent.histogram(), whole.latency_sent.histogram());
    assert_eq!(sum.itl.histogram(), whole.itl.histogram());
    assert_eq!((sum.output_tokens_total, sum.coalesced_reads, sum.with_usage, sum.good), (12, 4, 2, 3));
    assert_eq!((sum.event_tokens, sum.events, sum.set_aside, sum.in_one_piece), (8, 8, 1, 1));
    assert_eq!(sum.set_aside_sample.as_deref(), Some(&SetAside { told: 9, requested: Some(4), events: 4 }));
    assert_eq!((sum.first_scheduled, sum.last_scheduled), (Some(millis(50)), Some(millis(100))));
    assert_eq!(sum.late_reads, 2);
    assert_eq!((sum.first_sent, sum.last_sent), (Some(millis(60)), Some(millis(101))));
    assert_eq!((sum.last_end, &sum.error_samples), (Some(millis(900)), &whole.error_samples));
    assert_eq!(first.records.unwrap().len(), 5);
}

#[test]
fn outputs_of_all_threads_are_in_the_order_of_their_ends() {
    let kept =
        |number, ended| KeptOutput { stage: 0, number, row: None, ended: millis(ended), output: Output::default() };
    let mut recorder = Recorder::new(1, Goodput::default(), Keep::Summary);
    for ends in [[(1, 10), (3, 30)], [(2, 20), (4, 30)]] {
        let mut worker = Recorder::new(1, Goodput::default(), Keep::Summary);
        ends.into_iter().for_each(|(number, ended)| worker.keep_output(kept(number, ended)));
        recorder.add(worker);
    }
    assert_eq!(recorder.outputs, [kept(1, 10), kept(2, 20), kept(3, 30), kept(4, 30)]);
}

#[test]
fn records_are_kept_up_to_their_budget_and_counted_beyond() {
    let budget = RecordBudget::for_records(3 * 4_096 - 1);
    let recorder = || Recorder::new(1, Goodput::default(), Keep::Records).with_record_budget(budget.clone());
    let (mut first, mut second) = (recorder(), recorder());
    for number in 0..4_097 {
        first.record(RequestRecord { number, ..request() }, &wire());
    }
    // The budget allows two blocks, and the first recorder has begun both.
    second.record(request(), &wire());
    first.add(second);
    let records = first.records.unwrap();
    assert_eq!((records.len(), records.left_out(), first.stages[0].requests()), (4_097, 1, 4_098));
    assert!(records.iter().map(|it| it.number).eq(0..4_097));
}

#[test]
fn once_a_thread_has_no_room_no_other_keeps_a_record() {
    let budget = RecordBudget::for_records(4_096);
    let recorder = || Recorder::new(1, Goodput::default(), Keep::Records).with_record_budget(budget.clone());
    let (mut first, mut second) = (recorder(), recorder());
    first.record(RequestRecord { number: 0, ..request() }, &wire());
    second.record(RequestRecord { number: 1, ..request() }, &wire());
    // This request ended after one whose record was dropped, so its record is dropped too, although its worker has room in its block.
    first.record(RequestRecord { number: 2, ..request() }, &wire());
    first.add(second);
    let records = first.records.unwrap();
    assert!(records.iter().map(|it| it.number).eq([0]));
    assert_eq!(records.left_out(), 2);
}

#[test]
fn prompt_lengths_that_the_server_did_not_tell_are_in_no_sum() {
    let mut recorder = Recorder::new(1, Goodput::default(), Keep::Summary).with_sessions();
    let turn = |number: u32| Some(Turn { session: 0, number: number.try_into().unwrap() });
    for request in [
        RequestRecord { turn: turn(1), ..request() },
        RequestRecord { turn: turn(1), input_tokens: None, ..request() },
        RequestRecord { turn: turn(2), input_tokens: None, ..request() },
    ] {
        recorder.record(request, &wire());
    }
    let by_turn: Vec<_> = recorder.sessions[0].by_turn.iter().map(|it| (it.with_usage, it.input_tokens)).collect();
    assert_eq!(by_turn, [(1, 105), (0, 0)]);
    for second in [Some(7), None] {
        let mut session = SessionEnd::new(0, 0);
        for input in [Some(5), second] {
            session.begin_turn(millis(100), false);
            session.end_turn(RequestOutcome::Ok, millis(200), input, 3);
        }
        recorder.record_session(&session, true);
    }
    let tally = &recorder.sessions[0];
    assert_eq!((tally.complete, tally.input_tokens.histogram().len(), tally.input_tokens.totals().max), (2, 1, 12));
    assert_eq!(tally.output_tokens.histogram().len(), 2);
}
