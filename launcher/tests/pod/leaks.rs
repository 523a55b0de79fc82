//! Text from a server or from a profile never appears in the termination message.

use std::{fs, process::Command};

use crate::pod::fixture::{Pod, Server, healthy, json_answer};

/// The beginning of the field `readiness`.
const READINESS: &str = "readiness: {";
pub const CANARY: &str = "c4n4ry-0f-a-server";

/// Responses in which a server may use its own words.
fn answers() -> Vec<(&'static str, String)> {
    let error = |status| json_answer(status, &format!(r#"{{"error":{{"type":"{CANARY}","message":"{CANARY}"}}}}"#));
    let head = |line: &str| format!("{line}\r\nx-secret: {CANARY}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let events = |data: &str| {
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {data}\n\n")
    };
    vec![
        ("400", error("400 Bad Request")),
        ("401", error("401 Unauthorized")),
        ("403 in a reason phrase", error(&format!("403 {CANARY}"))),
        ("404", error("404 Not Found")),
        ("422 with detail", json_answer("422 Unprocessable", &format!(r#"{{"detail":"{CANARY}"}}"#))),
        ("429", error("429 Too Many Requests")),
        ("500", error("500 Internal Server Error")),
        ("503", error("503 Service Unavailable")),
        ("an error under 200", json_answer("200 OK", &format!(r#"{{"error":"{CANARY}"}}"#))),
        ("an error in the stream", events(&format!(r#"{{"error":{{"message":"{CANARY}"}}}}"#))),
        ("an event that is no JSON", events(CANARY)),
        ("a redirect", head(&format!("HTTP/1.1 302 Found\r\nlocation: http://{CANARY}/"))),
        ("no HTTP", format!("{CANARY} {CANARY}\r\n\r\n")),
        ("a wrong version", format!("HTTP/9.9 {CANARY}\r\n\r\n")),
        ("a wrong header", format!("HTTP/1.1 200 OK\r\n{CANARY}\r\n\r\n")),
        ("a wrong length", format!("HTTP/1.1 200 OK\r\ncontent-length: {CANARY}\r\n\r\n")),
        ("a wrong chunk", format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{CANARY}\r\n")),
        ("a wrong encoding", format!("HTTP/1.1 200 OK\r\ntransfer-encoding: {CANARY}\r\n\r\n")),
    ]
}

/// Runs a pod against a server, and checks that no text from the server is in the termination message. Returns the log.
fn assert_no_words(name: &str, server: &Server, more: &str) -> String {
    let pod = Pod::new();
    pod.mount(&format!("target: {{url: '{}', {more}timeoutSeconds: 1}}}}", server.url()), |_| {});
    assert_message_without_words(name, &pod, &mut pod.command(), &[CANARY])
}

/// Runs a pod that must not succeed, and checks that the termination message contains none of the words. Returns the log.
pub fn assert_message_without_words(name: &str, pod: &Pod, command: &mut Command, words: &[&str]) -> String {
    let output = command.output().unwrap();
    let message = pod.message();
    assert!(!words.iter().any(|it| message.contains(it)), "{name}: {message}");
    let core = pod.envelope().core;
    assert!(core.outcome != crds::Outcome::Passed && !core.message.is_empty(), "{name}: {core:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_target_that_is_not_ready_is_described_without_its_words() {
    for (name, answer) in answers() {
        assert_no_words(name, &Server::start(move |_, _| answer.clone()), READINESS);
    }
    // The log of the pod contains the server's text, unlike the termination message.
    let unauthorized = json_answer("401 Unauthorized", &format!(r#"{{"error":"{CANARY}"}}"#));
    let log = assert_no_words("401", &Server::start(move |_, _| unauthorized.clone()), READINESS);
    assert!(log.contains(CANARY), "{log}");
}

#[test]
fn models_that_a_server_lists_are_not_named() {
    let lists = |body: String| Server::start(move |_, _| json_answer("200 OK", &body));
    let two = format!(r#"{{"data":[{{"id":"{CANARY}-a"}},{{"id":"{CANARY}-b"}}]}}"#);
    let log = assert_no_words("two models", &lists(two.clone()), READINESS);
    assert!(log.contains(CANARY), "{log}");
    assert_no_words("another model", &lists(two), "model: wanted, readiness: {probe: Models, ");
    assert_no_words("no list", &lists(format!(r#"{{"data":"{CANARY}"}}"#)), READINESS);
}

#[test]
fn requests_that_fail_are_described_without_the_servers_words() {
    let all = answers();
    let count = all.len();
    for (name, answer) in all {
        // The readiness probe succeeds, but the load fails.
        let server = Server::start(move |_, head| {
            let is_load = head.starts_with("POST ") && head.contains("x-request-id");
            if is_load { answer.clone() } else { healthy(head) }
        });
        assert_no_words(name, &server, READINESS);
        assert!(server.prompts() > 1, "{name}");
    }
    println!("figure 23: {count} failing answers of a server are absent from the termination message");
}

#[test]
fn a_profile_that_cannot_be_read_is_described_without_its_text() {
    for text in [
        CANARY.to_owned(),
        format!("password: {CANARY}"),
        format!("load: {{type: {CANARY}}}"),
        format!("a: b: {CANARY}"),
    ] {
        let pod = Pod::new();
        pod.mount("target: {simulator: {preset: Tiny}}", |_| {});
        fs::write(pod.path("input").join("profile.yaml"), &text).unwrap();
        let output = pod.run();
        let message = pod.message();
        assert_eq!(output.status.code(), Some(10), "{output:?}");
        assert!(message.contains("cannot be run: ") && message.contains(", at "), "{message}");
        assert!(!message.contains(CANARY), "{message}");
    }
}

#[test]
fn a_launcher_that_is_killed_leaves_no_words_of_the_log() {
    let pod = Pod::new();
    let waits = Server::start(|_, _| json_answer("503 Service Unavailable", &format!(r#"{{"error":"{CANARY}"}}"#)));
    pod.mount(&format!("target: {{url: '{}', readiness: {{timeoutSeconds: 600}}}}", waits.url()), |_| {});
    let mut child = pod.command().stderr(std::process::Stdio::null()).spawn().unwrap();
    while waits.heads().is_empty() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // If the message were empty, the kubelet would use the end of the log.
    let message = pod.message();
    assert!(message.starts_with("ended before there was a result"), "{message}");
}
