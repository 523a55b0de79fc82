//! Following a run: the output while the run is in progress, and how the command ends.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    plugin::{Plugin, done, line_with},
    runs::{FILE, created, ended, under_way},
    server::Server,
};

const METRICS: &str = "benchwright_measuring 1\nbenchwright_requests_planned 3000\nbenchwright_requests_sent_total 312\n\
    benchwright_requests_ended_total{outcome=\"succeeded\"} 300\nbenchwright_requests_ended_total{outcome=\"failed\"} 2\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_created_followed_and_its_figures_are_printed() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    server.set_metrics(METRICS);
    let file = plugin.file("run.yaml", FILE);
    let mut child = plugin.start(&["run", &file]);
    let mut lines = vec![line_with(&mut child, "waits for the operator").await];
    server.set_status("chat", under_way("Starting", "PodStarting", "the pod is created"));
    lines.push(line_with(&mut child, "Starting").await);
    server.set_status("chat", under_way("Running", "Measuring", "the launcher sends the load"));
    lines.push(line_with(&mut child, "sent 312").await);
    let mut status = ended("Passed", "RunSucceeded");
    status["accuracy"] = json!({
        "check": "rouge", "verdict": "Passed", "scored": 300,
        "figures": [{"name": "rouge1", "value": "38.8638", "limit": "at least 38", "met": "True"}, {"name": "rougeLsum"}],
    });
    server.set_status("chat", status);
    let done = done(child).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    for part in ["check rouge: Passed; 300 answers scored", "38.8638  at least 38  True", "not computed"] {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
    assert_eq!(
        lines.join("") + &done.stderr,
        "benchmarkrun chat created in namespace bench\n\
         chat: waits for the operator\n\
         chat: Starting/PodStarting: the pod is created\n\
         chat: Running/Measuring: the launcher sends the load\n\
         \u{20} sent 312 of 3000, ended 302, failed 2\n\
         chat: Succeeded/RunSucceeded: what the operator says\n"
    );
    assert!(done.stdout.starts_with("Passed: chat, model llama"), "{}", done.stdout);
    assert_eq!(server.requests("POST /apis/benchwright.dev/v1alpha1/namespaces/bench/benchmarkruns?fieldManager=kubectl-benchwright&fieldValidation=Strict").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_a_port_forward_this_is_said_once() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    server.deny("get", "/portforward");
    server.store(created("chat"), under_way("Running", "Measuring", "one"));
    let mut child = plugin.start(&["wait", "chat"]);
    let said = "no live progress: you may not get pods/portforward in namespace bench; Kubernetes 1.35 also requires the verb create; the role edit has both rights\n";
    line_with(&mut child, said).await;
    server.set_status("chat", under_way("Running", "Measuring", "two"));
    line_with(&mut child, "two").await;
    server.set_status("chat", ended("Passed", "RunSucceeded"));
    let done = done(child).await;
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), "chat: Succeeded/RunSucceeded: what the operator says\n"));
    assert_eq!(server.requests("GET /api/v1/namespaces/bench/pods/").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_takes_too_long_ends_with_124_and_leaves_the_run() {
    let server = Server::start().await;
    server.store(created("chat"), under_way("Starting", "Unschedulable", "no node takes the pod"));
    let done = Plugin::new(&server).run(&["wait", "chat", "--timeout", "300ms"]).await;
    assert_eq!(done.code, Some(124), "{done:?}");
    assert!(done.stderr.contains("Unschedulable: no node takes the pod"), "{}", done.stderr);
    assert!(done.stderr.contains("chat has not ended within --timeout 300ms; the run goes on"), "{}", done.stderr);
    assert!(server.requests("DELETE").is_empty() && server.requests("PATCH").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_the_wait_and_leaves_the_run() {
    let server = Server::start().await;
    server.store(created("chat"), under_way("Starting", "PodStarting", ""));
    let plugin = Plugin::new(&server);
    let child = plugin.start(&["wait", "chat"]);
    server.requested("GET /apis/benchwright.dev/v1alpha1/namespaces/bench/benchmarkruns?&watch=true").await;
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let done = done(child).await;
    assert_eq!(done.code, Some(130), "{done:?}");
    assert!(done.stderr.contains("`kubectl benchwright wait chat -n bench` follows it again"), "{}", done.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_deleted_or_replaced_is_no_longer_waited_for() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    server.store(created("chat"), under_way("Starting", "PodStarting", ""));
    let child = plugin.start(&["wait", "chat"]);
    server.requested("GET /apis/benchwright.dev/v1alpha1/namespaces/bench/benchmarkruns?&watch=true").await;
    server.delete("chat");
    let ended = done(child).await;
    assert!(ended.code == Some(3) && ended.stderr.contains("chat was deleted before it had ended"), "{ended:?}");

    server.store(created("other"), under_way("Starting", "PodStarting", ""));
    let child = plugin.start(&["wait", "other"]);
    server.requested("GET /apis/benchwright.dev/v1alpha1/namespaces/bench/benchmarkruns?&watch=true&timeoutSeconds=60&fieldSelector=metadata.name%3Dother").await;
    let mut replaced = created("other");
    replaced["metadata"]["uid"] = "another".into();
    server.store(replaced, under_way("Pending", "TargetBusy", ""));
    let ended = done(child).await;
    assert!(ended.code == Some(3) && ended.stderr.contains("a new run has its name"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_the_operator_cannot_read_ends_the_wait() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    let said = "this operator cannot read this run and leaves it alone";
    let condition = |kind: &str, status: &str, generation: i64| {
        json!({
            "type": kind, "status": status, "reason": "Unreadable", "message": said,
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": generation,
        })
    };
    let mut run = created("chat");
    run["metadata"]["generation"] = json!(2);
    // These conditions belong to an earlier generation of the spec.
    let old = json!({"observedGeneration": 1, "conditions": [condition("Ready", "False", 1), condition("Stalled", "True", 1)]});
    server.store(run, old);
    let mut child = plugin.start(&["wait", "chat"]);
    line_with(&mut child, &format!("chat: {said}")).await;
    let now = json!({"observedGeneration": 2, "conditions": [condition("Ready", "False", 2), condition("Stalled", "True", 2)]});
    server.set_status("chat", now);
    let ended = done(child).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""), "{ended:?}");
    assert!(ended.stderr.contains("the operator does not continue chat, for the reason above"), "{}", ended.stderr);
    let gated = plugin.run(&["gate", "chat"]).await;
    assert!(gated.code == Some(3) && gated.stderr.contains(said), "{gated:?}");
}
