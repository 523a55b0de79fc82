//! Tests `index.html`, the page of all runs in a folder.

use std::{fs, path::Path, thread};

use report::{
    Attachments, Folder, Stored,
    index::{self, Rebuilt},
};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Stores the results of the fixture in a folder below a root.
fn store(root: &Path, name: &str, fixture: &Fixture) -> Stored {
    let analysed = fixture.analyse();
    let report = fixture.report(&analysed);
    let mut folder = Folder::create(root, name).unwrap();
    report::write_report(&mut folder, &report, &report.document().unwrap(), &Attachments::default(), None).unwrap();
    let stored = folder.finish().unwrap();
    index::add(root, &report.document().unwrap(), &stored).unwrap();
    stored
}

/// The rows in the order in which the page shows them: the newest first.
fn rows(root: &Path) -> Vec<Value> {
    let page = fs::read_to_string(root.join("index.html")).unwrap();
    let (_, data) = page.split_once("data-format=\"benchwright.dev/index/v1\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

fn folders(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|it| it["folder"].as_str().unwrap()).collect()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_run_is_a_row_with_the_figures_of_its_report() {
    let root = tempfile::tempdir().unwrap();
    store(root.path(), "chat/a1", &Fixture::new());
    let rows = rows(root.path());
    assert_eq!(folders(&rows), ["chat/a1"]);
    assert_eq!(rows[0]["page"], "report.md");
    let (run, json) = (&rows[0]["run"], fs::read_to_string(root.path().join("chat/a1/report.json")).unwrap());
    let json: Value = serde_json::from_str(&json).unwrap();
    for (found, expected) in [
        (&run["name"], &json["run"]["name"]),
        (&run["model"], &json["model"]),
        (&run["outcome"], &json["outcome"]),
        (&run["started"], &json["started"]),
        (&run["requests"], &json["figures"]["requests"]),
        (&run["ttftP50Ms"][0], &json["stages"][1]["figures"]["ttftMs"]["p50"]),
        (&run["ttftP50Ms"][1], &json["stages"][0]["figures"]["ttftMs"]["p50"]),
    ] {
        assert_eq!(found, expected);
    }
    assert_eq!((&run["unanswered"], &run["stages"]), (&1.into(), &"r10, c2".into()));
    assert_eq!(run["target"], "http://gateway.llm-d:80");
    let curve = run["curve"].as_array().unwrap();
    assert!(curve.contains(&100.into()) && curve.len() <= 32, "{curve:?}");
}

#[test]
fn an_update_reads_what_is_new_or_changed_and_forgets_what_is_gone() {
    let root = tempfile::tempdir().unwrap();
    for name in ["one", "two", "three"] {
        write(root.path(), &format!("{name}/report.json"), &run_json(name, "2026-01-01T00:00:00Z"));
    }
    let rebuilt = |read, rows| Rebuilt { rows, read, unread: 0, left_out: 0 };
    assert_eq!(index::rebuild(root.path()).unwrap(), rebuilt(3, 3));
    assert_eq!(index::rebuild(root.path()).unwrap(), rebuilt(0, 3));
    write(root.path(), "two/report.json", &run_json("renamed", "2026-01-02T00:00:00Z"));
    fs::remove_dir_all(root.path().join("three")).unwrap();
    write(root.path(), "one/report.html", "<!DOCTYPE html>");
    assert_eq!(index::rebuild(root.path()).unwrap(), rebuilt(1, 2));
    let rows = rows(root.path());
    assert_eq!(folders(&rows), ["two", "one"]);
    assert_eq!((&rows[0]["run"]["name"], &rows[1]["page"]), (&"renamed".into(), &"report.html".into()));
    // A damaged page is rewritten.
    fs::write(root.path().join("index.html"), "half a pa").unwrap();
    assert_eq!(index::rebuild(root.path()).unwrap(), rebuilt(2, 2));
}

fn run_json(name: &str, started: &str) -> String {
    let mut report: Value = serde_json::from_str(include_str!("../../../page/fixtures/report.json")).unwrap();
    report["run"]["name"] = name.into();
    report["started"] = started.into();
    report.to_string()
}

#[test]
fn broken_foreign_older_and_newer_folders_are_no_error() {
    let root = tempfile::tempdir().unwrap();
    let good = run_json("good", "2026-01-01T00:00:00Z");
    for (path, text) in [
        ("good/report.json", good.as_str()),
        ("half/report.json", &good[..good.len() / 2]),
        ("empty/report.json", ""),
        ("binary/report.json", "\u{0}\u{1}\u{2}"),
        ("array/report.json", "[1, 2]"),
        ("foreign/report.json", r#"{"format": "other/v1", "results": []}"#),
        ("typed/report.json", r#"{"format": "benchwright.dev/report/v1", "run": 3}"#),
        ("old/report.json", r#"{"format": "benchwright.dev/report/v1", "outcome": "Passed"}"#),
        (
            "new/report.json",
            r#"{"format": "benchwright.dev/report/v9", "toolVersion": "9.0.0", "outcome": "Splendid", "new": {"figures": [1]}}"#,
        ),
        ("killed.partial/run.yaml", ""),
        (
            "repeated/repeats.json",
            r#"{"format": "benchwright.dev/repeats/v1", "run": {"name": "r"}, "model": "m", "outcome": "Invalid", "runs": [{"started": "2026-01-01T00:00:00Z"}, {}], "stages": []}"#,
        ),
        ("repeated/1/report.json", &good),
        ("photos/cat.jpg", ""),
        ("notes.txt", ""),
    ] {
        write(root.path(), path, text);
    }
    fs::create_dir(root.path().join("folder-for-a-report")).unwrap();
    fs::create_dir(root.path().join("folder-for-a-report/report.json")).unwrap();
    std::os::unix::fs::symlink("good", root.path().join("latest")).unwrap();
    let stored = store(root.path(), "now", &Fixture::new());
    assert!(stored.path.join("report.json").is_file());
    let rows = rows(root.path());
    let of = |folder: &str| rows.iter().find(|it| it["folder"] == folder).unwrap_or_else(|| panic!("{folder}"));
    for folder in
        ["half", "empty", "binary", "array", "foreign", "typed", "old", "new", "killed.partial", "folder-for-a-report"]
    {
        let row = of(folder);
        assert!(row["problem"].is_string() && row.get("run").is_none(), "{row}");
    }
    for (folder, outcome) in [("good", "Passed"), ("repeated", "Invalid"), ("repeated/1", "Passed")] {
        assert_eq!(of(folder)["run"]["outcome"], outcome);
    }
    let problem = |folder: &str| of(folder)["problem"].as_str().unwrap().to_owned();
    assert!(problem("foreign").contains("not a report.json"), "{}", problem("foreign"));
    assert!(
        problem("new").contains("format is benchwright.dev/report/v9, but this program reads"),
        "{}",
        problem("new")
    );
    let repeated = &of("repeated")["run"];
    assert_eq!((&repeated["name"], &repeated["remark"]), (&"r".into(), &"2 runs of one load".into()));
    assert_eq!(of("killed.partial")["kind"], "unfinished");
    assert_eq!(rows.len(), 14, "{:?}", folders(&rows));
    let page = fs::read_to_string(root.path().join("index.html")).unwrap();
    assert!(page.contains("<p>One folder has no row, because benchwright did not write it.</p>"), "{page}");
}

#[test]
fn the_verdicts_of_loadgen_tests_are_told() {
    let root = tempfile::tempdir().unwrap();
    let mut report: Value = serde_json::from_str(&run_json("mlperf", "2026-01-01T00:00:00Z")).unwrap();
    let test = |scenario: &str, result: &str| {
        json!({
            "folder": scenario, "scenario": scenario, "mode": "PerformanceOnly", "audited": false, "result": result,
            "errors": 0, "warnings": 0,
        })
    };
    let tests = [test("Server", "VALID"), test("Offline", "INVALID")];
    report["loadgen"] = json!({"benchmark": "llama2-70b", "round": "v6.1", "tests": tests});
    write(root.path(), "mlperf/report.json", &report.to_string());
    index::rebuild(root.path()).unwrap();
    assert_eq!(rows(root.path())[0]["run"]["remark"], "Server VALID, Offline INVALID");
}

#[test]
fn two_launchers_that_end_at_once_both_have_rows() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path();
    thread::scope(|scope| {
        for launcher in 0..4 {
            scope.spawn(move || {
                for run in 0..3 {
                    store(path, &format!("run-{launcher}-{run}"), &Fixture::of_one_stage());
                }
            });
        }
    });
    assert_eq!(rows(path).len(), 12);
    let lines = fs::read_to_string(path.join("index.md")).unwrap();
    assert_eq!(lines.lines().filter(|it| it.starts_with("| [run-")).count(), 12, "{lines}");
    assert_eq!(lines.matches("# Runs").count(), 1);
}

#[test]
fn a_hostile_name_does_not_leave_the_data_of_the_page() {
    let root = tempfile::tempdir().unwrap();
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    write(root.path(), "bad/report.json", &run_json(hostile, "2026-01-01T00:00:00Z"));
    // A folder name cannot contain a slash.
    write(root.path(), "<img src=x onerror=alert(1)>/report.json", &run_json("a", "2026-01-01T00:00:00Z"));
    index::rebuild(root.path()).unwrap();
    let page = fs::read_to_string(root.path().join("index.html")).unwrap();
    assert_eq!(page.matches("<script").count(), 2, "the data and the script of the page");
    assert!(!page.contains("<img"), "{page}");
    let rows = rows(root.path());
    assert!(rows.iter().any(|it| it["run"]["name"] == hostile), "{rows:?}");
}

#[test]
fn a_page_has_a_bound_on_its_rows() {
    let root = tempfile::tempdir().unwrap();
    for index in 0..10_003 {
        fs::create_dir(root.path().join(format!("{index:05}.partial"))).unwrap();
    }
    let rebuilt = index::rebuild(root.path()).unwrap();
    assert_eq!((rebuilt.rows, rebuilt.left_out), (10_000, 3));
    let page = fs::read_to_string(root.path().join("index.html")).unwrap();
    assert!(page.contains("The 3 oldest folders have no row"), "it is said");
    assert_eq!(rows(root.path()).len(), 10_000);
}

#[test]
fn the_policy_of_the_page_allows_its_own_style_and_script_alone() {
    let root = tempfile::tempdir().unwrap();
    index::rebuild(root.path()).unwrap();
    let page = fs::read_to_string(root.path().join("index.html")).unwrap();
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(rows(root.path()), Vec::<Value>::new());
}
