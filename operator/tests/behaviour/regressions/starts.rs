//! Tests for runs of other tools that did not start, or started wrongly.

use std::collections::BTreeSet;

use crds::{ResolvedRun, status::Phase};

use crate::behaviour::{
    fixture::*,
    reconcile::{Play, world::Story},
};

/// vllm-project/vllm#54227, vllm-project/vllm#52884: the prefix cache of a server still had the prompts of the last run. The launcher has a similar
/// test with a caching simulator: `a_prefix_cache_has_nothing_of_fresh_prompts_and_nearly_all_of_repeated_ones`.
#[tokio::test]
async fn the_second_attempt_sends_other_prompts_than_the_first() {
    let mut play = Play::new(SIMULATOR);
    play.play_out(Story::Evicted).await;
    let state = play.server.state();
    let inputs = state.all("configmaps").filter_map(|it| it["data"]["run.yaml"].as_str());
    let salts: Vec<_> =
        inputs.map(|it| serde_saphyr::from_str::<ResolvedRun>(it).unwrap()).map(|it| it.prompt_salt).collect();
    assert_eq!(salts.len(), 2);
    assert_eq!(salts.iter().collect::<BTreeSet<_>>().len(), 2, "{salts:?}");
}

/// openstack-k8s-operators/lib-common#78: if the response to the creation of a Job was lost, the Job was created a second time.
#[tokio::test]
async fn a_job_whose_creation_was_not_answered_is_found_again() {
    let mut play = Play::new(SIMULATOR);
    let creation = {
        let mut whole = Play::new(SIMULATOR);
        whole.play_out(Story::Plain).await;
        let state = whole.server.state();
        state.writes.iter().position(|it| it == "POST jobs").unwrap_or_default()
    };
    play.server.state().fault = Some((creation, crate::behaviour::reconcile::server::Fault::AnswerLost));
    play.play_out(Story::Plain).await;
    assert_eq!((play.status().phase, play.server.state().jobs_created), (Some(Phase::Succeeded), 1));
}
