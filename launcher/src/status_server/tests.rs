//! Tests of the status port over a real socket.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::TcpStream,
    sync::atomic::AtomicU64,
};

use clock::Clock;
use engine::issue::{PlannedTime, Timeline};
use workload_profiles::workload::Load;

use super::*;

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, address.port())).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn check(address: SocketAddr, path: &str, status: &str) {
    let answer = get(address, path);
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
}

#[test]
fn it_is_ready_only_while_it_measures() {
    let run_status = RunStatus::new("abc");
    let address = serve(0, run_status.clone()).unwrap();
    check(address, "/ready", "503");
    run_status.set_measuring(true);
    check(address, "/ready", "200");
    check(address, "/other", "404");
    run_status.set_measuring(false);
    check(address, "/ready", "503");
}

#[test]
fn metrics_tell_the_load_that_runs_and_none_before() {
    let run_status = RunStatus::new("abc");
    let address = serve(0, run_status.clone()).unwrap();
    let before = get(address, "/metrics");
    assert!(before.contains("benchwright_measuring 0\n") && !before.contains("requests"), "{before}");
    assert!(before.contains("content-type: text/plain; version=0.0.4"), "{before}");

    let progress = Arc::new(Progress::default());
    let set = |counter: &AtomicU64, value| counter.store(value, Ordering::Relaxed);
    for (counter, value) in [
        (&progress.planned, 100),
        (&progress.issued, 42),
        (&progress.ended, 30),
        (&progress.output_events, 4_000),
        (&progress.not_ok.failed, 3),
        (&progress.not_ok.cancelled, 2),
        (&progress.stage, 1),
    ] {
        set(counter, value);
    }
    progress.ttft.add(Duration::from_millis(250));
    let stage = PlannedTime { length: None, requests: None, pause_after: Duration::ZERO };
    progress.timeline.set(Timeline { clock: Clock::start(), stages: vec![stage; 2] }).unwrap();
    let stages = ["a", "odd \"\\\nname"].map(|it| Stage::new(it, Load::closed(1, 1)));
    run_status.begin_load(Arc::clone(&progress), &stages);
    run_status.set_measuring(true);
    let text = get(address, "/metrics");
    for line in [
        "benchwright_measuring 1",
        "benchwright_requests_planned 100",
        "# TYPE benchwright_requests_sent_total counter",
        "benchwright_requests_sent_total 42",
        "benchwright_requests_ended_total{outcome=\"succeeded\"} 25",
        "benchwright_requests_ended_total{outcome=\"failed\"} 3",
        "benchwright_requests_ended_total{outcome=\"cancelled\"} 2",
        "benchwright_requests_ended_total{outcome=\"unfinished\"} 0",
        "benchwright_requests_under_way 12",
        "benchwright_output_events_total 4000",
        "benchwright_recent_ttft_median_seconds 0.25",
        "benchwright_stages 2",
        "benchwright_stage_index 1",
        r#"benchwright_stage_info{stage="odd \"\\\nname"} 1"#,
    ] {
        assert!(text.lines().any(|it| it == line), "{line} is missing in {text}");
    }

    assert_the_dashboard_shows_all(&text);

    // The number of requests in one stage is unknown, so the planned number would be too small and is not reported.
    set(&progress.undecided_stages, 1);
    assert!(!get(address, "/metrics").contains("requests_planned"));

    // A failure may be counted before its request has ended. This must not decrease the successes.
    set(&progress.not_ok.failed, 4);
    assert!(get(address, "/metrics").contains("{outcome=\"succeeded\"} 25\n"));
}

/// Checks that the chart's dashboard shows every metric of a launcher, and no other. A test of the operator checks the operator's metrics.
fn assert_the_dashboard_shows_all(text: &str) {
    let dashboard = include_str!("../../../charts/benchwright/files/dashboard.json");
    let words = dashboard.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    // The excluded word is not a metric, but a label that Prometheus adds.
    let ours = words.filter(|it| it.starts_with("benchwright_") && *it != "benchwright_dev_run");
    let shown: BTreeSet<&str> = ours.filter(|it| !it.starts_with("benchwright_operator_")).collect();
    let there = text.lines().filter_map(|it| it.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert_eq!(shown, there);
}
