//! Tests with a real Flux: source-controller, kustomize-controller and helm-controller install the chart and apply runs from a Git repository on this
//! machine. `gitops/flux.md` lists what they report in each phase.

use std::{fs, process::Command, time::Duration};

use anyhow::{Context as _, bail, ensure};
use crds::{BenchmarkRun, Outcome, status::Phase};
use e2e::{Cluster, GitServer, Namespace, PATIENT, cluster::image, tools};
use kube::ResourceExt as _;
use regex::Regex;
use serde_json::{Value, json};
use tokio::{
    sync::OnceCell,
    time::{Instant, sleep},
};

const PAGE: &str = "e2e/tests/gitops/flux.md";
/// Maximum time until a pod runs, on a busy machine.
const SOON: Duration = Duration::from_secs(180);
/// The file in the repository with the run.
const FILE: &str = "benchmarks/run.yaml";

/// Installs the chart with a HelmRelease like the one in `examples/gitops/flux-chart.yaml`, once for all tests.
async fn operator() -> anyhow::Result<Cluster> {
    static INSTALLED: OnceCell<Result<GitServer, String>> = OnceCell::const_new();
    let install = async || {
        let git = GitServer::start()?;
        let chart = tools::repository().join("charts");
        let copied = Command::new("cp").arg("-R").arg(chart).arg(git.path("")).status()?;
        ensure!(copied.success(), "cannot copy the chart");
        let commit = git.commit("README.md", "The chart.\n")?;
        // Deletes the HelmRelease of an earlier execution of these tests, together with its release.
        tools::kubectl(&["delete", "helmrelease", "benchwright", "--namespace", "flux-system", "--ignore-not-found"])?;
        apply_chart(&git)?;
        let release = settled("helmrelease", "flux-system", "benchwright", |it| {
            it["status"]["history"][0]["chartVersion"].as_str().is_some_and(|it| it.contains(&commit[..12]))
        });
        let release = release.await?;
        assert_documented("the chart is installed", &release)?;
        anyhow::Ok(git)
    };
    // If the installation fails, all tests fail.
    let installed = INSTALLED.get_or_init(async || install().await.map_err(|it| format!("{it:?}"))).await;
    installed.as_ref().map_err(|it| anyhow::anyhow!("{it}"))?;
    // Each test needs its own client, because each has its own runtime.
    Cluster::connect().await
}

/// Applies the objects of the example, with the addresses and the image of these tests.
fn apply_chart(git: &GitServer) -> anyhow::Result<()> {
    let text = fs::read_to_string(tools::repository().join("examples/gitops/flux-chart.yaml"))?;
    let (source, release) = text.split_once("\n---\n").context("the example has two objects")?;
    let mut source: Value = serde_saphyr::from_str(source)?;
    source["spec"]["url"] = json!(git.url());
    let mut release: Value = serde_saphyr::from_str(release)?;
    let (repository, tag) = image();
    release["spec"]["values"] = json!({
        "image": {"repository": repository, "tag": tag},
        "launcher": {"resources": {"requests": {"cpu": "100m"}}},
    });
    tools::apply(&source)?;
    tools::apply(&release)
}

fn get(kind: &str, namespace: &str, name: &str) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&tools::kubectl(&["get", kind, name, "--namespace", namespace, "--output", "json"])?)?)
}

/// The condition Ready of a Flux object.
fn ready(object: &Value) -> &Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|it| it["type"] == "Ready").unwrap_or(&Value::Null)
}

/// Waits until Flux has processed the last change of an object, `wanted` is true, and Ready is True or False.
async fn settled(kind: &str, namespace: &str, name: &str, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
    let end = Instant::now() + SOON;
    loop {
        let object = get(kind, namespace, name)?;
        // The condition is checked, because `status.observedGeneration` is only updated after a success.
        let seen = ready(&object)["observedGeneration"] == object["metadata"]["generation"];
        if seen && ready(&object)["status"] != "Unknown" && !ready(&object).is_null() && wanted(&object) {
            return Ok(object);
        }
        if Instant::now() > end {
            bail!("{kind} {namespace}/{name} did not settle: {:#}", object["status"]);
        }
        sleep(Duration::from_millis(300)).await;
    }
}

/// Requests a reconciliation of an object, like `flux reconcile`, and waits until it is done.
async fn reconcile(kind: &str, namespace: &str, name: &str) -> anyhow::Result<Value> {
    static ASKED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let token = format!("{}-{}", std::process::id(), ASKED.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let annotation = format!("reconcile.fluxcd.io/requestedAt={token}");
    tools::kubectl(&["annotate", "--overwrite", kind, name, "--namespace", namespace, &annotation])?;
    settled(kind, namespace, name, |it| it["status"]["lastHandledReconcileAt"] == token.as_str()).await
}

/// Prints what Flux reports in a case, without names, hashes and times that differ between runs, and asserts that `gitops/flux.md` has this line.
fn assert_documented(case: &str, object: &Value) -> anyhow::Result<()> {
    let ready = ready(object);
    let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
    let mut message = text("message").replace('\n', " ").replace('|', "\\|");
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    for (pattern, instead) in [
        (r"sha1:[0-9a-f]{40}", "sha1:..."),
        (r"\+[0-9a-f]{12}(\.[0-9]+)?", "+..."),
        (r"after [0-9.]+(ms|s|m[0-9.]+s)", "after ..."),
        (r"\.v[0-9]+ ", ".vN "),
    ] {
        message = Regex::new(pattern)?.replace_all(&message, instead).into_owned();
    }
    if namespace != "flux-system" {
        message = message.replace(namespace, "bench");
    }
    let row = format!("| {case} | {} {} | {} |", text("status"), text("reason"), message.trim());
    println!("{row}");
    let page = fs::read_to_string(tools::repository().join(PAGE))?;
    ensure!(page.contains(&row), "{PAGE} does not have this line:\n{row}");
    Ok(())
}

/// A namespace with a Git repository and a Kustomization that applies it, as in `examples/gitops/flux.yaml`.
struct Bench {
    namespace: Namespace,
    git: GitServer,
}

impl Bench {
    /// Commits a run, and applies the source and the Kustomization. Also returns the commit.
    async fn new(purpose: &str, run: &Value, timeout: &str) -> anyhow::Result<(Bench, String)> {
        let namespace = Namespace::new(&operator().await?, purpose).await?;
        let bench = Bench { namespace, git: GitServer::start()? };
        let commit = bench.git.commit(FILE, &run.to_string())?;
        let name = &bench.namespace.name;
        tools::apply(&json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "bench", "namespace": name},
            "spec": {"interval": "1h", "url": bench.git.url(), "ref": {"branch": "main"}},
        }))?;
        let example = fs::read_to_string(tools::repository().join("examples/gitops/flux.yaml"))?;
        let mut kustomization: Value = serde_saphyr::from_str(&example)?;
        kustomization["metadata"]["namespace"] = json!(name);
        let spec = &mut kustomization["spec"];
        spec["targetNamespace"] = json!(name);
        spec["sourceRef"] = json!({"kind": "GitRepository", "name": "bench"});
        spec["timeout"] = json!(timeout);
        spec["interval"] = json!("1h");
        spec["retryInterval"] = json!("1h");
        tools::apply(&kustomization)?;
        Ok((bench, commit))
    }

    /// Commits a new content of the run's file, and waits until the source has read it.
    async fn commit(&self, run: &Value) -> anyhow::Result<String> {
        let commit = self.git.commit(FILE, &run.to_string())?;
        reconcile("gitrepository", &self.namespace.name, "bench").await?;
        Ok(commit)
    }

    /// Waits until Flux has applied a commit and determined the health of its objects.
    async fn applied(&self, commit: &str) -> anyhow::Result<Value> {
        settled("kustomization", &self.namespace.name, "benchmarks", |it| {
            it["status"]["lastAttemptedRevision"].as_str().is_some_and(|it| it.ends_with(commit))
        })
        .await
    }

    async fn reconcile(&self) -> anyhow::Result<Value> {
        reconcile("kustomization", &self.namespace.name, "benchmarks").await
    }

    async fn run(&self) -> anyhow::Result<BenchmarkRun> {
        Ok(self.namespace.api::<BenchmarkRun>().get("nightly").await?)
    }
}

/// A run of three seconds against the simulator. `more` contains further fields of the spec.
fn run(more: &Value) -> anyhow::Result<Value> {
    let patient: Value = serde_saphyr::from_str(PATIENT)?;
    let mut spec = json!({
        "target": {"simulator": {}},
        "profile": {"variables": {"rate": "5", "duration": "3"}},
        "storage": {"none": {}},
        "validity": patient["validity"],
    });
    for (field, value) in more.as_object().context("further fields are a mapping")? {
        spec[field] = value.clone();
    }
    Ok(json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "nightly"}, "spec": spec,
    }))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Flux: make flux"]
async fn a_helm_release_installs_the_chart_once() -> anyhow::Result<()> {
    operator().await?;
    let before = get("helmrelease", "flux-system", "benchwright")?;
    let again = reconcile("helmrelease", "flux-system", "benchwright").await?;
    assert_eq!(again["status"]["history"], before["status"]["history"], "a second reconciliation made another release");
    assert_eq!(ready(&again)["message"], ready(&before)["message"]);
    tools::kubectl(&[
        "rollout",
        "status",
        "deployment/benchwright-operator",
        "--namespace",
        "benchwright-system",
        "--timeout",
        "1s",
    ])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Flux: make flux"]
async fn a_kustomization_is_ready_when_its_run_has_passed_and_applies_it_once() -> anyhow::Result<()> {
    let (bench, commit) = Bench::new("passes", &run(&json!({}))?, "10m").await?;
    let is_ready =
        || anyhow::Ok(ready(&get("kustomization", &bench.namespace.name, "benchmarks")?)["status"] == "True");
    let early = bench.namespace.until("a Kustomization that is ready", SOON, async || {
        // The Kustomization is read before the run, because everything that its Ready state claims about the run must still be true later.
        let is_ready = is_ready()?;
        let status = bench.namespace.api::<BenchmarkRun>().get_opt("nightly").await?.and_then(|it| it.status);
        Ok(is_ready.then(|| status.and_then(|it| it.phase)))
    });
    assert_eq!(early.await?, Some(Phase::Succeeded), "the Kustomization was ready before the run had succeeded");
    assert_documented("the run has passed", &bench.applied(&commit).await?)?;

    let marked = bench.namespace.until("the mark of the finished run", SOON, async || {
        let run = bench.run().await?;
        Ok(run.annotations().contains_key("benchwright.dev/finished").then_some(run))
    });
    let before = marked.await?;
    let again = bench.reconcile().await?;
    assert_documented("reconciled again", &again)?;
    assert_eq!(
        bench.run().await?.resource_version(),
        before.resource_version(),
        "Flux changed a run that it had applied"
    );
    assert_eq!(bench.namespace.jobs().await?.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Flux: make flux"]
async fn a_run_that_fails_ends_the_wait_before_the_timeout() -> anyhow::Result<()> {
    let fails = json!({"validity": {"minSuccessfulRequests": 1_000_000}});
    let (bench, commit) = Bench::new("fails", &run(&fails)?, "2h").await?;
    let kustomization = bench.applied(&commit).await?;
    assert_eq!(ready(&kustomization)["reason"], "HealthCheckFailed", "{kustomization:#}");
    assert_documented("the run has failed", &kustomization)?;
    assert_eq!(bench.run().await?.status.unwrap_or_default().outcome, Some(Outcome::Invalid));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Flux: make flux"]
async fn an_edit_is_refused_and_runs_again_with_force() -> anyhow::Result<()> {
    let (bench, commit) = Bench::new("edits", &run(&json!({}))?, "10m").await?;
    assert_eq!(ready(&bench.applied(&commit).await?)["status"], "True");
    let before = bench.run().await?;

    let mut edited = run(&json!({"seed": 7}))?;
    let commit = bench.commit(&edited).await?;
    let refused = bench.applied(&commit).await?;
    assert_documented("an edit", &refused)?;
    assert_eq!(bench.run().await?.resource_version(), before.resource_version());

    edited["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/force": "enabled"});
    let commit = bench.commit(&edited).await?;
    let forced = bench.applied(&commit).await?;
    assert_documented("an edit with force", &forced)?;
    let after = bench.run().await?;
    assert_ne!(after.uid(), before.uid(), "the run was not created anew");
    assert_eq!((after.spec.seed, after.status.unwrap_or_default().phase), (Some(7), Some(Phase::Succeeded)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Flux: make flux"]
async fn a_run_that_its_cleanup_deletes_is_created_and_runs_again() -> anyhow::Result<()> {
    // The time is longer than Flux's interval between two health checks, so that Flux sees the success before the run is deleted.
    let spec = json!({"cleanup": {"run": {"afterSuccessSeconds": 20}}});
    let (bench, commit) = Bench::new("ttl", &run(&spec)?, "10m").await?;
    assert_eq!(ready(&bench.applied(&commit).await?)["status"], "True");
    let before = bench.run().await?;
    let gone = bench.namespace.until("the deletion of the run", SOON, async || {
        let found = bench.namespace.api::<BenchmarkRun>().get_opt("nightly").await?;
        Ok(found.is_none().then_some(()))
    });
    gone.await?;
    let kustomization = get("kustomization", &bench.namespace.name, "benchmarks")?;
    assert_documented("its cleanup has deleted the run", &kustomization)?;
    let again = bench.reconcile().await?;
    assert_documented("the next interval", &again)?;
    let after = bench.run().await?;
    assert_ne!(after.uid(), before.uid());
    assert_eq!(after.status.unwrap_or_default().outcome, Some(Outcome::Passed), "the run was not run again");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Flux: make flux"]
async fn a_run_suspended_in_git_waits_until_it_is_resumed_there() -> anyhow::Result<()> {
    let (bench, commit) = Bench::new("suspends", &run(&json!({"suspend": true}))?, "30s").await?;
    let waited = bench.applied(&commit).await?;
    assert_documented("a run that is suspended, at the timeout", &waited)?;
    assert_eq!(bench.run().await?.status.unwrap_or_default().phase, Some(Phase::Suspended));
    assert!(bench.namespace.jobs().await?.is_empty());

    bench.commit(&run(&json!({}))?).await?;
    bench.namespace.wait_finished("nightly", SOON).await?;
    let passed = bench.reconcile().await?;
    assert_eq!(ready(&passed)["status"], "True", "{passed:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Flux: make flux"]
async fn a_run_is_cancelled_in_git_and_stays_so() -> anyhow::Result<()> {
    let long = json!({"profile": {"variables": {"rate": "2", "duration": "3000"}}});
    let (bench, commit) = Bench::new("cancels", &run(&long)?, "30s").await?;
    let waited = bench.applied(&commit).await?;
    assert_documented("a run that still measures, at the timeout", &waited)?;
    bench.namespace.wait_for("nightly", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;

    let mut cancelled = long.clone();
    cancelled["cancel"] = json!("Graceful");
    bench.commit(&run(&cancelled)?).await?;
    let status = bench.namespace.wait_finished("nightly", SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Cancelled), "{status:?}");
    assert!(status.partial && status.summary.is_some(), "its figures are lost: {status:?}");
    let ended = bench.reconcile().await?;
    assert_documented("a run that was cancelled in Git", &ended)?;

    let commit = bench.commit(&run(&long)?).await?;
    let refused = bench.applied(&commit).await?;
    assert_documented("the cancel taken out of Git", &refused)?;
    Ok(())
}
