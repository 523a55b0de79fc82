//! Waits between two trials until the server has no work left of the earlier one. Otherwise the earlier trial would slow down the next one.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use engine::client::{Target, probe};
use scrape::Depth;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tracing::warn;

/// Maximum duration of the wait. Then the next trial begins nevertheless.
const LONGEST: Duration = Duration::from_secs(58);
/// Maximum time that a server's metrics may take to report its requests. Then single requests are sent instead.
const REPORTED_WITHIN: Duration = Duration::from_secs(5);
/// Number of requests that measure the latency of the idle server.
const IDLE_PROBES: usize = 5;
/// Number of requests in a row that must be as fast as on the idle server.
const QUICK_PROBES: usize = 3;
/// A request counts as fast if its latency is at most this multiple of the idle latency, plus the next constant.
const SLOWER: u32 = 2;
const TOLERANCE: Duration = Duration::from_millis(5);
/// The pause between two requests that were slow.
const BETWEEN: Duration = Duration::from_secs(1);

/// How busy the server was before the first trial. Other clients may use it, so this need not be zero.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Idle {
    /// The number of running and waiting requests that its metrics reported.
    Requests(f64),
    /// The median latency of a request for one token.
    Latency(Duration),
    /// Neither could be measured, so no trial waits.
    Unknown,
}

/// The waits of one search.
#[derive(Debug)]
pub(in crate::run) struct Drain {
    target: Target,
    model: String,
    /// The number of requests in the server, by its metrics; `None` if no metrics are read.
    depth: Option<watch::Receiver<Option<Depth>>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    idle: Option<Idle>,
    /// The stages before which the server did not become idle.
    busy_before: Vec<usize>,
}

impl Drain {
    pub(in crate::run) fn new(target: Target, model: &str, depth: Option<watch::Receiver<Option<Depth>>>) -> Drain {
        Drain { target, model: model.to_owned(), depth, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits before a stage. Before the first stage, measures the idle server.
    pub(super) async fn settle(&self, stage: usize) {
        let idle = self.state().idle;
        let Some(idle) = idle else {
            let idle = self.measure().await;
            self.state().idle = Some(idle);
            return;
        };
        let drained = async {
            match idle {
                Idle::Requests(idle) => _ = self.reported(|it| it.requests <= idle).await,
                Idle::Latency(idle) => self.is_quick(idle).await,
                Idle::Unknown => {}
            }
        };
        if timeout(LONGEST, drained).await.is_err() {
            warn!(
                stage = stage + 1,
                "the server still has work of the earlier trial; the next trial begins nevertheless"
            );
            self.state().busy_before.push(stage);
        }
    }

    /// The indices of the stages before which the server did not become idle.
    pub(super) fn busy_before(&self) -> Vec<usize> {
        self.state().busy_before.clone()
    }

    async fn measure(&self) -> Idle {
        if let Ok(Some(depth)) = timeout(REPORTED_WITHIN, self.reported(|_| true)).await {
            return Idle::Requests(depth.requests);
        }
        let mut latencies = Vec::new();
        for _ in 0..IDLE_PROBES {
            match self.probe().await {
                Some(latency) => latencies.push(latency),
                None => return Idle::Unknown,
            }
        }
        latencies.sort_unstable();
        Idle::Latency(latencies[IDLE_PROBES / 2])
    }

    /// Waits until a scrape that begins after this call reports a number of requests that `wanted` accepts. `None` if scraping has ended.
    async fn reported(&self, wanted: impl Fn(&Depth) -> bool) -> Option<Depth> {
        let since = clock::monotonic();
        let mut depth = self.depth.clone()?;
        let is_wanted = |it: &Option<Depth>| it.as_ref().is_some_and(|it| it.at >= since && wanted(it));
        *depth.wait_for(is_wanted).await.ok()?
    }

    /// Waits until single requests are about as fast as on the idle server.
    async fn is_quick(&self, idle: Duration) {
        let limit = idle * SLOWER + TOLERANCE;
        let mut quick = 0;
        while quick < QUICK_PROBES {
            match self.probe().await {
                Some(latency) if latency <= limit => quick += 1,
                _ => {
                    quick = 0;
                    sleep(BETWEEN).await;
                }
            }
        }
    }

    /// The latency of a request for one token; `None` if it failed.
    async fn probe(&self) -> Option<Duration> {
        let start = clock::monotonic();
        probe::generate(&self.target, &self.model).await.ok()?;
        Some(clock::monotonic().saturating_sub(start))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use crds::benchmark_run::Api;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// A server that answers the first `fast` requests at once, and closes the connections of the others. Counts the requests.
    fn server(fast: u64) -> (Target, Arc<AtomicU64>) {
        let count = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&count);
        let target = Target::in_process(Api::Completions, move || {
            let (client, mut server) = tokio::io::duplex(64 << 10);
            let count = Arc::clone(&counted);
            tokio::spawn(async move {
                let mut request = [0; 4 << 10];
                while server.read(&mut request).await.is_ok_and(|it| it > 0) {
                    if count.fetch_add(1, Ordering::Relaxed) >= fast {
                        return;
                    }
                    let body = r#"{"choices":[{"text":"a","finish_reason":"length"}],"usage":{"completion_tokens":1}}"#;
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                        body.len()
                    );
                    let _ = server.write_all((head + body).as_bytes()).await;
                }
            });
            client
        });
        (target, count)
    }

    #[tokio::test(start_paused = true)]
    async fn a_trial_begins_when_the_metrics_report_no_more_requests_than_before_the_search() {
        let depth = watch::Sender::new(None);
        let later = || clock::monotonic() + Duration::from_secs(3_600);
        let report = |requests: f64| depth.send_replace(Some(Depth { at: later(), requests }));
        let drain = Drain::new(server(0).0, "m", Some(depth.subscribe()));
        // Another client has one request in flight.
        report(1.0);
        drain.settle(0).await;
        assert_eq!(drain.state().idle, Some(Idle::Requests(1.0)));
        report(1.0);
        drain.settle(1).await;
        assert!(drain.busy_before().is_empty());
        report(9.0);
        let (mut settled, mut reads) = (std::pin::pin!(drain.settle(2)), 0);
        while futures::poll!(settled.as_mut()).is_pending() {
            reads += 1;
            report(if reads < 3 { 9.0 } else { 0.0 });
        }
        assert_eq!((reads, drain.busy_before()), (3, vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stays_busy_is_remembered() {
        let (target, count) = server(IDLE_PROBES as u64);
        let drain = Drain::new(target, "m", None);
        drain.settle(0).await;
        assert_eq!(count.load(Ordering::Relaxed), IDLE_PROBES as u64);
        assert!(matches!(drain.state().idle, Some(Idle::Latency(_))), "{:?}", drain.state().idle);
        drain.settle(3).await;
        assert_eq!(drain.busy_before(), [3]);
    }

    #[tokio::test(start_paused = true)]
    async fn without_metrics_three_quick_answers_end_the_wait() {
        let (target, count) = server(u64::MAX);
        let drain = Drain::new(target, "m", None);
        drain.settle(0).await;
        // The answers come at once, but this machine may be slow.
        drain.state().idle = Some(Idle::Latency(Duration::from_secs(60)));
        let before = count.load(Ordering::Relaxed);
        drain.settle(1).await;
        assert_eq!(count.load(Ordering::Relaxed) - before, QUICK_PROBES as u64);
        assert!(drain.busy_before().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_cannot_be_measured_is_not_waited_for() {
        let (target, _) = server(0);
        let drain = Drain::new(target, "m", None);
        drain.settle(0).await;
        assert_eq!(drain.state().idle, Some(Idle::Unknown));
        drain.settle(1).await;
        assert!(drain.busy_before().is_empty());
    }
}
