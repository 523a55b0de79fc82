//! Profiles of other tools, each with an expected verdict. They are in `tests/peer-data`, or in the folder that `PEER_DATA` names.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use crds::{AnyValue, benchmark_run::Harness};
use workload_profiles::{Prepared, ProfileError, prepare, recognise, variables, workload::Work};

struct Expectation {
    file: String,
    harness: Harness,
    wanted: String,
}

/// Returns the harness for a kind of profile, such as `guidellm scenario (>=0.7)`.
fn harness(kind: &str) -> Harness {
    let kind = kind.to_lowercase();
    for (word, harness) in [
        ("inference-perf", Harness::InferencePerf),
        ("guidellm", Harness::Guidellm),
        ("vllm", Harness::VllmBenchmark),
        ("inferencemax", Harness::Inferencemax),
        ("aiperf", Harness::Aiperf),
        ("lmbenchmark", Harness::Fmperf),
        ("fmperf", Harness::Fmperf),
        ("priority", Harness::PriorityMix),
        ("nop", Harness::Nop),
    ] {
        if kind.starts_with(word) {
            return harness;
        }
    }
    panic!("the kind {kind} names no harness");
}

fn expectations(folder: &Path) -> Vec<Expectation> {
    let table = fs::read_to_string(folder.join("EXPECTATIONS.tsv")).unwrap();
    let rows = table.lines().skip(1).filter(|it| !it.trim().is_empty()).map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [file, kind, .., wanted] = columns[..] else { panic!("a row has a file, a kind and a verdict: {line}") };
        Expectation { file: file.to_owned(), harness: harness(kind), wanted: wanted.to_owned() }
    });
    rows.collect()
}

/// Reads a profile as a run would. Every variable that a user must set gets a value.
fn prepared(harness: Harness, template: &str) -> Result<Prepared, ProfileError> {
    let mut run = crate::common::run("{target: {url: 'http://gateway:80', model: facebook/opt-125m}}");
    // A real run with the harness nop would need a server to start.
    run.harness = harness;
    let mut user: BTreeMap<String, AnyValue> = BTreeMap::new();
    for rest in template.split("REPLACE_ENV_").skip(1) {
        let name: String = rest.chars().take_while(|it| it.is_ascii_alphanumeric() || *it == '_').collect();
        let value = match name.as_str() {
            "LLMDBENCH_DEPLOY_CURRENT_MODEL"
            | "LLMDBENCH_DEPLOY_CURRENT_TOKENIZER"
            | "LLMDBENCH_HARNESS_STACK_ENDPOINT_URL" => continue,
            "LLMDBENCH_DEPLOY_CURRENT_MAX_MODEL_LEN" => "131072",
            "LLMDBENCH_RUN_DATASET_DIR" => "/data",
            "LLMDBENCH_RUN_DATASET_FILE" => "set.json",
            _ => "supplied",
        };
        user.insert(name, AnyValue(value.into()));
    }
    let variables = variables(&run, &user)?;
    prepare(&run, template, &variables, &BTreeMap::new())
}

/// Describes how the outcome differs from the expectation. `None` if it does not differ.
fn fault(expected: &Expectation, outcome: &Result<Prepared, ProfileError>) -> Option<String> {
    let said = match outcome {
        Ok(ready) => ready.notices.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        Err(error) => error.to_string(),
    };
    let wanted = expected.wanted.as_str();
    let (verdict, words) = wanted.split_once(": ").unwrap_or((wanted, ""));
    let is_right = if expected.harness == Harness::Nop {
        outcome.as_ref().is_ok_and(|it| it.workload.work == Work::Startup)
    } else if verdict.starts_with("accept only with a clear diagnosis") {
        // A contradictory profile is refused, or runs with a notice. In both cases the message names the cause.
        names_cause(&said, words)
    } else if verdict.starts_with("accept with") {
        outcome.is_ok() && names_cause(&said, words)
    } else if verdict.starts_with("accept") {
        outcome.is_ok()
    } else {
        outcome.is_err() && names_cause(&said, words)
    };
    (!is_right).then(|| format!("{}: wanted {wanted}\n{said}\n", expected.file))
}

/// Whether a message contains all names from a description. The description must contain at least one name: a word that is a key, or is not in a
/// dictionary.
fn names_cause(said: &str, description: &str) -> bool {
    let words: Vec<&str> = description
        .split(|it: char| it.is_whitespace() || "(),;:".contains(it))
        .filter(|it| it.contains(['_', '$', '-', '.']) || ["std", "data", "tokenizer"].contains(it))
        .map(|it| it.trim_end_matches('.'))
        .collect();
    !words.is_empty() && words.iter().all(|it| said.contains(it))
}

fn folder() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peer-data");
    env::var_os("PEER_DATA").map_or_else(own, PathBuf::from)
}

#[test]
fn each_profile_has_the_verdict_that_is_wanted() {
    let folder = folder();
    let expectations = expectations(&folder);
    assert!(!expectations.is_empty(), "{} names no profile", folder.display());
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut faults = Vec::new();
    for expected in &expectations {
        let text = fs::read_to_string(folder.join(&expected.file)).unwrap();
        let outcome = prepared(expected.harness, &text);
        let [files, run, noticed, refused] = counts.entry(expected.harness.name()).or_default();
        *files += 1;
        match &outcome {
            Ok(ready) if ready.notices.is_empty() => *run += 1,
            Ok(_) => *noticed += 1,
            Err(_) => *refused += 1,
        }
        faults.extend(fault(expected, &outcome));
    }
    println!("harness          files  run as they are  run with notices  refused with reason");
    for (harness, [files, run, noticed, refused]) in counts {
        println!("{harness:<16} {files:>5} {run:>16} {noticed:>17} {refused:>20}");
    }
    println!("{} of {} expectations met", expectations.len() - faults.len(), expectations.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_text_of_a_profile_shows_its_harness() {
    let folder = folder();
    for expected in expectations(&folder).iter().filter(|it| it.harness != Harness::Nop) {
        let text = fs::read_to_string(folder.join(&expected.file)).unwrap();
        assert_eq!(recognise(&text), Some(expected.harness), "{}", expected.file);
    }
}

#[test]
fn a_description_without_names_is_met_by_no_message() {
    assert!(names_cause("num-promts: is no flag", "num-promts, a typing mistake"));
    assert!(!names_cause("num-promts: is no flag", "a typing mistake"));
    assert!(!names_cause("std: is read as std_dev", "std_err"));
}

/// Texts that replace each part of a profile: typical typing mistakes, and output of other tools.
const WRONG: [&str; 9] = ["", "{}", "[]", "-1", "1e400", "null", "'x'", "[[[[1]]]]", "9999999999999999999999"];

#[test]
fn a_profile_that_is_cut_or_mistyped_is_read_or_refused_and_never_panics() {
    let folder = folder();
    for expected in expectations(&folder) {
        let text = fs::read_to_string(folder.join(&expected.file)).unwrap();
        let check = |changed: &str| {
            if let Err(error) = prepared(expected.harness, changed) {
                let said = error.to_string();
                assert!(said.contains(": ") && said.len() < 64 << 10, "{}: {said}", expected.file);
            }
        };
        let ends = text.char_indices().map(|(at, _)| at);
        ends.step_by((text.len() / 40).max(1)).for_each(|end| check(&text[..end]));
        for (at, line) in text.lines().enumerate() {
            let Some((key, _)) = line.split_once(':') else { continue };
            for wrong in WRONG {
                let changed = text
                    .lines()
                    .enumerate()
                    .map(|(other, it)| if other == at { format!("{key}: {wrong}\n") } else { format!("{it}\n") });
                check(&changed.collect::<String>());
            }
            let without = text.lines().enumerate().filter(|(other, _)| *other != at).map(|(_, it)| format!("{it}\n"));
            check(&without.collect::<String>());
        }
    }
}
