//! Reads that always fail. Deadlines still apply, and the status names what cannot be read.

use crds::status::Phase;

use serde_json::json;

use super::{
    Play,
    world::{Story, change},
};
use crate::behaviour::fixture::NO_RETRY;

/// Number of seconds that is longer than every deadline.
const LONG: i64 = 100_000;

/// Plays a run in which a read begins to fail permanently when the run is in this phase.
async fn play_with(since: Option<Phase>, unreadable: (&'static str, &'static str, u16)) -> Play {
    let mut play = Play::new(NO_RETRY);
    if let Some(phase) = since {
        play.play_until(phase).await;
    }
    play.server.state().unreadable = Some(unreadable);
    play
}

#[tokio::test]
async fn a_right_that_is_missing_is_named_and_the_deadline_of_the_phase_ends_the_run() {
    let cases = [
        (None, ("get", "configmaps"), "PrepareTimeout"),
        (None, ("get", "persistentvolumeclaims"), "PrepareTimeout"),
        (Some(Phase::Starting), ("list", "pods"), "StartTimeout"),
        (Some(Phase::Running), ("list", "pods"), "DeadlineExceeded"),
    ];
    for (since, (verb, plural), reason) in cases {
        for code in [403, 200] {
            let mut play = play_with(since, (verb, plural, code)).await;
            play.round(Story::Plain).await;
            let case = format!("{verb} {plural} answered with {code} since {since:?}");
            assert_eq!(play.status().reason, "ReadFailed", "{case}");
            let message = play.ready_message();
            assert!(message.contains(&format!("cannot {verb} {plural}")), "{case}: {message}");
            let reconciling = play.status().conditions.into_iter().find(|it| it.kind == "Reconciling").unwrap();
            assert_eq!(reconciling.message, message, "{case}");
            play.pass_time(LONG);
            play.play_out(Story::Plain).await;
            let status = play.status();
            assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), reason), "{case}");
            assert!(play.ready_message().contains(&format!("cannot {verb} {plural}")), "{case}");
            assert_eq!(play.loading(), Vec::<String>::new(), "{case}: pods that nobody ends");
        }
    }
}

/// The failing reads are those of pods and Jobs that may still load a target.
#[tokio::test]
async fn a_run_with_a_url_names_the_right_that_is_missing_and_leaves_its_target_to_others() {
    for code in [403, 200, 500] {
        let mut play = Play::new("{target: {url: 'http://gateway.bench'}, storage: {none: {}}}");
        play.server.state().unreadable = Some(("list", "pods", code));
        for _ in 0..7 {
            play.round(Story::Plain).await;
            let uid = play.cached().unwrap().metadata.uid.unwrap();
            assert!(play.context.targets.is_free_of(&uid), "{code}: it keeps its target");
        }
        let status = play.status();
        assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Pending), "ReadFailed"), "{code}");
        assert!(play.ready_message().contains("cannot list pods"), "{code}: {}", play.ready_message());
        play.pass_time(LONG);
        play.play_out(Story::Plain).await;
        assert_eq!(play.status().reason, "PrepareTimeout", "{code}");
        assert_eq!(play.server.state().all("jobs").count(), 0, "{code}");
    }
}

#[tokio::test]
async fn jobs_that_cannot_be_read_keep_no_result_from_being_read() {
    let mut play = play_with(Some(Phase::Running), ("get", "jobs", 403)).await;
    play.round(Story::Plain).await;
    assert_eq!((play.status().phase, play.status().reason.as_str()), (Some(Phase::Running), "ReadFailed"));
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().reason, "RunSucceeded");

    let mut play = play_with(Some(Phase::Running), ("get", "jobs", 403)).await;
    play.pass_time(LONG);
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().reason, "DeadlineExceeded");
    assert_eq!(play.loading(), Vec::<String>::new());
}

#[tokio::test]
async fn no_second_job_is_created_while_the_first_cannot_be_read() {
    let mut play = play_with(None, ("get", "jobs", 403)).await;
    for _ in 0..3 {
        play.round(Story::Plain).await;
    }
    assert_eq!(play.status().reason, "ReadFailed");
    assert_eq!(play.server.state().all("jobs").count(), 0);
    play.server.state().unreadable = None;
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().reason, "RunSucceeded");
}

#[tokio::test]
async fn an_api_server_that_cannot_list_pods_fails_turns_first_and_then_stops_no_deadline() {
    for code in [429, 500, 503] {
        let mut play = play_with(Some(Phase::Running), ("list", "pods", code)).await;
        play.round(Story::Plain).await;
        assert_eq!(play.status().reason, "Measuring", "{code}: a moment of trouble is no news");
        for _ in 0..6 {
            // The launcher does not stop measuring.
            change(&mut play.server.state(), "pods", "chat-2db482-a1-0", |it| it["metadata"]["steps"] = json!(0));
            play.round(Story::Plain).await;
        }
        assert_eq!(play.status().reason, "ReadFailed", "{code}");
        play.pass_time(LONG);
        play.play_out(Story::Plain).await;
        assert_eq!(play.status().reason, "DeadlineExceeded", "{code}");
    }
}

#[tokio::test]
async fn a_run_whose_job_cannot_be_read_can_be_cancelled_and_suspended() {
    for (story, reason) in [(Story::Cancelled, "Cancelled"), (Story::CancelledAtOnce, "Cancelled")] {
        for plural in [("get", "jobs", 403), ("list", "pods", 403)] {
            let mut play = play_with(Some(Phase::Running), plural).await;
            play.play_out(story).await;
            assert_eq!(play.status().reason, reason, "{story:?} {plural:?}");
            assert_eq!(play.loading(), Vec::<String>::new(), "{story:?} {plural:?}");
        }
    }
}
