//! Compares what we read from each log with what nop reads, the harness of llm-d-benchmark that measures starts. `tests/original/section9.py`
//! computes the latter by the rules of nop.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, env, fmt::Write as _, fs};

use crate::common::{folder, names, read};
use crds::server_engine::ServerEngine;
use serde_json::Value;
use startup::{Figure, StepName, TEXTS};

const TEXTS_PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/original/texts.md");
const COMPARISON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/original/comparison.md");

/// The values of the original that we read differently or not at all: (log, name of the value, reason).
const DIFFERENCES: [(&str, &str, &str); 8] = [
    ("composed-vllm-0.10-gpu-debug", "ready", "the original takes a prompt in the log for a line of the start"),
    ("composed-vllm-0.10-gpu-debug", "compile_graph", "the original takes the shape for the time"),
    ("composed-vllm-after-serialization", "ready", "the original takes a prompt in the log for a line of the start"),
    ("composed-vllm-after-serialization", "compile_graph", "the original takes the shape for the time"),
    ("composed-vllm-after-serialization", "load_time", "the original takes the load of the serialization"),
    ("composed-vllm-0.16-new-year", "ready", "the original gives all lines one year"),
    ("composed-vllm-2026-gpu-tp2-cached", "load_cached_compiled_graph", "the original takes the range for the time"),
    (
        "composed-vllm-2026-gpu-tp2-cached",
        "Model Loading",
        "the original takes the first worker, ours the last one to end",
    ),
];

/// The values that we read from a log, under their names in llm-d-benchmark's nop.
fn ours(log: &str) -> BTreeMap<&'static str, f64> {
    let found = read(log);
    let mut all = BTreeMap::new();
    let figures = [
        ("load_size", Figure::ModelSizeGib),
        ("load_time", Figure::ModelLoadSeconds),
        ("dynamo_bytecode_transform", Figure::DynamoSeconds),
        ("load_cached_compiled_graph", Figure::LoadCompiledGraphSeconds),
        ("compile_graph", Figure::CompileGraphSeconds),
        ("torch_compile", Figure::TorchCompileSeconds),
        ("initial_free", Figure::InitialFreeGib),
        ("after_free", Figure::FreeAfterProfilingGib),
        ("memory_profiling", Figure::MemoryProfilingSeconds),
        ("available_kv_cache", Figure::KvCacheGib),
    ];
    for (name, figure) in figures {
        all.extend(found.figures.get(&figure).map(|it| (name, *it)));
    }
    let unix = |it: jiff::Timestamp| it.as_duration().as_secs_f64();
    all.extend(found.started.map(|it| ("start", unix(it))));
    all.extend(found.ready.map(|it| ("ready", unix(it))));
    all.extend(found.steps.iter().map(|it| (it.name.name(), it.seconds)));
    all
}

/// The values that the original reads from a log. Its categories are merged into one list with its other values.
fn original(expected: &Value) -> BTreeMap<String, f64> {
    let numbers = |it: &Value| -> Vec<(String, f64)> {
        it.as_object().into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), value.as_f64()?))).collect()
    };
    numbers(expected).into_iter().chain(numbers(&expected["categories"])).collect()
}

fn expected() -> Value {
    serde_json::from_str(&fs::read_to_string(folder().join("original/expected.json")).unwrap()).unwrap()
}

/// The names of all values, in the order in which they occur during a start.
fn order() -> Vec<&'static str> {
    let scalars = [
        "start",
        "ready",
        "load_size",
        "load_time",
        "dynamo_bytecode_transform",
        "load_cached_compiled_graph",
        "compile_graph",
        "torch_compile",
        "initial_free",
        "after_free",
        "memory_profiling",
        "available_kv_cache",
    ];
    scalars.into_iter().chain(StepName::ALL.iter().map(|it| it.name())).collect()
}

fn cell(name: &str, value: Option<&f64>) -> String {
    match value {
        None => String::new(),
        Some(value) if matches!(name, "start" | "ready") => {
            jiff::Timestamp::from_second(*value as i64).unwrap().strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        Some(value) => value.to_string(),
    }
}

/// The table in `original/comparison.md`.
fn comparison() -> String {
    let expected = expected();
    let mut table = "| log | value | original, old texts | original, new texts | ours | why they differ |\n| --- | --- | ---: | ---: | ---: | --- |\n".to_owned();
    for log in names() {
        let (old, new, ours) = (original(&expected[&log]["old"]), original(&expected[&log]["new"]), ours(&log));
        for name in order() {
            let found = [old.get(name), new.get(name), ours.get(name)];
            if found.iter().all(Option::is_none) {
                continue;
            }
            let why = DIFFERENCES.iter().find(|it| it.0 == log && it.1 == name).map_or("", |it| it.2);
            let [old, new, ours] = found.map(|it| cell(name, it));
            let _ = writeln!(table, "| {log} | {name} | {old} | {new} | {ours} | {why} |");
        }
    }
    table
}

/// The table in `original/texts.md`.
fn texts() -> String {
    let mut table = "| engine | text | seen in | known from |\n| --- | --- | --- | --- |\n".to_owned();
    for (engine, it) in TEXTS.iter() {
        let _ = writeln!(table, "| {} | `{}` | {} | {} |", engine.title(), it.text, it.seen_in, it.known.name());
    }
    table
}

/// Asserts that a file contains a table. With `UPDATE_DOCS=1`, writes the table instead.
fn assert_in_file(file: &str, name: &str, table: &str) {
    let text = fs::read_to_string(file).unwrap();
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let from = text.find(&begin).unwrap() + begin.len();
    let to = text.find(&end).unwrap();
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(file, format!("{}\n{table}\n{}", &text[..from], &text[to..])).unwrap();
        return;
    }
    assert_eq!(text[from..to].trim(), table.trim(), "run UPDATE_DOCS=1 cargo test -p startup --test tests original::");
}

#[test]
fn ours_differs_from_the_original_only_where_we_say_why() {
    let expected = expected();
    let mut explained: Vec<(String, &str)> = Vec::new();
    for log in names() {
        let ours = ours(&log);
        for edition in ["old", "new"] {
            for (name, value) in original(&expected[&log][edition]) {
                let known = DIFFERENCES.iter().find(|it| it.0 == log && it.1 == name);
                let equal = ours.get(name.as_str()).is_some_and(|it| (it - value).abs() < 1e-6);
                assert!(
                    equal || known.is_some(),
                    "{log}, {edition}, {name}: {value}, ours {:?}",
                    ours.get(name.as_str())
                );
                if !equal {
                    explained.extend(known.map(|it| (log.clone(), it.1)));
                }
            }
        }
    }
    for (log, name, _) in DIFFERENCES {
        assert!(explained.iter().any(|it| it.0 == log && it.1 == name), "{log}, {name} does not differ");
    }
}

#[test]
fn the_comparison_shows_our_values_beside_those_of_the_original() {
    assert_in_file(COMPARISON, "comparison", &comparison());
}

#[test]
fn the_list_has_each_text_and_how_it_is_known() {
    assert_in_file(TEXTS_PAGE, "texts", &texts());
}

/// A text of vLLM is marked as seen in a real log if, and only if, one of the logs of real servers contains it.
#[test]
fn texts_of_real_logs_are_in_them() {
    let logs: Vec<String> = names()
        .iter()
        .filter(|it| it.starts_with("vllm-"))
        .map(|it| String::from_utf8_lossy(&crate::common::bytes(it)).into_owned())
        .collect();
    for row in ServerEngine::Vllm.row().startup_log.unwrap().texts {
        let is_there = logs.iter().any(|it| it.contains(row.text));
        assert_eq!(is_there, row.known == startup::Known::Log, "{}", row.text);
    }
}
