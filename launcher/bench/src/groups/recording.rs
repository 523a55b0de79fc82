//! [I/O] Measures the cost of recording a finished request: its counts, histograms, and the time series of its stage.

use std::time::Duration;

use workload_profiles::workload::Goodput;

use super::setup::Bench;
use crate::{
    error::BenchError,
    figures::{Budget, Figures},
    reporting,
};
use measurement::{
    record::RequestRecord,
    recorder::{Keep, Recorder, WireTally},
};

/// Number of tokens in each answer, the same as in the loads with streams.
const TOKENS: u32 = 128;
/// Number of different requests. The same requests are recorded again and again, each time with later times.
const REQUESTS: u64 = 500;

pub(super) fn run(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    let requests: Vec<(RequestRecord, WireTally)> = (0..REQUESTS).map(|it| reporting::request(it, TOKENS)).collect();
    let count = bench.scale.recorded;
    let recorder = || Recorder::new(1, Goodput::default(), Keep::Summary);
    let mut without_series = recorder();
    without_series.series.clear();
    let plain = record(without_series, &requests, count);
    let whole = record(recorder(), &requests, count);
    let title = format!("recording a request of {TOKENS} tokens");
    figures.add("recording.request", &title, "us of CPU", whole, Budget::NONE);
    figures.add("recording.plain", &format!("{title}, without its time series"), "us of CPU", plain, Budget::NONE);
    let title = "the time series of that, for each token";
    figures.add(
        "recording.seriesPerToken",
        title,
        "ns of CPU",
        (whole - plain) * 1e3 / f64::from(TOKENS),
        Budget::NONE,
    );
    Ok(())
}

/// The mean CPU time to record a request, in microseconds.
fn record(mut recorder: Recorder, requests: &[(RequestRecord, WireTally)], count: u64) -> f64 {
    let begun = clock::thread_cpu();
    for (number, (request, wire)) in (0..count).zip(requests.iter().cycle()) {
        // Each repetition of the requests is recorded with times that are 0.1 s later.
        let later = Duration::from_millis(100 * (number / REQUESTS));
        recorder.record(moved(request, later), wire);
    }
    let took = clock::thread_cpu().saturating_sub(begun);
    took.as_secs_f64() * 1e6 / count as f64
}

fn moved(request: &RequestRecord, later: Duration) -> RequestRecord {
    let move_time = |it: Duration| it + later;
    RequestRecord {
        scheduled: move_time(request.scheduled),
        sent: request.sent.map(move_time),
        first_token: request.first_token.map(move_time),
        last_token: request.last_token.map(move_time),
        ended: move_time(request.ended),
        ..request.clone()
    }
}
