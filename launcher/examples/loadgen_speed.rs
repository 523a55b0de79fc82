//! Measures how long our implementation of LoadGen takes. `make loadgen-performance` compares it with MLCommons' own library.
//!
//! `plan SETTINGS QSL` generates the queries of a performance phase. `results SETTINGS QSL FOLDER` generates the records that the engine would have
//! made for these queries, and writes the three log files. SETTINGS and QSL (the query sample library) are JSON files. The program prints one line of
//! JSON.

#![expect(clippy::disallowed_methods, reason = "no run: it only looks how long something takes")]

use std::{
    env, fs,
    io::{self, BufWriter},
    path::Path,
    time::{Duration, Instant},
};

use analysis::loadgen::{
    answers::answers,
    measure::{Measured, measure},
    outcome::TestOutcome,
    verdict::TestVerdict,
};
use anyhow::Context as _;
use loadgen::{
    logs::{
        accuracy_log, detail,
        messages::Messages,
        summary,
        test_log::{Build, Generated, PhaseLog, TestLog},
    },
    queries::{PhaseQueries, QueryGenerator},
};
use measurement::{
    output::Output,
    record::{RequestOutcome, RequestRecord},
    recorder::KeptOutput,
};
use serde_json::json;
use workload_profiles::{
    loadgen::{Effective, Qsl, Settings},
    workload::Phase,
};

/// Number of tokens in each answer.
const TOKENS: u32 = 16;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, settings, qsl, folder @ ..] = &arguments[..] else {
        anyhow::bail!("give plan or results, the settings, the library, and the folder of the logs");
    };
    let (settings, qsl): (Settings, Qsl) = (serde_json::from_str(settings)?, serde_json::from_str(qsl)?);
    let start = Instant::now();
    let queries = QueryGenerator::new(&settings, &qsl)?.phase(Phase::Performance)?;
    let took = match &what[..] {
        "plan" => start.elapsed(),
        "results" => results(&settings, &qsl, &queries, Path::new(folder.first().context("give a folder")?))?,
        other => anyhow::bail!("{other:?} is neither plan nor results"),
    };
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse()?;
    println!(
        "{}",
        json!({"queries": queries.len(), "seconds": took.as_secs_f64(), "peak_mib": peak_kib as f64 / 1024.0})
    );
    Ok(())
}

/// Returns the time from the end of the last request until the last file is complete.
fn results(settings: &Settings, qsl: &Qsl, queries: &PhaseQueries, folder: &Path) -> anyhow::Result<Duration> {
    let records: Vec<RequestRecord> = (0..queries.len()).map(|it| record(queries, it)).collect();
    let outputs: Vec<KeptOutput> =
        records.iter().filter(|it| queries.is_logged(it.number as usize)).map(output).collect();
    let start = Instant::now();
    let records: Vec<&RequestRecord> = records.iter().collect();
    let outputs: Vec<&KeptOutput> = outputs.iter().collect();
    let Measured { result, failed, last_completion, .. } = measure(settings, queries, Duration::ZERO, &records);
    let phase = PhaseLog {
        phase: Phase::Performance,
        tried: None,
        loaded: queries.set.indices.clone(),
        generated: Generated::from_queries(queries),
        messages: Messages::default(),
        loaded_at: Duration::ZERO,
        generated_at: Duration::ZERO,
        ended_at: last_completion,
        power_begin: jiff::Timestamp::UNIX_EPOCH,
        lasted: last_completion,
        result: Some(result),
        failed,
        stopped_early: None,
    };
    let log = TestLog {
        build: Build::own(),
        started: jiff::Timestamp::UNIX_EPOCH,
        pid: 1,
        sut_name: "SUT".into(),
        get_sut_name: Duration::ZERO,
        qsl: qsl.clone(),
        settings: settings.clone(),
        effective: Effective::new(settings, qsl),
        audited: false,
        messages: Messages::default(),
        phases: vec![phase],
    };
    let test = TestOutcome { folder: "Performance", answers: answers(settings, queries, &outputs), log };
    let verdict = TestVerdict::from_outcome(&test);
    let file = |name: &str| fs::File::create(folder.join(format!("mlperf_log_{name}"))).map(BufWriter::new);
    summary::write(&test.log, file("summary.txt")?)?;
    detail::write(&test.log, file("detail.txt")?)?;
    let mut log = accuracy_log::Writer::new(file("accuracy.json")?)?;
    test.answers.iter().try_for_each(|it| log.add(it))?;
    log.finish()?;
    serde_json::to_writer(io::sink(), &verdict)?;
    Ok(start.elapsed())
}

/// The record of a sample of a fast server. It takes 0.1 to 1.1 ms, and all samples take different times.
fn record(queries: &PhaseQueries, number: usize) -> RequestRecord {
    let scheduled = queries.due(number);
    let spread = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
    let first_token = scheduled + Duration::from_nanos(100_000 + spread / 2);
    let ended = scheduled + Duration::from_nanos(100_000 + spread);
    RequestRecord {
        stage: 0,
        number: number as u64,
        turn: None,
        scheduled,
        sent: Some(scheduled),
        permit_wait: None,
        first_token: Some(first_token),
        last_token: Some(ended),
        ended,
        outcome: RequestOutcome::Ok,
        requested_input_tokens: None,
        requested_output_tokens: Some(TOKENS),
        input_tokens: None,
        cached_tokens: None,
        class: None,
        output_tokens: Some(TOKENS),
        content_events: TOKENS,
        replica: None,
    }
}

fn output(record: &RequestRecord) -> KeptOutput {
    let token_ids = (0..TOKENS).map(|it| record.number as u32 ^ it).collect();
    KeptOutput {
        row: None,
        stage: 0,
        number: record.number,
        ended: record.ended,
        output: Output { token_ids, first: 1, ..Output::default() },
    }
}
