//! Tests that the content of a ConfigMap never appears in the status of a run that refers to it.

use serde_json::{Value, json};

use super::{Play, Story};

const SECRET: &str = "c4n4ry-0f-a-c0nf1g";

/// Returns everything that was written because of a run with this ConfigMap: its status and events, and its children.
async fn written(data: Value) -> (String, String) {
    let spec = "{target: {simulator: {}}, profile: {configMapRef: {name: others, key: data}}}";
    let mut play = Play::new(spec);
    play.server.state().put(
        "configmaps",
        "others",
        json!({"metadata": {"name": "others", "namespace": "bench"}, "data": data}),
    );
    play.play_out(Story::Plain).await;
    let state = play.server.state();
    let run = state.find("benchmarkruns", "chat").unwrap();
    let events: Vec<String> = state.all("events").map(ToString::to_string).collect();
    (run["status"]["reason"].as_str().unwrap().to_owned(), format!("{} {}", run["status"], events.join(" ")))
}

#[tokio::test]
async fn a_configmap_that_is_no_profile_is_not_repeated() {
    for text in [
        SECRET.to_owned(),
        format!("password: {SECRET}"),
        format!("{SECRET}: 1"),
        format!("load: {{type: {SECRET}}}"),
        format!("load: {{{SECRET}: 1}}"),
        format!("a: b: {SECRET}"),
        format!("{SECRET}: 1\n{SECRET}: 2"),
        format!("- {SECRET}"),
        format!("{{{{ {SECRET} }}}}"),
        format!("x: REPLACE_ENV_{SECRET}"),
        format!("-----BEGIN KEY-----\n{SECRET}\n"),
    ] {
        let (reason, all) = written(json!({"data": text})).await;
        assert_eq!(reason, "ProfileInvalid", "{text}");
        assert!(
            all.contains("of ConfigMap \\\"others\\\" has ") && !all.contains("c4n4ry") && !all.contains("c0nf1g"),
            "{text}: {all}"
        );
    }
}

#[tokio::test]
async fn the_keys_of_a_configmap_are_not_repeated() {
    let mut play = Play::new("{target: {simulator: {}}, profile: {configMapRef: {name: others, key: data}}}");
    let others = json!({"metadata": {"name": "others", "namespace": "bench"}, "data": {SECRET: "", "b": ""}});
    play.server.state().put("configmaps", "others", others);
    play.round(Story::Plain).await;
    let status = serde_json::to_string(&play.status()).unwrap();
    assert!(status.contains("it has 2 keys") && !status.contains(SECRET), "{status}");
}
