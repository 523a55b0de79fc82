//! Requests that the plugin or the server refuses, and their messages.

use crate::{plugin::Plugin, runs::FILE, server::Server};

/// Runs `run run.yaml` and asserts its exit code and parts of its message.
async fn assert_refused(plugin: &Plugin, parts: &[&str]) {
    let file = plugin.file("run.yaml", FILE);
    let done = plugin.run(&["run", &file]).await;
    assert_eq!(done.code, Some(3), "{done:?}");
    for part in parts {
        assert!(done.stderr.contains(part), "{part:?} is not in {}", done.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_faults_is_not_sent() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    let file = plugin.file(
        "bad.yaml",
        "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: a}\nspec: {target: {}, sead: 1}\n",
    );
    let done = plugin.run(&["run", &file]).await;
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("bad.yaml: cannot be created:\n  spec.sead, line 4"), "{}", done.stderr);
    assert!(done.stderr.contains("did you mean seed?"), "{}", done.stderr);
    let done = plugin.run(&["run", "missing.yaml"]).await;
    assert!(done.code == Some(3) && done.stderr.contains("missing.yaml: cannot be read"), "{done:?}");
    let file = plugin.file("other.yaml", &FILE.replace("name: chat", "name: chat, namespace: other"));
    let done = plugin.run(&["run", &file, "-n", "bench"]).await;
    assert!(
        done.code == Some(3) && done.stderr.contains("metadata.namespace is \"other\", and -n is \"bench\""),
        "{done:?}"
    );
    assert!(server.requests("").is_empty(), "{:?}", server.requests(""));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_api_server_refuses_is_told_with_what_to_do() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    server.refuse_creation(422, "Invalid", "spec.target: set exactly one of url, serviceRef");
    assert_refused(&plugin, &["benchmarkruns chat: spec.target: set exactly one of"]).await;
    server.refuse_creation(
        403,
        "Forbidden",
        "benchmarkruns \"chat\" is forbidden: ValidatingAdmissionPolicy 'x' denied request: ask for that right",
    );
    assert_refused(&plugin, &["denied request: ask for that right"]).await;
    server.refuse_creation(401, "Unauthorized", "Unauthorized");
    assert_refused(&plugin, &["does not know you (401)"]).await;
    server.refuse_namespace();
    assert_refused(
        &plugin,
        &["namespace bench does not exist; choose another with -n, or see `kubectl get namespaces`"],
    )
    .await;
    server.deny("create", "/benchmarkruns");
    assert_refused(
        &plugin,
        &["you may not create benchmarkruns.benchwright.dev in namespace bench", "the chart's role *-operator-edit"],
    )
    .await;
    server.deny("list", "/benchmarkruns");
    let done = plugin.run(&["wait", "chat"]).await;
    assert!(done.code == Some(3) && done.stderr.contains("you may not list benchmarkruns.benchwright.dev"), "{done:?}");
    let done = plugin.run(&["gate", "missing"]).await;
    assert!(
        done.code == Some(3) && done.stderr.contains("benchmarkruns missing does not exist in namespace bench"),
        "{done:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_exists_is_not_run_again() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    let file = plugin.file("run.yaml", FILE);
    assert_eq!(plugin.run(&["run", &file, "--no-wait"]).await.stdout, "chat\n");
    assert_refused(&plugin, &["`kubectl benchwright rerun chat` runs it again"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_cannot_be_reached_is_an_error() {
    let plugin = Plugin::with_url("http://127.0.0.1:1");
    assert_refused(&plugin, &["the API server does not answer", "check --context and the network"]).await;
    let done = plugin.run(&["gate", "chat", "--context", "nowhere"]).await;
    assert!(done.code == Some(3) && done.stderr.contains("nowhere"), "{done:?}");
    let done = plugin.run(&["gate", "chat", "--kubeconfig", "none.yaml"]).await;
    assert!(
        done.code == Some(3) && done.stderr.contains("--kubeconfig is none.yaml, which cannot be used"),
        "{done:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_flag_has_the_exit_code_of_the_launchers_commands() {
    let plugin = Plugin::with_url("http://127.0.0.1:1");
    for arguments in [&["wait"][..], &["wait", "chat", "--timeout", "soon"], &["gate", "chat", "--no-such-flag"], &[]] {
        let done = plugin.run(arguments).await;
        assert_eq!(done.code, Some(10), "{arguments:?}: {done:?}");
    }
    assert_eq!(plugin.run(&["--version"]).await.code, Some(0));
}
