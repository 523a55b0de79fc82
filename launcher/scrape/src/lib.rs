//! [I/O] Scrapes the metrics of servers during a load, on a separate thread.
//!
//! Each address is scraped once per interval, with at most one scrape in flight. A failed scrape is recorded as a gap with a reason; it is no error
//! of the run. Host names are resolved repeatedly, and every address of a name is scraped, because a headless Service has one address per pod. Only
//! addresses that are allowed for a target are called. Nothing here runs on the load's threads. The crate `server-metrics` interprets the responses.

mod client;
mod edge;
mod endpoint;
mod lookup;
#[cfg(test)]
mod tests;
mod worker;

use std::{
    io,
    sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    thread::{self, JoinHandle},
    time::Duration,
};

use crds::benchmark_run::MetricsKind;
use engine::{
    client::Resolver,
    stop::{Stop, StopState},
};
use server_metrics::scraped::Scraped;
use tokio::sync::{mpsc as commands, watch};
use tracing::warn;

use worker::Worker;

/// Time between two scrapes of an address, as long as there is enough memory.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of a scrape. It is long because a busy server responds late.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a response, in bytes. A response of vLLM has about 60,000.
pub const MAX_BYTES: usize = 16 << 20;
/// Timeout of a round of scrapes before or after a load. It allows a slow scrape, an interval and another scrape.
const EDGE_LIMIT: Duration = Duration::from_secs(7);
/// The timeout of such a round after a stop. It is short because the run's grace period is needed for requests in flight and for the report.
const STOPPED_LIMIT: Duration = Duration::from_secs(1);
/// How often the launcher checks for a stop while it waits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// One source of metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The whole URL, such as `http://vllm.llm-d:8000/metrics`; or `unix:` and the path of a socket, where `/metrics` is requested.
    pub url: String,
    /// The kind of server; `None` if the metrics are to show it.
    pub engine: Option<MetricsKind>,
    /// Whether this source was guessed instead of named by the user. If the first scrape of a guess fails, it has no metrics, and this is not
    /// reported as a gap.
    pub is_guess: bool,
    /// Whether requests to it contain the bearer token of the target.
    pub gets_token: bool,
}

/// What to scrape, and how.
#[derive(Clone, Debug)]
pub struct Order {
    pub sources: Vec<Source>,
    pub token: Option<String>,
    /// Additional certificate authorities, as PEM text.
    pub authorities: Option<String>,
    pub interval: Duration,
    /// Timeout of a scrape.
    pub timeout: Duration,
    /// Resolves names, and refuses addresses that are not allowed.
    pub resolver: Resolver,
}

/// A command to the thread.
enum Command {
    /// Scrape every address now, and notify the sender when that is done.
    Scrape(SyncSender<()>),
    /// Like `Scrape`, but scrape again after an interval if a server still has requests in flight.
    Settle(SyncSender<()>),
    End,
}

/// The requests in the servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Depth {
    /// When the oldest of the scrapes began that contain the numbers, on the machine's monotonic clock.
    pub at: Duration,
    /// Running and waiting requests of all addresses.
    pub requests: f64,
}

/// A thread that scrapes until [`Scraper::end`] is called.
#[derive(Debug)]
pub struct Scraper {
    commands: commands::Sender<Command>,
    depth: watch::Receiver<Option<Depth>>,
    thread: JoinHandle<Scraped>,
}

impl Scraper {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system refuses a thread or a runtime, or the certificate authorities are invalid.
    pub fn start(order: Order) -> io::Result<Scraper> {
        // Two places are enough: the launcher waits for the reply to each command except the last.
        let (sender, receiver) = commands::channel(2);
        // Loading the system's certificate authorities takes time, because there are many. A run without TLS skips it.
        let needs_tls = order.sources.iter().any(|it| it.url.starts_with("https:"));
        let tls = client::tls(needs_tls, order.authorities.as_deref()).map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (depth, depths) = watch::channel(None);
        let body = move || {
            let scraped = runtime.block_on(Worker::new(order, tls, receiver, depth).run());
            // Does not wait for lookups of names, because each is a blocking system call that may take minutes.
            runtime.shutdown_background();
            scraped
        };
        let thread = thread::Builder::new().name("server-metrics".into()).spawn(body)?;
        Ok(Scraper { commands: sender, depth: depths, thread })
    }

    /// Follows the number of requests in the servers. `None` while an address has not reported it, or after a scrape of an address failed.
    pub fn depth(&self) -> watch::Receiver<Option<Depth>> {
        self.depth.clone()
    }

    /// Scrapes every address once, right before a load. Blocks until that is done, but for at most 7 s. After a stop it blocks for at most
    /// 1 s, and after an abort not at all.
    pub fn before_load(&self, stop: &Stop) {
        self.ask(stop, Command::Scrape);
    }

    /// Scrapes every address right after a load. Servers update their counters at the end of a step. So if one still has requests in flight, scrapes
    /// again after an interval. Blocks as long as [`Scraper::before_load`].
    pub fn after_load(&self, stop: &Stop) {
        self.ask(stop, Command::Settle);
    }

    fn ask(&self, stop: &Stop, command: impl FnOnce(SyncSender<()>) -> Command) {
        let (done, waiting) = mpsc::sync_channel(1);
        if self.commands.blocking_send(command(done)).is_err() || !is_done(&waiting, stop) {
            warn!(
                "the server's metrics were not read next to the load: their increases may have other requests in them"
            );
        }
    }

    /// Ends the thread and returns its results. `None` if the thread has already ended because of a fault of the launcher.
    pub fn end(self) -> Option<Scraped> {
        // Sending fails only if the thread has ended.
        let _ = self.commands.blocking_send(Command::End);
        self.thread.join().ok()
    }
}

/// Waits for the end of a round before or after a load.
fn is_done(waiting: &Receiver<()>, stop: &Stop) -> bool {
    let mut end = Duration::MAX;
    loop {
        let now = clock::monotonic();
        end = end.min(now + patience(stop.state()));
        let left = end.saturating_sub(now);
        match waiting.recv_timeout(left.min(LOOK_EVERY)) {
            Ok(()) => return true,
            Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
            Err(_) => return false,
        }
    }
}

/// Returns the maximum time to wait from now on.
fn patience(state: StopState) -> Duration {
    match state {
        StopState::Run => EDGE_LIMIT,
        StopState::Drain(_) => STOPPED_LIMIT,
        StopState::Abort(_) => Duration::ZERO,
    }
}
