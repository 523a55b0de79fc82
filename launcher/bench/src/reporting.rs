//! [I/O] Measures the time to report a large run, with synthetic records. The steps are the same as at the end of a real run.

use std::time::Duration;

use super::{
    BenchError,
    parts::{ReportResult, ReportSpec},
};
use analysis::{Evidence, Measured};
use capacity::nanos;
use document::Parts;
use launcher::input::{self, LocalOptions};
use measurement::{
    inter_token_times::InterTokenTimes,
    record::{RequestOutcome, RequestRecord},
    recorder::{Keep, Recorder, WireTally},
    vitals::Vitals,
};
use report::{Attachments, Folder, Inputs};

/// Number of tokens in each answer.
const TOKENS: u32 = 16;

/// Analyses synthetic records, and writes all files of their report.
///
/// # Errors
/// The file is not a BenchmarkRun, or the folder cannot be written.
pub(super) fn run(spec: &ReportSpec) -> Result<ReportResult, BenchError> {
    let input = input::from_file(&spec.file, &LocalOptions::default())?;
    let mut recorder = Recorder::new(input.workload.stages.len(), input.workload.goodput.clone(), Keep::Records);
    for number in 0..spec.requests {
        let (record, wire) = request(number, TOKENS);
        recorder.record(record, &wire);
    }
    let started = clock::now();
    let begun = clock::monotonic();
    let measured = Measured {
        recorder: &recorder,
        zero: Duration::ZERO,
        started,
        rows: None,
        stages: &[],
        stopped: None,
        own_cpu: Duration::from_secs(10),
        wall: Duration::from_secs(60),
        threads: 1,
        workers: &[],
        vitals: &Vitals::default(),
    };
    let analysis = analysis::analyse(&Evidence::new(measured, &input.workload, &input.run, "bench"));
    let mut folder = Folder::create(&spec.folder, "report")?;
    let inputs = Inputs {
        run: &input.run,
        spec: &input.spec,
        profile_text: &input.profile_text,
        paths_from: None,
        searches_rate: false,
        measures_rates: false,
    };
    report::write_inputs(&mut folder, &inputs)?;
    let parts = Parts {
        commit: "unknown",
        analysis: &analysis,
        server: None,
        run: &input.run,
        workload: &input.workload,
        profile_text: &input.profile_text,
        files: &[],
        notices: &input.notices,
        loadgen: None,
        startups: &[],
        managed_server: None,
        server_replicas: None,
    };
    let attachments = Attachments { records: recorder.records.as_ref(), ..Attachments::default() };
    report::write_report(&mut folder, &parts, &parts.document()?, &attachments, None)?;
    folder.finish()?;
    let wall = clock::monotonic().saturating_sub(begun);
    Ok(ReportResult { wall_ns: nanos(wall) })
}

/// A synthetic request that differs from all others, with `tokens` tokens in its answer.
pub(super) fn request(number: u64, tokens: u32) -> (RequestRecord, WireTally) {
    let micros = |count: u64| Duration::from_micros(count);
    let scheduled = micros(200 * number);
    let sent = scheduled + micros(20 + number % 37);
    let gaps: InterTokenTimes =
        (1..u64::from(tokens)).map(|place| micros(5_000 + (number + place * 7) % 211)).collect();
    let first = sent + micros(50_000 + number % 9_973);
    let last = first + gaps.iter().sum::<Duration>();
    let record = RequestRecord {
        stage: 0,
        number,
        turn: None,
        scheduled,
        permit_wait: None,
        sent: Some(sent),
        first_token: Some(first),
        last_token: Some(last),
        ended: last + micros(30),
        outcome: RequestOutcome::Ok,
        requested_input_tokens: Some(10),
        requested_output_tokens: Some(tokens),
        input_tokens: Some(10),
        cached_tokens: None,
        class: None,
        output_tokens: Some(tokens),
        content_events: tokens,
        replica: None,
    };
    (record, WireTally { gaps, reads: u64::from(tokens), ..WireTally::default() })
}
