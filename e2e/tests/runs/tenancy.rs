//! What a user may make a run do: refer to what the same user may read, and mount claims that are for results.

use anyhow::Context;
use crds::{BenchmarkRun, Reason, resolve::RunIdentity, status::Phase};
use e2e::{Cluster, Namespace};
use k8s_openapi::api::{
    core::v1::{PersistentVolumeClaim, Service},
    networking::v1::NetworkPolicy,
    rbac::v1::{Role, RoleBinding},
};
use kube::{ResourceExt as _, api::PostParams};
use serde_json::{Value, json};

use crate::runs::SOON;

/// May create BenchmarkRuns and nothing else.
const RUNNER: &str = "runner";
/// Has Kubernetes' own role `edit`.
const EDITOR: &str = "editor";

async fn bind(namespace: &Namespace) -> anyhow::Result<()> {
    let role: Role = serde_json::from_value(json!({
        "metadata": {"name": RUNNER},
        "rules": [{"apiGroups": ["benchwright.dev"], "resources": ["benchmarkruns"], "verbs": ["create"]}],
    }))?;
    namespace.api::<Role>().create(&PostParams::default(), &role).await?;
    for (user, kind, role) in [(RUNNER, "Role", RUNNER), (EDITOR, "ClusterRole", "edit")] {
        let binding: RoleBinding = serde_json::from_value(json!({
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }))?;
        namespace.api::<RoleBinding>().create(&PostParams::default(), &binding).await?;
    }
    Ok(())
}

/// What the API server says to a run of a user that is not stored; empty: it would be.
async fn refusal(namespace: &Namespace, user: &str, spec: &str) -> anyhow::Result<String> {
    let run = json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "chat"},
        "spec": serde_saphyr::from_str::<Value>(spec)?,
    });
    let path = format!("/apis/benchwright.dev/v1alpha1/namespaces/{}/benchmarkruns?dryRun=All", namespace.name);
    let request = http::Request::post(path)
        .header("Content-Type", "application/json")
        .header("Impersonate-User", user)
        .body(serde_json::to_vec(&run)?)?;
    match namespace.client.request::<Value>(request).await {
        Ok(_) => Ok(String::new()),
        Err(kube::Error::Api(status)) => Ok(status.message),
        Err(error) => Err(error.into()),
    }
}

/// Finding 15, and section 6 of the operator's specification: creating a run is no way to read a Secret.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_user_refers_only_to_what_the_same_user_may_get() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "references").await?;
    bind(&namespace).await?;
    let key = "{name: other, key: a}";
    let files = |last: &str| {
        let before: Vec<_> = (0..15).map(|it| format!("{{configMapRef: {{name: other, key: k{it}}}}}")).collect();
        format!("target: {{simulator: {{}}}}\nprofile: {{files: [{}, {last}]}}", before.join(", "))
    };
    let of_target = |more: &str| format!("target: {{url: 'http://h', {more}}}");
    let references = [
        (of_target(&format!("auth: {{secretKeyRef: {key}}}")), "spec.target.auth.secretKeyRef.name", "Secret"),
        (of_target(&format!("tls: {{ca: {{secretKeyRef: {key}}}}}")), "spec.target.tls.ca.secretKeyRef.name", "Secret"),
        (
            format!("target: {{server: {{engine: VLLM, image: i, model: m, hubToken: {{secretKeyRef: {key}}}}}}}"),
            "spec.target.server.hubToken.secretKeyRef.name",
            "Secret",
        ),
        (
            "target: {server: {engine: VLLM, image: i, modelClaim: {claimName: other}}}".to_owned(),
            "spec.target.server.modelClaim.claimName",
            "claim",
        ),
        (
            "target: {server: {engine: Simulator, serviceAccountName: other}}".to_owned(),
            "spec.target.server.serviceAccountName",
            "service account",
        ),
        (
            of_target(&format!("tls: {{ca: {{configMapRef: {key}}}}}")),
            "spec.target.tls.ca.configMapRef.name",
            "ConfigMap",
        ),
        (
            format!("target: {{simulator: {{}}}}\nprofile: {{configMapRef: {key}}}"),
            "spec.profile.configMapRef.name",
            "ConfigMap",
        ),
        (
            "target: {simulator: {}}\nstorage: {pvc: {claimName: other}}".to_owned(),
            "spec.storage.pvc.claimName",
            "claim",
        ),
        (
            "target: {simulator: {}}\nstorage: {s3: {bucket: bench, secretRef: {name: other}}}".to_owned(),
            "spec.storage.s3.secretRef.name",
            "Secret",
        ),
        (
            format!("target: {{simulator: {{}}}}\nprofile: {{files: [{{configMapRef: {key}}}]}}"),
            "spec.profile.files[0].configMapRef.name",
            "ConfigMap",
        ),
        (
            "target: {simulator: {}}\nprofile: {files: [{claim: {claimName: other}}]}".to_owned(),
            "spec.profile.files[0].claim.claimName",
            "claim",
        ),
    ];
    // A policy and a binding count a moment after they were created.
    namespace
        .until("the right to create runs", SOON, || async {
            let refused = refusal(&namespace, RUNNER, "target: {simulator: {}}").await?;
            Ok(refused.is_empty().then_some(()))
        })
        .await?;
    namespace
        .until("the admission policy", SOON, || async {
            let refused = refusal(&namespace, RUNNER, &references[0].0).await?;
            Ok((!refused.is_empty()).then_some(()))
        })
        .await?;
    for (spec, field, kind) in &references {
        let refused = refusal(&namespace, RUNNER, spec).await?;
        let expected =
            format!("{field}: is \"other\", a {kind} that {RUNNER} may not get in namespace {}", namespace.name);
        assert!(refused.contains(&expected), "{spec}: {refused:?}");
        assert!(refused.contains("ask for that right, or take the field out"), "{refused}");
        assert_eq!(refusal(&namespace, EDITOR, spec).await?, "", "{spec}");
    }
    // As many references as a run can have: the cost of the questions stays within the API server's bounds.
    let most = files("{claim: {claimName: other}}") + "\nstorage: {pvc: {claimName: other}}";
    assert_eq!(refusal(&namespace, EDITOR, &most).await?, "");
    Ok(())
}

/// Finding 16: a launcher must not answer the clients of another Service.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_launcher_does_not_join_the_service_that_its_labels_name() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "labels").await?;
    let service = json!({
        "metadata": {"name": "shop"}, "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}]},
    });
    namespace.api::<Service>().create(&PostParams::default(), &serde_json::from_value(service)?).await?;
    namespace.create_run("chat", "target: {simulator: {}}\nlauncher: {labels: {app: shop}}").await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!(status.reason.known(), Some(Reason::PolicyDenied), "{status:?}");
    assert!(namespace.pods("chat").await?.is_empty(), "a pod was created");
    Ok(())
}

/// A policy of somebody else could allow everything.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_network_policy_of_somebody_else_ends_the_run() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "foreign-policy").await?;
    let spec = |suspend: bool| format!("suspend: {suspend}");
    let run = crate::runs::simulated(5.0, 2, &format!("storage: {{none: {{}}}}\n{}", spec(true)));
    namespace.create_run("chat", &run).await?;
    let uid = namespace.api::<BenchmarkRun>().get("chat").await?.uid().context("a stored run has a UID")?;
    let identity =
        RunIdentity { name: "chat".into(), namespace: namespace.name.clone(), uid, attempt: 1, repeat_number: None };
    let policy = json!({"metadata": {"name": identity.attempt_name()}, "spec": {"podSelector": {}, "egress": [{}]}});
    namespace.api::<NetworkPolicy>().create(&PostParams::default(), &serde_json::from_value(policy)?).await?;
    namespace.patch_run("chat", &spec(false)).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!(status.reason.known(), Some(Reason::NameConflict), "{status:?}");
    assert!(namespace.jobs().await?.is_empty(), "a Job was created");
    Ok(())
}

/// Finding 9. The group of the files shows what the kubelet did to the volume.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_claim_of_somebody_else_keeps_the_group_of_its_files() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "others-claim").await?;
    let claim = json!({
        "metadata": {"name": "database"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Mi"}}},
    });
    namespace.api::<PersistentVolumeClaim>().create(&PostParams::default(), &serde_json::from_value(claim)?).await?;
    let fill = "mkdir /data/db && echo x > /data/db/file && chown -R 999:999 /data/db";
    assert_eq!(namespace.shell_on_claim("database", fill).await?, "");

    namespace.create_run("chat", "target: {simulator: {}}\nstorage: {pvc: {claimName: database}}").await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.reason.known()), (Some(Phase::Failed), Some(Reason::PolicyDenied)), "{status:?}");
    let ready = status.conditions.iter().find(|it| it.kind == "Ready").context("every status has this condition")?;
    assert!(ready.message.contains("kubectl label pvc database benchwright.dev/results=true"), "{}", ready.message);
    assert!(namespace.pods("chat").await?.is_empty(), "a pod was created");
    assert_eq!(namespace.shell_on_claim("database", "stat -c %g /data/db/file").await?.trim(), "999");

    // The owner of the claim allows it.
    let label = json!({"metadata": {"labels": {"benchwright.dev/results": "true"}}});
    let claims = namespace.api::<PersistentVolumeClaim>();
    claims.patch("database", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(label)).await?;
    namespace.create_run("allowed", &crate::runs::simulated(5.0, 2, "storage: {pvc: {claimName: database}}")).await?;
    let status = namespace.wait_finished("allowed", SOON).await?;
    assert_eq!(status.phase, Some(Phase::Succeeded), "{status:?}");
    Ok(())
}
