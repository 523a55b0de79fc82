//! Tests of a target that is a Unix socket of another process on this machine.

use std::{path::Path, sync::Arc};

use crds::benchmark_run::{Api, HttpVersion};
use engine::client::{Target, probe};
use simulator::Simulator;
use tokio::net::UnixListener;

use super::common::*;

fn target(path: &Path) -> Target {
    let url = format!("unix:{}", path.display());
    Target::new(&url, Api::Completions, Some("s3cret"), None, &Default::default()).unwrap()
}

#[tokio::test]
async fn a_load_goes_through_a_socket_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vllm.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let simulator = Simulator::new(server(millis(2), millis(1)));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let simulator = Arc::clone(&simulator);
            tokio::spawn(async move { simulator.serve_connection(stream).await });
        }
    });
    let target = target(&path);
    assert_eq!(probe::models(&target).await.unwrap()[0].id, "m");
    let result = issue(&workload(vec![closed(3, 60), open(100.0, 1)], 4), &target).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 60)]);
    assert_eq!(outcomes(&result, 1), [("ok".to_owned(), 100)]);
    assert!(records(&result).iter().all(|it| it.content_events == 4 && it.sent <= it.first_token));
    // On a Unix socket, HTTP/2 is used only if it is required. This server does not support it.
    let result = issue(&workload(vec![closed(1, 1)], 4), &target.speaking(HttpVersion::Http2)).await;
    assert_eq!(result.recorder.stages[0].succeeded(), 0);
}

#[tokio::test]
async fn a_socket_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let result = issue(&workload(vec![closed(1, 2)], 4), &target(&folder.path().join("none.sock"))).await;
    assert_eq!(outcomes(&result, 0), [("connect_error".to_owned(), 2)]);
    let message = result.recorder.stages[0].error_samples.values().next().unwrap();
    assert!(message.contains("none.sock") && message.contains("No such file"), "{message}");
}
