//! The result of the last Offline run against the same target, from other results folders in the same parent folder.

use std::{fs, path::Path};

use analysis::loadgen::verdict::TestVerdict;
use files::user_file;
use report::LoadGenSummary;
use tracing::{debug, info};
use workload_profiles::loadgen::Scenario;

/// Maximum size of a summary, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// The name of an Offline test's result.
const FIGURE: &str = "result_samples_per_second";

/// Returns the samples per second of the latest valid Offline test below `root` with this target and model.
pub(super) fn samples_per_second(root: &Path, target: &str, model: &str) -> Option<f64> {
    let folders = fs::read_dir(root).ok()?.flatten().map(|it| it.path());
    // In a pod each run has its own folder, which contains one folder per attempt.
    let below =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect::<Vec<_>>();
    let all = folders.flat_map(|it| [vec![it.clone()], below(&it)].concat());
    let summaries = all.filter_map(|folder| read(&folder.join("summary.json")).map(|it| (folder, it)));
    let rates = summaries.filter_map(|(folder, summary)| {
        let ours = summary.target == target && summary.model == model;
        let counts = |it: &&TestVerdict| it.scenario == Scenario::Offline && it.counts() && !it.audited;
        let mut rates = summary.tests.iter().filter(counts).filter_map(|it| it.figures.get(FIGURE)?.as_f64());
        let rate = rates.rfind(|it| it.is_finite() && *it > 0.0)?;
        ours.then_some((summary.started, folder, rate))
    });
    let (_, folder, rate) = rates.max_by_key(|(started, ..)| *started)?;
    info!(folder = %folder.display(), samples_per_second = rate, "using the rate of the last valid Offline test against this target");
    Some(rate)
}

fn read(path: &Path) -> Option<LoadGenSummary> {
    // Only regular files are read, because other users can write next to this run's folder.
    let text = user_file::read_regular(path, MAX_BYTES).ok()?;
    let summary = serde_json::from_slice(&text);
    // A results folder of another release can have a different format, so it is skipped.
    summary.inspect_err(|error| debug!(path = %path.display(), %error, "a summary that cannot be read")).ok()
}

#[cfg(test)]
mod tests {
    use crds::Outcome;
    use serde_json::Map;
    use workload_profiles::loadgen::Mode;

    use super::*;

    fn leave(root: &Path, name: &str, target: &str, scenario: Scenario, day: u32, rate: f64, reasons: &[&str]) {
        let folder = root.join(name);
        fs::create_dir_all(&folder).unwrap();
        let test = TestVerdict {
            folder: "Performance".into(),
            scenario,
            mode: Mode::PerformanceOnly,
            audited: false,
            result: "VALID".into(),
            valid: Some(reasons.is_empty()),
            reasons: reasons.iter().map(|it| (*it).to_owned()).collect(),
            errors: 0,
            warnings: 0,
            first_warning: None,
            target_qps: None,
            figures: Map::from_iter([(FIGURE.to_owned(), rate.into())]),
            headline: None,
            corrected: None,
        };
        let summary = LoadGenSummary {
            tool: "benchwright".into(),
            target: target.into(),
            model: "m".into(),
            benchmark: "b".into(),
            round: "v6.1".into(),
            started: format!("2026-01-{day:02}T00:00:00Z").parse().unwrap(),
            outcome: Outcome::Passed,
            reasons: Vec::new(),
            trials: Vec::new(),
            tests: vec![test],
            runner: Map::new(),
        };
        let summary = serde_json::to_string(&summary).unwrap();
        fs::write(folder.join("summary.json"), summary).unwrap();
    }

    #[test]
    fn the_latest_that_counts_is_found_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let found = |model: &str| super::samples_per_second(root.path(), "http://a", model);
        assert_eq!(found("m"), None);
        leave(root.path(), "one", "http://a", Scenario::Offline, 5, 10.0, &[]);
        leave(root.path(), "run/a1", "http://a", Scenario::Offline, 7, 20.0, &[]);
        leave(root.path(), "other", "http://b", Scenario::Offline, 8, 30.0, &[]);
        leave(root.path(), "server", "http://a", Scenario::Server, 9, 40.0, &[]);
        leave(root.path(), "invalid", "http://a", Scenario::Offline, 10, 50.0, &["too short"]);
        leave(root.path(), "audit", "http://a", Scenario::Offline, 11, 60.0, &[]);
        let audit = root.path().join("audit/summary.json");
        let audited = fs::read_to_string(&audit).unwrap().replacen("\"audited\":false", "\"audited\":true", 1);
        assert!(audited.contains("\"audited\":true"), "{audited}");
        fs::write(&audit, audited).unwrap();
        fs::create_dir(root.path().join("broken")).unwrap();
        fs::write(root.path().join("broken/summary.json"), "{").unwrap();
        assert_eq!((found("m"), found("another")), (Some(20.0), None));
    }
}
