//! Tests of times and counts of whole loads. Tokio's paused clock wakes only at whole milliseconds, so a request may be sent up to one
//! millisecond late. Everything after that is exact.

use std::time::Duration;

use engine::client::Target;
use measurement::{histogram::TimeHistogram, record::RequestOutcome};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use workload_profiles::workload::{LengthDistribution, LengthField, Load, PromptText, RequestSource, TokenIdRange};

use super::common::*;

#[tokio::test(start_paused = true)]
async fn a_lone_request_has_exactly_the_times_of_the_server() {
    // About one request every 20 s. Each takes 180 ms, and with this seed no two overlap.
    let result = issue(&workload(vec![open(0.05, 400)], 5), &simulated(server(millis(100), millis(20)))).await;
    let records = records(&result);
    assert_eq!(records.len(), 20);
    for record in &records {
        assert_eq!(record.outcome, RequestOutcome::Ok);
        assert_eq!(after_send(record, record.first_token), millis(100));
        assert_eq!(after_send(record, record.last_token), millis(180));
        assert_eq!(record.tpot(), Some(millis(20)));
        assert_eq!((record.content_events, record.output_tokens, record.input_tokens), (5, Some(5), Some(10)));
        assert_eq!((record.requested_input_tokens, record.requested_output_tokens), (Some(10), Some(5)));
        assert!(record.send_lag().unwrap() < millis(1));
    }
    let tally = &result.recorder.stages[0];
    assert_eq!(tally.itl.histogram().len(), 80);
    assert!(
        tally.itl.histogram().iter_recorded().all(|it| (19_980_000..=20_020_000).contains(&it.value_iterated_to()))
    );
    assert_eq!((tally.output_length_misses, tally.input_length_misses, tally.coalesced_reads), (0, 0, 0));
    assert_eq!((result.issued, result.unissued, result.stopped), (20, 0, None));
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_requests_come_to_their_latencies() {
    // The server processes one request at a time, so requests wait in the server. The client allows two requests in flight, so other requests wait in
    // the client.
    let options = simulator::SimOptions { max_num_seqs: 1, ..server(millis(100), millis(20)) };
    let mut stage = open(10.0, 3);
    if let Load::Open { max_concurrency, .. } = &mut stage.load {
        *max_concurrency = Some(2);
    }
    let result = issue(&workload(vec![stage], 5), &simulated(options)).await;
    let tally = &result.recorder.stages[0];
    let steps = &tally.breakdown;
    let sum = |times: &TimeHistogram| times.totals().sum;
    let parts = [&steps.queue, &steps.send, &steps.first_byte, &steps.first_token, &steps.tokens];
    assert_eq!(parts.into_iter().map(sum).sum::<u128>(), sum(&tally.latency_scheduled));
    for times in parts.into_iter().chain([&steps.build, &steps.parse]) {
        assert_eq!(times.histogram().len(), 30);
    }
    assert_eq!(sum(&steps.queue), sum(&tally.permit_wait) + sum(&tally.send_lag));
    assert!(sum(&tally.permit_wait) > 0);
    // These are 0 because the paused clock does not advance while the launcher works.
    assert_eq!((sum(&steps.build), sum(&steps.send), sum(&steps.parse)), (0, 0, 0));
    // The last four of the five tokens arrive at least 80 ms after the head.
    assert!(steps.tokens.totals().min >= 80_000_000);
}

#[tokio::test(start_paused = true)]
async fn a_length_that_is_not_sent_is_not_requested() {
    let mut workload = workload(vec![open(5.0, 1)], 5);
    workload.sampling.length_field = LengthField::NotSent;
    let result = issue(&workload, &simulated(server(millis(100), millis(20)))).await;
    let records = records(&result);
    assert!(!records.is_empty());
    for record in &records {
        assert_eq!((record.outcome, record.requested_output_tokens), (RequestOutcome::Ok, None));
        // No length was requested, so the server decides it.
        assert_ne!(record.output_tokens, Some(5));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_too_slow_delays_answers_and_never_sends() {
    // 10 requests/s for 3 s, to a server that processes one request at a time and takes 180 ms for each.
    let options = simulator::SimOptions { max_num_seqs: 1, ..server(millis(100), millis(20)) };
    let result = issue(&workload(vec![open(10.0, 3)], 5), &simulated(options)).await;
    let records = records(&result);
    assert_eq!(records.len(), 30);
    let mut free = Duration::ZERO;
    for record in &records {
        assert!(record.send_lag().unwrap() < millis(1));
        // First come, first served: a request begins when it arrives, or when the previous one has ended.
        free = free.max(record.sent.unwrap()) + millis(180);
        assert_eq!(record.last_token, Some(free));
        assert_eq!(record.first_token, Some(free - millis(80)));
    }
    // From its scheduled time on, the last request has waited for all work before it: 30 x 180 ms of work arrived within 3 s.
    let waited = records[29].last_token.unwrap() - records[29].scheduled;
    assert!(waited >= millis(30 * 180 - 3_000), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_does_not_delay_the_schedule() {
    let result = issue(&workload(vec![open(50.0, 4)], 2), &simulated(server(millis(2_000), millis(20)))).await;
    let records = records(&result);
    assert_eq!(records.len(), 200);
    assert!(records.iter().all(|it| it.send_lag().unwrap() < millis(1)));
    // The last request is due exactly at the end of the stage. The stage begins 2 ms after all workers are ready.
    assert_eq!(records[199].scheduled, millis(4_002));
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_holds_its_concurrency() {
    // A step takes 20 ms for any number of sequences, so 5 tokens take 100 ms.
    let result = issue(&workload(vec![closed(4, 18)], 5), &simulated(server(millis(20), millis(20)))).await;
    let records = records(&result);
    assert_eq!(records.len(), 18);
    let start = records[0].scheduled;
    for (place, record) in records.iter().enumerate() {
        // The requests run in waves of four: 0 to 3 immediately, 4 to 7 when these end, and so on. The last wave has two.
        let wave = start + millis(100) * u32::try_from(place / 4).unwrap();
        assert_eq!((record.scheduled, record.sent), (wave, Some(wave)), "{place}");
        assert_eq!(record.ended, wave + millis(100), "{place}");
    }
}

#[tokio::test(start_paused = true)]
async fn stages_wait_for_each_other_and_pause() {
    let mut first = closed(2, 4);
    first.pause_after.0 = millis(700);
    let result =
        issue(&workload(vec![first, open(10.0, 1), closed(3, 3)], 5), &simulated(server(millis(20), millis(20)))).await;
    let records = records(&result);
    let of = |stage: u32| records.iter().filter(move |it| it.stage == stage);
    let end = |stage| of(stage).map(|it| it.ended).max().unwrap();
    let start = |stage| of(stage).map(|it| it.scheduled).min().unwrap();
    assert_eq!((of(0).count(), of(1).count(), of(2).count()), (4, 10, 3));
    assert!(start(1) >= end(0) + millis(700) && start(2) >= end(1));
    // There is no pause after the second stage. The workers only need a few milliseconds to agree on the start.
    assert!(start(2) < end(1) + millis(5));
    assert_eq!(result.recorder.stages[1].outcomes[&RequestOutcome::Ok], 10);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stalls_costs_the_request_timeout() {
    use simulator::{SimOptions, faults::FaultKind};
    let options = SimOptions { fault: fault(FaultKind::StallAfter(2)), ..server(millis(100), millis(20)) };
    let mut workload = workload(vec![open(10.0, 1)], 5);
    workload.timeouts.request = Some(crds::units::Span(millis(1_000)));
    let result = issue(&workload, &simulated(options)).await;
    assert_eq!(outcomes(&result, 0), [("timeout".to_owned(), 10)]);
    for record in records(&result) {
        assert_eq!(after_send(&record, Some(record.ended)), millis(1_000));
        assert!(record.first_token.is_some() && record.content_events == 2);
    }
    // Failed requests are not part of the percentiles.
    let tally = &result.recorder.stages[0];
    assert_eq!(
        (tally.ttft_sent.histogram().len(), tally.itl.histogram().len(), tally.send_lag.histogram().len()),
        (0, 0, 10)
    );
    let message = &tally.error_samples[&RequestOutcome::Timeout];
    assert!(message.contains("request timeout, 1s"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_is_broken_and_an_error_has_its_status() {
    use simulator::{SimOptions, faults::FaultKind};
    for (kind, name, outcome, message) in [
        (FaultKind::BreakAfter(3), "broken_stream", RequestOutcome::BrokenStream, "the connection broke in the answer"),
        (FaultKind::Status(503), "http_503", RequestOutcome::HttpError(503), "503: "),
    ] {
        let options = SimOptions { fault: fault(kind), ..server(millis(100), millis(20)) };
        let result = issue(&workload(vec![open(10.0, 2)], 5), &simulated(options)).await;
        assert_eq!(outcomes(&result, 0), [(name.to_owned(), 20)]);
        let sample = &result.recorder.stages[0].error_samples[&outcome];
        assert!(sample.starts_with(message), "{sample}");
        assert_eq!(result.recorder.stages[0].latency_sent.histogram().len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_one_piece_has_a_latency_and_no_first_token() {
    let mut workload = workload(vec![open(1.0, 3)], 5);
    workload.streaming = false;
    let result = issue(&workload, &simulated(server(millis(100), millis(20)))).await;
    assert!(all(&result, RequestOutcome::Ok));
    for record in records(&result) {
        assert_eq!((record.first_token, record.output_tokens), (None, Some(5)));
        assert_eq!(after_send(&record, record.last_token), millis(180));
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_of_token_ids_has_exactly_its_length() {
    let mut workload = workload(vec![closed(2, 20)], 5);
    let text = PromptText::TokenIds(TokenIdRange::new(5, 20).unwrap());
    workload.requests = RequestSource::random(LengthDistribution::uniform(3, 300), LengthDistribution::fixed(5), text);
    let result = issue(&workload, &simulated(server(millis(100), millis(20)))).await;
    assert!(all(&result, RequestOutcome::Ok));
    assert!(records(&result).iter().all(|it| it.input_tokens == it.requested_input_tokens));
    assert_eq!(result.recorder.stages[0].input_length_misses, 0);
    let chat = engine::client::Target::in_process(crds::benchmark_run::Api::Chat, || tokio::io::duplex(1).0);
    let error = engine::issue::run_here(&workload, "m", &chat, crds::units::Seed(1), &Default::default()).await;
    assert!(error.unwrap_err().to_string().contains("token ids, which a chat cannot hold"));
}

#[tokio::test(start_paused = true)]
async fn a_load_repeats_for_a_seed() {
    let run = async || {
        let result =
            issue(&workload(vec![open(20.0, 2), closed(3, 9)], 5), &simulated(server(millis(100), millis(20)))).await;
        records(&result).into_iter().map(|it| (it.scheduled, it.last_token, it.input_tokens)).collect::<Vec<_>>()
    };
    assert_eq!(run().await, run().await);
}

/// A server that sends these events 20 ms apart, and `[DONE]` together with the last one.
fn sending(events: &'static [&'static str]) -> Target {
    in_process(move |mut server| {
        tokio::spawn(async move {
            let mut request = [0; 4_096];
            while server.read(&mut request).await.is_ok_and(|it| it > 0) {
                let mut events: Vec<String> = events.iter().map(|it| format!("data: {it}\n\n")).collect();
                events.last_mut().unwrap().push_str("data: [DONE]\n\n");
                let length: usize = events.iter().map(String::len).sum();
                let head =
                    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n");
                server.write_all(head.as_bytes()).await.unwrap();
                for event in events {
                    tokio::time::sleep(millis(20)).await;
                    server.write_all(event.as_bytes()).await.unwrap();
                }
            }
        });
    })
}

#[tokio::test(start_paused = true)]
async fn events_of_several_tokens_are_told_from_tokens() {
    const ONE: &str = r#"{"choices":[{"text":"a"}]}"#;
    const THREE: &str = r#"{"choices":[{"text":"a b c"}]}"#;
    const FOUR: &str = r#"{"choices":[{"text":"a b c d"}]}"#;
    const FOUR_TOLD: &str = r#"{"choices":[{"text":"a b c d"}],"usage":{"completion_tokens":4}}"#;
    const LAST: &str = r#"{"choices":[{"text":"a b c","finish_reason":"length"}],"usage":{"completion_tokens":12}}"#;
    const END: &str = r#"{"choices":[{"text":"","finish_reason":"length"}],"usage":{"completion_tokens":12}}"#;
    const STOP: &str = r#"{"choices":[{"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":13}}"#;
    for (events, gaps, tokens) in [
        // As vLLM does with `--stream-interval 4`: the first token comes alone. The finish reason is in the last event, or in a separate
        // one.
        (&[ONE, FOUR, FOUR, LAST][..], 3, 11),
        (&[ONE, FOUR, FOUR, THREE, STOP], 3, 11),
        // The last event contains no token.
        (&[ONE, FOUR, FOUR, END], 2, 11),
        // The first event also has four tokens. If the server does not report how many, they count as later tokens, as in TPOT.
        (&[FOUR, FOUR, FOUR, END], 2, 11),
        (&[FOUR_TOLD, FOUR, FOUR, END], 2, 8),
    ] {
        let stop = events.contains(&STOP);
        let told = if stop { 13 } else { 12 };
        let result = issue(&workload(vec![closed(1, 10)], told), &sending(events)).await;
        assert!(all(&result, RequestOutcome::Ok));
        let tally = &result.recorder.stages[0];
        assert_eq!((tally.events, tally.event_tokens), (10 * (gaps + 1), 120), "{events:?}");
        assert_eq!((tally.itl.histogram().len(), tally.itl_of_several.histogram().len()), (0, 10 * gaps), "{events:?}");
        let mean = |times: &TimeHistogram| times.totals().sum as f64 / times.histogram().len() as f64 / 1e6;
        let expected = 20.0 * gaps as f64 / f64::from(tokens);
        let (gap, itl) = (mean(&tally.gaps_of_several), mean(&tally.itl_of_several));
        assert!((gap - 20.0).abs() < 0.001 && (itl - expected).abs() < 0.001, "{events:?}: {gap} {itl}");
        // The mean ITL equals TPOT unless the answer ends with a stop token without text, or the server reports how many tokens the first
        // event contains.
        if tokens == 11 && !stop {
            assert!((itl - mean(&tally.tpot)).abs() < 0.001, "{events:?}");
        }
    }
}
