//! [I/O] Follows a run until it has ended: one line per change, and a progress line of the launcher while it measures.

mod live;
mod metrics;

use std::{pin::pin, time::Duration};

use crds::{
    BenchmarkRun,
    benchmark_run::GROUP,
    status::{Condition, ConditionStatus, Phase},
    wording::one_line,
};
use futures::StreamExt as _;
use kube::{
    Api, ResourceExt as _,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use tokio::time::{Instant, sleep_until};

use crate::{
    connection::Connection,
    console::{StatusLine, say},
    deadline::Deadline,
    failure::{self, Failure, Right, TIMEOUT},
};
pub(crate) use live::PORT_FORWARD;
use live::{Live, Scrape};

/// Duration of one watch request in seconds. Then the API server ends it, and the client starts another. This reveals a dead connection early,
/// because kube waits only five seconds longer for the end.
const WATCH_SECONDS: u32 = 60;
/// Time between two reads of the launcher's progress if stderr is a terminal.
const TERMINAL_INTERVAL: Duration = Duration::from_secs(2);
/// Time between two reads of the launcher's progress in a log, where each read adds a line.
const LOG_INTERVAL: Duration = Duration::from_secs(15);

pub(crate) const LIST_RUNS: Right = Right::new("list", GROUP, "benchmarkruns", "view");
pub(crate) const WATCH_RUNS: Right = Right::new("watch", GROUP, "benchmarkruns", "view");

/// Waits until a run has finished, and returns it. `uid` is the UID of the run. A run with the same name but another UID is not followed.
pub(crate) async fn follow(
    connection: &Connection,
    name: &str,
    uid: Option<&str>,
    deadline: &Deadline,
) -> Result<BenchmarkRun, Failure> {
    let namespace = &connection.namespace;
    let mut line = StatusLine::new();
    let ended = {
        let watch = watch(connection, name, uid, &mut line);
        tokio::select! {
            done = watch => Some(done),
            () = deadline.passed() => None,
            _ = tokio::signal::ctrl_c() => {
                return Err(Failure::ended(failure::INTERRUPTED, format!(
                    "no longer following {name}; the run goes on: `kubectl benchwright wait {name} -n {namespace}` follows it again, \
                     `kubectl patch benchmarkrun {name} -n {namespace} --type merge -p '{{\"spec\":{{\"cancel\":\"Graceful\"}}}}'` ends it"
                )));
            }
        }
    };
    line.clear();
    ended.unwrap_or_else(|| {
        let limit = deadline.limit();
        Err(Failure::ended(TIMEOUT, format!(
            "{name} has not ended within --timeout {limit}; the run goes on: wait again with `kubectl benchwright wait {name} -n {namespace}`, \
             or give a longer --timeout"
        )))
    })
}

async fn watch(
    connection: &Connection,
    name: &str,
    uid: Option<&str>,
    line: &mut StatusLine,
) -> Result<BenchmarkRun, Failure> {
    let runs: Api<BenchmarkRun> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let config = watcher::Config::default().fields(&format!("metadata.name={name}")).timeout(WATCH_SECONDS);
    let mut events = pin!(watcher(runs, config).default_backoff());
    let mut uid = uid.map(str::to_owned);
    let (mut shown, mut complained, mut seen) = (String::new(), false, false);
    let mut live = Live::new(connection);
    let interval = if line.is_terminal() { TERMINAL_INTERVAL } else { LOG_INTERVAL };
    let mut next_scrape = Instant::now();
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            scrape = async { sleep_until(next_scrape).await; live.scrape().await }, if live.is_wanted() => {
                next_scrape = Instant::now() + interval;
                match scrape {
                    Scrape::Progress(text) => line.show(&text),
                    Scrape::Nothing => {}
                    Scrape::GaveUp(why) => { line.clear(); say(format_args!("no live progress: {why}")); }
                }
                continue;
            }
        };
        let run = match event {
            Some(Ok(Event::Apply(run) | Event::InitApply(run))) => run,
            Some(Ok(Event::Delete(_))) => return Err(deleted(name)),
            Some(Ok(Event::InitDone)) if !seen => return Err(missing(connection, name, uid.is_some())),
            Some(Ok(Event::Init)) => {
                seen = false;
                continue;
            }
            Some(Ok(Event::InitDone)) => continue,
            Some(Err(error)) => {
                if let Some(failure) = for_good(connection, name, &error) {
                    return Err(failure);
                }
                if !std::mem::replace(&mut complained, true) {
                    line.clear();
                    let cause = failure::with_causes(&error);
                    say(format_args!("the watch of {name} failed, and is tried again: {cause}"));
                }
                continue;
            }
            None => return Err(Failure::error(format!("the watch of {name} ended; call `wait` again"))),
        };
        (seen, complained) = (true, false);
        let found = run.uid().unwrap_or_default();
        if uid.get_or_insert_with(|| found.clone()) != &found {
            return Err(Failure::error(format!(
                "{name} was deleted, and a new run has its name; call `wait` again to follow the new run"
            )));
        }
        let text = described(&run);
        if text != shown {
            line.clear();
            say(&text);
            shown = text;
        }
        if run.is_finished() {
            return Ok(run);
        }
        if is_left_alone(&run) {
            return Err(Failure::error(format!(
                "the operator does not continue {name}, for the reason above; correct it, then wait again"
            )));
        }
        live.look_at(&run);
    }
}

/// Whether the operator marked this generation of the run as stalled because the run cannot start. Such a run gets no phase.
fn is_left_alone(run: &BenchmarkRun) -> bool {
    let Some(status) = run.status.as_ref().filter(|it| it.phase.is_none()) else { return false };
    let generation = run.metadata.generation.unwrap_or_default();
    let is_current = |it: &Condition| it.status == ConditionStatus::True && it.observed_generation == generation;
    status.conditions.iter().any(|it| it.kind == "Stalled" && is_current(it))
}

/// Phase and message of the run, as in `kubectl describe`.
pub(crate) fn described(run: &BenchmarkRun) -> String {
    let status = run.status.as_ref();
    let message = message_of(run);
    let Some(phase) = status.and_then(|it| it.phase) else {
        let state = if message.is_empty() { "waits for the operator" } else { &message };
        return format!("{}: {state}", run.name_any());
    };
    let reason = status.map(|it| it.reason.as_str()).unwrap_or_default();
    let attempt = status.and_then(|it| it.attempts.last()).map(|it| it.number).filter(|it| *it > 1);
    let attempt = attempt.map(|it| format!(", attempt {it}")).unwrap_or_default();
    let separator = if message.is_empty() { "" } else { ": " };
    format!("{}: {}/{reason}{attempt}{separator}{message}", run.name_any(), phase.name())
}

/// The message of the condition that explains the run's state.
pub(crate) fn message_of(run: &BenchmarkRun) -> String {
    let conditions = run.status.iter().flat_map(|it| &it.conditions);
    let ready = conditions.into_iter().find(|it| it.kind == "Ready");
    ready.map(|it| one_line(&it.message)).unwrap_or_default()
}

/// Whether the launcher is measuring.
fn is_measuring(run: &BenchmarkRun) -> bool {
    run.status.as_ref().and_then(|it| it.phase) == Some(Phase::Running)
}

fn deleted(name: &str) -> Failure {
    Failure::error(format!("{name} was deleted before it had ended, and has no result; create it again"))
}

fn missing(connection: &Connection, name: &str, known: bool) -> Failure {
    if known {
        return deleted(name);
    }
    let namespace = &connection.namespace;
    Failure::error(format!(
        "benchmarkrun {name} does not exist in namespace {namespace}; choose another with -n, or see `kubectl get benchmarkruns -A`"
    ))
}

/// The failure for a watch error that a retry would not fix. `None` if a retry may help.
fn for_good(connection: &Connection, name: &str, error: &watcher::Error) -> Option<Failure> {
    let (error, right) = match error {
        watcher::Error::InitialListFailed(error) => (error, LIST_RUNS),
        watcher::Error::WatchStartFailed(error) | watcher::Error::WatchFailed(error) => (error, WATCH_RUNS),
        _ => return None,
    };
    let lasting = matches!(error, kube::Error::SerdeError(_) | kube::Error::Auth(_))
        || matches!(failure::code_of(error), Some(401 | 403 | 404));
    lasting.then(|| failure::refused(error, right, name, &connection.namespace))
}
