//! `benchmarks`: what each benchmark changes of `spec`. As in the original they become one run, in which only rates, streams and
//! some bounds differ from benchmark to benchmark.

use serde_json::Value;

use super::paths::{self, Part};
use crate::{
    formats::common::bounds::MAX_STAGES,
    problem::{Findings, named},
    reader::described,
};

/// The keys of a constraint that may differ.
const BOUNDS: [&str; 3] = ["seconds", "count", "rate"];

/// The most keys that a benchmark changes.
const MAX_CHANGES: usize = 64;

/// The scenario with the values of all benchmarks, and the names of these.
pub(super) fn merge(
    mut spec: Value,
    benchmarks: Vec<(String, &Value)>,
    findings: &Findings,
) -> Option<(Value, Vec<(String, String)>)> {
    if benchmarks.len() > MAX_STAGES {
        findings.problem("benchmarks", format!("holds {} benchmarks; write at most {MAX_STAGES}", benchmarks.len()));
        return None;
    }
    let count = benchmarks.len();
    let entries: Vec<_> = benchmarks.into_iter().map(|(path, value)| entry(path, value, findings)).collect();
    let entries: Vec<Entry> = entries.into_iter().collect::<Option<_>>()?;
    // The first is merged before anything else, so that `spec` alone may be incomplete.
    let mut names = Vec::new();
    for change in entries.first().into_iter().flat_map(|it| &it.changes) {
        paths::set(&mut spec, &change.parts, change.value.clone());
        names.push((format!("spec.{}", change.key), change.name.clone()));
    }
    if count > 1 {
        let of_first = std::mem::take(&mut names);
        if report_differences(&spec, &entries, findings) {
            return None;
        }
        // All are collected from `spec` as the first benchmark has it.
        let merged: Vec<(Vec<Part>, Vec<Value>)> = differing(&spec, &entries)
            .into_iter()
            .map(|parts| {
                let values = values_of(&spec, &entries, &parts, &mut names);
                (parts, values)
            })
            .collect();
        for (parts, values) in merged {
            if values.len() > MAX_STAGES {
                let what = format!("ask for {} strategies; write at most {MAX_STAGES}", values.len());
                findings.problem("benchmarks", what);
                return None;
            }
            paths::set(&mut spec, &parts, Value::Array(values));
        }
        names.extend(of_first);
    }
    Some((spec, names))
}

/// Reports each key that differs from the first benchmark and may not. True if there is one.
fn report_differences(spec: &Value, entries: &[Entry], findings: &Findings) -> bool {
    let changes = entries.iter().skip(1).flat_map(|it| &it.changes);
    let mut found = false;
    for change in changes.filter(|it| !may_differ(&it.parts) && paths::get(spec, &it.parts) != Some(&it.value)) {
        findings.problem(&change.name, "differs from the first benchmark; only profile.rate, profile.streams, and seconds, count and rate of a constraint may differ, in GuideLLM too, so run the benchmarks one after the other");
        found = true;
    }
    found
}

struct Entry {
    path: String,
    changes: Vec<Change>,
}

struct Change {
    /// The path in `spec`, with underscores.
    key: String,
    parts: Vec<Part>,
    value: Value,
    /// The path in the profile.
    name: String,
}

fn entry(path: String, value: &Value, findings: &Findings) -> Option<Entry> {
    let mut changes = Vec::new();
    match value {
        Value::Null => {}
        Value::Object(entries) if entries.len() > MAX_CHANGES => {
            findings.problem(path, format!("changes {} keys; change at most {MAX_CHANGES}", entries.len()));
            return None;
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                let name = format!("{path}.{}", named(key));
                match paths::parse(key) {
                    Ok(parts) => changes.push(Change { key: key.replace('-', "_"), parts, value: value.clone(), name }),
                    Err(message) => {
                        findings.problem(name, message);
                        return None;
                    }
                }
            }
        }
        other => {
            findings.problem(path, format!("is {}; write a mapping such as {{profile.streams: 8}}", described(other)));
            return None;
        }
    }
    Some(Entry { path, changes })
}

/// Whether benchmarks may differ at a path.
fn may_differ(parts: &[Part]) -> bool {
    match parts {
        [(profile, None), (key, None)] => profile == "profile" && (key == "rate" || key == "streams"),
        [(constraints, Some(_)), (key, None)] => constraints == "constraints" && BOUNDS.contains(&key.as_str()),
        _ => false,
    }
}

/// The paths whose values are collected: those that a benchmark sets, and the rates, which each benchmark has.
fn differing(spec: &Value, entries: &[Entry]) -> Vec<Vec<Part>> {
    let rates = ["rate", "streams"].map(|it| vec![("profile".to_owned(), None), (it.to_owned(), None)]);
    let mut all: Vec<Vec<Part>> = rates.into_iter().filter(|it| paths::get(spec, it).is_some()).collect();
    for change in entries.iter().flat_map(|it| &it.changes).filter(|it| may_differ(&it.parts)) {
        if !all.contains(&change.parts) {
            all.push(change.parts.clone());
        }
    }
    all
}

/// The values of all benchmarks at a path, one after the other.
fn values_of(spec: &Value, entries: &[Entry], parts: &[Part], names: &mut Vec<(String, String)>) -> Vec<Value> {
    let mut values = Vec::new();
    for entry in entries {
        let change = entry.changes.iter().find(|it| it.parts == parts);
        let value = change.map(|it| &it.value).or_else(|| paths::get(spec, parts)).unwrap_or(&Value::Null);
        let name = change.map_or_else(|| entry.path.clone(), |it| it.name.clone());
        let found: &[Value] = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in found {
            if let Some(change) = change {
                names.push((format!("spec.{}[{}]", change.key, values.len()), name.clone()));
            }
            values.push(value.clone());
        }
    }
    values
}
