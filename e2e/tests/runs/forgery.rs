//! Tests in which a user who may create pods tries to forge the figures of a run.

use anyhow::Context;
use crds::{Envelope, Outcome, envelope::Core, status::Phase, summary::RunSummary};
use e2e::{Cluster, Namespace};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

use crate::runs::{SOON, simulated};

const NO_STORAGE: &str = "storage: {none: {}}";
const FORGED: &str = "forged";

/// A termination message with false figures that pretends to come from the launcher of attempt 1.
fn forged_word(run_uid: &str) -> String {
    let core = Core {
        run_uid: run_uid.into(),
        attempt: 1,
        outcome: Outcome::Passed,
        reason: "RunSucceeded".into(),
        message: String::new(),
        model: FORGED.into(),
        load_start_time: None,
        folder: None,
        partial: false,
        summary: Some(RunSummary { requests: 999_999, ..RunSummary::default() }),
        search: None,
        objectives: None,
        deleted_folders: 0,
        artifacts: Vec::new(),
    };
    Envelope { core, stages: Vec::new(), stages_truncated: false, objectives: Vec::new(), accuracy: None }.to_text()
}

/// A forged pod with this metadata, which comes from a real pod. Its launcher container ends with this message.
fn forged_pod(name: &str, word: &str, metadata: Value) -> anyhow::Result<Pod> {
    let mut pod = json!({
        "metadata": metadata,
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "launcher", "image": "localhost/busybox:1",
                "command": ["sh", "-c", "printf %s \"$WORD\" > /dev/termination-log"],
                "env": [{"name": "WORD", "value": word}],
            }],
        },
    });
    pod["metadata"]["name"] = json!(name);
    Ok(serde_json::from_value(pod)?)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_pod_that_copies_labels_and_owners_does_not_write_a_runs_figures() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "forgery").await?;
    namespace.create_run("victim", &simulated(5.0, 20, NO_STORAGE)).await?;
    let status = namespace.wait_for("victim", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    let launcher = namespace.pods("victim").await?.into_iter().next().context("a run that measures has a pod")?;
    let attempt = status.attempts.last().context("a run that measures has an attempt")?;
    assert_eq!(attempt.pod_uid, launcher.metadata.uid, "{status:?}");

    let labels = launcher.metadata.labels.context("a launcher has labels")?;
    let word = forged_word(&labels["benchwright.dev/run-uid"]);
    // Only our own labels are copied. Without the labels of the Job controller, the Job does not adopt the pod.
    let ours: serde_json::Map<_, _> = labels
        .iter()
        .filter(|(key, _)| key.starts_with("benchwright.dev/") || key.starts_with("app.kubernetes.io/"))
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect();
    let owners = json!(launcher.metadata.owner_references);
    let pods: Api<Pod> = namespace.api();
    let forgeries = [
        ("no-owner", json!({"labels": ours})),
        ("all-labels", json!({"labels": labels})),
        ("our-labels-and-owner", json!({"labels": ours, "ownerReferences": owners})),
        ("all-labels-and-owner", json!({"labels": labels, "ownerReferences": owners})),
    ];
    for (name, metadata) in forgeries {
        pods.create(&PostParams::default(), &forged_pod(name, &word, metadata)?).await?;
    }
    namespace
        .until("the end of the forged pods", SOON, || async {
            let left = pods.list(&kube::api::ListParams::default()).await?.into_iter().filter(|it| {
                let ended = it.status.as_ref().and_then(|it| it.phase.as_deref()).is_some_and(|it| it == "Succeeded");
                it.metadata.uid != launcher.metadata.uid && !ended
            });
            Ok((left.count() == 0).then_some(()))
        })
        .await?;
    let status = namespace.status("victim").await?;
    assert!(status.summary.is_none(), "a forged pod wrote figures: {status:?}");

    let status = namespace.wait_finished("victim", SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert_eq!(status.summary.map(|it| it.requests), Some(100));
    assert_ne!(status.resolved.context("a run that measured has a model")?.model, FORGED);
    Ok(())
}
