//! `compare` follows the rules of `benchwright compare`, and reads reports that are stored on claims.

use std::fs;

use serde_json::{Value, json};

use crate::{
    plugin::Plugin,
    results::{POD_CREATION, scene, store_as},
    server::{Sent, Server},
};

/// The report of a run with one stage.
const REPORT: &str = include_str!("../../../../launcher/page/fixtures/report.json");
const NAMED: [&str; 2] = ["--figure", "tpot.mean"];

/// The report of another run, with this mean TPOT and a confidence interval of one percent around it.
fn report(run: &str, tpot: f64) -> String {
    let mut report: Value = serde_json::from_str(REPORT).unwrap();
    report["run"]["uid"] = run.into();
    let estimate = json!({"value": tpot, "low": 0.99 * tpot, "high": 1.01 * tpot, "effectiveValues": 500.0});
    report["stages"][0]["uncertainty"] = json!({"level": 0.95, "tpotMs": {"count": 500, "mean": estimate}});
    report.to_string()
}

/// Stores a finished run in the server, with this report on its claim.
fn store(server: &Server, name: &str, report: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("report.json"), report).unwrap();
    let mut stream = Vec::new();
    archive::write(folder.path(), &[], &mut stream).unwrap();
    let unpacked = tempfile::tempdir().unwrap();
    let received = archive::unpack(&stream[..], unpacked.path(), |_, _| {}).unwrap();
    store_as(server, name, |status| status["artifacts"][0]["sha256"] = received[0].sha256.clone().into());
    server.set_exec_of(&format!("{name}-results-"), vec![Sent::Stdout(stream), Sent::End(None)]);
}

/// A server with the runs `before`, `equal` and `slower`.
async fn runs() -> (Server, Plugin) {
    let (server, plugin) = scene().await;
    for (name, tpot) in [("before", 10.0), ("equal", 10.05), ("slower", 11.0)] {
        store(&server, name, &report(name, tpot));
    }
    (server, plugin)
}

/// Asserts the exit code and a part of the output. Also asserts that no pod and no file remains.
async fn assert_compares(server: &Server, plugin: &Plugin, arguments: &[&str], code: i32, part: &str) {
    let done = plugin.run(&[&["compare"], arguments].concat()).await;
    assert_eq!(done.code, Some(code), "{arguments:?}: {done:?}");
    assert!(done.stdout.contains(part) || done.stderr.contains(part), "{arguments:?}: {part:?} is not in {done:?}");
    assert!(server.pods().is_empty(), "{:?}", server.pods());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_the_cluster_are_compared_as_folders_are() {
    let (server, plugin) = runs().await;
    for (other, gate, code) in
        [("equal", "--gate", 0), ("slower", "--gate", 1), ("slower", "--gate=5%", 1), ("slower", "--gate=20", 0)]
    {
        let all = [&["before", other, gate][..], &NAMED].concat();
        assert_compares(&server, &plugin, &all, code, "TPOT mean, ms").await;
    }
    assert_compares(&server, &plugin, &["before", "slower", "--gate"], 1, "is worse: +10.0 %").await;
    assert_compares(&server, &plugin, &["before", "slower"], 0, "B against A").await;
    assert_compares(&server, &plugin, &["before", "equal", "slower"], 0, "C against A").await;
    let asked = server.requests("GET /api/v1/namespaces/bench/pods/before-results-");
    assert!(!asked.is_empty());
    // The plugin requests only the report.
    assert!(server.has_requested("command=--file&command=report.json"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_compared_with_a_folder_of_this_machine() {
    let (server, plugin) = runs().await;
    fs::create_dir(plugin.path("results")).unwrap();
    plugin.file("results/report.json", &report("here", 10.0));
    let all =
        ["results/", "slower", "--gate", "--json", "diff.json", "--markdown", "comment.md", "--html", "diff.html"];
    assert_compares(&server, &plugin, &all, 1, "TPOT mean, ms").await;
    let json: Value = serde_json::from_str(&fs::read_to_string(plugin.path("diff.json")).unwrap()).unwrap();
    assert_eq!((&json["runs"][0]["path"], &json["runs"][1]["path"]), (&json!("results/"), &json!("slower")));
    assert!(fs::read_to_string(plugin.path("comment.md")).unwrap().contains("### B against A"));
    assert!(fs::read_to_string(plugin.path("diff.html")).unwrap().starts_with("<!doctype html>"));
    // A comparison of two local files needs no cluster.
    fs::remove_file(plugin.path("kubeconfig")).unwrap();
    plugin.file("other.json", &report("there", 10.0));
    assert_compares(&server, &plugin, &["results/report.json", "./other.json"], 0, "B against A").await;
    assert_compares(&server, &plugin, &["results/report.json", "slower"], 10, "no cluster to connect to").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_compared_is_said_at_once_and_makes_no_pod() {
    let (server, plugin) = runs().await;
    fs::create_dir(plugin.path("chit")).unwrap();
    store_as(&server, "going", |status| status["phase"] = json!("Running"));
    store_as(&server, "series", |status| status["effectiveSpec"]["repeat"] = json!(3));
    let all = ["compare", "before", "chit", "going", "series", "before", "./none", "--gate", "5%"];
    let done = plugin.run(&all).await;
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{done:?}");
    for problem in [
        "benchmarkruns chit does not exist in namespace bench",
        "; to compare the folder chit here, write ./chit",
        "going has not ended",
        "series is a series of 3 runs, each with a report of its own",
        "before: is given twice; give another run",
        "./none: No such file or directory",
        "for the gate write --gate=5%",
    ] {
        assert!(done.stderr.contains(problem), "{problem:?} is not in {}", done.stderr);
    }
    assert_eq!(done.stderr.lines().count(), 6, "{}", done.stderr);
    assert_compares(&server, &plugin, &["before", "none"], 10, "none does not exist in namespace bench").await;
    assert_compares(&server, &plugin, &["before"], 10, "the number of runs is 1; give 2 to 26, the base first").await;
    assert_compares(&server, &plugin, &["before", "slower", "--figure", "ttft.p90"], 10, "--gate").await;
    assert!(server.requests(POD_CREATION).is_empty());
    // A run may be compared with a copy of its report on this machine.
    plugin.file("copy.json", &report("slower", 11.0));
    assert_compares(&server, &plugin, &["./copy.json", "slower"], 10, "slower: is the same run as ./copy.json").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_cannot_be_copied_ends_the_command_with_the_code_of_the_gate() {
    let (server, plugin) = runs().await;
    store_as(&server, "slower", |status| status["artifacts"][0]["sha256"] = json!("00"));
    let part = "differs from what the launcher of slower stored: report.json differs; --unverified";
    assert_compares(&server, &plugin, &["before", "slower"], 10, part).await;
    assert_compares(&server, &plugin, &["before", "slower", "--gate"], 3, part).await;
    assert_compares(&server, &plugin, &["before", "slower", "--gate", "--unverified"], 1, "TPOT mean, ms").await;
    server.set_exec_of("equal-results-", vec![Sent::Silence]);
    assert_compares(&server, &plugin, &["before", "equal", "--timeout", "1s"], 124, "within --timeout 1s").await;
    store(&server, "older", &report("older", 10.0).replace("benchwright.dev/report/v", "benchwright.dev/report/v9"));
    let unread = "older: format is benchwright.dev/report/v9";
    assert_compares(&server, &plugin, &["before", "older"], 10, unread).await;
}
