//! Tests of the kubectl plugin, which is used by an administrator: its checks, and the copy of a run's results folder on this machine.

use std::{fs, process::Output};

use anyhow::{Context, ensure};
use crds::status::Phase;
use e2e::{Cluster, Namespace, tools};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use serde_json::json;

use crate::runs::{SOON, simulated};

const CLAIM: &str = "storage: {pvc: {claimName: results, size: 1Gi}}";
/// The label of the pods with which the plugin copies files.
const ITS_PODS: &str = "app.kubernetes.io/managed-by=kubectl-benchwright";

/// Runs the plugin in a namespace, and asserts its exit code.
async fn plugin(namespace: &Namespace, arguments: &[&str], code: i32) -> anyhow::Result<Output> {
    let all: Vec<_> = [arguments, &["-n", &namespace.name]].concat().into_iter().map(str::to_owned).collect();
    let plugin = move || {
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        tools::plugin(&all, &tools::kubeconfig(), &std::env::temp_dir())
    };
    let output = tokio::task::spawn_blocking(plugin).await??;
    ensure!(output.status.code() == Some(code), "{arguments:?}: {output:?}");
    Ok(output)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn the_plugin_runs_follows_and_judges_a_run_and_copies_its_results() -> anyhow::Result<()> {
    let cluster = Cluster::with_operator().await?;
    let labels = [("pod-security.kubernetes.io/enforce", "restricted")];
    let namespace = Namespace::labelled(&cluster, "plugin", &labels).await?;
    let doctor = plugin(&namespace, &["doctor"], 0).await?;
    println!("{}", String::from_utf8_lossy(&doctor.stdout));

    let folder = tempfile::tempdir()?;
    let file = folder.path().join("run.yaml");
    let spec: serde_json::Value = serde_saphyr::from_str(&simulated(10.0, 5, CLAIM))?;
    let run = json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"generateName": "chat-"}, "spec": spec,
    });
    fs::write(&file, run.to_string())?;
    let file = file.to_str().context("the temporary folder's path is no UTF-8")?;
    let created = plugin(&namespace, &["run", file, "--no-wait"], 0).await?;
    let name = String::from_utf8(created.stdout)?.trim().to_owned();
    let waited = plugin(&namespace, &["wait", &name, "--timeout", "3m"], 0).await?;
    let printed = String::from_utf8(waited.stdout)?;
    ensure!(printed.starts_with(&format!("Passed: {name}")), "{printed}");
    plugin(&namespace, &["gate", &name], 0).await?;

    let into = folder.path().join("results");
    let path = into.to_str().context("the temporary folder's path is no UTF-8")?;
    let copied = plugin(&namespace, &["results", &name, path], 0).await?;
    println!("{}", String::from_utf8_lossy(&copied.stderr));
    let status = namespace.status(&name).await?;
    let job = &status.attempts.last().context("a run that ended has an attempt")?.job_name;
    let there =
        namespace.print_from_claim("results", &["show", &format!("/results/{job}"), "--file", "report.json"]).await?;
    assert_eq!(fs::read_to_string(into.join("report.json"))?, there);
    for artifact in &status.artifacts {
        assert_eq!(fs::metadata(into.join(&artifact.name))?.len(), artifact.bytes, "{}", artifact.name);
    }
    let refused = plugin(&namespace, &["results", &name, path], 3).await?;
    ensure!(String::from_utf8_lossy(&refused.stderr).contains("which is not empty"), "{refused:?}");

    plugin(&namespace, &["rerun", &name, "--as", "again", "--timeout", "3m"], 0).await?;
    let compared = plugin(&namespace, &["compare", &name, "again"], 0).await?;
    let (text, said) = (String::from_utf8(compared.stdout)?, String::from_utf8(compared.stderr)?);
    println!("{said}{text}");
    ensure!(text.contains("B against A: ") && text.contains("TTFT p50, ms"), "{text}");
    // The local copy has the same report as the claim, so the comparison has the same result.
    let of_copy = plugin(&namespace, &["compare", path, "again"], 0).await?;
    assert_eq!(String::from_utf8(of_copy.stdout)?.replace(path, &name), text);
    let same = plugin(&namespace, &["compare", path, &name, "--gate"], 3).await?;
    ensure!(String::from_utf8_lossy(&same.stderr).contains(&format!("{name}: is the same run as {path}")), "{same:?}");
    no_pod_is_left(&namespace).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn the_plugin_says_why_there_are_no_results() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "plugin-none").await?;
    namespace.create_run("chat", &simulated(10.0, 300, CLAIM)).await?;
    namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("results");
    let path = path.to_str().context("the temporary folder's path is no UTF-8")?;
    let said = async |arguments: &[&str]| -> anyhow::Result<String> {
        let output = plugin(&namespace, &[&["results", "chat", path], arguments].concat(), 3).await?;
        Ok(String::from_utf8(output.stderr)?)
    };
    let running = said(&[]).await?;
    ensure!(running.contains("has not ended"), "{running}");
    namespace.patch_run("chat", "{cancel: Graceful}").await?;
    namespace.wait_finished("chat", SOON).await?;
    let image = said(&["--image", "registry.invalid/none:1"]).await?;
    ensure!(image.contains("give an image that the cluster can pull with --image"), "{image}");
    namespace.shell_on_claim("results", "rm -r /data/*").await?;
    let gone = said(&[]).await?;
    // To mount a missing folder, the kubelet creates an empty one.
    ensure!(gone.contains("the results of chat are gone: folder chat-"), "{gone}");
    ensure!(gone.contains("on claim results was deleted or moved after the run had ended"), "{gone}");
    no_pod_is_left(&namespace).await
}

/// Waits until the pods of the plugin are gone. The plugin has deleted them, but the kubelet needs a moment to end them.
async fn no_pod_is_left(namespace: &Namespace) -> anyhow::Result<()> {
    let left = || async {
        let pods = namespace.api::<Pod>().list(&ListParams::default().labels(ITS_PODS)).await?;
        Ok(pods.items.is_empty().then_some(()))
    };
    namespace.until("the end of the plugin's pods", SOON, left).await
}
