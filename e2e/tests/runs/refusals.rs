//! Tests with quotas, admission policies and webhooks that refuse an object of the run. The status reports it immediately, and the run continues
//! after the obstacle is removed.

use std::time::Duration;

use anyhow::Context;
use crds::{BenchmarkRunStatus, Outcome};
use e2e::{Cluster, Namespace};
use k8s_openapi::api::{
    admissionregistration::v1::{
        ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration,
    },
    core::v1::ResourceQuota,
};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

use crate::runs::{SOON, simulated};

/// Maximum time until the status reports the reason.
const NAMED: Duration = Duration::from_secs(60);

fn message(status: &BenchmarkRunStatus) -> &str {
    status.conditions.iter().find(|it| it.kind == "Ready").map_or("", |it| &it.message)
}

fn spec() -> String {
    simulated(5.0, 2, "storage: {none: {}}")
}

/// Asserts that the condition Ready contains `word` before the run has ended, and that the run passes after `remove` has removed the obstacle.
async fn assert_named_and_overcome(
    namespace: &Namespace,
    word: &str,
    remove: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    namespace.create_run("chat", &spec()).await?;
    let named = |it: &BenchmarkRunStatus| message(it).contains(word);
    let status = namespace.wait_for("chat", &format!("a message with {word:?}"), NAMED, named).await?;
    println!("{} {}: {}", status.phase.map_or("", |it| it.name()), status.reason, message(&status));
    assert!(status.phase.is_some_and(|it| !it.is_terminal()), "an obstacle that may go away ended the run: {status:?}");
    remove.await?;
    let status = namespace.wait_finished("chat", 2 * SOON).await?;
    assert_eq!((status.outcome, status.attempts.len()), (Some(Outcome::Passed), 1), "{status:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_job_that_a_quota_keeps_from_making_its_pod_is_named() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "no-pods").await?;
    let quotas: Api<ResourceQuota> = namespace.api();
    let quota = json!({"metadata": {"name": "no-pods"}, "spec": {"hard": {"pods": "0"}}});
    quotas.create(&PostParams::default(), &serde_json::from_value(quota)?).await?;
    let enforced = || async { Ok(quotas.get("no-pods").await?.status.and_then(|it| it.hard).map(drop)) };
    namespace.until("a quota that is enforced", SOON, enforced).await?;
    let remove = async { Ok(quotas.delete("no-pods", &DeleteParams::default()).await.map(drop)?) };
    // The status does not contain the exact reason, because it is only in the Job's events, which the operator has no right to read.
    assert_named_and_overcome(&namespace, "has created no pod", remove).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_webhook_that_is_down_is_named() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "webhook").await?;
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(namespace.client.clone());
    let webhook = json!({
        "metadata": {"name": namespace.name},
        "webhooks": [{
            "name": "down.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
            "clientConfig": {"service": {"name": "nobody", "namespace": namespace.name}},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}},
            "rules": [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}],
        }],
    });
    webhooks.create(&PostParams::default(), &serde_json::from_value(webhook)?).await?;
    let remove = async { Ok(webhooks.delete(&namespace.name, &DeleteParams::default()).await.map(drop)?) };
    let done = assert_named_and_overcome(&namespace, "down.example.com", remove).await;
    if done.is_err() {
        webhooks.delete(&namespace.name, &DeleteParams::default()).await?;
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_admission_policy_that_denies_the_job_is_named() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "policy").await?;
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(namespace.client.clone());
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(namespace.client.clone());
    let policy = json!({
        "metadata": {"name": namespace.name},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"],
            }]},
            "validations": [{"expression": "false", "message": "no Jobs before noon", "reason": "Forbidden"}],
        },
    });
    policies.create(&PostParams::default(), &serde_json::from_value(policy)?).await?;
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace.name}});
    let binding = json!({
        "metadata": {"name": namespace.name},
        "spec": {
            "policyName": namespace.name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": selector},
        },
    });
    bindings.create(&PostParams::default(), &serde_json::from_value(binding)?).await?;
    // The API server enforces a new policy only after a moment.
    let jobs: Api<k8s_openapi::api::batch::v1::Job> = namespace.api();
    let probe = serde_json::from_value(json!({
        "metadata": {"name": "probe"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "localhost/busybox:1"}]}}},
    }))?;
    let denied = || async {
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        Ok(jobs.create(&dry_run, &probe).await.is_err().then_some(()))
    };
    namespace.until("a policy that is enforced", SOON, denied).await?;
    let remove = async {
        bindings.delete(&namespace.name, &DeleteParams::default()).await.context("the binding")?;
        Ok(())
    };
    let done = assert_named_and_overcome(&namespace, "no Jobs before noon", remove).await;
    policies.delete(&namespace.name, &DeleteParams::default()).await?;
    done
}
