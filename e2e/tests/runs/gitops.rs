//! Tests of what docs/gitops.md says about edits, drift and cancellations. kubectl applies objects like Flux (server-side) and like Argo CD
//! (client-side).

use anyhow::Context as _;
use crds::{BenchmarkRun, Outcome, status::Phase};
use e2e::{Cluster, Namespace, tools};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::runs::SOON;

/// The kubectl command of Flux, which applies on the server side.
const FLUX: &[&str] = &["apply", "--server-side", "--force-conflicts", "--field-manager", "kustomize-controller"];
/// The kubectl command of Argo CD, which applies on the client side.
const ARGO: &[&str] = &["apply"];
/// Argo CD with `Force=true,Replace=true`.
const ARGO_FORCE: &[&str] = &["replace", "--force"];

fn write(namespace: &Namespace, how: &[&str], name: &str, spec: &Value) -> anyhow::Result<String> {
    let run = json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name}, "spec": spec,
    });
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), run.to_string())?;
    let path = file.path().to_str().context("the temporary folder's path is no UTF-8")?;
    tools::kubectl(&[how, &["--namespace", &namespace.name, "--filename", path]].concat())
}

fn refusal(written: anyhow::Result<String>) -> anyhow::Result<String> {
    Ok(format!("{:?}", written.err().context("the API server took it")?))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn what_people_and_the_operator_add_to_a_run_is_no_drift() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "drift").await?;
    let in_git = json!({"target": {"simulator": {}}, "suspend": true});
    for (how, name) in [(FLUX, "flux"), (ARGO, "argo")] {
        write(&namespace, how, name, &in_git)?;
        namespace.wait_for(name, "phase Suspended", SOON, |it| it.phase == Some(Phase::Suspended)).await?;

        // A value in Git overwrites the value that a person has set.
        namespace.patch_run(name, "{suspend: false}").await?;
        write(&namespace, how, name, &in_git)?;
        assert!(namespace.api::<BenchmarkRun>().get(name).await?.spec.suspend, "{name}");

        // A value that is not in Git stays: the cancellation by a person, and the status and mark of the operator.
        namespace.patch_run(name, "{cancel: Immediate}").await?;
        let status = namespace.wait_finished(name, SOON).await?;
        assert_eq!(status.outcome, Some(Outcome::Cancelled), "{status:?}");
        let marked = namespace.until("the mark", SOON, async || {
            let run = namespace.api::<BenchmarkRun>().get(name).await?;
            Ok(run.annotations().contains_key("benchwright.dev/finished").then_some(run))
        });
        let before = marked.await?;
        write(&namespace, how, name, &in_git)?;
        let after = namespace.api::<BenchmarkRun>().get(name).await?;
        assert_eq!(after.resource_version(), before.resource_version(), "{name}: {after:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_edit_is_refused_or_makes_another_run() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "edits").await?;
    let run = |seed: u32| json!({"target": {"simulator": {}}, "suspend": true, "seed": seed});
    for (how, name) in [(FLUX, "flux"), (ARGO, "argo")] {
        write(&namespace, how, name, &run(1))?;
        let refused = refusal(write(&namespace, how, name, &run(2)))?;
        assert!(refused.contains("a run is immutable"), "{refused}");

        let mut cancelled = run(1);
        cancelled["cancel"] = json!("Graceful");
        write(&namespace, how, name, &cancelled)?;
        let refused = refusal(write(&namespace, how, name, &run(1)))?;
        assert!(refused.contains("cancel cannot be removed"), "{refused}");
    }
    let before = namespace.api::<BenchmarkRun>().get("argo").await?;
    write(&namespace, ARGO_FORCE, "argo", &run(2))?;
    let after = namespace.api::<BenchmarkRun>().get("argo").await?;
    assert_ne!(after.uid(), before.uid());
    let status = namespace.wait_for("argo", "phase Suspended", SOON, |it| it.phase == Some(Phase::Suspended)).await?;
    assert_eq!(status.outcome, None, "{status:?}");
    Ok(())
}
