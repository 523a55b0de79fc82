//! Tests of the kubectl plugin, which is used by users with Kubernetes' own roles.

use std::process::Output;

use anyhow::Context;
use e2e::{Cluster, Namespace, tools};
use k8s_openapi::api::{core::v1::ServiceAccount, rbac::v1::RoleBinding};
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::runs::simulated;

/// A user of the plugin: a folder with a kubeconfig that has the token of a service account.
struct User {
    folder: tempfile::TempDir,
    namespace: String,
}

impl User {
    /// Creates a service account with one of Kubernetes' own roles: view, edit or admin.
    async fn with_role(namespace: &Namespace, role: &str) -> anyhow::Result<User> {
        let account: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": role}}))?;
        namespace.api::<ServiceAccount>().create(&PostParams::default(), &account).await?;
        let binding: RoleBinding = serde_json::from_value(json!({
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": role, "namespace": namespace.name}],
        }))?;
        namespace.api::<RoleBinding>().create(&PostParams::default(), &binding).await?;
        let token = tools::kubectl(&["create", "token", role, "--namespace", &namespace.name])?;
        let admins = tools::kubectl(&["config", "view", "--minify", "--raw", "--output", "json"])?;
        let mut config: Value = serde_json::from_str(&admins)?;
        config["users"][0]["user"] = json!({"token": token.trim()});
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("kubeconfig"), config.to_string())?;
        Ok(User { folder, namespace: namespace.name.clone() })
    }

    /// Runs the plugin. Returns its exit code, its stdout and its stderr.
    fn plugin(&self, arguments: &[&str]) -> anyhow::Result<(i32, String, String)> {
        let arguments = [arguments, &["--namespace", &self.namespace]].concat();
        let folder = self.folder.path();
        let Output { status, stdout, stderr } = tools::plugin(&arguments, &folder.join("kubeconfig"), folder)?;
        let [stdout, stderr] = [stdout, stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        println!("$ kubectl {}\n{stdout}{stderr}", arguments.join(" "));
        Ok((status.code().context("the plugin was killed")?, stdout, stderr))
    }

    fn file(&self, name: &str, spec: &str) -> anyhow::Result<String> {
        let run = json!({
            "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
            "spec": serde_saphyr::from_str::<Value>(spec)?,
        });
        std::fs::write(self.folder.path().join("run.json"), run.to_string())?;
        Ok("run.json".to_owned())
    }
}

fn assert_holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_editor_starts_a_run_follows_it_and_reads_its_verdict() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "plugin").await?;
    let editor = User::with_role(&namespace, "edit").await?;
    let file = editor.file("chat", &simulated(5.0, 20, "storage: {none: {}}"))?;
    let (code, figures, progress) = editor.plugin(&["run", &file, "--timeout", "5m", "--junit", "junit.xml"])?;
    assert_eq!(code, 0, "{progress}");
    assert_holds(&figures, &["Passed: chat", "TTFT", "requests 100, failed 0, cancelled 0"]);
    // The progress line with live figures comes through a port-forward, which the kubelet handles.
    assert_holds(&progress, &["benchmarkrun chat created", "chat: Running/Measuring", "  sent ", " of 100, ended "]);
    assert_holds(&std::fs::read_to_string(editor.folder.path().join("junit.xml"))?, &["<testsuite", "failures=\"0\""]);

    let (code, _, message) = editor.plugin(&["run", &file])?;
    assert_eq!(code, 3, "{message}");
    assert_holds(&message, &["benchmarkrun chat exists", "rerun chat"]);

    let missed =
        "storage: {none: {}}\nslo: {objectives: [{name: throughput, metric: requestsPerSecond, min: 1000000}]}";
    let file = editor.file("slow", &simulated(10.0, 3, missed))?;
    let (code, name, _) = editor.plugin(&["run", &file, "--no-wait"])?;
    assert_eq!((code, name.trim()), (0, "slow"));
    let (code, figures, progress) = editor.plugin(&["wait", "slow", "--timeout", "5m"])?;
    assert_eq!(code, 1, "{progress}");
    assert_holds(&figures, &["SLOViolated", "throughput"]);
    let invalid = "storage: {none: {}}\nvalidity: {minSuccessfulRequests: 1000000}";
    let file = editor.file("few", &simulated(10.0, 3, "").replace(e2e::PATIENT, invalid))?;
    assert_eq!(editor.plugin(&["run", &file, "--timeout", "5m"])?.0, 2);
    assert_eq!(editor.plugin(&["gate", "few"])?.0, 2);
    let (code, _, progress) = editor.plugin(&["rerun", "slow", "--as", "slower", "--timeout", "5m"])?;
    assert_eq!(code, 1, "{progress}");
    let (code, verdict, _) = editor.plugin(&["gate", "slower"])?;
    assert_eq!(code, 1);
    assert_holds(&verdict, &["throughput"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_viewer_waits_reads_logs_and_verdicts_and_starts_nothing() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "viewer").await?;
    let viewer = User::with_role(&namespace, "view").await?;
    namespace.create_run("chat", &simulated(5.0, 15, "storage: {none: {}}")).await?;
    let (code, figures, progress) = viewer.plugin(&["wait", "chat", "--timeout", "5m"])?;
    assert_eq!(code, 0, "{progress}");
    assert_holds(&figures, &["Passed: chat", "requests 75"]);
    assert_eq!(viewer.plugin(&["gate", "chat"])?.0, 0);
    let (code, log, message) = viewer.plugin(&["logs", "chat"])?;
    assert_eq!(code, 0, "{message}");
    assert_holds(&log, &["TTFT"]);
    for arguments in [["rerun", "chat"], ["run", "run.json"]] {
        viewer.file("other", &simulated(5.0, 3, "storage: {none: {}}"))?;
        let (code, _, message) = viewer.plugin(&arguments)?;
        assert_eq!(code, 3, "{message}");
        assert_holds(&message, &["create", "benchmarkruns", "edit"]);
    }
    Ok(())
}

/// Compares the table in docs/kubectl.md with the roles that the API server aggregates.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn the_roles_have_the_rights_that_the_documentation_says() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "roles").await?;
    const RUNS: &str = "benchmarkruns.benchwright.dev";
    let rights: [(&str, &str, &str, &[&str]); 15] = [
        ("list", RUNS, "", &["view", "edit", "admin"]),
        ("watch", RUNS, "", &["view", "edit", "admin"]),
        ("get", RUNS, "", &["view", "edit", "admin"]),
        ("get", "pods", "log", &["view", "edit", "admin"]),
        ("create", RUNS, "", &["edit", "admin"]),
        ("patch", RUNS, "", &["edit", "admin"]),
        ("delete", RUNS, "", &["edit", "admin"]),
        ("get", "pods", "portforward", &["edit", "admin"]),
        ("create", "pods", "portforward", &["edit", "admin"]),
        ("create", "pods", "", &["edit", "admin"]),
        ("delete", "pods", "", &["edit", "admin"]),
        ("get", "pods", "exec", &["edit", "admin"]),
        ("patch", RUNS, "status", &[]),
        ("update", RUNS, "status", &[]),
        ("update", RUNS, "finalizers", &[]),
    ];
    for role in ["view", "edit", "admin"] {
        let account = format!("system:serviceaccount:{}:{role}", namespace.name);
        User::with_role(&namespace, role).await?;
        for (verb, resource, part, roles) in &rights {
            // Without this flag, kubectl would interpret `pods/log` as the pod with the name `log`.
            let part = format!("--subresource={part}");
            let asked = ["auth", "can-i", verb, resource, &part, "--namespace", &namespace.name, "--as", &account];
            // Both the answer `no` and an error have the exit code 1, but their texts differ.
            let answer = tools::kubectl(&asked).unwrap_or_else(|error| format!("{error:#}"));
            let word = if roles.contains(&role) { "yes" } else { "no" };
            let found = answer.lines().any(|it| it.trim() == word);
            assert!(found, "may {role} {verb} {resource} {part}? expected {word}, and kubectl says {answer}");
        }
    }
    Ok(())
}
