//! Tests of the requests for a server's identity. No answer of the server can delay a run.

use crds::benchmark_run::Api;
use engine::client::{Target, identity};
use measurement::server_identity::ServerIdentity;
use simulator::{SimOptions, faults::FaultKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

use crate::load::common::{fault, in_process, millis, server, simulated};

#[tokio::test(start_paused = true)]
async fn the_simulator_says_what_it_is() {
    let options = SimOptions { max_model_len: 4_096, ..server(millis(100), millis(20)) };
    let found = identity::ask(&simulated(options.clone()), "m").await;
    assert_eq!((found.engine.as_deref(), found.version.as_deref()), (Some("vllm"), Some("0.32.0")));
    assert!(found.simulator.is_some_and(|it| it.starts_with("benchwright ")));
    assert_eq!((found.server.as_deref(), found.max_model_len), (Some("uvicorn"), Some(4_096)));
    assert_eq!((found.model.as_deref(), found.model_root.as_deref()), (Some("m"), Some("m")));

    // The list of models hangs, but the version is answered.
    let hung = simulated(SimOptions { fault: fault(FaultKind::Hang), ..options });
    let found = identity::ask(&hung, "m").await;
    assert_eq!((found.version.as_deref(), found.model, found.max_model_len), (Some("0.32.0"), None, None));
}

/// A server that answers every request with the same bytes, and then closes the connection.
fn answering(bytes: Vec<u8>) -> Target {
    in_process(move |mut connection: DuplexStream| {
        let bytes = bytes.clone();
        tokio::spawn(async move {
            let mut head = [0; 4_096];
            let _ = connection.read(&mut head).await;
            let _ = connection.write_all(&bytes).await;
        });
    })
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_wrong_long_or_endless_tell_nothing() {
    let head = |rest: &str| format!("HTTP/1.1 200 OK\r\nserver: box\r\n{rest}\r\n\r\n");
    let long = format!("{}[{}", head("content-length: 90000000"), "1,".repeat(1 << 20));
    for (answer, server) in [
        (String::new(), None),
        ("no HTTP at all".to_owned(), None),
        (head("content-length: 5") + "{\"ver", Some("box")),
        (head("content-length: 50") + "{\"ver", None),
        (head("content-type: text/html\r\ncontent-length: 6") + "<html>", Some("box")),
        (
            "HTTP/1.1 404 Not Found\r\nserver: box\r\ncontent-length: 16\r\n\r\n{\"version\": \"1\"}".to_owned(),
            Some("box"),
        ),
        (long, None),
    ] {
        let shown = answer.chars().take(80).collect::<String>();
        let found = identity::ask(&answering(answer.into_bytes()), "m").await;
        let expected = ServerIdentity { server: server.map(str::to_owned), ..ServerIdentity::default() };
        assert_eq!(found, expected, "{shown}");
    }
    // A connection on which nothing answers.
    let kept = std::sync::Mutex::new(Vec::new());
    let silent = Target::in_process(Api::Completions, move || {
        let (client, server) = duplex(1 << 10);
        kept.lock().unwrap().push(server);
        client
    });
    assert_eq!(identity::ask(&silent, "m").await, ServerIdentity::default());
}
