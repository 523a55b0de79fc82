//! Tests with an API server that accepts requests but never answers them.

use crate::{
    plugin::{Plugin, done, line_with},
    runs::{self, FILE, created, under_way},
    server::Server,
};

#[tokio::test(flavor = "multi_thread")]
async fn each_request_has_a_time_limit() {
    for (verb, path, command) in [
        ("get", "/benchmarkruns/chat", &["gate", "chat"][..]),
        ("get", "/benchmarkruns/chat", &["rerun", "chat"]),
        ("create", "/benchmarkruns", &["run", "run.yaml"]),
        ("get", "/log", &["logs", "chat"]),
    ] {
        let server = Server::start().await;
        let plugin = Plugin::new(&server);
        plugin.file("run.yaml", FILE);
        server.store(created("chat"), runs::ended("Passed", "RunSucceeded"));
        server.hold(verb, path);
        let done = plugin.run(&[command, &["--request-timeout", "200ms"]].concat()).await;
        assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{command:?}: {done:?}");
        let said = "no answer within --request-timeout 200ms; check --context and the network";
        assert!(done.stderr.contains(said), "{command:?}: {}", done.stderr);
        let doubt = done.stderr.contains("shows whether the run was created");
        assert_eq!(doubt, verb == "create", "{}", done.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_says_that_there_is_no_answer_and_tries_again() {
    for (verb, name) in [("list", "chat"), ("watch", "other")] {
        let server = Server::start().await;
        server.store(created(name), under_way("Starting", "PodStarting", ""));
        server.hold(verb, "/benchmarkruns");
        let plugin = Plugin::new(&server);
        let mut child = plugin.start(&["wait", name, "--request-timeout", "200ms"]);
        let said = line_with(&mut child, "no answer within --request-timeout 200ms").await;
        assert!(said.contains(&format!("the watch of {name} failed, and is tried again")), "{said}");
        server.release();
        server.set_status(name, runs::ended("Passed", "RunSucceeded"));
        let ended = done(child).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_creation_counts_within_the_time_of_the_wait() {
    for (verb, path, command) in [
        ("create", "/benchmarkruns", &["run", "run.yaml"][..]),
        ("create", "/benchmarkruns", &["rerun", "chat"]),
        ("get", "/benchmarkruns/chat", &["rerun", "chat"]),
    ] {
        let server = Server::start().await;
        let plugin = Plugin::new(&server);
        plugin.file("run.yaml", FILE);
        server.store(created("chat"), under_way("Running", "Measuring", ""));
        server.hold(verb, path);
        let done = plugin.run(&[command, &["--timeout", "200ms"]].concat()).await;
        assert_eq!(done.code, Some(124), "{command:?}: {done:?}");
        let said = "the API server has not answered within --timeout 200ms; `kubectl get benchmarkruns -n bench` shows whether the run was created";
        assert!(done.stderr.contains(said), "{command:?}: {}", done.stderr);
    }
}
