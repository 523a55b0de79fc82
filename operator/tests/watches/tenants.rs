//! Tests that the runs of one tenant do not delay those of another. The clock is paused, so all times are virtual.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt as _, channel::mpsc};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use kube::client::Body;
use operator::{context::Context, watches::Runs};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::fixture::{Answer, failure, list, operator, response, run};

/// How the API server handles some requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    /// Reads in the namespace `greedy` take ten seconds.
    SlowReads,
    /// Requests to create events get the response 429.
    EventsRefused,
    /// Requests to create events get no response.
    EventsHang,
}

/// A fake API server that stores only runs.
struct Server {
    runs: Mutex<BTreeMap<String, Value>>,
    trouble: Trouble,
    /// Number of reads from the API server so far: of runs, and of other objects.
    reads: Mutex<(usize, usize)>,
    /// The time of each run's first status write.
    written: Mutex<BTreeMap<String, Instant>>,
    run_watch: Mutex<Option<mpsc::UnboundedReceiver<Value>>>,
}

impl Server {
    async fn answer(&self, request: Request<Body>) -> Answer {
        let path = request.uri().path().to_owned();
        let watches = request.uri().query().unwrap_or_default().contains("watch=true");
        let parts: Vec<_> = path.rsplit('/').take(3).collect();
        let reads = request.method() == Method::GET;
        if watches {
            let watch = if parts[0] == "benchmarkruns" { lock(&self.run_watch).take() } else { None };
            let events = watch.map_or_else(|| futures::stream::pending().boxed(), futures::StreamExt::boxed);
            let frames = events.map(|event: Value| Ok(http_body::Frame::data(Bytes::from(format!("{event}\n")))));
            return Response::new(StreamBody::new(frames).boxed_unsync());
        }
        if reads && path.contains("/greedy/") && self.trouble == Trouble::SlowReads {
            sleep(Duration::from_secs(10)).await;
        }
        match parts.as_slice() {
            ["events", ..] if self.trouble == Trouble::EventsHang => std::future::pending().await,
            ["events", ..] if self.trouble == Trouble::EventsRefused => failure(429),
            ["benchmarkruns", ..] if reads => {
                let items: Vec<_> = lock(&self.runs).values().cloned().collect();
                response(200, &list(&items, 1))
            }
            ["jobs" | "pods", ..] if reads => {
                lock(&self.reads).1 += 1;
                response(200, &list(&[], 1))
            }
            [name, "benchmarkruns", _] if reads => {
                lock(&self.reads).0 += 1;
                lock(&self.runs).get(*name).map_or_else(|| failure(404), |it| response(200, it))
            }
            _ if reads => {
                lock(&self.reads).1 += 1;
                failure(404)
            }
            ["status", name, "benchmarkruns"] => {
                let body = request.into_body().collect().await.map(|it| it.to_bytes()).unwrap_or_default();
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                lock(&self.written).entry((*name).to_owned()).or_insert_with(Instant::now);
                let mut runs = lock(&self.runs);
                let Some(run) = runs.get_mut(*name) else { return failure(404) };
                run["status"] = body["status"].clone();
                response(200, run)
            }
            _ => {
                let body = request.into_body().collect().await.map(|it| it.to_bytes()).unwrap_or_default();
                response(201, &serde_json::from_slice(&body).unwrap_or_default())
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new run whose profile is in a ConfigMap that does not exist.
fn pending(namespace: &str, name: &str) -> Value {
    let mut run = run(name, "Pending", 1);
    run["metadata"]["namespace"] = json!(namespace);
    run["metadata"]["creationTimestamp"] = json!(jiff::Timestamp::now().to_string());
    run["spec"]["profile"] = json!({"configMapRef": {"name": "missing", "key": "profile.yaml"}});
    run.as_object_mut().expect("a run is an object").remove("status");
    run
}

struct Operator {
    context: Arc<Context>,
    server: Arc<Server>,
    runs: Runs,
    events: mpsc::UnboundedSender<Value>,
}

impl Operator {
    /// An operator with a thousand runs of one tenant, all of which wait for their ConfigMap.
    async fn with_a_thousand_pending_runs(trouble: Trouble) -> Operator {
        let runs = (0..1_000).map(|it| format!("greedy-{it}")).map(|it| (it.clone(), pending("greedy", &it)));
        let operator = Operator::start(runs.collect(), trouble);
        sleep(Duration::from_secs(5)).await;
        operator
    }

    fn start(runs: BTreeMap<String, Value>, trouble: Trouble) -> Operator {
        let (events, run_watch) = mpsc::unbounded();
        let server = Arc::new(Server {
            runs: Mutex::new(runs),
            trouble,
            reads: Mutex::default(),
            written: Mutex::default(),
            run_watch: Mutex::new(Some(run_watch)),
        });
        let service = Arc::clone(&server);
        let (context, runs) = operator(move |request| {
            let server = Arc::clone(&service);
            async move { server.answer(request).await }
        });
        Operator { context, server, runs, events }
    }

    /// Creates one run of another tenant per second. Returns the times that the runs waited for their first status, in ascending order.
    async fn transitions_of_another_tenant(&self) -> Vec<Duration> {
        let mut times = Vec::new();
        for number in 0..100 {
            let name = format!("modest-{number}");
            let object = pending("modest", &name);
            lock(&self.server.runs).insert(name.clone(), object.clone());
            let created = Instant::now();
            self.events
                .unbounded_send(json!({"type": "ADDED", "object": object}))
                .expect("the watch lives as long as the operator");
            sleep(Duration::from_secs(1)).await;
            let written = lock(&self.server.written).get(&name).copied();
            times.push(written.map_or(Duration::MAX, |it| it.duration_since(created)));
        }
        times.sort();
        times
    }
}

async fn assert_another_tenant_is_not_delayed(trouble: Trouble) {
    let operator = Operator::with_a_thousand_pending_runs(trouble).await;
    let times = operator.transitions_of_another_tenant().await;
    println!(
        "figure 26: a transition beside 1000 pending runs of another tenant and a fault: {trouble:?} p50 {:?}, p99 {:?}",
        times[49], times[98]
    );
    assert!(times[98] <= Duration::from_secs(1), "{trouble:?}: {times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_pending_runs_of_one_tenant_do_not_delay_another() {
    assert_another_tenant_is_not_delayed(Trouble::None).await;
}

#[tokio::test(start_paused = true)]
async fn slow_reads_of_one_namespace_do_not_delay_another() {
    assert_another_tenant_is_not_delayed(Trouble::SlowReads).await;
}

#[tokio::test(start_paused = true)]
async fn events_that_are_refused_or_hang_delay_nobody() {
    assert_another_tenant_is_not_delayed(Trouble::EventsRefused).await;
    assert_another_tenant_is_not_delayed(Trouble::EventsHang).await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_of_events_that_is_full_drops_the_oldest_and_counts_it() {
    let operator = Operator::with_a_thousand_pending_runs(Trouble::EventsHang).await;
    operator.transitions_of_another_tenant().await;
    assert_eq!(operator.context.events.waiting(), 1_000);
    let text = operator.context.metrics.text();
    let dropped = text.lines().find_map(|it| it.strip_prefix("benchwright_operator_dropped_events_total "));
    let dropped: u64 = dropped.and_then(|it| it.parse().ok()).expect("the metric is a number");
    assert!(dropped >= 100, "{dropped}");
    assert!(operator.context.events.is_alive());
}

#[tokio::test(start_paused = true)]
async fn a_thousand_pending_runs_make_a_bounded_number_of_reads_a_minute() {
    let operator = Operator::with_a_thousand_pending_runs(Trouble::None).await;
    // By then each run has had its first turn.
    sleep(Duration::from_secs(120)).await;
    let (runs_before, others_before) = *lock(&operator.server.reads);
    sleep(Duration::from_secs(120)).await;
    let (runs, others) = *lock(&operator.server.reads);
    let (runs, others) = ((runs - runs_before) / 2, (others - others_before) / 2);
    println!("1,000 pending runs: {runs} reads of runs and {others} others a minute");
    assert!(runs > 0, "they are looked at");
    assert!(runs <= 11 * 60, "{runs} looks a minute");
    assert!(others <= 4 * 11 * 60, "{others} other reads a minute");
}

#[tokio::test(start_paused = true)]
async fn runs_that_were_deleted_while_there_was_no_watch_leave_nothing_in_memory() {
    let runs = ["kept", "gone"].map(|it| (it.to_owned(), pending("bench", it)));
    let operator = Operator::start(runs.into(), Trouble::None);
    sleep(Duration::from_secs(5)).await;
    let context = &operator.context;
    let failures = |uid: &str| context.failures.count(uid);
    context.failures.add("uid-gone");
    assert_eq!((operator.runs.states().len(), context.looks.count(), failures("uid-gone")), (2, 2, 1));

    lock(&operator.server.runs).remove("gone");
    let expired =
        json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
    operator
        .events
        .unbounded_send(json!({"type": "ERROR", "object": expired}))
        .expect("the watch lives as long as the operator");
    sleep(Duration::from_secs(5)).await;
    assert_eq!((operator.runs.states().len(), context.looks.count(), failures("uid-gone")), (1, 1, 0));
    assert_eq!(context.phase_times.count(), 1);
    let errors = context.metrics.text();
    assert!(errors.contains("watch_errors_total{resource=\"benchmarkruns\"} 1"), "{errors}");
}
