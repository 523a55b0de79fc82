//! `rerun`: tests of the run that it creates.

use serde_json::json;

use crate::{
    plugin::{Plugin, done},
    runs::{created, ended},
    server::Server,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_created_and_followed() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    let mut run = created("chat");
    run["metadata"]["annotations"] = json!({"benchwright.dev/finished": "{}", "note": "kept"});
    run["spec"]["cancel"] = json!("Graceful");
    run["spec"]["ofALaterRelease"] = json!({"x": 1});
    server.store(run, ended("Cancelled", "Cancelled"));
    let child = plugin.start(&["rerun", "chat"]);
    server.requested("POST").await;
    server.set_status("chat-x7k2p", ended("Passed", "RunSucceeded"));
    let done = done(child).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.starts_with("Passed: chat-x7k2p"), "{}", done.stdout);
    let sent = &server.requests("POST")[0];
    assert_eq!(sent["metadata"], json!({"generateName": "chat-", "annotations": {"note": "kept"}}));
    assert_eq!(sent["spec"], json!({"target": {"simulator": {}}, "ofALaterRelease": {"x": 1}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_a_copy_can_be_given_and_is_printed() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    server.store(created("chat"), ended("Passed", "RunSucceeded"));
    let done = plugin.run(&["rerun", "chat", "--as", "again", "--no-wait"]).await;
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "again\n"), "{}", done.stderr);
    let done = plugin.run(&["rerun", "chat", "--as", "again", "--no-wait"]).await;
    assert!(done.code == Some(3) && done.stderr.contains("benchmarkrun again exists in namespace bench"), "{done:?}");
    let done = plugin.run(&["rerun", "nothing"]).await;
    assert!(done.code == Some(3) && done.stderr.contains("nothing does not exist in namespace bench"), "{done:?}");
}
