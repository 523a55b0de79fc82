//! Compares all logs of real runs. The logs are rebuilt from the settings, the raw results and the events of the runs.
//!
//! Compares every line of the detail log with its flags, except for the values in the version block. Times, source locations and process ids differ
//! by nature and are not compared. A peak search has no raw results, so its figures and its summary are not compared.

use std::{fs, path::Path, time::Duration};

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use loadgen::{
    logs::{
        accuracy_log::{self, AccuracyEntry, Writer},
        detail,
        messages::{Event, Level},
        test_log::{Generated, PhaseLog, TestLog},
    },
    peak::{self, Next, Tried},
    queries::{PhaseQueries, QueryGenerator},
    results::{PhaseResult, completion::CompletedSample},
};
use serde_json::Value;
use workload_profiles::{
    loadgen::{Mode, Scenario, Settings},
    workload::{LoadGenTest, Phase},
};

use crate::{queries, summaries};

/// A line as (key, value, flag error, flag warning).
type Line = (String, String, bool, bool);

/// Compares all logs of a run. Returns the number of lines in its detail log.
pub fn assert_case(folder: &Path) -> usize {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    let json = |file: &str| -> Value { serde_json::from_str(&text(file)).unwrap() };
    let case = json("case.json");
    let recorded: Vec<Line> = text("mlperf_log_detail.txt").lines().map(line).collect();
    let results: Vec<PhaseResult> = serde_json::from_value(json("results.json")).unwrap();

    let settings = queries::settings(&case["settings"]);
    let audit = case["audit_config"].as_str();
    let settings = audit.map_or(settings.clone(), |audit| audited(settings, audit));
    let qsl = serde_json::from_value(case["qsl"].clone()).unwrap();
    let mut log = summaries::empty(settings, qsl, case["sut"]["name"].as_str().unwrap());
    log.audited = audit.is_some();
    log.started = value(&recorded, "test_datetime").trim_matches('"').parse().unwrap();
    log.get_sut_name = Duration::from_nanos(value(&recorded, "get_sut_name_duration_ns").parse().unwrap());
    let all = phases(name, &mut log, &recorded, results);

    check_detail(name, &log, &recorded);
    if log.settings.mode != Mode::FindPeakPerformance {
        assert_eq!(summaries::summary_of(&log), text("mlperf_log_summary.txt"), "{name}");
    }
    check_issued(name, &log, &all, &json("issued.json"));
    check_tokens(name, &log);
    check_accuracy(name, &log, &all, &text("mlperf_log_accuracy.json"));
    recorded.len()
}

fn line(text: &str) -> Line {
    let json = text.strip_prefix(":::MLLOG ").unwrap();
    // Takes the literal text of the value, because a parsed number may be printed differently.
    let (_, value) = json.split_once(", \"value\": ").unwrap();
    let (value, _) = value.rsplit_once(", \"time_ms\": ").unwrap();
    let json: Value = serde_json::from_str(json).unwrap();
    let flag = |name: &str| json["metadata"][name].as_bool().unwrap();
    (json["key"].as_str().unwrap().into(), value.into(), flag("is_error"), flag("is_warning"))
}

fn value<'a>(lines: &'a [Line], key: &str) -> &'a str {
    &lines.iter().find(|it| it.0 == key).unwrap_or_else(|| panic!("no {key}")).1
}

/// Applies the keys that occur in the recorded audit.config files. The reader of such files has its own tests.
fn audited(mut settings: Settings, audit: &str) -> Settings {
    for line in audit.lines().filter(|it| !it.starts_with('#')) {
        let (key, value) = line.split_once(" = ").unwrap();
        let number = || value.parse::<u64>().unwrap();
        match key.strip_prefix("*.*.").unwrap() {
            "mode" => settings.mode = if number() == 2 { Mode::PerformanceOnly } else { panic!("mode {value}") },
            "accuracy_log_rng_seed" => settings.accuracy_log_rng_seed = number(),
            "accuracy_log_sampling_target" => settings.accuracy_log_sampling_target = number(),
            "min_query_count" => settings.min_query_count = number(),
            "min_duration" => settings.min_duration_ms = number(),
            "performance_issue_unique" => settings.performance_issue_unique = number() != 0,
            "sample_concatenate_permutation" => settings.sample_concatenate_permutation = number() == 1,
            other => panic!("audit.config has {other}"),
        }
    }
    settings
}

/// Rebuilds the phases of the test, and returns their queries.
fn phases(name: &str, log: &mut TestLog, recorded: &[Line], results: Vec<PhaseResult>) -> Vec<PhaseQueries> {
    let mut generator = QueryGenerator::new(&log.settings, &log.qsl).unwrap();
    let mut results = results.into_iter();
    // The recorded lines after the queries of a phase were generated and before its figures.
    let mut happened = recorded.split(|it| it.0 == "generated_query_duration").skip(1);
    let mut all = Vec::new();
    let mut add = |log: &mut TestLog, phase, tried: Option<Tried>, queries: PhaseQueries| {
        let after = happened.next().unwrap_or_else(|| panic!("{name} has no further phase"));
        let time = |key| power(value(after, key));
        let mut it = PhaseLog {
            loaded: queries.set.indices.clone(),
            generated: Generated::from_queries(&queries),
            power_begin: time("power_begin"),
            lasted: Duration::try_from(time("power_end") - time("power_begin")).unwrap(),
            result: if phase == Phase::Performance { results.next() } else { None },
            tried,
            ..summaries::phase(phase)
        };
        let counters = after.iter().position(|it| it.0.starts_with("logger_")).unwrap();
        for (_, value, ..) in &after[..counters] {
            it.messages.push(Duration::ZERO, event(&serde_json::from_str::<String>(value).unwrap()));
        }
        log.phases.push(it);
        all.push(queries);
    };
    if log.settings.mode == Mode::FindPeakPerformance {
        let found = recorded.iter().find_map(|it| it.1.rsplit_once("Found peak performance field: "));
        let found: f64 = found.unwrap().1.trim_end_matches('"').parse().unwrap();
        let mut tried = Vec::new();
        while let Next::Run(trial) = peak::next(&log.settings, &tried) {
            tried.push(Tried { trial, met: trial.rate() <= found });
            add(log, Phase::Performance, tried.last().cloned(), generator.trial(trial.rate()).unwrap());
        }
    } else {
        for phase in
            (LoadGenTest { settings: log.settings.clone(), audited: false, trials_before: Vec::new() }).phases(&log.qsl)
        {
            add(log, phase, None, generator.phase(phase).unwrap());
        }
    }
    assert!(happened.next().is_none(), "{name} has further phases");
    all
}

fn power(text: &str) -> Timestamp {
    let time = DateTime::strptime("%m-%d-%Y %H:%M:%S%.f", text.trim_matches('"')).unwrap();
    TimeZone::UTC.to_timestamp(time).unwrap()
}

/// Returns the event that caused a recorded message. Its text is generated again and compared.
fn event(text: &str) -> Event {
    let numbers: Vec<u64> = text.split(' ').filter_map(|it| it.parse().ok()).collect();
    match (text, numbers.as_slice()) {
        _ if text.starts_with("Ending naturally") => Event::EndingNaturally,
        _ if text.starts_with("Ending early: Ran out") => Event::RanOut,
        (_, &[thread, issued, outstanding]) => Event::TooManyOutstanding { thread, issued, outstanding },
        (_, &[thread, issued]) if text.contains("query count") => Event::MaxQueryCount { thread, issued },
        (_, &[thread, nanos]) => Event::MaxDuration { thread, duration: Duration::from_nanos(nanos) },
        _ => panic!("an unknown message: {text}"),
    }
}

fn check_detail(name: &str, log: &TestLog, recorded: &[Line]) {
    let found: Vec<Line> = detail::entries(log)
        .into_iter()
        .map(|it| (it.key.into_owned(), it.value, it.level == Level::Error, it.level == Level::Warning))
        .collect();
    let searched = log.settings.mode == Mode::FindPeakPerformance;
    let compared = |it: &Line| !searched || !(it.0.starts_with("result_") || it.0.starts_with("early_stopping_"));
    let recorded: Vec<&Line> =
        recorded.iter().filter(|it| compared(it) && (!searched || it.0 != "num_errors")).collect();
    for (found, recorded) in found.iter().zip(&recorded) {
        if recorded.0.starts_with("loadgen_") {
            assert_eq!(found.0, recorded.0, "{name}");
        } else {
            assert_eq!(found, *recorded, "{name}");
        }
    }
    assert_eq!(found.len(), recorded.len(), "{name}: lines of the detail log");

    let mut written = Vec::new();
    detail::write(log, &mut written).unwrap();
    let written: Vec<Line> = str::from_utf8(&written).unwrap().lines().map(line).collect();
    assert_eq!(written, found, "{name}: as it is written");
}

/// Checks that the issued samples are the first ones of the generated samples.
fn check_issued(name: &str, log: &TestLog, all: &[PhaseQueries], issued: &Value) {
    let issued: Vec<u32> = serde_json::from_value::<Vec<Vec<u32>>>(issued.clone()).unwrap().concat();
    let generated: Vec<u32> =
        all.iter().flat_map(|it| (0..it.len()).flat_map(|query| it.samples(query).to_vec())).collect();
    assert!(generated.starts_with(&issued), "{name}: order of issue");
    let measured = log.phases.last().unwrap().result.as_ref().map(|it| it.sample_latencies_ns.len());
    let before: usize = all[..all.len() - 1].iter().map(PhaseQueries::sample_count).sum();
    let last = measured.unwrap_or(all.last().unwrap().sample_count());
    assert_eq!(issued.len(), before + last, "{name}: samples issued");
}

/// Checks that the times per output token follow from the latencies.
fn check_tokens(name: &str, log: &TestLog) {
    for result in log.phases.iter().filter_map(|it| it.result.as_ref()) {
        for (place, first) in result.first_token_latencies_ns.iter().enumerate() {
            let tokens = result.tokens_per_sample[place];
            let found = CompletedSample {
                latency_ns: result.sample_latencies_ns[place],
                first_token_ns: Some(*first),
                output_tokens: tokens,
            };
            let expected = (tokens, result.time_per_output_token_ns[place], None);
            let found = (found.counted_tokens(), found.per_token_ns(), found.error());
            assert_eq!(found, expected, "{name}: sample {place}");
        }
    }
}

/// Checks that the log contains the expected samples, and that writing it again yields the same bytes.
fn check_accuracy(name: &str, log: &TestLog, all: &[PhaseQueries], recorded: &str) {
    let found: Vec<AccuracyEntry> = accuracy_log::read(recorded.as_bytes()).map(Result::unwrap).collect();
    let mut written = Vec::new();
    let mut writer = Writer::new(&mut written).unwrap();
    found.iter().for_each(|it| writer.add(it).unwrap());
    writer.finish().unwrap();
    assert_eq!(str::from_utf8(&written).unwrap(), recorded, "{name}");

    let mut expected = Vec::new();
    for (queries, phase) in all.iter().zip(&log.phases) {
        let issued = phase.result.as_ref().map_or(queries.sample_count(), |it| it.sample_latencies_ns.len());
        for sample in (0..issued).filter(|it| queries.is_logged(*it)) {
            let query = queries.query_of(sample);
            let index = queries.samples(query)[sample % queries.samples_per_query];
            expected.push(answer(&log.settings, queries.first_sample + sample as u64, index));
        }
    }
    let mut found = found;
    found.sort_by_key(|it| it.seq_id);
    assert_eq!(found, expected, "{name}: answers in the accuracy log");
}

/// Returns the answer of the recorded system under test.
fn answer(settings: &Settings, seq_id: u64, index: u32) -> AccuracyEntry {
    let tokens = settings.use_token_latencies;
    let words = [index, index.wrapping_mul(2_654_435_761)];
    AccuracyEntry {
        seq_id,
        qsl_idx: index.into(),
        data: words.iter().flat_map(|it| it.to_le_bytes()).collect(),
        token_data: (tokens && settings.scenario != Scenario::Offline).then(|| index.to_le_bytes().to_vec()),
        token_count: tokens.then_some(2 + i64::from(index) * 7_919 % 37),
    }
}
