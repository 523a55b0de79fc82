//! Whole runs in which one request fails. Each request of a run, including reads, is tried with each kind of failure, through the client of
//! production.

use crds::status::Phase;
use futures::{StreamExt as _, stream};

use super::{
    End, Play,
    network::{Network, Trouble},
    world::Story,
};
use crate::behaviour::fixture::SIMULATOR;

/// Number of runs that are played concurrently, so that their waits for missing responses overlap.
const AT_ONCE: usize = 16;
/// Stories whose end does not depend on which request fails. If somebody deletes the Job without its pod, the end depends on timing, so those stories
/// are missing here.
const STORIES: [Story; 6] =
    [Story::Plain, Story::Evicted, Story::Suspended, Story::Cancelled, Story::CancelledAtOnce, Story::JobDeleted];

/// Plays a story without failures, and returns its end and its requests.
async fn whole(story: Story) -> anyhow::Result<(End, Vec<String>)> {
    let (mut play, network) = on_the_network(SIMULATOR).await?;
    let end = play.play_out(story).await;
    Ok((end, network.requests()))
}

async fn on_the_network(spec: &str) -> anyhow::Result<(Play, Network)> {
    let mut play = Play::new(spec);
    let (network, client) = Network::start(&play.server).await?;
    play.use_client(client);
    Ok((play, network))
}

/// Whether the failure is a false 404 to a read or a deletion: the response reports that an existing object is gone. No client can detect that. The
/// run may then end like a run that has lost its Job.
fn is_misled(trouble: Trouble, request: &str) -> bool {
    trouble == Trouble::Status(404) && ["get", "list", "delete"].iter().any(|it| request.starts_with(it))
}

/// Plays a run in which the request with this number fails. Returns how many Jobs were created in addition to one per attempt.
async fn play_with(
    story: Story,
    number: usize,
    trouble: Trouble,
    (expected, requests): &(End, Vec<String>),
) -> anyhow::Result<usize> {
    let case = format!("{story:?}, {trouble:?} at request {number}, {}", requests[number]);
    let (mut play, network) = on_the_network(SIMULATOR).await?;
    network.harm(number, trouble);
    let end = play.play_out(story).await;
    anyhow::ensure!(network.requests().len() > number, "{case}: the request was never made");
    let status = play.status();
    anyhow::ensure!(status.phase.is_some_and(Phase::is_terminal), "{case}: {status:#?}");
    if !is_misled(trouble, &requests[number]) {
        let same = match story {
            Story::Plain | Story::Evicted | Story::Suspended => end == *expected,
            _ => end.without_figures() == expected.without_figures(),
        };
        anyhow::ensure!(same, "{case}: ended as {end:#?} and not as {expected:#?}");
        anyhow::ensure!(play.loading().is_empty(), "{case}: pods are left that nobody ends");
    }
    let attempts = status.attempts.last().map_or(0, |it| it.number as usize);
    let created = play.server.state().jobs_created;
    Ok(created.saturating_sub(attempts))
}

/// Plays each story with each failure of each request, and prints how many runs ended like the undisturbed run, as a figure for docs/reliability.md.
/// Only plays the first story unless `BENCHWRIGHT_ALL_STORIES` is set, because all stories take minutes.
async fn check_every_request(figure: u32, what: &str, troubles: &[Trouble]) -> anyhow::Result<()> {
    let stories = if std::env::var_os("BENCHWRIGHT_ALL_STORIES").is_some() { &STORIES[..] } else { &STORIES[..1] };
    for story in stories {
        let whole = whole(*story).await?;
        let numbers = 0..whole.1.len();
        // The cases are sorted by kind of failure, so that cases that wait equally long run concurrently.
        let cases: Vec<_> = troubles.iter().flat_map(|it| numbers.clone().map(move |number| (number, *it))).collect();
        let count = cases.len();
        let played = stream::iter(cases).map(|(number, trouble)| play_with(*story, number, trouble, &whole));
        let played: Vec<anyhow::Result<usize>> = played.buffer_unordered(AT_ONCE).collect().await;
        let failed: Vec<_> = played.iter().filter_map(|it| it.as_ref().err().map(|it| format!("{it:#}"))).collect();
        let duplicates: usize = played.iter().flatten().sum();
        println!(
            "figure {figure}: {} of {count} runs ({story:?}) end as without a fault, with {what} each of {} requests; \
             {duplicates} duplicate Jobs",
            count - failed.len(),
            whole.1.len()
        );
        assert_eq!((failed, duplicates), (Vec::new(), 0), "{story:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_operator_that_is_killed_at_any_request_comes_to_the_same_end() -> anyhow::Result<()> {
    check_every_request(2, "a kill before or after", &[Trouble::KilledBefore, Trouble::KilledAfter]).await
}

#[tokio::test]
async fn a_request_that_is_refused_once_changes_no_end() -> anyhow::Result<()> {
    let troubles = [403, 404, 409, 429, 500, 503].map(Trouble::Status);
    check_every_request(3, "status 403, 404, 409, 429, 500 or 503 at", &troubles).await
}

#[tokio::test]
async fn a_network_that_fails_once_changes_no_end() -> anyhow::Result<()> {
    use Trouble::*;
    let troubles = [Reset, AnswerLost, HalfAnswer, Silence, SlowAnswer];
    let what = "a reset, a lost, halved or divided answer, or silence at";
    check_every_request(3, what, &troubles).await
}
