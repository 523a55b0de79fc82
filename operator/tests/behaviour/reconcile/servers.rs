//! Runs that start their own server, while the operator is killed and the API server fails.

use crds::{Settings, resolve::LOG_TOKEN, status::Phase};
use kube::runtime::events::Reporter;
use operator::{
    connection::{Health, Limits},
    context::Context,
};
use serde_json::json;

use super::{
    Play,
    server::Fault,
    world::{Story, change},
};
use crate::behaviour::fixture::{SIMULATOR, settings};

const TWO: &str = "{target: {server: {engine: Simulator, replicas: 2}}}";
const ONE: &str = "{target: {server: {engine: Simulator}}}";
const NAME: &str = "chat-2db482-server";

/// The remaining objects of all servers.
fn servers(play: &Play) -> Vec<String> {
    let state = play.server.state();
    let of_server = |(plural, name): &&(String, String)| {
        ["deployments", "services"].contains(&plural.as_str()) || (plural == "pods" && name.contains("-server-"))
    };
    state.objects.keys().filter(of_server).map(|(plural, name)| format!("{plural}/{name}")).collect()
}

#[tokio::test]
async fn a_run_starts_its_server_and_leaves_nothing_of_it() {
    let mut play = Play::new(TWO);
    play.play_until(Phase::Running).await;
    let begun = servers(&play);
    let expected = [
        "deployments/chat-2db482-server",
        "pods/chat-2db482-server-abc-0",
        "pods/chat-2db482-server-abc-1",
        "services/chat-2db482-pods",
        "services/chat-2db482-server",
    ];
    assert_eq!(begun, expected);
    play.play_out(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Succeeded), "RunSucceeded"), "{status:#?}");
    assert_eq!(servers(&play), Vec::<String>::new());
    let server = status.server.unwrap();
    assert!(server.ready_time.is_some() && server.gone_time.is_some() && server.held_end.is_none(), "{server:#?}");
    assert!(status.summary.is_some());
}

#[tokio::test]
async fn an_operator_that_is_killed_at_any_write_leaves_no_server_and_comes_to_the_same_end() {
    let mut whole = Play::new(ONE);
    let expected = whole.play_out(Story::Plain).await;
    let writes = whole.server.state().writes.clone();
    println!("{writes:#?}");
    assert!(writes.len() >= 14, "{writes:?}");
    let faults = [Fault::KilledBefore, Fault::KilledAfter, Fault::AnswerLost, Fault::Status(409), Fault::Status(500)];
    for (number, write) in writes.iter().enumerate() {
        for fault in faults {
            let mut play = Play::new(ONE);
            play.server.state().fault = Some((number, fault));
            let end = play.play_out(Story::Plain).await;
            assert_eq!(end, expected, "{fault:?} at write {number}, {write}");
            assert_eq!(servers(&play), Vec::<String>::new(), "{fault:?} at write {number}, {write}");
        }
    }
}

#[tokio::test]
async fn a_server_whose_sleep_the_profile_measures_is_started_with_its_sleep_mode() {
    for (profile, sleeps) in [("{sleep_levels: [1]}", true), ("{}", false)] {
        let spec = format!("harness: nop, profile: {{inline: '{profile}'}}, target: {{server: {{engine: Simulator}}}}");
        let mut play = Play::new(&format!("{{{spec}}}"));
        play.play_until(Phase::Running).await;
        let state = play.server.state();
        let deployment = state.all("deployments").next().unwrap().to_string();
        assert_eq!(deployment.contains("--enable-sleep-mode"), sleeps, "{deployment}");
        let run = state.all("configmaps").find_map(|it| it["data"]["run.yaml"].as_str()).unwrap();
        assert_eq!(run.contains("sleepMode: true"), sleeps, "{run}");
    }
}

/// The token is read from the existing Deployment, because each earlier turn has drawn another random token.
#[tokio::test]
async fn the_launcher_and_the_server_have_the_same_token_for_its_log() {
    let mut play = Play::new(ONE);
    play.play_until(Phase::Running).await;
    let state = play.server.state();
    let token = |plural: &str| {
        let object = state.all(plural).next().unwrap();
        let env = object["spec"]["template"]["spec"]["containers"][0]["env"].as_array().cloned().unwrap_or_default();
        let variable = env.into_iter().find(|it| it["name"] == LOG_TOKEN).unwrap_or_else(|| panic!("{object}"));
        variable["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(token("deployments"), token("jobs"));
    assert!(token("jobs").len() == 32 && token("jobs").bytes().all(|it| it.is_ascii_hexdigit()), "{}", token("jobs"));
}

#[tokio::test]
async fn other_ends_leave_no_server_either() {
    for (story, phase) in [
        (Story::Evicted, Phase::Succeeded),
        (Story::Cancelled, Phase::Cancelled),
        (Story::CancelledAtOnce, Phase::Cancelled),
        (Story::Suspended, Phase::Succeeded),
        (Story::JobDeleted, Phase::Failed),
        (Story::JobOrphaned, Phase::Failed),
    ] {
        let mut play = Play::new(ONE);
        play.play_out(story).await;
        assert_eq!(play.status().phase, Some(phase), "{story:?}");
        assert_eq!(servers(&play), Vec::<String>::new(), "{story:?}");
        assert_eq!(play.loading(), Vec::<String>::new(), "{story:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_killed_in_mid_run_ends_it_with_its_last_words() {
    let mut play = Play::new(ONE);
    play.play_until(Phase::Running).await;
    change(&mut play.server.state(), "pods", "chat-2db482-server-abc-0", |it| {
        let terminated = json!({"exitCode": 137, "reason": "OOMKilled", "message": "allocating 80 GiB"});
        let container = &mut it["status"]["containerStatuses"][0];
        (container["restartCount"], container["lastState"]) = (json!(1), json!({"terminated": terminated}));
    });
    play.play_out(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ServerDied"), "{status:#?}");
    assert!(play.ready_message().contains("OOMKilled") && play.ready_message().contains("allocating 80 GiB"));
    assert_eq!(servers(&play), Vec::<String>::new());
    assert_eq!(play.loading(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_is_kept_stays_and_a_shared_one_is_used_again() {
    for (lifecycle, owner) in [("Keep", true), ("Reuse", false)] {
        let mut play = Play::new(&format!("{{target: {{server: {{engine: Simulator, lifecycle: {lifecycle}}}}}}}"));
        play.play_out(Story::Plain).await;
        assert_eq!(play.status().phase, Some(Phase::Succeeded), "{lifecycle}: {:#?}", play.status());
        let state = play.server.state();
        let deployment = state.all("deployments").next().unwrap();
        assert_eq!(deployment["metadata"]["ownerReferences"].is_array(), owner, "{lifecycle}");
        assert!(!state.deletions.iter().any(|it| it.starts_with("deployments")), "{:?}", state.deletions);
    }
}

#[tokio::test]
async fn a_deployment_of_somebody_else_is_left_alone() {
    let mut play = Play::new(ONE);
    play.server.state().put("deployments", NAME, json!({"metadata": {"name": NAME, "namespace": "bench", "uid": "x"}}));
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().reason, "NameConflict");
    assert_eq!(play.server.state().find("deployments", NAME).unwrap()["metadata"]["uid"], "x");
    assert!(!play.server.state().deletions.iter().any(|it| it.starts_with("deployments")));
}

#[tokio::test]
async fn a_quota_that_refuses_the_server_is_told_of_and_waited_for() {
    let mut play = Play::new(ONE);
    play.server.state().refusal = Some(("deployments", 403, 3));
    play.round(Story::Plain).await;
    assert!(play.ready_message().contains("Deployment \"chat-2db482-server\" with 403"), "{}", play.ready_message());
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().phase, Some(Phase::Succeeded));
    assert_eq!(servers(&play), Vec::<String>::new());
}

#[tokio::test]
async fn an_installation_without_the_rights_refuses_the_run_at_once() {
    let mut play = Play::new(ONE);
    let reporter = Reporter { controller: "benchwright-operator".into(), instance: Some("test".into()) };
    let settings = Settings { managed_servers: false, ..settings() };
    play.context = Context::new(play.client.clone(), settings, reporter, Health::new(Limits::default()).into()).into();
    play.play_out(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "PolicyDenied"), "{status:#?}");
    assert!(play.ready_message().contains("managedServers.enabled"), "{}", play.ready_message());
    assert_eq!(servers(&play), Vec::<String>::new());
}

#[tokio::test]
async fn a_run_without_a_server_asks_for_none() {
    let mut play = Play::new(SIMULATOR);
    // Each read of a Deployment would now fail the run, so the run's success shows that no Deployment was read.
    play.server.state().unreadable = Some(("get", "deployments", 403));
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().phase, Some(Phase::Succeeded));
    let state = play.server.state();
    assert!(!state.writes.iter().any(|it| it.contains("deployments") || it.contains("services")), "{:?}", state.writes);
}
