//! Tests of servers that are too slow, stall, or read slowly: what an open loop measures, and what a closed loop misses.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use engine::client::Target;
use measurement::record::{RequestOutcome, RequestRecord};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use workload_profiles::workload::{LengthDistribution, Probes, PromptText, RequestSource};

use super::common::*;

/// A server that takes 10 ms per answer, and holds all answers back between 1 s and 3 s.
fn stalling() -> Target {
    answering(|at| {
        let ready = at + millis(10);
        let stalled = ready >= millis(1_000) && ready < millis(3_000);
        if stalled { millis(3_000) - at } else { millis(10) }
    })
}

fn latency(record: &RequestRecord) -> Duration {
    record.last_token.unwrap() - record.scheduled
}

#[tokio::test(start_paused = true)]
async fn above_its_capacity_latency_grows_by_the_same_with_each_request() {
    // 10 requests per second, to a server that takes 180 ms for each and processes one at a time. Request i waits i x (180 - 100) ms.
    let options = simulator::SimOptions { max_num_seqs: 1, ..server(millis(100), millis(20)) };
    let result = issue(&workload(vec![paced(10.0, 50)], 5), &simulated(options)).await;
    for (record, number) in records(&result).iter().zip(0_u32..) {
        assert_eq!(record.sent, Some(record.scheduled));
        assert_eq!(latency(record), millis(180) + millis(80) * number);
    }
}

#[tokio::test(start_paused = true)]
async fn with_permits_the_wait_is_the_clients_and_the_latency_from_scheduled_the_same() {
    // The same server and load as above, but requests wait for a permit before they are sent. Each then takes 180 ms from its send time.
    let options = simulator::SimOptions { max_num_seqs: 1, ..server(millis(100), millis(20)) };
    let result = issue(&workload(vec![bounded(paced(10.0, 50), 1)], 5), &simulated(options)).await;
    for (record, number) in records(&result).iter().zip(0_u32..) {
        assert_eq!(record.permit_wait, Some(millis(80) * number));
        assert_eq!(after_send(record, record.last_token), millis(180));
        assert_eq!(latency(record), millis(180) + millis(80) * number);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stall_delays_every_request_that_was_due_in_it() {
    // One request every 100 ms for 4 s, starting at 2 ms. Answers due between 1 s and 3 s are held back until 3 s.
    let result = issue(&workload(vec![paced(10.0, 40)], 1), &stalling()).await;
    let (mut stalled, mut worst) = (0, Duration::ZERO);
    for record in &records(&result) {
        let answered = record.scheduled + millis(10);
        let expected = if answered >= millis(1_000) && answered < millis(3_000) {
            stalled += 1;
            millis(3_000) - record.scheduled
        } else {
            millis(10)
        };
        assert_eq!(latency(record), expected);
        worst = worst.max(expected);
    }
    assert_eq!((stalled, worst), (20, millis(1_998)));
    // Half of the requests were due during the stall, and the percentiles show them.
    let tally = &result.recorder.stages[0];
    assert!(tally.latency_scheduled.histogram().value_at_quantile(0.75) > 900_000_000);
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_shows_one_slow_request_of_a_stall() {
    // One slot sends about 100 requests before the stall, 1 during it, and about 100 after it. This is coordinated omission.
    let stage = closed_for(1, millis(4_000), millis(0));
    let result = issue(&workload(vec![stage], 1), &stalling()).await;
    let records = records(&result);
    let slow = records.iter().filter(|it| latency(it) > millis(10)).count();
    assert_eq!((slow, records.len() > 190), (1, true));
    assert!(result.recorder.stages[0].latency_sent.histogram().value_at_quantile(0.99) < 11_000_000);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_reads_slowly_delays_its_answers_and_no_send() {
    // The server reads at most 16 KiB every 100 ms. A prompt of 40,000 words exceeds the 64 KiB buffer between client and server.
    let reads = Arc::new(Mutex::new(Vec::new()));
    let count = Arc::clone(&reads);
    let target = in_process(move |mut server| {
        let count = Arc::clone(&count);
        tokio::spawn(async move {
            let (mut whole, mut piece, mut reads) = (Vec::new(), vec![0; 16 << 10], 0);
            while !is_complete(&whole) {
                let read = server.read(&mut piece).await.unwrap();
                whole.extend_from_slice(&piece[..read]);
                reads += 1;
                tokio::time::sleep(millis(100)).await;
            }
            count.lock().unwrap().push(millis(100) * reads);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            server.write_all(format!("{head}{ANSWER}").as_bytes()).await.unwrap();
        });
    });
    let mut workload = workload(vec![paced(20.0, 10)], 1);
    let (input, output) = (LengthDistribution::fixed(40_000), LengthDistribution::fixed(1));
    workload.requests = RequestSource::random(input, output, PromptText::Words);
    let result = issue(&workload, &target).await;
    assert!(all(&result, RequestOutcome::Ok));
    let records = records(&result);
    assert!(records.iter().all(|it| it.sent == Some(it.scheduled)));
    let mut took: Vec<Duration> = records.iter().map(|it| after_send(it, it.last_token)).collect();
    took.sort_unstable();
    let mut expected = reads.lock().unwrap().clone();
    expected.sort_unstable();
    assert_eq!(took, expected);
    assert!(took[0] > millis(500), "{took:?}");
}

/// Returns how many bytes of the request are missing; more than 0 while its head is incomplete.
fn left(request: &[u8]) -> usize {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return 1 };
    let length = head.to_ascii_lowercase();
    let length = length.split_once("content-length: ").unwrap().1;
    let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
    length - body.len()
}

fn is_complete(request: &[u8]) -> bool {
    !request.is_empty() && left(request) == 0
}

#[tokio::test(start_paused = true)]
async fn probes_end_with_the_grace_of_their_stage() {
    // The server answers no request. The load ends after 1 s and a grace period of 0.9 s. The probes, one every 0.2 s from 0 on, end with
    // it.
    let mut stage = closed_for(2, millis(1_000), millis(0));
    stage.grace = Some(crds::units::Span(millis(900)));
    let mut workload = workload(vec![stage], 5);
    workload.probes = Some(Probes { rate: 5.0.try_into().unwrap(), input: 4, output: 1 });
    let silent = in_process(|mut server| {
        tokio::spawn(async move { while server.read_u8().await.is_ok() {} });
    });
    let result = issue(&workload, &silent).await;
    assert_eq!(outcomes(&result, 0), [("incomplete".to_owned(), 2)]);
    assert_eq!(result.recorder.probes[0].requests(), 10);
    assert_eq!(result.wall.as_millis(), 1_902);
}
