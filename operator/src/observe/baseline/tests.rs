use crds::{BenchmarkRunSpec, BenchmarkRunStatus};
use serde_json::{Value, json};

use super::*;

/// A finished run with its results on a claim.
fn earlier(change: impl Fn(&mut Value)) -> BenchmarkRun {
    let spec: BenchmarkRunSpec = serde_json::from_value(json!({"target": {"simulator": {}}})).unwrap();
    let effective = crds::EffectiveSpec::new(&spec, "", &crds::Settings::default());
    let mut status = json!({
        "phase": "Succeeded",
        "outcome": "Passed",
        "effectiveSpec": effective,
        "attempts": [{"number": 2, "jobName": "before-2db482-a2", "startTime": "2026-01-02T03:04:05Z"}],
        "artifacts": [{"name": "report.json", "uri": "pvc://workload-pvc/../../etc/report.json", "bytes": 1, "sha256": ""}],
        "conditions": [{
            "type": "ResultsStored", "status": "True", "reason": "Stored", "message": "in ../../etc",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }],
    });
    change(&mut status);
    let status: BenchmarkRunStatus = serde_json::from_value(status).unwrap();
    let mut run = BenchmarkRun::new("before", spec);
    run.status = Some(status);
    run
}

fn later(claim: &str) -> BenchmarkRun {
    let spec = json!({
        "target": {"simulator": {}},
        "storage": {"pvc": {"claimName": claim}},
        "slo": {
            "objectives": [{"name": "a", "metric": "errorRatio", "max": 1}],
            "baseline": {"runRef": "before"},
        },
    });
    BenchmarkRun::new("after", serde_json::from_value(spec).unwrap())
}

#[test]
fn the_report_lies_in_the_folder_of_the_job_and_not_where_a_launcher_said() {
    let found = report(&later("workload-pvc"), "before", Some(&earlier(|_| {})));
    assert_eq!(found, Ok(Earlier { report: "/results/before-2db482-a2/report.json".into(), sha256: None }));
    let recorded = earlier(|it| it["artifacts"][0]["sha256"] = "ab12".into());
    let found = report(&later("workload-pvc"), "before", Some(&recorded)).unwrap();
    assert_eq!(found.sha256.as_deref(), Some("ab12"));
}

#[test]
fn a_result_of_an_earlier_attempt_lies_in_the_folder_of_that_attempt() {
    let run = earlier(|it| {
        let attempt = |number| json!({"number": number, "jobName": format!("before-2db482-a{number}"), "startTime": "2026-01-02T03:04:05Z"});
        it["attempts"] = json!([attempt(1), attempt(2)]);
        it["artifacts"][0]["uri"] = json!("pvc://workload-pvc/before-2db482-a1/report.json");
    });
    let found = report(&later("workload-pvc"), "before", Some(&run));
    assert_eq!(found.map(|it| it.report), Ok("/results/before-2db482-a1/report.json".into()));
}

#[test]
fn a_run_that_collected_has_the_folder_that_it_named() {
    let mut run = earlier(|_| {});
    run.spec.execution.collect = Some(crds::benchmark_run::Collect { folder: "first-0a1b2c-a1".into() });
    let found = report(&later("workload-pvc"), "before", Some(&run));
    assert_eq!(found.map(|it| it.report), Ok("/results/first-0a1b2c-a1/report.json".into()));
}

#[test]
fn a_run_that_cannot_be_compared_with_says_why_and_what_to_do() {
    let check = |found: Option<&BenchmarkRun>, claim: &str, expected: &str| {
        let error = report(&later(claim), "before", found).unwrap_err();
        let begin = "spec.slo.baseline.runRef: is \"before\", ";
        assert!(error.starts_with(begin) && error.contains(expected), "{error:?} does not hold {expected:?}");
    };
    check(None, "workload-pvc", "no such BenchmarkRun");
    check(Some(&earlier(|it| it["phase"] = "Running".into())), "workload-pvc", "has not finished");
    check(Some(&earlier(|it| it["outcome"] = "Invalid".into())), "workload-pvc", "ended Invalid");
    check(Some(&earlier(|it| it["partial"] = true.into())), "workload-pvc", "do not count");
    check(Some(&earlier(|it| it["conditions"][0]["status"] = "False".into())), "workload-pvc", "left no results");
    check(Some(&earlier(|it| it["attempts"] = json!([]))), "workload-pvc", "left no results");
    check(Some(&earlier(|it| it["effectiveSpec"]["repeat"] = 3.into())), "workload-pvc", "has 3 repeats");
    check(Some(&earlier(|_| {})), "results", "set storage.pvc.claimName to workload-pvc");
    let in_bucket = |it: &mut Value| {
        it["effectiveSpec"]["storage"]["s3"] = json!({
            "bucket": "bench", "endpoint": "http://minio:9000", "region": "us-east-1", "uploadTimeoutSeconds": 600,
        });
    };
    check(Some(&earlier(in_bucket)), "workload-pvc", "are in a bucket");
    let itself = BenchmarkRun::new("before", later("workload-pvc").spec);
    assert!(report(&itself, "before", Some(&earlier(|_| {}))).unwrap_err().contains("the run itself"));
}
