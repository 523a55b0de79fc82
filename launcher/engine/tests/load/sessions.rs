//! Tests of sessions with several turns: their order, the content of their prompts, their waits, and what ends them early.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use crds::{benchmark_run::Api, units::Span};
use engine::{
    client::Target,
    stop::{Stop, StopReason},
};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Bytes, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use measurement::{
    load_result::LoadResult,
    record::{RequestOutcome, RequestRecord},
    window::WindowPart,
};
use serde_json::Value;
use tokio::io::duplex;
use workload_profiles::{
    Workload,
    workload::{
        AcrossStages, AfterFailure, Conversations, History, LengthDistribution, Load, Margin, PrefixPlace, Prefixes,
        RecordedAnswers, RecordedFiles, RecordedFormat, RecordedSessions, RecordedToolCalls, RecordedWaits,
        RequestSource, Sessions, Stage, TimeDistribution, TurnLengths, Unit, Window,
    },
};

use super::common::*;

/// A request as the server received it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) at: Duration,
    connection: usize,
    session: Option<String>,
    pub(super) body: Value,
}

impl Seen {
    /// Returns the texts of its messages, or its prompt.
    pub(super) fn texts(&self) -> Vec<String> {
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        match self.body["messages"].as_array() {
            Some(messages) => messages.iter().map(|it| text(&it["content"])).collect(),
            None => vec![text(&self.body["prompt"])],
        }
    }

    fn roles(&self) -> Vec<&str> {
        let messages = self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        messages.iter().filter_map(|it| it["role"].as_str()).collect()
    }
}

/// A server that answers request n (from 0) with `said n`, after 100 ms, or after 2 s if the request is slow. Some requests fail instead.
#[derive(Clone, Default)]
pub(super) struct Server {
    pub(super) seen: Arc<Mutex<Vec<Seen>>>,
    pub(super) fails: Vec<usize>,
    /// Numbers of the requests that are answered as by a proxy with no server behind it.
    pub(super) away: Vec<usize>,
    pub(super) is_slow: Option<usize>,
}

impl Server {
    pub(super) fn target(&self, api: Api) -> Target {
        let (seen, fails, away) = (Arc::clone(&self.seen), self.fails.clone(), self.away.clone());
        let is_slow = self.is_slow;
        let clock = clock::Clock::from_runtime();
        let connections = Mutex::new(0);
        Target::in_process(api, move || {
            let (client, server) = duplex(64 << 10);
            let connection = {
                let mut count = connections.lock().unwrap();
                *count += 1;
                *count
            };
            let (seen, fails, away) = (Arc::clone(&seen), fails.clone(), away.clone());
            let service = service_fn(move |request: Request<Incoming>| {
                let (seen, fails, away) = (Arc::clone(&seen), fails.clone(), away.clone());
                async move {
                    let session = request.headers().get("x-session").map(|it| it.to_str().unwrap().to_owned());
                    let bytes = request.into_body().collect().await?.to_bytes();
                    let body: Value = serde_json::from_slice(&bytes).unwrap();
                    let number = {
                        let mut seen = seen.lock().unwrap();
                        seen.push(Seen { at: clock.now(), connection, session, body });
                        seen.len() - 1
                    };
                    tokio::time::sleep(millis(if is_slow == Some(number) { 2_000 } else { 100 })).await;
                    let text = format!(
                        r#"{{"index":0,"text":"said {number}","delta":{{"content":"said {number}"}},"finish_reason":"stop"}}"#
                    );
                    let answer = format!(
                        "data: {{\"choices\":[{text}],\"usage\":{{\"prompt_tokens\":10,\"completion_tokens\":2}}}}\n\ndata: [DONE]\n\n"
                    );
                    let status = match number {
                        it if fails.contains(&it) => 500,
                        it if away.contains(&it) => 503,
                        _ => 200,
                    };
                    let head = Response::builder().status(status).header("content-type", "text/event-stream");
                    Ok::<_, hyper::Error>(head.body(Full::<Bytes>::from(answer)).unwrap())
                }
            });
            tokio::spawn(
                async move { drop(http1::Builder::new().serve_connection(TokioIo::new(server), service).await) },
            );
            client
        })
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

/// Conversations whose messages have five words, and whose answers have two tokens.
pub(super) fn conversations(count: Option<u32>, turns: u32, think: Duration) -> Conversations {
    Conversations {
        count,
        turns: LengthDistribution::fixed(turns),
        prefixes: Prefixes::default(),
        own_system: None,
        first_turn: None,
        turn: TurnLengths { input: LengthDistribution::fixed(5), output: LengthDistribution::fixed(2) },
        think_time: (!think.is_zero()).then(|| TimeDistribution::fixed(Span(think))),
        history: History::Answers,
        max_context: None,
        seed: None,
    }
}

pub(super) fn talk(source: Conversations, unit: Unit, stage: Stage) -> Workload {
    let requests = RequestSource::Conversations(Box::new(source));
    let sessions = Sessions { unit, ..Sessions::default() };
    Workload { requests, sessions, ..Workload::new(Api::Chat, RequestSource::Mock, vec![stage]) }
}

pub(super) async fn run(workload: &Workload, server: &Server) -> LoadResult {
    issue(workload, &server.target(workload.api)).await
}

/// Returns for each turn its session, its number, and when it was due and sent, in milliseconds from the start of the stage.
pub(super) fn turns(result: &LoadResult) -> Vec<(u32, u32, u128, u128)> {
    let ms = |it: Duration| (it - millis(2)).as_millis();
    let of = |it: &RequestRecord| {
        let turn = it.turn.unwrap();
        assert_eq!(it.send_lag(), Some(Duration::ZERO), "{it:?}");
        (turn.session, turn.number.get(), ms(it.scheduled), ms(it.sent.unwrap()))
    };
    let mut turns: Vec<_> = records(result).iter().map(of).collect();
    turns.sort_unstable();
    turns
}

#[tokio::test(start_paused = true)]
async fn a_turn_carries_what_was_said_and_follows_after_the_think_time() {
    let server = Server::default();
    let workload = talk(conversations(None, 3, millis(400)), Unit::Session, closed(1, 2));
    let result = run(&workload, &server).await;
    // An answer takes 100 ms, and the think time before the next turn is 400 ms. The second session begins when the first has ended.
    let expected = [
        (0, 1, 0, 0),
        (0, 2, 500, 500),
        (0, 3, 1_000, 1_000),
        (1, 1, 1_100, 1_100),
        (1, 2, 1_600, 1_600),
        (1, 3, 2_100, 2_100),
    ];
    assert_eq!(turns(&result), expected);
    assert!(records(&result).iter().all(|it| it.latency_scheduled() == Some(millis(100))));
    let seen = server.seen();
    assert_eq!(seen[2].roles(), ["user", "assistant", "user", "assistant", "user"]);
    let texts = seen[2].texts();
    assert_eq!((texts[1].as_str(), texts[3].as_str()), ("said 0", "said 1"));
    assert_eq!((&texts[..1], &texts[..3]), (&seen[0].texts()[..], &seen[1].texts()[..3]));
    assert_ne!(seen[3].texts(), seen[0].texts(), "each session is a new one");
    let tally = &result.recorder.sessions[0];
    assert_eq!((tally.complete, tally.failed, tally.cut_short), (2, 0, 0));
    assert_eq!((tally.duration.totals().max, tally.turns.totals().max), (1_100_000_000, 3));
    let requests: Vec<u64> = tally.by_turn.iter().map(|it| it.succeeded).collect();
    assert_eq!(requests, [2, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_completion_carries_one_text() {
    let server = Server::default();
    let mut workload = talk(conversations(None, 2, millis(0)), Unit::Session, closed(1, 1));
    workload.api = Api::Completions;
    run(&workload, &server).await;
    let texts: Vec<String> = server.seen().iter().flat_map(Seen::texts).collect();
    assert!(texts[1].starts_with(&format!("{} said 0 ", texts[0])), "{texts:?}");
    assert_eq!(texts[1].split(' ').count(), 5 + 2 + 5);
}

#[tokio::test(start_paused = true)]
async fn a_load_of_requests_deals_them_to_its_sessions() {
    // There are two sessions with two turns. Requests 0 and 2 are the turns of the first one, and request 4 begins a new session with the same texts.
    let server = Server::default();
    let workload = talk(conversations(Some(2), 2, millis(30)), Unit::Request, paced(50.0, 6));
    let result = run(&workload, &server).await;
    // A request is due every 20 ms. A turn also waits for the previous answer and for 30 ms of think time.
    let expected =
        [(0, 1, 0, 0), (0, 2, 130, 130), (1, 1, 20, 20), (1, 2, 150, 150), (2, 1, 230, 230), (3, 1, 250, 250)];
    assert_eq!(turns(&result), expected);
    let numbers: Vec<u64> = records(&result).iter().map(|it| it.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    let tally = &result.recorder.sessions[0];
    assert_eq!((tally.complete, tally.cut_short), (2, 2));
    // Request 4 was due at 80 ms and was held until 230 ms. Request 5 was held from 100 ms until 250 ms.
    assert_eq!((tally.hold.histogram().len(), tally.hold.totals().max), (6, 150_000_000));
    assert_eq!(server.seen()[4].texts(), server.seen()[0].texts());
}

#[tokio::test(start_paused = true)]
async fn slots_take_the_requests_of_sessions_in_order() {
    let server = Server::default();
    let workload = talk(conversations(Some(2), 3, millis(0)), Unit::Request, closed(4, 6));
    let result = run(&workload, &server).await;
    let expected = [(0, 1, 0, 0), (0, 2, 100, 100), (0, 3, 200, 200), (1, 1, 0, 0), (1, 2, 100, 100), (1, 3, 200, 200)];
    assert_eq!(turns(&result), expected);
}

#[tokio::test(start_paused = true)]
async fn an_open_loop_starts_sessions_at_its_times() {
    let server = Server::default();
    let workload = talk(conversations(None, 2, millis(150)), Unit::Session, paced(10.0, 3));
    let result = run(&workload, &server).await;
    let expected =
        [(0, 1, 0, 0), (0, 2, 250, 250), (1, 1, 100, 100), (1, 2, 350, 350), (2, 1, 200, 200), (2, 2, 450, 450)];
    assert_eq!(turns(&result), expected);
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_is_forgotten_or_ends_its_session() {
    for (after_failure, sent, skipped, failed_texts) in
        [(AfterFailure::Continue, 4, 0, 3), (AfterFailure::End, 2, 2, 0)]
    {
        let server = Server { fails: vec![1], ..Server::default() };
        let mut workload = talk(conversations(None, 4, millis(0)), Unit::Session, closed(1, 1));
        workload.sessions.after_failure = after_failure;
        let result = run(&workload, &server).await;
        assert_eq!(result.issued, sent);
        let counted = |name: &str| outcomes(&result, 0).iter().find(|it| it.0 == name).map_or(0, |it| it.1);
        assert_eq!((counted("ok"), counted("http_500"), counted("skipped")), (sent - 1, 1, skipped));
        let tally = &result.recorder.sessions[0];
        assert_eq!((tally.complete, tally.failed, tally.cut_short), (0, 1, 0));
        if failed_texts > 0 {
            // The history in the third request contains the first turn, but not the failed second one.
            let seen = server.seen();
            let texts = seen[2].texts();
            assert_eq!((texts.len(), &texts[0], texts[1].as_str()), (failed_texts, &seen[0].texts()[0], "said 0"));
            assert_ne!(texts[2], seen[1].texts()[2]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_of_requests_does_not_send_those_of_a_session_that_failed() {
    let server = Server { fails: vec![1], ..Server::default() };
    let mut workload = talk(conversations(Some(1), 4, millis(0)), Unit::Request, closed(1, 5));
    workload.sessions.after_failure = AfterFailure::End;
    let result = run(&workload, &server).await;
    let expected = [("ok", 2), ("http_500", 1), ("skipped", 2)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(outcomes(&result, 0).into_iter().collect::<BTreeMap<_, _>>(), BTreeMap::from(expected));
    // The last request begins the next session.
    assert_eq!(records(&result).last().unwrap().turn.unwrap().session, 1);
}

#[tokio::test(start_paused = true)]
async fn turns_after_a_failure_belong_to_the_part_of_their_session() {
    // The first turn of the first session fails during the warm-up.
    let server = Server { fails: vec![0], ..Server::default() };
    let mut workload = talk(conversations(None, 3, millis(0)), Unit::Session, paced(10.0, 2));
    workload.stages[0].warm_up = Some(Margin::Duration(Span(millis(50))));
    workload.sessions.after_failure = AfterFailure::End;
    let result = run(&workload, &server).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 3)]);
    let excluded = &result.recorder.stages[0].excluded[&WindowPart::WarmUp];
    assert_eq!(excluded[&RequestOutcome::Skipped], 2);
}

#[tokio::test(start_paused = true)]
async fn sessions_that_are_sent_again_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, recording()).unwrap();
    let chats = |count| talk(conversations(count, 1, millis(0)), Unit::Session, closed(1, 5));
    let recordings = |unique| {
        let once = RecordedSessions { unique, ..recorded(&path, RecordedFormat::OpenTelemetry) };
        Workload { stages: vec![closed(1, 1), closed(1, 1)], ..replay(once, 1) }
    };
    for (workload, expected) in [
        (chats(None), None),
        (chats(Some(5)), None),
        (chats(Some(2)), Some("5 sessions were sent, 3 of them with the texts of one")),
        (recordings(true), None),
        (recordings(false), Some("2 sessions were sent, 1 of them with the texts of one")),
    ] {
        let mut notices = run(&workload, &Server::default()).await.notices;
        let notice = notices.pop().map(|it| it.message);
        assert!(notice.as_deref().unwrap_or_default().contains(expected.unwrap_or_default()), "{notice:?}");
        assert_eq!(notice.is_some(), expected.is_some(), "{notice:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn unique_recordings_differ_between_stages_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, recording()).unwrap();
    let once = RecordedSessions { unique: true, ..recorded(&path, RecordedFormat::OpenTelemetry) };
    let workload = Workload { stages: vec![closed(1, 1), closed(1, 1)], ..replay(once, 1) };
    let mut firsts = Vec::new();
    for prompt_salt in ["one", "two"] {
        let server = Server::default();
        let seeds = engine::requests::Seeds { run: crds::units::Seed(1), prompt_salt };
        engine::issue::run_here(&workload, "m", &server.target(Api::Chat), seeds, &Stop::default()).await.unwrap();
        firsts.extend([0, 4].map(|it| server.seen()[it].texts()[0].clone()));
    }
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts.len(), 4, "{firsts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_session_between_its_turns() {
    for (stage, unit, unissued, stopped_early) in [
        (closed(2, 2), Unit::Session, 0, true),
        (closed(2, 6), Unit::Request, 0, true),
        (paced(100.0, 2), Unit::Session, 0, true),
        // Requests 2 to 5 are due, but still wait for the think time after the first turns.
        (paced(100.0, 6), Unit::Request, 4, false),
    ] {
        let server = Server::default();
        let workload = talk(conversations(Some(2), 3, millis(500)), unit, stage);
        let stop = Stop::default();
        let at = stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(millis(300)).await;
            at.drain(StopReason::Signal);
        });
        let result = issue_until(&workload, &server.target(Api::Chat), &stop).await;
        assert_eq!((result.issued, result.unissued), (2, unissued));
        assert_eq!(result.recorder.stages[0].stopped_early, stopped_early);
        assert_eq!(result.recorder.sessions[0].cut_short, 2);
        assert!(all(&result, RequestOutcome::Ok));
        let cancelled = outcomes(&result, 0).iter().find(|it| it.0 == "cancelled").map_or(0, |it| it.1);
        assert_eq!(cancelled, unissued);
    }
}

#[tokio::test(start_paused = true)]
async fn the_grace_of_a_stage_cuts_sessions_short() {
    let server = Server::default();
    let mut stage = paced(100.0, 2);
    stage.grace = Some(Span(millis(585)));
    // Turns are sent at 0, 300 and 600 ms, or 10 ms later. The stage ends at 605 ms: one last turn is in flight, and the other one still
    // waits.
    let workload = talk(conversations(None, 3, millis(200)), Unit::Session, stage);
    let result = run(&workload, &server).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 4), ("incomplete".to_owned(), 1)]);
    let tally = &result.recorder.sessions[0];
    assert_eq!((tally.complete, tally.failed, tally.cut_short), (0, 0, 2));
}

#[tokio::test(start_paused = true)]
async fn sessions_that_are_cut_in_their_first_turn_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, recording()).unwrap();
    let of_requests = talk(conversations(Some(2), 3, millis(0)), Unit::Request, closed(1, 1));
    let of_sessions = talk(conversations(None, 3, millis(0)), Unit::Session, closed(1, 1));
    let copies = RecordedSessions { duplicate_to: Some(2), ..recorded(&path, RecordedFormat::OpenTelemetry) };
    let graphs = replay(copies, 1);
    for mut workload in [of_requests, of_sessions, graphs] {
        // A turn takes 100 ms, and the stage ends at 70 ms.
        let mut stage = paced(100.0, 2);
        stage.grace = Some(Span(millis(50)));
        workload.stages = vec![stage];
        let result = run(&workload, &Server::default()).await;
        assert_eq!(outcomes(&result, 0), [("incomplete".to_owned(), 2)]);
        let tally = &result.recorder.sessions[0];
        assert_eq!((tally.sessions(), tally.cut_short, tally.by_turn[0].requests), (2, 2, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_window_takes_the_sessions_that_end_within_it() {
    let server = Server::default();
    // Session k has turns at 100 k and 100 k + 150 ms, which take 100 ms each. The window is from 0 to 1 s.
    let workload =
        Workload { window: Window::Cut, ..talk(conversations(None, 2, millis(50)), Unit::Session, paced(10.0, 10)) };
    let result = run(&workload, &server).await;
    let tally = &result.recorder.sessions[0];
    assert_eq!((tally.complete, tally.failed, tally.cut_short), (8, 0, 2));
    assert_eq!(tally.duration.histogram().len(), 8);
    let turns: Vec<(u64, u64)> = tally.by_turn.iter().map(|it| (it.requests, it.succeeded)).collect();
    assert_eq!(turns, [(10, 10), (9, 8)]);
    assert_eq!(tally.by_turn[1].latency.histogram().len(), 8);
}

#[tokio::test(start_paused = true)]
async fn the_holds_of_the_warm_up_are_in_no_figure() {
    let mut stage = paced(50.0, 6);
    stage.warm_up = Some(Margin::Duration(Span(millis(140))));
    let result = run(&talk(conversations(Some(2), 2, millis(30)), Unit::Request, stage), &Server::default()).await;
    // The requests are due at 0, 20, 130, 150, 230 and 250 ms.
    assert_eq!(result.recorder.sessions[0].hold.histogram().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn slots_send_nothing_after_the_duration() {
    let server = Server::default();
    let workload = talk(conversations(None, 10, millis(0)), Unit::Session, closed_for(2, millis(350), millis(0)));
    let result = run(&workload, &server).await;
    assert_eq!((result.issued, result.recorder.sessions[0].cut_short), (8, 2));
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_requests_holds_between_sessions_and_never_within_one() {
    // There are five sessions and one permit. A session in its think time does not hold the permit.
    let server = Server::default();
    let workload = talk(conversations(None, 2, millis(1_000)), Unit::Session, bounded(paced(1_000.0, 5), 1));
    let result = run(&workload, &server).await;
    let sent: Vec<u128> = server.seen().iter().map(|it| it.at.as_millis()).collect();
    let times = |from: u128| (0..5).map(move |it| from + 100 * it);
    assert_eq!(sent, times(2).chain(times(1_102)).collect::<Vec<_>>());
    assert!(records(&result).iter().all(|it| it.send_lag() == Some(Duration::ZERO)));
}

#[tokio::test(start_paused = true)]
async fn many_sessions_that_wait_need_no_slots() {
    // inference-perf needs a worker slot for each call of a started session, and hangs if there is none. This is a known trap of its
    // session replay.
    let server = Server::default();
    let workload = talk(conversations(None, 20, millis(60_000)), Unit::Session, closed(500, 500));
    let result = run(&workload, &server).await;
    assert_eq!((result.issued, result.recorder.sessions[0].complete), (10_000, 500));
    assert!(turns(&result).iter().all(|(_, turn, due, _)| *due == u128::from(turn - 1) * 60_100));
}

#[tokio::test(start_paused = true)]
async fn a_session_has_its_header_and_its_connection() {
    let server = Server::default();
    let mut workload = talk(conversations(None, 3, millis(50)), Unit::Session, paced(20.0, 4));
    workload.sessions.header = Some("X-Session".into());
    workload.sessions.keep_connection = true;
    run(&workload, &server).await;
    let mut connections: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for seen in server.seen() {
        connections.entry(seen.session.unwrap()).or_default().push(seen.connection);
    }
    assert_eq!(connections.len(), 4);
    assert!(connections.values().all(|it| it.len() == 3 && it.iter().all(|one| *one == it[0])), "{connections:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stands_alone_is_a_session_of_its_own() {
    let server = Server::default();
    let mut workload = Workload::new(Api::Chat, RequestSource::Mock, vec![closed(2, 6), paced(10.0, 4)]);
    workload.sessions.header = Some("X-Session".into());
    run(&workload, &server).await;
    let sessions: BTreeSet<String> = server.seen().into_iter().filter_map(|it| it.session).collect();
    assert_eq!(sessions.len(), 10);
    workload.sessions.header = Some("no name".into());
    let target = server.target(Api::Chat);
    let refused = engine::issue::run_here(&workload, "m", &target, crds::units::Seed(1), &Stop::default()).await;
    assert!(refused.unwrap_err().to_string().contains("sessions.header is \"no name\""));
}

#[tokio::test(start_paused = true)]
async fn conversations_share_prefixes_and_forget_what_the_context_has_no_room_for() {
    let server = Server::default();
    let mut source = conversations(Some(3), 4, millis(0));
    source.prefixes = Prefixes::shared(7, PrefixPlace::System);
    source.own_system = Some(LengthDistribution::fixed(3));
    // The prefix and the first message have 10 tokens together, and each turn adds 7. So the context has room for two turns.
    source.max_context = Some(10 + 2 * 7);
    let result = run(&talk(source, Unit::Session, closed(1, 3)), &server).await;
    let seen = server.seen();
    let system = |it: usize| seen[it].texts()[0].split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!((system(0).len(), &system(0)[..7], system(0)[7..] == system(4)[7..]), (10, &system(4)[..7], false));
    let lengths: Vec<usize> = seen[..4].iter().map(|it| it.texts().len()).collect();
    assert_eq!(lengths, [2, 4, 4, 4]);
    assert_eq!(seen[3].texts()[2], "said 2");
    assert_eq!(result.recorder.sessions[0].shortened_turns, 3 * 2);
}

#[tokio::test(start_paused = true)]
async fn users_take_turns_at_their_times_and_new_ones_follow() {
    // Two users send 20 requests per second, so each sends one every 100 ms. The second initial user begins with its second turn.
    let server = Server::default();
    let load = Load::Users { users: 2, rate: 20.0.try_into().unwrap(), turns: 2, duration: None, count: Some(6) };
    let workload = talk(conversations(None, 2, millis(0)), Unit::Request, Stage::new("users", load));
    let result = run(&workload, &server).await;
    let found: Vec<(u64, u32, u32)> = records(&result)
        .iter()
        .map(|it| (it.number, it.turn.unwrap().session, it.turn.unwrap().number.get()))
        .collect();
    assert_eq!(found, [(0, 0, 1), (1, 1, 2), (2, 0, 2), (3, 3, 1), (4, 2, 1), (5, 3, 2)]);
    assert_eq!(server.seen()[1].texts().len(), 1, "nobody has said the turns before it");
    let tally = &result.recorder.sessions[0];
    assert_eq!((tally.complete, tally.partial, tally.failed, tally.cut_short), (2, 1, 0, 1));
    assert_eq!((tally.turns.histogram().len(), tally.turns.histogram().min()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn users_of_shared_prefixes_say_the_same_prompt_again() {
    let server = Server::default();
    let requests = RequestSource::SharedPrefix {
        groups: 1,
        prompts_per_group: 2,
        system_prompt_len: LengthDistribution::fixed(4),
        question_len: LengthDistribution::fixed(2),
        output_len: LengthDistribution::fixed(2),
        seed: None,
        multi_turn: true,
    };
    let workload = Workload { requests, ..Workload::new(Api::Chat, RequestSource::Mock, vec![closed(2, 6)]) };
    let result = run(&workload, &server).await;
    assert_eq!(result.issued, 6);
    let last = server.seen()[4].texts();
    assert_eq!((last.len(), &last[0], &last[0]), (5, &last[2], &last[4]));
    let refused = Workload { sessions: Sessions { unit: Unit::Session, ..Sessions::default() }, ..workload };
    let error =
        engine::issue::run_here(&refused, "m", &server.target(Api::Chat), crds::units::Seed(1), &Stop::default()).await;
    assert!(error.unwrap_err().to_string().contains("have no last turn; let the load start requests"));
}

/// A recorded request with these start and end times, in seconds.
fn span(start: f64, end: f64, messages: &str, answer: &str) -> String {
    format!(
        r#"{{"name":"chat m","start_time":"2025-01-01T00:00:{start:06.3}Z","end_time":"2025-01-01T00:00:{end:06.3}Z","attributes":{{"gen_ai.input.messages":[{messages}],"gen_ai.output.text":"{answer}","gen_ai.usage.output_tokens":2}}}}"#
    )
}

fn said(role: &str, text: &str) -> String {
    format!(r#"{{"role":"{role}","content":"{text}"}}"#)
}

/// Recorded spans: a plan, two concurrent searches, and a summary of both.
fn recording() -> String {
    let plan = format!("{},{}", said("user", "ask"), said("assistant", "the plan"));
    let found = format!("{},{}", said("assistant", "found left"), said("assistant", "found right"));
    let spans = [
        span(0.0, 1.0, &said("user", "ask"), "the plan"),
        span(1.5, 4.0, &format!("{plan},{}", said("user", "left")), "found left"),
        span(2.0, 3.0, &format!("{plan},{}", said("user", "right")), "found right"),
        span(6.0, 7.0, &format!("{found},{}", said("user", "sum")), "done"),
    ];
    format!("[{}]", spans.join(","))
}

pub(super) fn recorded(path: &std::path::Path, format: RecordedFormat) -> RecordedSessions {
    RecordedSessions {
        files: RecordedFiles::Files(vec![path.to_owned().into()]),
        format,
        max_wait: Span(Duration::from_secs(15)),
        max_idle: None,
        waits: RecordedWaits::All,
        answers: RecordedAnswers::Server,
        default_output: 9,
        duplicate_to: None,
        unique: false,
        filter: None,
        include_errors: true,
        skip_invalid_files: false,
        tool_calls: RecordedToolCalls { forced: true, open_ended: false },
        across_stages: AcrossStages::Restart,
    }
}

fn replay(sessions: RecordedSessions, count: u64) -> Workload {
    let mut workload = Workload::new(Api::Chat, RequestSource::Recorded(sessions), vec![closed(1, count)]);
    workload.sessions.unit = Unit::Session;
    workload
}

#[tokio::test(start_paused = true)]
async fn the_prompts_of_a_trace_of_weka_share_the_texts_of_their_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let record = |id: &str| {
        let call = |start: u32, input: u32, hashes: &[u64]| serde_json::json!({ "t": start, "type": "n", "in": input, "out": 3, "hash_ids": hashes, "api_time": 1 });
        let requests = [call(0, 25, &[1, 2, 3]), call(3, 40, &[1, 2, 3, 4]), call(5, 15, &[1, 9])];
        serde_json::json!({ "id": id, "block_size": 10, "requests": requests }).to_string()
    };
    std::fs::write(&path, format!("{}\n{}\n", record("a"), record("b"))).unwrap();
    let server = Server::default();
    let sessions =
        RecordedSessions { duplicate_to: Some(3), ..recorded(&path, RecordedFormat::Weka { block_size: 64 }) };
    let result = run(&replay(sessions, 3), &server).await;
    // An answer takes 100 ms. The waits come from the recording.
    let sent = [(0, 1, 0, 0), (0, 2, 2_100, 2_100), (0, 3, 3_200, 3_200)];
    assert_eq!(turns(&result)[..3], sent);
    assert!(records(&result).iter().all(|it| it.requested_output_tokens == Some(3)));
    let seen = server.seen();
    let words = |request: usize| -> Vec<String> {
        let texts = seen[request].texts();
        assert_eq!(texts.len(), 1);
        texts[0].split(' ').map(str::to_owned).collect()
    };
    let [first, second, third] = [0, 1, 2].map(words);
    assert_eq!([&first, &second, &third].map(Vec::len), [25, 40, 15]);
    assert_eq!(first, second[..25]);
    assert_eq!((third[..10] == first[..10], third[10..] == first[10..15]), (true, false));
    assert_ne!(words(3)[..10], first[..10], "the same hash in another recording is another text");
    assert_eq!((words(6)[0].len(), &words(6)[1..]), (16, &first[..]), "a copy has a text of its own");
}

#[tokio::test(start_paused = true)]
async fn a_stage_ends_when_no_recorded_session_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let line = r#"{"id":"a","requests":[{"t":0,"in":4,"out":1},{"t":1,"in":4,"out":1}]}"#;
    std::fs::write(&path, format!("{line}\n{line}\n{line}\n")).unwrap();
    let endless = || {
        let load = Load::Closed {
            concurrency: 2,
            count: None,
            duration: None,
            ramp_up: Span(Duration::ZERO),
            start_rate: None,
        };
        Stage::new("all", load)
    };
    let sent = async |stages: Vec<Stage>, across_stages: AcrossStages| {
        let weka = recorded(&path, RecordedFormat::Weka { block_size: 64 });
        let workload = Workload { stages, ..replay(RecordedSessions { across_stages, ..weka }, 1) };
        let target = Server::default().target(Api::Chat);
        let result = engine::issue::run_here(&workload, "m", &target, crds::units::Seed(1), &Stop::default()).await;
        result.map(|it| it.issued).map_err(|error| error.to_string())
    };
    assert_eq!(sent(vec![endless(), endless()], AcrossStages::Restart).await, Ok(12));
    assert_eq!(sent(vec![closed(1, 1), endless()], AcrossStages::Continue).await, Ok(6));
    assert_eq!(sent(vec![paced(1.0, 9)], AcrossStages::Restart).await, Ok(6));
    let refused = sent(vec![closed(1, 4)], AcrossStages::Restart).await.unwrap_err();
    assert!(refused.contains("needs 4 recorded sessions, and 3 are left"), "{refused}");
    let refused = sent(vec![endless(), endless()], AcrossStages::Continue).await.unwrap_err();
    assert!(refused.contains("needs 1 recorded sessions, and 0 are left"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_recorded_session_begins_with_the_request_that_was_due_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    // Two requests overlap, and the second one ends first.
    let spans = [span(0.0, 3.0, &said("user", "long"), "a"), span(1.0, 2.0, &said("user", "short"), "b")];
    std::fs::write(&path, format!("[{}]", spans.join(","))).unwrap();
    let server = Server { is_slow: Some(0), ..Server::default() };
    let result = run(&replay(recorded(&path, RecordedFormat::OpenTelemetry), 1), &server).await;
    let tally = &result.recorder.sessions[0];
    assert_eq!((tally.complete, tally.duration.totals().max), (1, 2_000_000_000));
}

#[tokio::test(start_paused = true)]
async fn a_recorded_session_is_sent_as_the_graph_of_its_requests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, recording()).unwrap();
    let sessions = RecordedSessions { duplicate_to: Some(2), ..recorded(&path, RecordedFormat::OpenTelemetry) };
    let workload = replay(sessions, 2);
    let server = Server::default();
    let result = run(&workload, &server).await;
    // An answer takes 100 ms. The searches are sent 500 and 1,000 ms after the plan has ended, and the summary 2 s after both searches.
    let first = [(0, 1, 0, 0), (0, 2, 600, 600), (0, 3, 1_100, 1_100), (0, 4, 3_200, 3_200)];
    assert_eq!(turns(&result)[..4], first);
    assert_eq!((result.issued, result.recorder.sessions[0].complete), (8, 2));
    let seen = server.seen();
    assert_eq!(seen[1].texts(), ["ask", "said 0", "left"]);
    assert_eq!(seen[3].texts(), ["said 1", "said 2", "sum"]);
    // The second session is a copy with its own marker text.
    let [marked] = seen[4].texts().try_into().unwrap();
    let (marker, text) = marked.split_once(' ').unwrap();
    assert_eq!((marker.len(), text), (16, "ask"));
    assert_eq!(seen[0].body["max_tokens"], 2);
    for (after_failure, sent, skipped) in [(AfterFailure::End, 2, 2), (AfterFailure::Continue, 4, 0)] {
        let server = Server { fails: vec![1], ..Server::default() };
        let mut workload = workload.clone();
        workload.stages = vec![closed(1, 1)];
        workload.sessions.after_failure = after_failure;
        let result = run(&workload, &server).await;
        let counted = outcomes(&result, 0).iter().find(|it| it.0 == "skipped").map_or(0, |it| it.1);
        // The other search may already have been planned when the first one failed. It is then sent.
        assert!((result.issued, counted) == (sent, skipped) || (result.issued, counted) == (sent + 1, skipped - 1));
    }
}
