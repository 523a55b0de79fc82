//! Whole runs in an installation whose administrators have set limits.

use std::sync::Arc;

use crds::{Settings, resolve::NetworkPolicySettings, status::Phase};
use kube::runtime::{controller::Action, events::Reporter};
use operator::{
    connection::{Health, Limits},
    context::Context,
    plan::{finished::Mark, policy::Policy},
    reconcile::reconcile,
};
use serde_json::json;

use super::{
    Play,
    world::{Story, change},
};
use crate::behaviour::fixture::{SIMULATOR, in_phase, settings};

fn play(spec: &str, settings: Settings, policy: &str) -> Play {
    let mut play = Play::new(spec);
    let reporter = Reporter { controller: "benchwright-operator".into(), instance: Some("test".into()) };
    let health = Arc::new(Health::new(Limits::default()));
    let context = Context::new(play.server.client(), settings, reporter, health);
    play.context = Arc::new(context.with_policy(Policy::parse(policy).unwrap()));
    play
}

/// The phase and reason of a run that has ended, and the number of its Jobs.
fn ended(play: &Play) -> (Option<Phase>, String, usize) {
    (play.status().phase, play.status().reason.to_string(), play.server.state().all("jobs").count())
}

fn refused_without_a_job(reason: &str) -> (Option<Phase>, String, usize) {
    (Some(Phase::Failed), reason.to_owned(), 0)
}

#[tokio::test]
async fn a_run_with_a_network_policy_takes_at_most_thirteen_writes() {
    let with_policy = Settings { network_policy: Some(NetworkPolicySettings::default()), ..settings() };
    let mut play = play(SIMULATOR, with_policy, "");
    // The claim exists, because runs share it and only the first run in a namespace creates it.
    let labels = json!({"app.kubernetes.io/managed-by": "benchwright-operator"});
    let claim = json!({"metadata": {"name": "workload-pvc", "namespace": "bench", "labels": labels}});
    play.server.state().put("persistentvolumeclaims", "workload-pvc", claim);
    play.play_until(Phase::Running).await;
    let policy = play.server.state().find("networkpolicies", "chat-2db482-a1").cloned().unwrap();
    assert_eq!(policy["metadata"]["ownerReferences"][0]["kind"], "BenchmarkRun");
    assert_eq!(policy["spec"]["egress"], json!([]), "the simulator is in the pod");
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().phase, Some(Phase::Succeeded));
    let state = play.server.state();
    let at = |write: &str| state.writes.iter().position(|it| it == write).unwrap();
    assert!(state.writes.len() <= 13, "{:#?}", state.writes);
    assert!(at("POST networkpolicies") < at("POST jobs"), "{:#?}", state.writes);
    assert_eq!(state.all("networkpolicies").count(), 0, "it does not outlive the attempt");
}

/// The operator's NetworkPolicy must not allow what the namespace's own policies forbid.
#[tokio::test]
async fn a_namespace_that_governs_what_pods_reach_gets_no_wide_policy() {
    for (policies, types) in [
        (json!({"podSelector": {}, "policyTypes": ["Egress"]}), json!(["Ingress"])),
        (json!({"podSelector": {}, "policyTypes": ["Ingress"]}), json!(["Ingress", "Egress"])),
    ] {
        let with_policy = Settings { network_policy: Some(NetworkPolicySettings::default()), ..settings() };
        let mut play = play("{target: {url: 'http://model'}}", with_policy, "");
        let policy = json!({"metadata": {"name": "deny", "namespace": "bench"}, "spec": policies});
        play.server.state().put("networkpolicies", "deny", policy);
        play.play_until(Phase::Running).await;
        let made = play.server.state().find("networkpolicies", "chat-2db482-a1").cloned().unwrap();
        assert_eq!(made["spec"]["policyTypes"], types, "{made}");
        play.play_out(Story::Plain).await;
        let left: Vec<_> =
            play.server.state().all("networkpolicies").map(|it| it["metadata"]["name"].clone()).collect();
        assert_eq!(left, ["deny"]);
    }
}

/// However an attempt ends, its NetworkPolicy is deleted after its pod is gone.
#[tokio::test]
async fn no_network_policy_outlives_its_attempt() {
    for story in [Story::Evicted, Story::Cancelled, Story::CancelledAtOnce, Story::Suspended, Story::JobOrphaned] {
        let with_policy = Settings { network_policy: Some(NetworkPolicySettings::default()), ..settings() };
        let mut play = play(SIMULATOR, with_policy, "");
        play.play_out(story).await;
        let state = play.server.state();
        assert!(state.writes.iter().any(|it| it == "POST networkpolicies"), "{story:?}");
        let left: Vec<_> = state.all("networkpolicies").map(|it| it["metadata"]["name"].clone()).collect();
        assert!(left.is_empty(), "{story:?} leaves {left:?}: {:#?}", state.writes);
    }
}

/// A finalizer can keep a pod forever. Then the run must not get turns forever, and its NetworkPolicy must stay because the pod may work.
#[tokio::test]
async fn a_pod_that_never_ends_keeps_its_policy_and_costs_no_turns_for_ever() {
    let with_policy = Settings { network_policy: Some(NetworkPolicySettings::default()), ..settings() };
    let mut play = play(SIMULATOR, with_policy, "");
    play.play_until(Phase::Running).await;
    change(&mut play.server.state(), "benchmarkruns", "chat", |it| it["spec"]["cancel"] = json!("Immediate"));
    let turn = async |play: &Play| {
        let run = Arc::new(play.cached().unwrap());
        reconcile(run, Arc::clone(&play.context)).await.unwrap()
    };
    let pod = play.server.state().all("pods").next().unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
    change(&mut play.server.state(), "pods", &pod, |it| it["metadata"]["finalizers"] = json!(["example.com/held"]));
    // Only the operator acts, so the pod does not end.
    for _ in 0..3 {
        assert_ne!(turn(&play).await, Action::await_change());
    }
    assert_eq!(play.status().phase, Some(Phase::Cancelled));
    assert!(Mark::read(&play.cached().unwrap()).is_none());
    play.pass_time(3_600);
    turn(&play).await;
    assert!(Mark::read(&play.cached().unwrap()).is_some());
    assert_eq!(play.server.state().all("networkpolicies").count(), 1);
}

/// The deletion is refused because a user has removed the operator's label from the object, or because of an admission policy.
#[tokio::test]
async fn a_deletion_that_is_refused_stops_no_run() {
    for plural in ["configmaps", "networkpolicies"] {
        let with_policy = Settings { network_policy: Some(NetworkPolicySettings::default()), ..settings() };
        let mut play = play(SIMULATOR, with_policy, "");
        play.server.state().undeletable = Some(plural);
        for _ in 0..3 {
            play.play_until(Phase::Running).await;
            suspend_and_resume(&mut play).await;
        }
        play.play_out(Story::Plain).await;
        assert_eq!(play.status().phase, Some(Phase::Succeeded), "{plural}");
        assert!(play.server.state().all(plural).count() >= 4, "{plural}");
    }
}

async fn suspend_and_resume(play: &mut Play) {
    for (suspend, phase) in [(true, Phase::Suspended), (false, Phase::Preparing)] {
        change(&mut play.server.state(), "benchmarkruns", "chat", |it| it["spec"]["suspend"] = json!(suspend));
        play.play_until(phase).await;
    }
}

/// The number of attempts is not limited here, because suspensions count toward no limit.
#[tokio::test]
async fn a_run_keeps_the_config_maps_of_two_attempts() {
    let mut play = play(SIMULATOR, settings(), "");
    for number in 1..6 {
        play.play_until(Phase::Running).await;
        let config_maps: Vec<_> =
            play.server.state().all("configmaps").map(|it| it["metadata"]["name"].clone()).collect();
        let expected: Vec<_> =
            (number - 1..=number).filter(|it| *it > 0).map(|it| json!(format!("chat-2db482-a{it}"))).collect();
        assert_eq!(config_maps, expected);
        suspend_and_resume(&mut play).await;
    }
}

/// Like the tests in `../policy.rs`, but as whole runs.
#[tokio::test]
async fn a_run_that_the_policy_refuses_ends_before_it_has_a_child() {
    let spec = "{target: {url: 'http://internal'}, launcher: {image: evil/image}}";
    let mut play = play(spec, settings(), "limits: {images: ['registry.example/*'], targetHosts: ['*.example']}");
    play.play_out(Story::Plain).await;
    assert_eq!(ended(&play), refused_without_a_job("PolicyDenied"));
    let message = play.ready_message();
    assert!(message.contains("spec.launcher.image: is \"evil/image\""), "{message}");
    assert!(message.contains("spec.target.url, the host: is \"internal\""), "{message}");
    let state = play.server.state();
    for plural in ["configmaps", "persistentvolumeclaims", "jobs", "pods"] {
        assert_eq!(state.all(plural).count(), 0, "{plural}");
    }
}

/// With these labels the launcher's pod would become an endpoint of another Service.
#[tokio::test]
async fn a_run_whose_labels_join_a_service_of_the_namespace_ends_before_it_has_a_child() {
    let mut play = play("{target: {simulator: {}}, launcher: {labels: {app: vllm}}}", settings(), "");
    let service = json!({"metadata": {"name": "model", "namespace": "bench"}, "spec": {"selector": {"app": "vllm"}}});
    play.server.state().put("services", "model", service);
    play.play_out(Story::Plain).await;
    assert_eq!(ended(&play), refused_without_a_job("PolicyDenied"));
    assert_eq!(play.server.state().all("configmaps").count(), 0);
}

/// With a Service of type ExternalName, any host would get a name within the cluster.
#[tokio::test]
async fn a_service_that_is_another_hosts_name_is_no_way_around_the_target_hosts() {
    let limits = "limits: {targetHosts: ['*.svc.cluster.local']}";
    let by_reference = "{target: {serviceRef: {name: alias, port: 80}}}";
    let by_url = "{target: {url: 'http://alias.bench.svc.cluster.local.'}}";
    for (spec, policy, kind, expected) in [
        (by_reference, limits, "ExternalName", "PolicyDenied"),
        (by_url, limits, "ExternalName", "PolicyDenied"),
        (by_reference, limits, "ClusterIP", "RunSucceeded"),
        (by_reference, "", "ExternalName", "RunSucceeded"),
    ] {
        let mut play = play(spec, settings(), policy);
        let service = json!({"metadata": {"name": "alias", "namespace": "bench"}, "spec": {"type": kind, "externalName": "internal.example"}});
        play.server.state().put("services", "alias", service);
        play.play_out(Story::Plain).await;
        assert_eq!(play.status().reason, expected, "{spec} {policy} {kind}");
        if expected == "PolicyDenied" {
            let message = play.ready_message();
            assert!(
                message.contains("another name of \"internal.example\"; a Service of type ExternalName"),
                "{message}"
            );
            assert_eq!(play.server.state().all("jobs").count(), 0);
        }
    }
}

/// The kubelet would change the group of all files on a claim that a pod mounts, so a claim of somebody else is refused.
#[tokio::test]
async fn no_pod_mounts_a_claim_that_somebody_else_made() {
    let mut play = play("{target: {simulator: {}}, storage: {pvc: {claimName: database}}}", settings(), "");
    let claim = json!({"metadata": {"name": "database", "namespace": "bench", "labels": {"app": "postgres"}}, "status": {"phase": "Bound"}});
    play.server.state().put("persistentvolumeclaims", "database", claim);
    play.play_out(Story::Plain).await;
    assert_eq!(ended(&play), refused_without_a_job("PolicyDenied"));
}

/// The policy of another owner could allow everything.
#[tokio::test]
async fn a_network_policy_of_somebody_else_is_not_taken_for_that_of_the_run() {
    let with_policy = Settings { network_policy: Some(NetworkPolicySettings::default()), ..settings() };
    let mut play = play(SIMULATOR, with_policy, "");
    let foreign = json!({"metadata": {"name": "chat-2db482-a1", "namespace": "bench", "uid": "x"}, "spec": {}});
    play.server.state().put("networkpolicies", "chat-2db482-a1", foreign);
    play.play_out(Story::Plain).await;
    assert_eq!(ended(&play), refused_without_a_job("NameConflict"));
}

/// Another run has the only attempt that the namespace may have.
#[tokio::test]
async fn a_run_waits_for_its_place_in_the_namespace_and_then_begins() {
    let limit = "limits: {maxConcurrentAttempts: 1}";
    let mut play = play(SIMULATOR, settings(), limit);
    let other = |phase: Phase| {
        let mut other = in_phase(SIMULATOR, phase);
        other.metadata.name = Some("other".into());
        other.metadata.uid = Some("other".into());
        other
    };
    let policy = Policy::parse(limit).unwrap();
    play.context.namespaces.note(&other(Phase::Running), &policy);
    for _ in 0..3 {
        play.round(Story::Plain).await;
        let status = play.status();
        assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Pending), "NamespaceBusy"));
        let message = play.ready_message();
        assert!(message.starts_with("number 1 in line: the namespace runs as many attempts"), "{message}");
        assert!(status.attempts.is_empty());
    }
    play.context.namespaces.note(&other(Phase::Succeeded), &policy);
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().phase, Some(Phase::Succeeded));
    assert_eq!(play.context.namespaces.count(), 0, "ended runs are not kept");
}
