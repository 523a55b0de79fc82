//! Checks the transcript in docs/kubectl.md.

use serde_json::json;

use crate::{
    plugin::{Plugin, done, line_with},
    runs::{FILE, ended, under_way},
    server::Server,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_plugin_prints_what_the_documentation_shows() {
    let text = include_str!("../../../../docs/kubectl.md");
    let (_, transcript) = text.split_once("```text\n$ kubectl benchwright ").unwrap();
    let (command, expected) = transcript.split_once("```").unwrap().0.split_once('\n').unwrap();
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    plugin.file("run.yaml", &FILE.replace("name: chat", "generateName: chat-"));
    let arguments: Vec<&str> = command.split(' ').collect();
    let mut child = plugin.start(&arguments);
    let mut printed = line_with(&mut child, "waits for the operator").await;
    for (phase, reason, message) in [
        ("Preparing", "Preparing", "the operator creates ConfigMap, claim and Job"),
        (
            "Starting",
            "PodStarting",
            "the pod is being created or starts on its node; if this takes long, see its events and the events of the Job",
        ),
        ("Running", "Measuring", "the launcher measures"),
    ] {
        server.set_status("chat-x7k2p", under_way(phase, reason, message));
        printed += &line_with(&mut child, message).await;
    }
    let mut status = ended("Passed", "RunSucceeded");
    status["conditions"][0]["message"] = json!("the figures are valid");
    status["summary"] = json!({
        "requests": 3000, "failed": 0, "cancelled": 0, "durationMicroseconds": 300_000_000,
        "ttft": {"p50Microseconds": 21000, "p90Microseconds": 32000, "p99Microseconds": 46650},
        "itl": {"p50Microseconds": 9000, "p90Microseconds": 11000, "p99Microseconds": 14000},
        "requestsPerSecondMilli": 10_000, "outputTokensPerSecondMilli": 1_280_000,
    });
    (status["objectives"], status["artifacts"]) = (json!([]), json!([]));
    server.set_status("chat-x7k2p", status);
    let done = done(child).await;
    assert_eq!(printed + &done.stderr + &done.stdout, expected);
}
