//! Tests of what users may do with a run: a run may only refer to objects that a pod of the same user could use, and may only mount claims that are
//! for results.

use anyhow::Context;
use crds::{BenchmarkRun, Reason, resolve::RunIdentity, status::Phase};
use e2e::{Cluster, Namespace};
use k8s_openapi::api::{
    core::v1::{PersistentVolumeClaim, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{Role, RoleBinding},
};
use kube::{ResourceExt as _, api::PostParams};
use serde_json::{Value, json};

use crate::runs::SOON;

/// A user who may create BenchmarkRuns, and nothing else.
const RUNNER: &str = "runner";
/// A user who may create BenchmarkRuns, and has Kubernetes' own role `view`.
const VIEWER: &str = "viewing-runner";
/// A user with Kubernetes' own role `edit`.
const EDITOR: &str = "editor";
/// A user with Kubernetes' own role `admin`.
const ADMIN: &str = "administrator";
/// All users with their roles.
const USERS: [(&str, &[&str]); 6] = [
    ("nobody", &[]),
    ("viewer", &["view"]),
    (RUNNER, &[RUNNER]),
    (VIEWER, &["view", RUNNER]),
    (EDITOR, &["edit"]),
    (ADMIN, &["admin"]),
];

async fn bind(namespace: &Namespace) -> anyhow::Result<()> {
    let role: Role = serde_json::from_value(json!({
        "metadata": {"name": RUNNER},
        "rules": [{"apiGroups": ["benchwright.dev"], "resources": ["benchmarkruns"], "verbs": ["create"]}],
    }))?;
    namespace.api::<Role>().create(&PostParams::default(), &role).await?;
    for (user, role) in USERS.iter().flat_map(|(user, roles)| roles.iter().map(move |role| (user, role))) {
        let kind = if *role == RUNNER { "Role" } else { "ClusterRole" };
        let binding: RoleBinding = serde_json::from_value(json!({
            "metadata": {"name": format!("{user}-{role}")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }))?;
        namespace.api::<RoleBinding>().create(&PostParams::default(), &binding).await?;
    }
    Ok(())
}

/// The message with which the API server refuses a run of a user. Empty if it accepts the run. It is a dry run, so nothing is stored.
async fn refusal(namespace: &Namespace, user: &str, spec: &str) -> anyhow::Result<String> {
    let run = json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "chat"},
        "spec": serde_saphyr::from_str::<Value>(spec)?,
    });
    let path = format!("/apis/benchwright.dev/v1alpha1/namespaces/{}/benchmarkruns", namespace.name);
    namespace.refusal(user, &path, &run).await
}

/// The message with which the API server refuses a pod of a user that refers to an object with the name `other`.
async fn refusal_of_pod(namespace: &Namespace, user: &str, kind: &str) -> anyhow::Result<String> {
    let container = json!({"name": "c", "image": if kind == "image" { "other" } else { "i" }});
    let mut pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}});
    let volume = match kind {
        "Secret" => json!({"name": "v", "secret": {"secretName": "other"}}),
        "ConfigMap" => json!({"name": "v", "configMap": {"name": "other"}}),
        "claim" => json!({"name": "v", "persistentVolumeClaim": {"claimName": "other"}}),
        _ => json!({"name": "v", "emptyDir": {}}),
    };
    pod["spec"]["volumes"] = json!([volume]);
    if kind == "service account" {
        pod["spec"]["serviceAccountName"] = json!("other");
    }
    namespace.refusal(user, &format!("/api/v1/namespaces/{}/pods", namespace.name), &pod).await
}

/// The right to create runs must not give access to Secrets.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_user_refers_only_to_what_a_pod_of_that_user_may_use() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "references").await?;
    bind(&namespace).await?;
    // The account must exist, because the API server refuses a pod with a missing account.
    let account: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": "other"}}))?;
    namespace.api::<ServiceAccount>().create(&PostParams::default(), &account).await?;
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
        (
            "target: {simulator: {}}\nlauncher: {serviceAccountName: other}".to_owned(),
            "spec.launcher.serviceAccountName",
            "service account",
        ),
        ("target: {simulator: {}}\nlauncher: {image: other}".to_owned(), "spec.launcher.image", "image"),
        (
            "target: {server: {engine: Custom, image: other, command: [serve]}}".to_owned(),
            "spec.target.server.image",
            "image",
        ),
    ];
    // A policy and its binding take effect a moment after their creation.
    namespace
        .until("the right to create runs", SOON, || async {
            let refused = refusal(&namespace, RUNNER, "target: {simulator: {}}").await?;
            Ok(refused.is_empty().then_some(()))
        })
        .await?;
    namespace
        .until("the admission policy", SOON, || async {
            let refused = refusal(&namespace, RUNNER, &references[0].0).await?;
            Ok(refused.contains("requires the right to create pods").then_some(()))
        })
        .await?;
    let mut cells = 0;
    for (spec, field, kind) in &references {
        for (user, _) in USERS {
            let (of_run, of_pod) =
                (refusal(&namespace, user, spec).await?, refusal_of_pod(&namespace, user, kind).await?);
            assert_eq!(of_run.is_empty(), of_pod.is_empty(), "{user}, {field}: {of_run:?}, and as a pod: {of_pod:?}");
            assert_eq!(of_run.is_empty(), [EDITOR, ADMIN].contains(&user), "{user}, {field}: {of_run:?}");
            cells += 1;
        }
        for user in [RUNNER, VIEWER] {
            let refused = refusal(&namespace, user, spec).await?;
            let expected =
                format!("requires the right to create pods, which {user} lacks in namespace {}", namespace.name);
            assert!(refused.contains(&expected), "{spec}: {refused:?}");
            // If several fields of a run are refused, the message names only the first one.
            assert!(refused.contains(field) || field.starts_with("spec.target.server"), "{spec}: {refused:?}");
            assert!(refused.contains("request that right or remove the field"), "{refused}");
        }
    }
    println!("figure 28: {cells} pairs of user and reference: a run is refused where the user's pod is refused");
    // This run has the maximum number of references. The authorization checks for them must stay within the API server's cost limit.
    let most = files("{claim: {claimName: other}}") + "\nstorage: {pvc: {claimName: other}}";
    assert_eq!(refusal(&namespace, EDITOR, &most).await?, "");
    Ok(())
}

/// The launcher must not receive requests of another Service's clients.
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

/// The policy of another owner could allow everything.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_network_policy_of_somebody_else_ends_the_run() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "foreign-policy").await?;
    let spec = |suspend: bool| format!("suspend: {suspend}");
    let run = crate::runs::simulated(5.0, 2, &format!("storage: {{none: {{}}}}\n{}", spec(true)));
    namespace.create_run("chat", &run).await?;
    let uid = namespace.api::<BenchmarkRun>().get("chat").await?.uid().context("a stored run has a UID")?;
    let identity = RunIdentity::first_attempt("chat", namespace.name.clone(), uid);
    let policy = json!({"metadata": {"name": identity.attempt_name()}, "spec": {"podSelector": {}, "egress": [{}]}});
    namespace.api::<NetworkPolicy>().create(&PostParams::default(), &serde_json::from_value(policy)?).await?;
    namespace.patch_run("chat", &spec(false)).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!(status.reason.known(), Some(Reason::NameConflict), "{status:?}");
    assert!(namespace.jobs().await?.is_empty(), "a Job was created");
    Ok(())
}

/// The group of the files shows whether the kubelet has changed the volume.
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

    // The owner of the claim allows results on it.
    let label = json!({"metadata": {"labels": {"benchwright.dev/results": "true"}}});
    let claims = namespace.api::<PersistentVolumeClaim>();
    claims.patch("database", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(label)).await?;
    namespace.create_run("allowed", &crate::runs::simulated(5.0, 2, "storage: {pvc: {claimName: database}}")).await?;
    let status = namespace.wait_finished("allowed", SOON).await?;
    assert_eq!(status.phase, Some(Phase::Succeeded), "{status:?}");
    Ok(())
}

/// Tests each part of the metadata at its bound, and with one entry more.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_with_more_metadata_than_it_may_have_is_refused() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "metadata").await?;
    bind(&namespace).await?;
    let path = format!("/apis/benchwright.dev/v1alpha1/namespaces/{}/benchmarkruns", namespace.name);
    let with = |list: &str, entries: usize| {
        let keys = (0..entries).map(|it| format!("example.com/k{it}"));
        let value: Value = match list {
            "labels" | "annotations" => keys.map(|it| (it, json!("v"))).collect::<serde_json::Map<_, _>>().into(),
            "finalizers" => keys.collect(),
            _ => keys.map(|it| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": it})).collect(),
        };
        json!({
            "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "chat", list: value},
            "spec": {"target": {"simulator": {}}},
        })
    };
    let send = async |list: &str, entries: usize| namespace.refusal(EDITOR, &path, &with(list, entries)).await;
    namespace.until("the policy", SOON, || async { Ok((!send("labels", 65).await?.is_empty()).then_some(())) }).await?;
    let long = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "n".repeat(10_000), "uid": "u"}]);
    let mut run = with("labels", 1);
    run["metadata"]["ownerReferences"] = long;
    let refused = namespace.refusal(EDITOR, &path, &run).await?;
    assert!(refused.contains("metadata.ownerReferences: the name, UID, kind"), "{refused}");
    for (list, most) in [("labels", 64), ("annotations", 64), ("finalizers", 16), ("ownerReferences", 16)] {
        assert_eq!(send(list, most).await?, "", "{list}");
        let refused = send(list, most + 1).await?;
        let expected = format!("metadata.{list}: has {} entries; write at most {most}", most + 1);
        assert!(refused.contains(&expected), "{refused}");
    }
    Ok(())
}

/// With a stolen token of the operator, it must not be possible to create Jobs with more privileges than the operator's own Jobs have.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn the_rights_of_the_operator_create_only_what_the_operator_creates() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "shape").await?;
    let operator = format!("system:serviceaccount:{}:{}", e2e::cluster::SYSTEM_NAMESPACE, e2e::cluster::OPERATOR);
    let job = json!({
        "metadata": {"name": "j", "labels": {"app.kubernetes.io/managed-by": "benchwright-operator"}},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never", "automountServiceAccountToken": false, "containers": [{"name": "c", "image": "i"}],
        }}},
    });
    let jobs = |namespace: &str| format!("/apis/batch/v1/namespaces/{namespace}/jobs");
    let pod = "/spec/template/spec";
    let token = json!([{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]);
    let capable = json!([{"name": "c", "image": "i", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]);
    let changes: [(&str, Value, &str); 8] = [
        (&format!("{pod}/volumes"), token, "must not have tokens"),
        (&format!("{pod}/containers"), capable, "add capabilities"),
        ("/metadata/labels", json!({}), "must have the label app.kubernetes.io/managed-by"),
        (&format!("{pod}/automountServiceAccountToken"), json!(true), "automountServiceAccountToken: false"),
        (&format!("{pod}/hostNetwork"), json!(true), "must not use"),
        (&format!("{pod}/hostPID"), json!(true), "must not use"),
        (&format!("{pod}/volumes"), json!([{"name": "v", "hostPath": {"path": "/"}}]), "must not use"),
        (
            &format!("{pod}/containers"),
            json!([{"name": "c", "image": "i", "securityContext": {"privileged": true}}]),
            "must not be privileged",
        ),
    ];
    namespace
        .until("the policy", SOON, || async {
            let refused = namespace.refusal(&operator, &jobs("kube-system"), &job).await?;
            Ok(refused.contains("must not be in a namespace of Kubernetes").then_some(()))
        })
        .await?;
    assert_eq!(namespace.refusal(&operator, &jobs(&namespace.name), &job).await?, "");
    for (field, value, says) in changes {
        let mut changed = job.clone();
        let (parent, name) = field.rsplit_once('/').context("a path")?;
        changed.pointer_mut(parent).context("its parent exists")?[name] = value;
        let refused = namespace.refusal(&operator, &jobs(&namespace.name), &changed).await?;
        assert!(refused.contains(says), "{field}: {refused:?}");
    }
    Ok(())
}
