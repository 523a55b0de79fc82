//! Tests of runs that succeed. Their figures must be the same in all places.

use anyhow::Context;
use crds::{
    BenchmarkRun, Outcome,
    benchmark_run::MAX_GENERATE_NAME_BYTES,
    status::{Columns, Phase},
};
use e2e::{Cluster, Namespace, PATIENT, tools};
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim};
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::runs::{SOON, simulated};

const CLAIM: &str = "storage: {pvc: {claimName: results, size: 1Gi}}";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_applied_run_succeeds_and_its_figures_are_those_of_its_report() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "success").await?;
    namespace.create_run("chat", &simulated(10.0, 5, CLAIM)).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Succeeded), Some(Outcome::Passed)), "{status:?}");

    let summary = status.summary.context("a run that succeeded has figures")?;
    assert_eq!((summary.requests, summary.failed, summary.cancelled), (50, 0, 0));
    let job = &status.attempts.last().context("a run that ended has an attempt")?.job_name;
    let folder = format!("/results/{job}");
    let report = namespace.print_from_claim("results", &["show", &folder, "--file", "report.json"]).await?;
    let report: serde_json::Value = serde_json::from_str(&report)?;
    assert_eq!(report["summary"], serde_json::to_value(&summary)?, "status and report differ");

    let artifact = status.artifacts.iter().find(|it| it.name == "report.json").context("report.json is listed")?;
    assert_eq!(artifact.uri, format!("pvc://results/{job}/report.json"));

    let wide = tools::kubectl(&["get", "benchmarkruns", "-o", "wide", "--namespace", &namespace.name])?;
    println!("{wide}");
    let columns = Columns::from(&summary);
    for figure in [&columns.duration, &columns.ttft_p99, &columns.itl_p99, &columns.output_tokens_per_second] {
        assert!(!figure.is_empty() && wide.contains(figure), "{figure:?} is not in\n{wide}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn the_longest_name_that_the_api_server_makes_is_one_of_a_run() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "generated").await?;
    let spec: serde_json::Value = serde_saphyr::from_str(&simulated(5.0, 2, "storage: {none: {}}"))?;
    let create = |length: usize| {
        let run = json!({
            "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
            "metadata": {"generateName": "c".repeat(length)}, "spec": spec,
        });
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), run.to_string())?;
        let path = file.path().to_str().context("the temporary folder's path is no UTF-8")?;
        tools::kubectl(&["create", "--namespace", &namespace.name, "--output", "name", "--filename", path])
    };
    let made = create(MAX_GENERATE_NAME_BYTES)?;
    let name = made.trim().strip_prefix("benchmarkrun.benchwright.dev/").context("kubectl prints the name")?;
    let status = namespace.wait_finished(name, SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    let job = &status.attempts.last().context("a run that ended has an attempt")?.job_name;
    assert!(job.starts_with(&format!("{name}-")) && job.ends_with("-a1"), "{job} of {name}");
    let refused = create(MAX_GENERATE_NAME_BYTES + 1).err().context("a name of 47 letters is accepted")?;
    assert!(format!("{refused:?}").contains("metadata.name must be at most 46"), "{refused:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_that_is_made_again_at_once_does_not_meet_its_namesake() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "again").await?;
    namespace.create_run("chat", &simulated(5.0, 300, "storage: {none: {}}")).await?;
    namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    namespace.api::<BenchmarkRun>().delete("chat", &DeleteParams::background()).await?;
    namespace.create_run("chat", &simulated(10.0, 3, "storage: {none: {}}")).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert_eq!(status.summary.map(|it| it.requests), Some(30), "it measured the load of its namesake");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_is_deleted_when_the_time_that_it_names_has_passed() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "cleanup").await?;
    let cleanup = "storage: {none: {}}\ncleanup: {run: {afterSuccessSeconds: 1}}";
    namespace.create_run("chat", &simulated(10.0, 2, cleanup)).await?;
    let runs = namespace.api::<BenchmarkRun>();
    let gone = || async { Ok(runs.get_opt("chat").await?.is_none().then_some(())) };
    namespace.until("the deletion of the run", SOON, gone).await?;
    let no_jobs = || async { Ok(namespace.jobs().await?.is_empty().then_some(())) };
    namespace.until("the deletion of its Jobs", SOON, no_jobs).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn the_jobs_of_a_run_are_deleted_and_the_run_stays() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "jobs").await?;
    let cleanup = "storage: {none: {}}\ncleanup: {jobs: {afterSuccessSeconds: 1}}";
    namespace.create_run("chat", &simulated(10.0, 2, cleanup)).await?;
    let runs = namespace.api::<BenchmarkRun>();
    let cleaned = || async { Ok(runs.get("chat").await?.status.filter(|it| it.jobs_deleted_time.is_some())) };
    let status = namespace.until("the deletion of its Jobs", SOON, cleaned).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert!(status.summary.is_some(), "{status:?}");
    assert!(namespace.jobs().await?.is_empty() && namespace.pods("chat").await?.is_empty());
    Ok(())
}

/// The run's identity in the report of its results folder.
async fn stored_run(namespace: &Namespace, name: &str) -> anyhow::Result<(String, serde_json::Value)> {
    let status = namespace.wait_finished(name, SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    let artifact = status.artifacts.iter().find(|it| it.name == "run.yaml").context("run.yaml is listed")?;
    let folder = artifact.uri.strip_prefix("pvc://results/").and_then(|it| it.strip_suffix("/run.yaml"));
    let folder = format!("/results/{}", folder.context("the folder lies on the claim")?);
    let run = namespace.print_from_claim("results", &["show", &folder, "--file", "run.yaml"]).await?;
    Ok((folder, serde_saphyr::from_str::<serde_json::Value>(&run)?["run"].clone()))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_second_run_of_a_name_has_a_folder_of_its_own() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "second").await?;
    let mut found = Vec::new();
    for _ in 0..2 {
        namespace.create_run("once", &simulated(10.0, 2, CLAIM)).await?;
        let uid = namespace.api::<BenchmarkRun>().get("once").await?.metadata.uid;
        let (folder, run) = stored_run(&namespace, "once").await?;
        assert_eq!(run["uid"].as_str().map(str::to_owned), uid, "{folder} is another run's");
        found.push(folder);
        namespace.api::<BenchmarkRun>().delete("once", &DeleteParams::background()).await?;
    }
    assert_ne!(found[0], found[1]);
    // The results folder of the first run still exists.
    namespace.print_from_claim("results", &["show", &found[0], "--file", "report.json"]).await?;
    Ok(())
}

/// A trace with a header and twelve requests within three seconds.
fn trace() -> String {
    let rows = (0..12).map(|it| format!("{},40,10\n", it * 250));
    format!("timestamp,input_length,output_length\n{}", rows.collect::<String>())
}

/// A run that replays the trace in this file.
fn replay(path: &str, files: &str) -> anyhow::Result<String> {
    let load = format!("{{trace: {{trace: {{file: {{path: {path}}}}}}}}}");
    let profile = format!("{{requests: {{random: {{input: 40, output: 10}}}}, stages: [{{load: {load}}}]}}");
    let profile = serde_json::to_string(&profile)?;
    Ok(format!(
        "target: {{simulator: {{}}}}\nharness: benchwright\nstorage: {{none: {{}}}}\n{PATIENT}\n\
         profile: {{inline: {profile}, files: [{files}]}}\n"
    ))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_trace_on_a_claim_is_replayed_and_left_as_it_is() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "trace-claim").await?;
    let claim = json!({
        "metadata": {"name": "datasets"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    namespace.api::<PersistentVolumeClaim>().create(&PostParams::default(), &serde_json::from_value(claim)?).await?;
    let look = "stat -c '%u %g %a' /data /data/prod.csv";
    // The files belong to root, to test that the launcher can read files of other users.
    let write = format!("printf %s '{}' > /data/prod.csv && {look}", trace());
    let before = namespace.shell_on_claim("datasets", &write).await?;
    assert!(before.starts_with("0 0 ") && before.lines().count() == 2, "{before}");
    namespace.create_run("replay", &replay("/data/datasets/prod.csv", "{claim: {claimName: datasets}}")?).await?;
    let status = namespace.wait_finished("replay", SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert_eq!(status.summary.map(|it| (it.requests, it.failed)), Some((12, 0)));
    assert_eq!(namespace.shell_on_claim("datasets", look).await?, before, "owner, group or mode has changed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_trace_in_a_config_map_is_replayed() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "trace").await?;
    namespace.create_run("replay", &replay("prod.csv", "{configMapRef: {name: traces, key: prod.csv}}")?).await?;
    let pending = namespace.wait_for("replay", "a reason", SOON, |it| !it.reason.is_empty()).await?;
    assert_eq!((pending.phase, pending.reason.as_str()), (Some(Phase::Pending), "ProfileNotFound"));
    let ready = pending.conditions.iter().find(|it| it.kind == "Ready").context("a condition Ready")?;
    assert!(ready.message.contains("spec.profile.files[0].configMapRef.name") && ready.message.contains("traces"));

    let map = serde_json::from_value(json!({"metadata": {"name": "traces"}, "data": {"prod.csv": trace()}}))?;
    namespace.api::<ConfigMap>().create(&PostParams::default(), &map).await?;
    let status = namespace.wait_finished("replay", SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert_eq!(status.summary.map(|it| (it.requests, it.failed)), Some((12, 0)));
    Ok(())
}
