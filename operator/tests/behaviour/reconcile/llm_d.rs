//! Runs with a server that is started by llm-d's own charts. The operator writes the values for the charts, and waits for the Gateway.

use std::sync::Arc;

use crds::{Settings, status::Phase};
use kube::runtime::events::Reporter;
use operator::{
    connection::{Health, Limits},
    context::Context,
    plan::policy::Policy,
};
use serde_json::{Value, json};

use super::{Play, context, server::Fault, world::Story};
use crate::behaviour::fixture::settings;

const SPEC: &str = "{target: {server: {engine: VLLM, method: ModelService, image: vllm, model: o/m, replicas: 2, gatewayRef: {name: gw}}}, storage: {none: {}}}";
const VALUES: &str = "chat-modelservice";
const LABELS: [&str; 2] = ["llm-d.ai/inferenceServing", "llm-d.ai/model"];

fn put(play: &Play, plural: &str, name: &str, spec: Value, status: Value) {
    let object = json!({"metadata": {"name": name, "namespace": "bench"}, "spec": spec, "status": status});
    play.server.state().put(plural, name, object);
}

fn put_gateway(play: &Play) {
    let listener = json!({"name": "http", "port": 80, "protocol": "HTTP"});
    put(play, "gateways", "gw", json!({"listeners": [listener]}), json!({"addresses": [{"value": "10.0.0.7"}]}));
}

fn put_route(play: &Play, name: &str) {
    let backend = json!({"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "gaie-chat"});
    let accepted = json!({"parentRef": {"name": "gw"}, "conditions": [{"type": "Accepted", "status": "True"}]});
    let spec = json!({"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [backend]}]});
    put(play, "httproutes", name, spec, json!({"parents": [accepted]}));
}

fn put_pool(play: &Play) {
    let labels = json!({LABELS[0]: "true", LABELS[1]: "chat"});
    put(play, "inferencepools", "gaie-chat", json!({"selector": {"matchLabels": labels}}), json!({}));
}

fn put_pod(play: &Play, number: u32, ready: &str) {
    let name = format!("ms-chat-decode-{number}");
    let labels = json!({LABELS[0]: "true", LABELS[1]: "chat"});
    let object = json!({
        "metadata": {"name": name, "namespace": "bench", "labels": labels}, "spec": {"containers": []},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
    });
    play.server.state().put("pods", &name, object);
}

/// Creates all objects that the charts would install.
fn install(play: &Play) {
    put_gateway(play);
    put_route(play, "llm-d-chat");
    put_pool(play);
    put_pod(play, 0, "True");
    put_pod(play, 1, "True");
}

/// Runs one turn, and asserts that the message about the wait contains `part`.
async fn assert_waits_for(play: &mut Play, part: &str) {
    play.round(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Preparing), "ServerStarting"), "{status:#?}");
    assert!(status.attempts.is_empty() && status.server.is_none(), "{status:#?}");
    assert!(play.ready_message().contains(part), "{:?} does not hold {part:?}", play.ready_message());
}

#[tokio::test]
async fn a_run_waits_for_each_part_of_llm_d_and_says_where_its_values_are() {
    let mut play = Play::new(SPEC);
    // The operator needs no right to start servers for this.
    let reporter = Reporter { controller: "benchwright-operator".into(), instance: Some("test".into()) };
    let settings = Settings { managed_servers: false, ..settings() };
    let health = Arc::new(Health::new(Limits::default()));
    play.context = Arc::new(Context::new(play.client.clone(), settings, reporter, health));

    assert_waits_for(
        &mut play,
        "spec.target.server.gatewayRef.name: is \"gw\", and namespace bench has no such Gateway",
    )
    .await;
    let message = play.ready_message();
    assert!(
        message.contains("the run waits for llm-d at most 900 seconds (target.readiness.timeoutSeconds)"),
        "{message}"
    );
    assert!(
        message.contains("kubectl get configmap chat-modelservice -n bench -o jsonpath='{.data.install\\.txt}'"),
        "{message}"
    );
    put_gateway(&play);
    put_route(&play, "of-another-run");
    assert_waits_for(
        &mut play,
        "spec.target.server.gatewayRef.httpRoute: is \"llm-d-chat\", and there is no such HTTPRoute",
    )
    .await;
    put_route(&play, "llm-d-chat");
    assert_waits_for(&mut play, "to InferencePool \"gaie-chat\", which does not exist").await;
    put_pool(&play);
    assert_waits_for(&mut play, "HTTPRoute \"of-another-run\" in namespace bench takes the same requests").await;
    play.server.state().remove("httproutes", "of-another-run");
    put_pod(&play, 0, "True");
    put_pod(&play, 1, "False");
    assert_waits_for(
        &mut play,
        "only 1 of the run's 2 model servers are ready; see the pool's pods: kubectl get pods -n bench -l",
    )
    .await;
    put_pod(&play, 1, "True");
    play.play_until(Phase::Running).await;
    let status = play.status();
    assert_eq!(status.resolved.map(|it| it.endpoint).as_deref(), Some("http://10.0.0.7:80"));

    let state = play.server.state();
    assert_eq!(state.all("deployments").count() + state.all("services").count(), 0, "the operator starts nothing");
    let values = state.find("configmaps", VALUES).unwrap();
    assert_eq!(values["metadata"]["ownerReferences"][0]["name"], "chat");
    let files: Vec<_> = values["data"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(files, ["httproute.yaml", "inferencepool.yaml", "install.txt", "modelservice.yaml"]);
    let commands = values["data"]["install.txt"].as_str().unwrap();
    assert!(
        commands.contains("-n bench -o jsonpath='{.data.modelservice\\.yaml}' | \\\n  helm install ms-chat"),
        "{commands}"
    );
    assert_eq!(state.writes.iter().filter(|it| it.contains("configmaps")).count(), 2, "{:?}", state.writes);
}

#[tokio::test]
async fn the_wait_has_a_limit_of_its_own() {
    let spec = SPEC.replacen("{server:", "{readiness: {timeoutSeconds: 3600}, server:", 1);
    let mut play = Play::new(&spec);
    assert_waits_for(&mut play, "has no such Gateway").await;
    // This is longer than prepareSeconds, which is 900.
    play.pass_time(3_500);
    assert_waits_for(&mut play, "has no such Gateway").await;
    play.pass_time(101);
    play.play_out(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ServerFailed"), "{status:#?}");
    let message = play.ready_message();
    for part in ["llm-d was not ready within 3600 seconds", "has no such Gateway", "create the run again"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(play.server.state().find("configmaps", VALUES).is_some());
}

#[tokio::test]
async fn llm_d_that_is_removed_is_waited_for_again_and_not_missed_by_a_launcher() {
    let mut play = Play::new(SPEC);
    install(&play);
    play.server.state().remove("gateways", "gw");
    assert_waits_for(&mut play, "has no such Gateway").await;
    put_gateway(&play);
    play.server.state().remove("inferencepools", "gaie-chat");
    assert_waits_for(&mut play, "which does not exist").await;
    put_pool(&play);
    play.play_until(Phase::Running).await;
    // The launcher knows the address and checks itself whether it responds, so the Gateway is no longer needed.
    play.server.state().remove("gateways", "gw");
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().phase, Some(Phase::Succeeded), "{:#?}", play.status());
    let state = play.server.state();
    let deleted = |it: &&String| it.contains("ms-chat") || it.contains(VALUES) || it.starts_with("http");
    assert_eq!(state.deletions.iter().find(deleted), None, "the operator removes nothing of llm-d");
}

#[tokio::test]
async fn what_is_wrong_with_the_profile_is_said_before_llm_d_is_installed() {
    let profile = "{profile: {inline: \"load: {stages: [{rate: -3, duration: 5}]}\"}, target:";
    let spec = SPEC.replacen("{target:", profile, 1);
    let mut play = Play::new(&spec);
    play.play_out(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ProfileInvalid"), "{status:#?}");
}

#[tokio::test]
async fn a_config_map_of_somebody_else_stays_and_keeps_no_run_from_measuring() {
    let mut play = Play::new(SPEC);
    let theirs = json!({"metadata": {"name": VALUES, "namespace": "bench"}, "data": {"a": "b"}});
    play.server.state().put("configmaps", VALUES, theirs);
    assert_waits_for(&mut play, "because ConfigMap chat-modelservice belongs to somebody else").await;
    install(&play);
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().phase, Some(Phase::Succeeded), "{:#?}", play.status());
    assert_eq!(play.server.state().find("configmaps", VALUES).unwrap()["data"], json!({"a": "b"}));
}

#[tokio::test]
async fn the_limits_of_targets_hold_for_the_gateway_and_those_of_servers_do_not() {
    for (limits, phase, reason) in [
        ("targetHosts: [10.0.0.9]", Phase::Failed, "PolicyDenied"),
        ("targetHosts: [10.0.0.7], images: [other/*], maxServerResources: {cpu: 1}", Phase::Succeeded, "RunSucceeded"),
    ] {
        let mut play = Play::new(SPEC);
        let policy = Policy::parse(&format!("namespaces: [{{names: [bench], limits: {{{limits}}}}}]")).unwrap();
        let context = Arc::into_inner(context(play.client.clone())).unwrap();
        play.context = Arc::new(context.with_policy(policy));
        install(&play);
        play.play_out(Story::Plain).await;
        let status = play.status();
        assert_eq!((status.phase, status.reason.as_str()), (Some(phase), reason), "{limits}: {status:#?}");
    }
}

#[tokio::test]
async fn limits_are_held_against_a_run_before_llm_d_is_installed() {
    let metrics = SPEC.replacen("{target: {", "{target: {metrics: [{url: 'http://epp.other:9090'}], ", 1);
    for (spec, limits, denied) in [
        (SPEC, "maxRunSeconds: 1", Some("spec.execution.deadlines.runSeconds")),
        (&metrics, "targetHosts: [10.0.0.7]", Some("spec.target.metrics[0], the host: is \"epp.other\"")),
        // Only the Gateway's address is allowed.
        (SPEC, "targetHosts: [10.0.0.9]", None),
    ] {
        let mut play = Play::new(spec);
        let policy = Policy::parse(&format!("namespaces: [{{names: [bench], limits: {{{limits}}}}}]")).unwrap();
        let context = Arc::into_inner(context(play.client.clone())).unwrap();
        play.context = Arc::new(context.with_policy(policy));
        let Some(denied) = denied else {
            assert_waits_for(&mut play, "has no such Gateway").await;
            continue;
        };
        play.round(Story::Plain).await;
        let (status, message) = (play.status(), play.ready_message());
        assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "PolicyDenied"), "{status:#?}");
        assert!(message.contains(denied) && !message.contains("gateway.invalid"), "{message}");
    }
}

#[tokio::test]
async fn a_quota_that_refuses_the_values_is_shown_with_another_way_to_them() {
    let mut play = Play::new(SPEC);
    play.server.state().refusal = Some(("configmaps", 403, 2));
    assert_waits_for(&mut play, "`kubectl benchwright modelservice FILE` prints the values").await;
    assert_waits_for(&mut play, "it is not wanted here").await;
    assert_waits_for(&mut play, "ConfigMap chat-modelservice has the values").await;
    assert!(play.server.state().find("configmaps", VALUES).is_some());
}

#[tokio::test]
async fn values_that_stay_refused_keep_no_run_from_measuring() {
    let refused = [
        (400, "it is not an object"),
        (403, "exceeded quota: one"),
        (422, "it is invalid"),
        (500, "failed calling webhook"),
    ];
    for (code, says) in refused {
        for waits in [false, true] {
            let mut play = Play::new(SPEC);
            play.server.state().refused_name = Some((VALUES, code));
            play.server.state().refusal_says = says;
            let uid = play.cached().and_then(|it| it.metadata.uid).unwrap();
            if waits {
                assert_waits_for(&mut play, "because their ConfigMap was refused: ").await;
                assert_waits_for(&mut play, says).await;
                // The turn must not count as failed, because a run in backoff would notice minutes later that llm-d is ready.
                assert_eq!(play.context.failures.count(&uid), 0, "{code}: the turn has failed");
            }
            install(&play);
            play.play_out(Story::Plain).await;
            let status = play.status();
            assert_eq!(
                (status.phase, status.attempts.len()),
                (Some(Phase::Succeeded), 1),
                "{code} {waits}: {status:#?}"
            );
            assert!(play.server.state().find("configmaps", VALUES).is_none());
            assert_eq!(play.server.state().jobs_created, 1);
        }
    }
}

#[tokio::test]
async fn the_values_take_no_place_that_the_run_needs() {
    let mut play = Play::new(SPEC);
    install(&play);
    play.play_until(Phase::Running).await;
    let state = play.server.state();
    let of_children = |it: &&str| ["POST configmaps", "POST jobs"].contains(it);
    let created: Vec<_> = state.writes.iter().map(String::as_str).filter(of_children).collect();
    assert_eq!(created, ["POST configmaps", "POST jobs", "POST configmaps"]);
    assert!(state.find("configmaps", VALUES).is_some());
}

#[tokio::test]
async fn an_operator_that_is_killed_at_any_write_comes_to_the_same_end() {
    let mut whole = Play::new(SPEC);
    install(&whole);
    let expected = whole.play_out(Story::Plain).await;
    assert!(expected.children.contains("configmaps/chat-modelservice"), "{expected:?}");
    let writes = whole.server.state().writes.clone();
    let of_values = writes.iter().rposition(|it| it == "POST configmaps");
    for (number, write) in writes.iter().enumerate() {
        for fault in [Fault::KilledBefore, Fault::KilledAfter, Fault::AnswerLost, Fault::Status(500)] {
            let mut play = Play::new(SPEC);
            install(&play);
            play.server.state().fault = Some((number, fault));
            let mut end = play.play_out(Story::Plain).await;
            if of_values == Some(number) && matches!(fault, Fault::Status(_)) {
                // The run has continued without the values, so their ConfigMap is missing at the end.
                assert!(end.children.insert("configmaps/chat-modelservice".to_owned()));
            }
            assert_eq!(end, expected, "{fault:?} at write {number}, {write}");
        }
    }
}
