//! All attempts of a run measure the same workload, and the status identifies that workload.

use crds::{Reason, benchmark_run::Harness, hex};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{MAX_ROUNDS, Play, world::Story};

const PROFILE: &str =
    "{target: {simulator: {}}, profile: {configMapRef: {name: profiles, key: chat}}, execution: {retry: {limit: 1}}}";

fn play() -> Play {
    let play = Play::new(PROFILE);
    put_profile(&play, "");
    play
}

/// Stores the ConfigMap with the profile, to which this comment is appended.
fn put_profile(play: &Play, comment: &str) {
    let text = workload_profiles::shipped(Harness::InferencePerf, "sanity_random").unwrap();
    let object =
        json!({"metadata": {"name": "profiles", "namespace": "bench"}, "data": {"chat": format!("{text}{comment}\n")}});
    play.server.state().put("configmaps", "profiles", object);
}

/// The profile in the ConfigMap of an attempt.
fn given(play: &Play, name: &str) -> String {
    play.server.state().find("configmaps", name).unwrap()["data"]["profile.yaml"].as_str().unwrap().to_owned()
}

fn status_hash(play: &Play) -> String {
    play.status().resolved.unwrap().profile_sha256
}

#[tokio::test]
async fn the_status_has_the_hash_of_the_profile_that_runs() {
    let mut play = play();
    play.server.state().refusal = Some(("jobs", 403, 1));
    play.round(Story::Plain).await;
    let first = given(&play, "chat-2db482-a1");
    put_profile(&play, "# edited");
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().reason, "RunSucceeded");
    assert_eq!(given(&play, "chat-2db482-a1"), first);
    assert_eq!(status_hash(&play), hex(&Sha256::digest(first.as_bytes())));
}

#[tokio::test]
async fn another_attempt_runs_the_profile_of_the_first() {
    for story in [Story::Evicted, Story::Suspended] {
        let mut play = play();
        play.play_until(crds::status::Phase::Running).await;
        put_profile(&play, "# edited");
        play.play_out(story).await;
        assert_eq!((play.status().attempts.len(), play.status().reason.as_str()), (2, "RunSucceeded"), "{story:?}");
        let first = given(&play, "chat-2db482-a1");
        assert_eq!(given(&play, "chat-2db482-a2"), first, "{story:?}");
        assert_eq!(status_hash(&play), hex(&Sha256::digest(first.as_bytes())), "{story:?}");
    }
}

#[tokio::test]
async fn an_attempt_whose_predecessor_left_no_config_map_of_the_run_renders_anew() {
    for left in ["nothing", "one of somebody else", "one that somebody else made in its place"] {
        let mut play = play();
        play.play_until(crds::status::Phase::Running).await;
        put_profile(&play, "# edited");
        for _ in 0..MAX_ROUNDS {
            if play.status().reason != Reason::Retrying {
                play.round(Story::Evicted).await;
            }
        }
        assert_eq!(play.status().reason, Reason::Retrying);
        {
            let mut state = play.server.state();
            let change = |state: &mut _, field: &str, value: Value| {
                super::world::change(state, "configmaps", "chat-2db482-a1", |it| it["metadata"][field] = value);
            };
            match left {
                "nothing" => state.remove("configmaps", "chat-2db482-a1"),
                "one of somebody else" => change(&mut state, "ownerReferences", json!([])),
                _ => change(&mut state, "uid", json!("another")),
            }
        }
        play.play_out(Story::Evicted).await;
        assert_eq!(play.status().attempts.len(), 2);
        assert!(given(&play, "chat-2db482-a2").contains("# edited"), "{left}");
    }
}
