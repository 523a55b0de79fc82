//! Tests of sweeps on a real API server: the definition with its rules, an operator that is killed in the middle, wrong sweeps, and what a
//! sweep's author may name.

use std::time::Duration;

use anyhow::Context as _;
use crds::{
    BenchmarkRun, BenchmarkSweep, Reason,
    benchmark_sweep::status::{BenchmarkSweepStatus, SweepPhase},
};
use e2e::{
    Cluster, Namespace,
    control_plane::{
        ControlPlane,
        operator::{Operator, alone},
        runs,
    },
    tools,
};
use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams},
};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(120);

fn path(namespace: &Namespace) -> String {
    format!("/apis/benchwright.dev/v1alpha1/namespaces/{}/benchmarksweeps", namespace.name)
}

/// A sweep of two shapes and two rates against the simulator. The pod of each run ends after two seconds.
fn sweep(name: &str, more: &Value) -> Value {
    let mut spec = json!({
        "runTemplate": {"metadata": {"labels": {"team": "serving"}}, "spec": {
            "target": {"simulator": {}}, "profile": {"name": "sanity_random"}, "storage": {"none": {}},
            "launcher": {"annotations": {"scale.benchwright.dev/duration": "2s"}},
        }},
        "factors": [
            {"name": "lag", "levels": [{"name": "strict", "set": {"validity.maxErrorRatio": 0.01}}, {"name": "any"}]},
            {"name": "rate", "field": "profile.variables.rate", "values": [2, 5]},
        ],
        "repeats": 1,
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkSweep", "metadata": {"name": name}, "spec": spec,
    })
}

async fn start(plane: &ControlPlane, user: &str, namespace: &Namespace) -> anyhow::Result<Operator> {
    let mut flags = alone()?;
    flags.extend(["--watch-namespace".to_owned(), namespace.name.clone()]);
    let mut operator = Operator::start(plane, user, "sweeps", &flags)?;
    operator.wait_ready(SOON).await?;
    Ok(operator)
}

async fn until_run_exists(namespace: &Namespace, name: &str) -> anyhow::Result<BenchmarkRun> {
    let look = || async { Ok(namespace.api::<BenchmarkRun>().get_opt(name).await?) };
    namespace.until(name, SOON, look).await
}

async fn until(
    namespace: &Namespace,
    name: &str,
    what: &str,
    is: impl Fn(&BenchmarkSweepStatus) -> bool,
) -> anyhow::Result<BenchmarkSweepStatus> {
    let look = || async {
        let status = namespace.api::<BenchmarkSweep>().get(name).await?.status.unwrap_or_default();
        Ok(is(&status).then_some(status))
    };
    namespace.until(&format!("{name}: {what}"), SOON, look).await
}

fn has_reason(status: &BenchmarkSweepStatus, kind: &str, reason: Reason) -> bool {
    status.conditions.iter().any(|it| it.kind == kind && it.reason == reason)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make sweeps"]
async fn an_operator_that_is_killed_twice_runs_each_cell_once() -> anyhow::Result<()> {
    let plane = ControlPlane::connect().await?;
    let namespace = Namespace::new(&Cluster { client: plane.client.clone() }, "sweep").await?;
    let begin = plane.audit_end()?;
    runs::create(&plane.client, &path(&namespace), &sweep("rates", &json!({}))).await?;
    let first = start(&plane, "operator-a", &namespace).await?;
    until_run_exists(&namespace, "rates-c2-r1").await?;
    first.kill().await?;
    // A user removes the label of a finished run, so that the list of the sweep's runs does not contain it.
    let unlabelled = json!({"metadata": {"labels": {"benchwright.dev/sweep": null}}});
    runs::merge(&plane.client, &format!("{}/rates-c1-r1", runs::runs_path(&namespace.name)), &unlabelled).await?;
    // The run ends while no operator is there.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let second = start(&plane, "operator-b", &namespace).await?;
    until_run_exists(&namespace, "rates-c3-r1").await?;
    second.kill().await?;
    // The status is lost as well.
    let lost = json!({"status": {"observedGeneration": -1, "phase": null, "progress": null, "cells": null, "conditions": null}});
    runs::merge(&plane.client, &format!("{}/rates/status", path(&namespace)), &lost).await?;
    let _third = start(&plane, "operator-a", &namespace).await?;
    let status = until(&namespace, "rates", "the end", |it| it.completion_time.is_some()).await?;
    assert_eq!((status.phase, status.progress.as_deref()), (Some(SweepPhase::Succeeded), Some("4/4")), "{status:?}");
    assert!(has_reason(&status, "Ready", Reason::SweepSucceeded) && status.conditions.len() == 1, "{status:?}");
    assert!(status.cells.iter().all(|it| it.runs == 1 && it.failed == 0), "{status:?}");

    let labelled = ListParams::default().labels("benchwright.dev/sweep=rates,team=serving");
    let mut found = namespace.api::<BenchmarkRun>().list(&labelled).await?.items;
    found.sort_by_key(ResourceExt::name_any);
    let names: Vec<String> = found.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["rates-c1-r1", "rates-c2-r1", "rates-c3-r1", "rates-c4-r1"]);
    for pair in found.windows(2) {
        let end = pair[0].status.as_ref().and_then(|it| it.completion_time).context("it has ended")?;
        let next = pair[1].creation_timestamp().context("it exists")?.0;
        // Both times are whole seconds.
        assert!(
            end.as_second() <= next.as_second() + 1,
            "{} overlaps the run after it: {end} > {next}",
            pair[0].name_any()
        );
    }
    assert!(found.iter().all(|it| it.status.as_ref().is_some_and(|it| it.attempts.len() == 1)));
    let writes = plane.audit_since(begin)?;
    let created = writes
        .iter()
        .filter(|it| it.namespace == namespace.name && it.resource == "benchmarkruns" && it.verb == "create");
    let codes: Vec<u64> = created.map(|it| it.code).collect();
    assert_eq!(codes.iter().filter(|it| **it == 201).count(), 4, "{codes:?}");
    assert!(codes.iter().all(|it| [201, 409].contains(it)), "{codes:?}");
    let denied: Vec<_> = writes.iter().filter(|it| it.code == 403).collect();
    assert!(denied.is_empty(), "{denied:?}");

    let table = tools::kubectl(&["get", "bmsw", "rates", "-n", &namespace.name, "-o", "wide"])?;
    let described = tools::kubectl(&["describe", "bmsw", "rates", "-n", &namespace.name])?;
    println!("{table}\n{described}");
    for part in ["PHASE", "RUNS", "FAILED", "CURRENT", "Succeeded", "4/4", "all 4 runs have valid figures"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    for part in ["lag=strict,rate=2", "SweepSucceeded", "RunStarted", "started run rates-c1-r1: lag=strict,rate=2"] {
        assert!(described.contains(part), "{part}: {described}");
    }
    let explained = tools::kubectl(&["explain", "benchmarksweep.spec.factors"])?;
    assert!(explained.contains("The first factor varies slowest"), "{explained}");

    // After the end, a deleted run is not run again.
    namespace.api::<BenchmarkRun>().delete("rates-c1-r1", &DeleteParams::background()).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(namespace.api::<BenchmarkRun>().get_opt("rates-c1-r1").await?.is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make sweeps"]
async fn a_wrong_sweep_stalls_with_field_value_and_remedy() -> anyhow::Result<()> {
    let plane = ControlPlane::connect().await?;
    let namespace = Namespace::new(&Cluster { client: plane.client.clone() }, "wrong").await?;
    let _operator = start(&plane, "operator-a", &namespace).await?;
    let factor = |name: &str, levels: usize| {
        let values: Vec<usize> = (0..levels).collect();
        json!({"name": name, "field": format!("profile.variables.{name}"), "values": values})
    };
    let huge = json!({"factors": [factor("a", 50), factor("b", 50), factor("c", 40)]});
    let of_secret = json!({"factors": [{"name": "token", "levels": [
        {"name": "theirs", "set": {"target.auth.secretKeyRef.name": "other", "target.auth.secretKeyRef.key": "a"}},
    ]}]});
    let typo = json!({"factors": [{"name": "a", "field": "target.ulr", "values": ["http://h"]}]});
    let both = json!({"factors": [{"name": "a", "field": "target.url", "values": ["http://h"]}]});
    let kept =
        json!({"runTemplate": {"spec": {"target": {"simulator": {}}, "cleanup": {"run": {"afterSuccessSeconds": 5}}}}});
    for (name, more, parts) in [
        ("huge", huge, ["spec.factors: have 100000 combinations", "use fewer levels: at most 256 cells can run"]),
        (
            "level",
            json!({"baseline": {"rate": 3}}),
            ["spec.baseline.rate: is 3, which is no level of rate", "did you mean 2?"],
        ),
        (
            "secret",
            of_secret,
            ["spec.factors[0]: cell token=theirs: target.auth.secretKeyRef.name is \"other\"", "set its key instead"],
        ),
        ("typo", typo, ["cell a=http---h: spec.target.ulr", "did you mean url?"]),
        ("both", both, ["cell a=http---h: spec.target", "simulator"]),
        ("kept", kept, ["spec.runTemplate.spec.cleanup.run: deletes finished runs", "take it out"]),
    ] {
        runs::create(&plane.client, &path(&namespace), &sweep(name, &more)).await?;
        let status = until(&namespace, name, "Stalled", |it| has_reason(it, "Stalled", Reason::InvalidSpec)).await?;
        let message = status.conditions.iter().find(|it| it.kind == "Stalled").map(|it| it.message.as_str());
        let message = message.context("it is Stalled")?;
        println!("{name}: {message}");
        assert!(parts.iter().all(|it| message.contains(it)), "{name}: {message}");
        assert_eq!(status.phase, Some(SweepPhase::Failed));
    }
    assert!(namespace.api::<BenchmarkRun>().list(&ListParams::default()).await?.items.is_empty());
    runs::create(&plane.client, &runs::runs_path(&namespace.name), &runs::suspended("taken-c1-r1")).await?;
    runs::create(&plane.client, &path(&namespace), &sweep("taken", &json!({}))).await?;
    let status = until(&namespace, "taken", "Stalled", |it| has_reason(it, "Stalled", Reason::NameConflict)).await?;
    assert_eq!((status.phase, status.progress.as_deref()), (Some(SweepPhase::Running), Some("0/4")), "{status:?}");
    // This control plane has no controller that fills the status of a quota.
    let hard = json!({"count/benchmarkruns.benchwright.dev": "1"});
    let quota =
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "runs"}, "spec": {"hard": hard}});
    let quotas = format!("/api/v1/namespaces/{}/resourcequotas", namespace.name);
    runs::create(&plane.client, &quotas, &quota).await?;
    let full = json!({"status": {"hard": hard, "used": hard}});
    runs::merge(&plane.client, &format!("{quotas}/runs/status"), &full).await?;
    let refused = || async {
        let path = runs::runs_path(&namespace.name);
        let probe = runs::create(&plane.client, &path, &runs::suspended("probe")).await;
        if probe.is_ok() {
            namespace.api::<BenchmarkRun>().delete("probe", &DeleteParams::background()).await?;
            runs::merge(&plane.client, &format!("{quotas}/runs/status"), &full).await?;
        }
        Ok(probe.err())
    };
    namespace.until("the quota has an effect", SOON, refused).await?;
    runs::create(&plane.client, &path(&namespace), &sweep("quota", &json!({}))).await?;
    let status = until(&namespace, "quota", "Stalled", |it| has_reason(it, "Stalled", Reason::StartRefused)).await?;
    assert!(status.conditions.iter().any(|it| it.message.contains("exceeded quota: runs")), "{status:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make sweeps"]
async fn the_cells_of_a_sweep_are_immutable_and_its_pace_is_not() -> anyhow::Result<()> {
    let plane = ControlPlane::connect().await?;
    let namespace = Namespace::new(&Cluster { client: plane.client.clone() }, "fixed").await?;
    let path = path(&namespace);
    let refused = async |name: &str, more: &Value| {
        let created = runs::create(&plane.client, &path, &sweep(name, more)).await;
        created.err().map(|it| it.to_string()).unwrap_or_default()
    };
    // The largest sweep that the schema accepts: the rules that compare it with its stored version must not exceed the budget.
    let levels = |prefix: usize| -> Vec<Value> {
        let set = |level: usize| -> serde_json::Map<String, Value> {
            (0..32).map(|it| (format!("profile.variables.f{prefix}-{it}"), json!(format!("{level}")))).collect()
        };
        (0..64).map(|it| json!({"name": format!("l{it}"), "set": set(it)})).collect()
    };
    let factors: Vec<Value> = (0..8).map(|it| json!({"name": format!("f{it}"), "levels": levels(it)})).collect();
    let selections: Vec<Value> = (0..256).map(|it| json!({"f0": format!("l{}", it % 64), "f1": "l1"})).collect();
    let largest = json!({"factors": factors, "exclude": selections, "only": selections, "baseline": {"f0": "l1"}, "suspend": true});
    assert_eq!(refused("largest", &largest).await, "");
    runs::merge(&plane.client, &format!("{path}/largest"), &json!({"spec": {"suspend": false}})).await?;
    let long = "x".repeat(35);
    let message = refused(&long, &json!({})).await;
    assert!(message.contains("metadata.name must be at most 34 letters"), "{message}");
    let nested = json!({"factors": [{"name": "a", "field": "target", "values": [{"url": "http://h"}]}]});
    assert_ne!(refused("nested", &nested).await, "", "a value is a text, a number or a boolean");

    runs::create(&plane.client, &path, &sweep("plain", &json!({"suspend": true}))).await?;
    let change = async |spec: Value| {
        let patch = json!({"spec": spec});
        let changed = runs::merge(&plane.client, &format!("{path}/plain"), &patch).await;
        changed.err().map(|it| it.to_string()).unwrap_or_default()
    };
    for spec in [
        json!({"repeats": 2}),
        json!({"order": "Random"}),
        json!({"factors": [{"name": "rate", "field": "profile.variables.rate", "values": [2]}]}),
        json!({"runTemplate": {"spec": {"seed": 7}}}),
        json!({"exclude": [{"rate": 2}]}),
    ] {
        let message = change(spec.clone()).await;
        assert!(message.contains("a sweep keeps its cells and their order"), "{spec}: {message}");
    }
    let pace = json!({"attempts": 2, "onFailure": "Stop", "cooldownSeconds": 5, "budgetSeconds": 600});
    assert_eq!(change(pace).await, "");
    Ok(())
}

/// The sweeps of a hostile tenant: 256 cells each, with a template of 280 KB. They are checked before their first run, and are then suspended.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make sweeps"]
async fn large_sweeps_of_a_tenant_do_not_exceed_the_operators_memory() -> anyhow::Result<()> {
    const SWEEPS: usize = 16;
    const MEMORY_LIMIT: u64 = 256 * 1024;
    let plane = ControlPlane::connect().await?;
    let cluster = Cluster { client: plane.client.clone() };
    let (hostile, other) = (Namespace::new(&cluster, "large").await?, Namespace::new(&cluster, "small").await?);
    let texts: serde_json::Map<String, Value> =
        (0..60).map(|it| (format!("load.stages.{it}.rate"), json!("9".repeat(1_000)))).collect();
    let template = json!({"metadata": {}, "spec": {
        "target": {"simulator": {}}, "storage": {"none": {}},
        "profile": {"inline": "x".repeat(32_000), "overrides": texts, "variables": texts},
        "launcher": {"annotations": (0..32).map(|it| (format!("a{it}"), json!("v".repeat(1_000)))).collect::<serde_json::Map<_, _>>()},
    }});
    let factor = |name: &str| json!({"name": name, "field": format!("profile.variables.{name}"), "values": (0..16).collect::<Vec<_>>()});
    let more = json!({"runTemplate": template, "factors": [factor("a"), factor("b")], "suspend": true});
    for number in 0..SWEEPS {
        runs::create(&plane.client, &path(&hostile), &sweep(&format!("large-{number}"), &more)).await?;
    }
    let mut operator = Operator::start(&plane, "operator-a", "sweeps", &alone()?)?;
    operator.wait_ready(SOON).await?;
    let began = std::time::Instant::now();
    runs::create(&plane.client, &path(&other), &sweep("small", &json!({}))).await?;
    until_run_exists(&other, "small-c1-r1").await?;
    let waited = began.elapsed();
    for number in 0..SWEEPS {
        until(&hostile, &format!("large-{number}"), "a status", |it| it.phase.is_some()).await?;
    }
    let all = began.elapsed();
    let memory = operator.memory()?;
    println!(
        "{SWEEPS} large sweeps: checked in {all:?}; the sweep of another tenant starts after {waited:?}; {memory:?}"
    );
    let status = until(&hostile, "large-0", "a status", |it| it.phase.is_some()).await?;
    println!(
        "{:?} {:?}",
        status.phase,
        status.conditions.first().map(|it| it.message.chars().take(300).collect::<String>())
    );
    assert!(memory.peak < MEMORY_LIMIT, "{memory:?}");
    Ok(())
}
