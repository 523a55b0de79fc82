use std::{
    collections::BTreeMap,
    sync::{Mutex, atomic::AtomicU64},
};

use clock::Clock;
use crds::benchmark_run::Api;
use engine::{issue::Timeline, stop::StopReason};

use super::*;
use crate::test_server::{self, serve};

const START: &str = "POST /start_profile";
const STOP: &str = "POST /stop_profile";
/// A time that is longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// The calls that a server received, in order.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn calls(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Waits until the server has received a call.
    fn wait_for(&self, call: &str) {
        while !self.calls().iter().any(|it| it == call) {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A server that answers each call with a status and a text, or not at all.
fn server(answer: fn(&str) -> Option<(u16, &'static str)>) -> (Target, Seen) {
    let seen = Seen::default();
    let kept = seen.clone();
    let address = serve("127.0.0.1:0", move |head| {
        let call: Vec<&str> = head.split_whitespace().take(2).collect();
        let call = call.join(" ");
        kept.0.lock().unwrap().push(call.clone());
        answer(&call).map_or_else(
            || {
                thread::sleep(LONG);
                String::new()
            },
            |(status, body)| test_server::answer(&format!("{status} x"), body),
        )
    });
    (Target::new(&format!("http://{address}"), Api::Completions, None, None, &BTreeMap::new()).unwrap(), seen)
}

/// A load whose stage r10 is running. Stage r20 follows.
fn order(target: Target, kind: ProfilerKind, duration: Duration) -> Order {
    let progress = Progress { began: AtomicU64::new(1), ..Progress::default() };
    progress.timeline.set(Timeline { clock: Clock::start(), stages: Vec::new() }).unwrap();
    Order {
        profiling: ResolvedProfiling { kind, stage: Some("r10".into()), start: None, duration: Span(duration) },
        stages: vec!["r10".into(), "r20".into()],
        index: 0,
        start: Duration::ZERO,
        target,
        by_service: false,
        progress: Arc::new(progress),
        stop: Stop::default(),
        limits: Limits { start: LONG, stop: LONG, stop_at_end: Duration::from_millis(20) },
    }
}

fn watch(order: Order) -> Profiler {
    Profiler::watch(order).unwrap_or_else(|failure| panic!("{}", failure.message))
}

fn well(_: &str) -> Option<(u16, &'static str)> {
    Some((200, ""))
}

fn assert_told(found: &Profiling, part: &str) {
    assert!(found.remarks.iter().any(|it| it.contains(part)), "{part}: {:?}", found.remarks);
}

#[test]
fn a_window_has_a_start_and_a_stop_at_its_end() {
    let (target, seen) = server(|call| Some((200, if call == STOP { "\"written\"" } else { "" })));
    let profiler = watch(order(target, ProfilerKind::Torch, Duration::from_millis(30)));
    seen.wait_for(STOP);
    let found = profiler.end().unwrap();
    assert_eq!(seen.calls(), [START, STOP]);
    let window = found.window.unwrap();
    assert!(window.to_ms - window.from_ms >= 30.0, "{window:?}");
    assert_eq!(found.stages, ["r10"]);
    assert!(found.start_took_ms.is_some() && found.stop_took_ms.is_some());
    assert_eq!(found.remarks, ["the server's response to the stop of the profiler: written"]);
}

#[test]
fn a_run_that_ends_or_fails_stops_the_profiler_first() {
    let (target, seen) = server(well);
    let profiler = watch(order(target, ProfilerKind::Nsys, LONG));
    seen.wait_for(START);
    let found = profiler.end().unwrap();
    assert_eq!(seen.calls(), [START, STOP]);
    assert_told(&found, "the load ended before the window");

    let (target, seen) = server(well);
    let profiler = watch(order(target, ProfilerKind::Torch, LONG));
    seen.wait_for(START);
    drop(profiler);
    assert_eq!(seen.calls(), [START, STOP], "of a run that failed");

    let (target, seen) = server(well);
    let order = order(target, ProfilerKind::Torch, LONG);
    let stop = order.stop.clone();
    let profiler = watch(order);
    seen.wait_for(START);
    stop.abort(StopReason::Signal);
    seen.wait_for(STOP);
    assert!(profiler.end().unwrap().window.is_some());
}

#[test]
fn the_end_of_the_stage_ends_the_window() {
    let (target, seen) = server(well);
    let order = order(target, ProfilerKind::Torch, LONG);
    let progress = Arc::clone(&order.progress);
    let profiler = watch(order);
    seen.wait_for(START);
    progress.stages_over.store(1, Ordering::Release);
    seen.wait_for(STOP);
    assert_told(&profiler.end().unwrap(), "the stage ended before the window");
}

#[test]
fn a_stop_without_an_answer_is_waited_for_with_a_bound() {
    let hangs = |call: &str| if call == STOP { None } else { Some((200, "")) };
    let (target, seen) = server(hangs);
    let mut order = order(target, ProfilerKind::Torch, Duration::from_millis(1));
    order.limits.stop = Duration::from_millis(50);
    let profiler = watch(order);
    seen.wait_for(STOP);
    while profiler.thread.as_ref().is_some_and(|it| !it.is_finished()) {
        thread::sleep(Duration::from_millis(2));
    }
    let found = profiler.end().unwrap();
    assert_told(&found, "/stop_profile got no answer within 50ms; the server may still write its trace");
    assert_eq!(found.stages, ["r10", "r20"], "the next stage may be slowed down as well");
    assert_eq!(found.stop_took_ms, None);

    // After a stop of the run, the wait is shorter.
    let (target, seen) = server(hangs);
    let order = self::order(target, ProfilerKind::Torch, Duration::from_millis(1));
    let stop = order.stop.clone();
    let profiler = watch(order);
    seen.wait_for(STOP);
    stop.drain(StopReason::Signal);
    assert_told(&profiler.end().unwrap(), "/stop_profile got no answer 20ms after the run was asked to end");
}

#[test]
fn a_start_that_fails_is_told_and_stopped_unless_it_is_not_there() {
    let (target, seen) = server(|call| Some(if call == START { (500, "{\"detail\": \"no\"}") } else { (200, "") }));
    let profiler = watch(order(target, ProfilerKind::Torch, LONG));
    seen.wait_for(STOP);
    let found = profiler.end().unwrap();
    assert_eq!((found.window, found.stages.len()), (None, 1));
    assert_told(&found, "the profiler was not started: /start_profile was refused: 500: no");

    let (target, seen) = server(|_| Some((404, "")));
    let profiler = watch(order(target, ProfilerKind::Torch, LONG));
    seen.wait_for(START);
    let found = profiler.end().unwrap();
    assert_eq!(seen.calls(), [START]);
    assert!(found.stages.is_empty(), "no figure is touched");
    assert_told(&found, "the server has no /start_profile");
}

#[test]
fn a_service_of_several_replicas_is_not_profiled() {
    let (target, seen) = server(well);
    let order = Order { by_service: true, ..order(target, ProfilerKind::Torch, LONG) };
    let found = watch(order).end().unwrap();
    assert_told(&found, "to different replicas");
    assert_eq!((found.window, found.stages.len(), seen.calls().len()), (None, 0, 0));
}

#[test]
fn a_window_that_never_begins_says_why() {
    let (target, seen) = server(well);
    let mut late = order(target, ProfilerKind::Torch, LONG);
    late.start = LONG;
    late.progress.stages_over.store(1, Ordering::Release);
    let profiler = watch(late);
    while profiler.thread.as_ref().is_some_and(|it| !it.is_finished()) {
        thread::sleep(Duration::from_millis(2));
    }
    let found = profiler.end().unwrap();
    assert_told(
        &found,
        "stage r10 ended, or was not run, before the window, which begins 600s after the stage's start",
    );
    assert!(seen.calls().is_empty() && found.stages.is_empty());
}

#[test]
fn rocprof_marks_every_stage_and_calls_nothing() {
    let (target, seen) = server(well);
    let profiler = watch(order(target, ProfilerKind::Rocprof, Duration::from_millis(1)));
    while profiler.thread.as_ref().is_some_and(|it| !it.is_finished()) {
        thread::sleep(Duration::from_millis(2));
    }
    let found = profiler.end().unwrap();
    assert!(seen.calls().is_empty() && found.window.is_some());
    assert_eq!(found.stages, ["r10", "r20"]);
    assert_told(&found, "from the start of the server to its end");
}

#[test]
fn files_are_listed_with_their_sizes_or_it_is_said_where_they_are() {
    let (target, _) = server(well);
    let profiler = watch(order(target, ProfilerKind::Torch, Duration::ZERO));
    while profiler.thread.as_ref().is_some_and(|it| !it.is_finished()) {
        thread::sleep(Duration::from_millis(2));
    }
    let found = profiler.end().unwrap();
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(files::FOLDER);
    assert_told(&files::add(found.clone(), Some(&folder)), "left no file in profiling");
    std::fs::create_dir_all(folder.join("host")).unwrap();
    std::fs::write(folder.join("b.json"), "12345").unwrap();
    std::fs::write(folder.join("host/a.pftrace"), "").unwrap();
    let listed = files::add(found.clone(), Some(&folder)).files;
    let listed: Vec<(&str, u64)> = listed.iter().map(|it| (it.name.as_str(), it.bytes)).collect();
    assert_eq!(listed, [("profiling/b.json", 5), ("profiling/host/a.pftrace", 0)]);
    assert_told(&files::add(found, None), "was not collected");
}
