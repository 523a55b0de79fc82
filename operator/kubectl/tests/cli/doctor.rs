//! Tests of `kubectl benchwright doctor`: each check prints one line, with its result and, if it failed, the remedy.

use kube::CustomResourceExt as _;
use serde_json::{Value, json};

use crate::{
    plugin::{Done, Plugin},
    server::Server,
};

const OPENAPI: &str = "/openapi/v3/apis/benchwright.dev/v1alpha1";
const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const NAMESPACE: &str = "/api/v1/namespaces/bench";
const REVIEWS: &str = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

fn list(kind: &str, items: &Value) -> Value {
    json!({"kind": format!("{kind}List"), "apiVersion": "v1", "metadata": {}, "items": items})
}

fn binding(policy: &str, action: &str) -> Value {
    json!({"metadata": {"name": policy}, "spec": {"policyName": policy, "validationActions": [action]}})
}

/// A fake cluster in which all checks succeed, and the plugin.
async fn healthy() -> (Server, Plugin) {
    let server = Server::start().await;
    server.set_object(
        "/version",
        json!({
            "major": "1", "minor": "34", "gitVersion": "v1.34.2", "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "",
            "compiler": "", "platform": "",
        }),
    );
    let schema = |definition: serde_json::Result<Value>| {
        definition.unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take()
    };
    let schemas = json!({
        "dev.benchwright.v1alpha1.BenchmarkRun": schema(serde_json::to_value(crds::BenchmarkRun::crd())),
        "dev.benchwright.v1alpha1.BenchmarkSchedule": schema(serde_json::to_value(crds::BenchmarkSchedule::crd())),
    });
    server.set_object(OPENAPI, json!({"components": {"schemas": schemas}}));
    let labels = json!({"app.kubernetes.io/version": env!("CARGO_PKG_VERSION")});
    let operator = json!({
        "metadata": {"name": "benchwright-operator", "namespace": "system", "labels": labels},
        "spec": {"replicas": 1, "selector": {}, "template": {"spec": {"containers": [
            {"name": "operator", "args": ["--launcher-image=registry.example/benchwright:0.1.0"]},
        ]}}},
        "status": {"readyReplicas": 1},
    });
    server.set_object(DEPLOYMENTS, list("Deployment", &json!([operator])));
    let names =
        ["schema", "secret-access", "schedule-secret-access", "policy"].map(|it| format!("benchwright-operator-{it}"));
    let policies: Vec<Value> = names.iter().map(|it| json!({"metadata": {"name": it}})).collect();
    server.set_object(POLICIES, list("ValidatingAdmissionPolicy", &policies.into()));
    let bindings: Vec<Value> = names.iter().map(|it| binding(it, "Deny")).collect();
    server.set_object(BINDINGS, list("ValidatingAdmissionPolicyBinding", &bindings.into()));
    let class = json!({
        "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}, "provisioner": "p",
    });
    server.set_object(CLASSES, list("StorageClass", &json!([class])));
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    server.set_object(
        NAMESPACE,
        json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "bench", "labels": labels}}),
    );
    let plugin = Plugin::new(&server);
    (server, plugin)
}

/// Asserts the exit code of `doctor`, and that its output contains these lines.
async fn assert_lines(plugin: &Plugin, code: i32, lines: &[&str]) -> Done {
    let done = plugin.run(&["doctor"]).await;
    assert_eq!((done.code, done.stderr.as_str()), (Some(code), ""), "{done:?}");
    for line in lines {
        assert!(done.stdout.contains(line), "{line:?} is not in\n{}", done.stdout);
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_cluster_has_a_line_for_each_check() {
    let (server, plugin) = healthy().await;
    let done = assert_lines(&plugin, 0, &[]).await;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        done.stdout,
        format!(
            "ok       API server        Kubernetes v1.34.2\n\
             ok       clock             this machine and the API server differ by at most 10 s\n\
             ok       namespace         bench, Pod Security restricted; launchers comply with restricted\n\
             ok       definition        BenchmarkRun and BenchmarkSchedule v1alpha1, with the fields of this release\n\
             ok       operator          benchwright-operator {version} in namespace system, 1 of 1 replicas ready\n\
             ok       launcher image    registry.example/benchwright:0.1.0\n\
             ok       admission policy  benchwright-operator-secret-access, benchwright-operator-schedule-secret-access: only users who may create pods can name Secrets, ConfigMaps, claims, service accounts or images\n\
             ok       admission limits  benchwright-operator-policy: runs and schedules beyond the limits are refused when they are created\n\
             ok       storage           claim workload-pvc will be made with the default StorageClass standard\n\
             ok       rights            wait and gate in namespace bench\n\
             ok       rights            run and rerun in namespace bench\n\
             ok       rights            logs in namespace bench\n\
             ok       rights            live progress in namespace bench\n\
             ok       rights            results in namespace bench\n"
        )
    );
    let (docs, _) = include_str!("../../../../docs/kubectl.md").split_once("## Rights").unwrap();
    for line in done.stdout.lines().filter(|it| !it.contains(version)) {
        assert!(docs.contains(line), "docs/kubectl.md has no line {line:?}");
    }
    // The command creates nothing but access reviews.
    let created = server.requests("POST ");
    assert_eq!(created.len(), server.requests(REVIEWS).len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_counts_if_it_is_the_one_on_secrets_and_denies() {
    let (server, plugin) = healthy().await;
    let name = |end: &str| json!({"metadata": {"name": format!("benchwright-operator-{end}")}});
    let runs = "benchwright-operator-secret-access";
    let warns_without = async |policies: &[&str], bindings: &[Value], warning: &str| {
        let policies: Vec<Value> = policies.iter().map(|it| name(it)).collect();
        server.set_object(POLICIES, list("ValidatingAdmissionPolicy", &policies.into()));
        server.set_object(BINDINGS, list("ValidatingAdmissionPolicyBinding", &bindings.to_vec().into()));
        assert_lines(&plugin, 0, &[&format!("warning  admission policy  {warning}")]).await;
    };
    // The chart also has a policy for the schema, which does not protect Secrets.
    warns_without(&["schema"], &[binding("benchwright-operator-schema", "Deny")], "none for runs").await;
    warns_without(&["schedule-secret-access"], &[], "none for runs").await;
    warns_without(&["sweep-secret-access"], &[], "none for runs").await;
    warns_without(&["secret-access"], &[binding(runs, "Deny")], "none for schedules").await;
    let both = ["secret-access", "schedule-secret-access"];
    let of_schedules = binding("benchwright-operator-schedule-secret-access", "Deny");
    let no_effect = format!("{runs} has no binding that denies");
    warns_without(&both, std::slice::from_ref(&of_schedules), &no_effect).await;
    warns_without(&both, &[binding(runs, "Audit"), of_schedules.clone()], &no_effect).await;
    let mut narrowed = binding(runs, "Deny");
    narrowed["spec"]["matchResources"] = json!({"namespaceSelector": {"matchLabels": {"team": "a"}}});
    warns_without(&both, &[narrowed, of_schedules], &no_effect).await;
    let no_limits = "none: a run beyond the limits is created, and then fails with PolicyDenied";
    assert_lines(&plugin, 0, &[&format!("warning  admission limits  {no_limits}")]).await;
    server.set_object(POLICIES, list("ValidatingAdmissionPolicy", &json!([name("policy")])));
    let audits = list("ValidatingAdmissionPolicyBinding", &json!([binding("benchwright-operator-policy", "Audit")]));
    server.set_object(BINDINGS, audits);
    let no_effect = "warning  admission limits  benchwright-operator-policy has no binding that denies";
    assert_lines(&plugin, 0, &[no_effect]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_fails_with_what_to_do() {
    let (server, plugin) = healthy().await;
    server.set_object(DEPLOYMENTS, list("Deployment", &json!([])));
    server.set_object(POLICIES, list("ValidatingAdmissionPolicy", &json!([])));
    server.set_object(CLASSES, list("StorageClass", &json!([])));
    server.take_right("create", "benchmarkruns");
    server.take_right("create", "pods/exec");
    server.take_right("create", "pods/portforward");
    server.take_right("get", "pods/portforward");
    assert_lines(
        &plugin,
        1,
        &[
            "failed   operator          no Deployment has the labels of the chart; install the chart\n",
            "warning  admission policy  none for runs: whoever may create runs can use every Secret of the namespace",
            "warning  storage           there is neither claim workload-pvc nor a default StorageClass; set storage.pvc.storageClassName",
            "failed   rights            run and rerun: you may not create benchmarkruns.benchwright.dev in namespace bench; ask for the chart's role *-operator-edit\n",
            "warning  rights            live progress: you may not get pods/portforward in namespace bench; ask for the role edit\n",
            "warning  rights            results: from Kubernetes 1.35 on, also needs rights that you lack: create pods/exec in namespace bench",
        ],
    )
    .await;
    server.set_object(OPENAPI, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound", "message": "no"}));
    assert_lines(
        &plugin,
        1,
        &["failed   definition        the cluster does not know BenchmarkRuns; install the chart\n"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_may_not_see_is_said_and_is_no_failure() {
    let (server, plugin) = healthy().await;
    for path in ["/deployments", "/validatingadmissionpolicies", "/storageclasses", "/namespaces/bench"] {
        server.deny("get", path);
    }
    assert_lines(
        &plugin,
        0,
        &[
            "-        operator          not checked, because you may not list deployments.apps in all namespaces; ask an administrator",
            "-        admission policy  not checked, because you may not list validatingadmissionpolicies",
            "-        storage           not checked, because you may not list storageclasses.storage.k8s.io",
            "-        namespace         not checked, because you may not get namespace bench",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_does_not_answer_is_the_only_line() {
    let plugin = Plugin::with_url("http://127.0.0.1:1");
    let done = assert_lines(&plugin, 1, &["failed   API server  the API server does not answer"]).await;
    assert_eq!(done.stdout.lines().count(), 1);
}
