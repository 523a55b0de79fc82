//! `benchmarks` is a list of benchmarks, each with its changes to `spec`. As in GuideLLM, all of them become one run. Only rates, streams and some
//! limits can differ between benchmarks.

use serde_json::Value;

use super::paths::{self, Part};
use crate::{
    formats::common::bounds::MAX_STAGES,
    problem::{Findings, named},
    reader::described,
};

/// The keys of a constraint whose values can differ between benchmarks.
const BOUNDS: [&str; 3] = ["seconds", "count", "rate"];

/// Maximum number of keys that one benchmark changes.
const MAX_CHANGES: usize = 64;

/// Maximum length of a number that is written as text, in bytes.
const MAX_NUMBER: usize = 64;

/// Merges the values of all benchmarks into the scenario. Also returns the path that the author wrote for each merged path.
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
    // Merge the first benchmark before the checks, because `spec` alone can lack required keys.
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
        // Collect all values before setting any of them, because a value that a benchmark omits comes from `spec` with the changes of the first
        // benchmark.
        let merged: Vec<(Vec<Part>, Vec<Value>)> = differing(&spec, &entries)
            .into_iter()
            .map(|parts| values_of(&spec, &entries, &parts, &mut names, findings).map(|values| (parts, values)))
            .collect::<Option<_>>()?;
        for (parts, values) in merged {
            paths::set(&mut spec, &parts, Value::Array(values));
        }
        names.extend(of_first);
    }
    Some((spec, names))
}

/// Reports each key that differs from the first benchmark but must not. Returns whether there is any.
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
    /// The path in `spec`, with underscores instead of hyphens.
    key: String,
    parts: Vec<Part>,
    value: Value,
    /// The path in the profile, as its author wrote it.
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

/// Whether benchmarks can have different values at a path.
fn may_differ(parts: &[Part]) -> bool {
    match parts {
        [(profile, None), (key, None)] => profile == "profile" && (key == "rate" || key == "streams"),
        [(constraints, Some(_)), (key, None)] => constraints == "constraints" && BOUNDS.contains(&key.as_str()),
        _ => false,
    }
}

/// Returns the paths at which the values of all benchmarks are collected: each path that a benchmark sets, and the rates, which every benchmark has.
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

/// Returns the values of all benchmarks at a path, in order. A benchmark that does not set the path contributes all values of `spec` at that path, so
/// the number and the size of the copies are checked first. Returns `None` if a problem was reported.
fn values_of(
    spec: &Value,
    entries: &[Entry],
    parts: &[Part],
    names: &mut Vec<(String, String)>,
    findings: &Findings,
) -> Option<Vec<Value>> {
    let of_spec = as_list(paths::get(spec, parts).unwrap_or(&Value::Null));
    let found: Vec<(&Entry, Option<&Change>, &[Value])> = entries
        .iter()
        .map(|entry| {
            let change = entry.changes.iter().find(|it| it.parts == parts);
            (entry, change, change.map_or(of_spec, |it| as_list(&it.value)))
        })
        .collect();
    let count: usize = found.iter().map(|(_, _, values)| values.len()).sum();
    if count > MAX_STAGES {
        findings.problem("benchmarks", format!("ask for {count} strategies; write at most {MAX_STAGES}"));
        return None;
    }
    let mut values = Vec::with_capacity(count);
    for (entry, change, of_entry) in found {
        let name = change.map_or(&entry.path, |it| &it.name);
        for value in of_entry {
            if !is_short(value) {
                findings
                    .problem(name, format!("has the value {}; write a number, or a list of them", described(value)));
                return None;
            }
            if let Some(change) = change {
                names.push((format!("spec.{}[{}]", change.key, values.len()), name.clone()));
            }
            values.push(value.clone());
        }
    }
    Some(values)
}

/// Returns the elements of a list, or one value as a list.
fn as_list(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// Whether a value can be a number, possibly written as text.
fn is_short(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= MAX_NUMBER,
        Value::Array(_) | Value::Object(_) => false,
    }
}
