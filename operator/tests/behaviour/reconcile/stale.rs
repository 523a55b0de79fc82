//! The real watches and loop of the operator, on an API server whose watches are late, have gaps, repeat old events or expire. Its reads and writes
//! are always up to date. The runtime's clock is paused, so that minutes of waiting take no time.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use crds::{BenchmarkRunStatus, status::Phase};
use futures::{StreamExt as _, future, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody, combinators::UnsyncBoxBody};
use kube::{Client, client::Body};
use operator::watches;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    Play,
    server::{Change, Server, parts},
    world::{Story, step},
};
use crate::behaviour::fixture::{SIMULATOR, run};

/// The delay of late events.
const LATE: Duration = Duration::from_secs(60);
/// Time between two checks for new events in a watch.
const LOOK: Duration = Duration::from_secs(1);
/// Time between two steps of the simulated world. It is longer than 10 seconds, the time after which the operator checks a run even without an event.
const STEP: Duration = Duration::from_secs(15);
/// Duration of a watch, as requested by the operator.
const WATCH: Duration = Duration::from_secs(15);
/// Many more steps than a story needs.
const MAX_STEPS: usize = 200;
/// Number of steps after the end of a story in which late events still arrive.
const STEPS_AFTER: usize = 20;

/// How the watches fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watches {
    /// All events arrive a minute late.
    Late,
    /// Only events of runs arrive a minute late, so that the events of their Jobs and pods arrive earlier.
    RunsLate,
    /// Two of three events never arrive. Every fourth watch request is answered as expired, so that the operator lists all objects again.
    Gaps,
    /// Each watch begins with all events since the start.
    Repeated,
    /// Every second watch request is answered as expired.
    Expired,
}

const ALL: [Watches; 5] = [Watches::Late, Watches::RunsLate, Watches::Gaps, Watches::Repeated, Watches::Expired];

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

struct ApiServer {
    server: Server,
    watches: Watches,
    /// Number of watch requests so far, by resource.
    asked: Mutex<BTreeMap<String, usize>>,
}

impl ApiServer {
    fn client(server: &Server, watches: Watches) -> Client {
        let all = Arc::new(ApiServer { server: server.clone(), watches, asked: Mutex::default() });
        let service = tower::service_fn(move |request: Request<Body>| {
            let all = Arc::clone(&all);
            async move { all.answer(request).await }
        });
        Client::new(service, "bench")
    }

    async fn answer(&self, request: Request<Body>) -> Result<Answer, std::io::Error> {
        let (head, body) = request.into_parts();
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        if query.contains("watch=true") {
            return Ok(self.watch(parts(path).1, query));
        }
        let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Ok(self.server.state().answer(&head.method, path, query, body)?.map(|it| it.boxed_unsync()))
    }

    fn watch(&self, plural: &str, query: &str) -> Answer {
        let number = {
            let mut asked = self.asked.lock().unwrap();
            let number = asked.entry(plural.to_owned()).or_default();
            *number += 1;
            *number
        };
        let expires_each = match self.watches {
            Watches::Gaps => 4,
            Watches::Expired => 2,
            _ => usize::MAX,
        };
        if number % expires_each == 0 {
            let status =
                json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
            let line = line(&json!({"type": "ERROR", "object": status}));
            return Response::new(StreamBody::new(stream::iter([Ok(line)])).boxed_unsync());
        }
        let since = query.split('&').find_map(|it| it.strip_prefix("resourceVersion=")?.parse().ok()).unwrap_or(0);
        let since = if self.watches == Watches::Repeated { 0 } else { since };
        let (server, plural, watches) = (self.server.clone(), plural.to_owned(), self.watches);
        let end = Instant::now() + WATCH;
        let events = stream::unfold(since, move |since| {
            let (server, plural) = (server.clone(), plural.clone());
            async move {
                sleep(LOOK).await;
                let changes = due(&server, &plural, watches, since);
                let next = changes.last().map_or(since, |it| it.version);
                let arriving = changes.into_iter().filter(|it| watches != Watches::Gaps || it.version % 3 == 0);
                let lines: Vec<_> =
                    arriving.map(|it| Ok(line(&json!({"type": it.kind, "object": it.object})))).collect();
                (Instant::now() < end).then_some((stream::iter(lines), next))
            }
        });
        Response::new(StreamBody::new(events.flatten()).boxed_unsync())
    }
}

/// The changes of a resource that the watch must report now: old enough, and not reported before.
fn due(server: &Server, plural: &str, watches: Watches, since: u64) -> Vec<Change> {
    let late = match watches {
        Watches::Late => LATE,
        Watches::RunsLate if plural == "benchmarkruns" => LATE,
        _ => Duration::ZERO,
    };
    let state = server.state();
    let waiting = state.journal.iter().filter(|it| it.plural == plural && it.version > since);
    waiting.take_while(|it| it.time.elapsed() >= late).cloned().collect()
}

fn line(value: &Value) -> Frame<Bytes> {
    Frame::data(Bytes::from(format!("{value}\n")))
}

/// The status at the end of a run, and what the operator did until then.
struct End {
    status: BenchmarkRunStatus,
    jobs_created: usize,
    deletions: Vec<String>,
}

/// Plays a story to its end, and until the latest event has arrived. `meddle` may change the world before each step.
async fn play(watches: Watches, story: Story, mut meddle: impl FnMut(&Play)) -> End {
    let mut play = Play::new(SIMULATOR);
    play.use_client(ApiServer::client(&play.server, watches));
    let (turns, _) = watches::controller(Some("bench"), &play.context, future::pending());
    let operator = tokio::spawn(turns);
    let mut after = 0;
    for _ in 0..MAX_STEPS {
        sleep(STEP).await;
        meddle(&play);
        step(&mut play.server.state(), story);
        after += usize::from(play.status().phase.is_some_and(Phase::is_terminal));
        if after == STEPS_AFTER {
            break;
        }
    }
    operator.abort();
    let state = play.server.state();
    assert!(state.most_live_jobs <= 1, "{watches:?}, {story:?}: {} Jobs at once", state.most_live_jobs);
    let (jobs_created, deletions) = (state.jobs_created, state.deletions.clone());
    drop(state);
    End { status: play.status(), jobs_created, deletions }
}

#[tokio::test(start_paused = true)]
async fn late_lost_repeated_and_expired_events_start_no_second_attempt_and_delete_nothing() {
    let first = ["jobs/chat-2db482-a1", "pods/chat-2db482-a1-0"];
    let mut runs = 0;
    for watches in ALL {
        for (story, phase, attempts, may_delete) in [
            (Story::Plain, Phase::Succeeded, 1, &[][..]),
            (Story::Evicted, Phase::Succeeded, 2, &first[..]),
            (Story::Suspended, Phase::Succeeded, 2, &first[..]),
            (Story::Cancelled, Phase::Cancelled, 1, &first[..]),
            (Story::CancelledAtOnce, Phase::Cancelled, 1, &first[..]),
            (Story::JobDeleted, Phase::Failed, 1, &first[..]),
        ] {
            let end = play(watches, story, |_| {}).await;
            let case = format!("{watches:?}, {story:?}");
            assert_eq!(end.status.phase, Some(phase), "{case}: {:#?}", end.status);
            assert_eq!((end.status.attempts.len(), end.jobs_created), (attempts, attempts), "{case}");
            let wrong: Vec<_> = end.deletions.iter().filter(|it| !may_delete.contains(&it.as_str())).collect();
            assert_eq!(wrong, Vec::<&String>::new(), "{case}");
            runs += 1;
        }
    }
    println!("figure 4: {runs} of {runs} runs end as with good watches; 0 second attempts, 0 wrong deletions");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_deleted_and_created_again_gets_nothing_of_the_old_events() {
    for watches in ALL {
        let mut replaced = false;
        let end = play(watches, Story::Plain, |play| {
            if !replaced && play.status().phase == Some(Phase::Running) {
                replace(play);
                replaced = true;
            }
        })
        .await;
        assert!(replaced, "{watches:?}: the first run never ran");
        assert_eq!(end.status.phase, Some(Phase::Succeeded), "{watches:?}: {:#?}", end.status);
        assert_eq!(
            (end.status.attempts.len(), end.jobs_created),
            (1, 2),
            "{watches:?}: one Job for each of the two runs"
        );
        assert_eq!(end.deletions, Vec::<String>::new(), "{watches:?}: the garbage collector deletes the first run's");
    }
}

/// Deletes the run with its Job, and creates a new run with the same name, like a GitOps tool.
fn replace(play: &Play) {
    let mut state = play.server.state();
    let mut other = serde_json::to_value(run(SIMULATOR)).unwrap();
    other["metadata"]["uid"] = json!("11111111-9d1b-4e57-8d8c-0a2f6f3f9b11");
    other["metadata"]["creationTimestamp"] = json!(super::server::now());
    let jobs: Vec<_> =
        state.all("jobs").map(|it| it["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect();
    state.remove("benchmarkruns", "chat");
    jobs.iter().for_each(|it| state.remove("jobs", it));
    state.put("benchmarkruns", "chat", other);
}
