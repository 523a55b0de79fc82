//! What the last Offline run against the same target came to, from the results folders beside this one.

use std::{fs, path::Path};

use serde::Deserialize;
use tracing::info;

/// The largest summary that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// The figure of an Offline test.
const FIGURE: &str = "result_samples_per_second";

/// `summary.json`, as far as it is asked.
#[derive(Deserialize)]
struct Summary {
    target: String,
    model: String,
    started: jiff::Timestamp,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    scenario: String,
    #[serde(default)]
    audited: bool,
    #[serde(default)]
    reasons: Vec<String>,
    figures: serde_json::Map<String, serde_json::Value>,
}

/// Samples per second of the latest Offline test below `root` that counts, for a target and a model.
pub(super) fn of(root: &Path, target: &str, model: &str) -> Option<f64> {
    let folders = fs::read_dir(root).ok()?.flatten().map(|it| it.path());
    // In a pod the runs have folders of their own, with one for each attempt.
    let below =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect::<Vec<_>>();
    let all = folders.flat_map(|it| [vec![it.clone()], below(&it)].concat());
    let summaries = all.filter_map(|folder| read(&folder.join("summary.json")).map(|it| (folder, it)));
    let rates = summaries.filter_map(|(folder, summary)| {
        let ours = summary.target == target && summary.model == model;
        let counts = |it: &&Test| it.scenario == "Offline" && it.reasons.is_empty() && !it.audited;
        let mut rates = summary.tests.iter().filter(counts).filter_map(|it| it.figures.get(FIGURE)?.as_f64());
        let rate = rates.rfind(|it| it.is_finite() && *it > 0.0)?;
        ours.then_some((summary.started, folder, rate))
    });
    let (_, folder, rate) = rates.max_by_key(|(started, ..)| *started)?;
    info!(folder = %folder.display(), rate, "the last Offline test against this target, in samples per second");
    Some(rate)
}

fn read(path: &Path) -> Option<Summary> {
    let small = fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= MAX_BYTES);
    serde_json::from_slice(&fs::read(path).ok().filter(|_| small)?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn leave(root: &Path, name: &str, target: &str, scenario: &str, day: u32, rate: f64, reasons: &[&str]) {
        let folder = root.join(name);
        fs::create_dir_all(&folder).unwrap();
        let started = format!("2026-01-{day:02}T00:00:00Z");
        let test = json!({"scenario": scenario, "reasons": reasons, "figures": {FIGURE: rate}});
        let summary = json!({"target": target, "model": "m", "started": started, "tests": [test]});
        fs::write(folder.join("summary.json"), summary.to_string()).unwrap();
    }

    #[test]
    fn the_latest_that_counts_is_found_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let of = |model: &str| super::of(root.path(), "http://a", model);
        assert_eq!(of("m"), None);
        leave(root.path(), "one", "http://a", "Offline", 5, 10.0, &[]);
        leave(root.path(), "run/a1", "http://a", "Offline", 7, 20.0, &[]);
        leave(root.path(), "other", "http://b", "Offline", 8, 30.0, &[]);
        leave(root.path(), "server", "http://a", "Server", 9, 40.0, &[]);
        leave(root.path(), "invalid", "http://a", "Offline", 10, 50.0, &["too short"]);
        leave(root.path(), "audit", "http://a", "Offline", 11, 60.0, &[]);
        let audit = root.path().join("audit/summary.json");
        let audited = fs::read_to_string(&audit).unwrap().replacen("\"reasons\"", "\"audited\":true,\"reasons\"", 1);
        assert!(audited.contains("audited"), "{audited}");
        fs::write(&audit, audited).unwrap();
        fs::create_dir(root.path().join("broken")).unwrap();
        fs::write(root.path().join("broken/summary.json"), "{").unwrap();
        assert_eq!((of("m"), of("another")), (Some(20.0), None));
    }
}
