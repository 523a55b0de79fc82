//! Creations of objects that webhooks, quotas or a busy API server refuse.

use crds::status::Phase;

use super::{Play, server::Fault, world::Story};
use crate::behaviour::fixture::SIMULATOR;

#[tokio::test]
async fn what_a_webhook_denies_is_tried_again_and_shown() {
    let cases = [
        (400, "admission webhook \"images.example.com\" denied the request: image is not signed"),
        (403, "admission webhook \"images.example.com\" denied the request: image is not signed"),
        (422, "ValidatingAdmissionPolicy 'images' with binding 'all' denied request: image is not signed"),
        (500, "Internal error occurred: failed calling webhook \"images.example.com\": image is not signed"),
        (503, "image is not signed"),
        (409, "Operation cannot be fulfilled on resourcequotas: image is not signed"),
    ];
    for (code, says) in cases {
        for plural in ["jobs", "configmaps"] {
            let mut play = Play::new(SIMULATOR);
            play.server.state().refusal = Some((plural, code, 2));
            play.server.state().refusal_says = says;
            play.round(Story::Plain).await;
            assert_eq!(play.status().phase, Some(Phase::Preparing), "{code} {says}");
            assert!(play.ready_message().contains("image is not signed"), "{code} {says}: {}", play.ready_message());
            play.play_out(Story::Plain).await;
            assert_eq!(play.status().reason, "RunSucceeded", "{code} {says}");
        }
    }
}

#[tokio::test]
async fn what_stays_refused_ends_the_run_at_its_deadline_with_the_servers_words() {
    for (code, says) in [
        (400, "admission webhook \"images.example.com\" denied the request: image is not signed"),
        (500, "Internal error occurred: failed calling webhook: image is not signed"),
    ] {
        let mut play = Play::new(SIMULATOR);
        play.server.state().refusal = Some(("jobs", code, usize::MAX));
        play.server.state().refusal_says = says;
        play.round(Story::Plain).await;
        play.pass_time(901);
        play.play_out(Story::Plain).await;
        assert_eq!((play.status().phase, play.status().reason.as_str()), (Some(Phase::Failed), "PrepareTimeout"));
        assert!(play.ready_message().contains("image is not signed"), "{}", play.ready_message());
    }
}

#[tokio::test]
async fn a_job_that_may_make_no_pod_is_named_after_half_a_minute_and_not_made_again() {
    let mut play = Play::new(SIMULATOR);
    play.server.state().no_pods = true;
    play.round(Story::Plain).await;
    play.round(Story::Plain).await;
    assert_eq!(play.status().reason, "PodStarting");
    play.pass_time(31);
    play.round(Story::Plain).await;
    assert_eq!(play.status().reason, "PodRefused");
    assert!(play.ready_message().contains("kubectl describe job chat-2db482-a1"), "{}", play.ready_message());
    play.pass_time(1_800);
    play.play_out(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "PodRefused"));
    assert_eq!(status.attempts.len(), 1);
}

#[tokio::test]
async fn a_mark_that_is_refused_fails_no_turn_of_a_finished_run() {
    let mut whole = Play::new(SIMULATOR);
    whole.play_out(Story::Plain).await;
    let mark = whole.server.state().writes.len() - 1;
    for code in [400, 403, 413, 422] {
        let mut play = Play::new(SIMULATOR);
        play.server.state().fault = Some((mark, Fault::Status(code)));
        while play.server.state().writes.len() <= mark {
            play.round(Story::Plain).await;
        }
        assert_eq!(play.status().reason, "RunSucceeded", "{code}");
        let uid = play.cached().and_then(|it| it.metadata.uid).unwrap();
        assert_eq!(play.context.failures.count(&uid), 0, "{code}: each failed turn is followed by another");
    }
}
