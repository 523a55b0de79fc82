//! [I/O] Scrapes the metrics of servers while a load runs, on a separate thread.
//!
//! Each address is scraped once per interval, with at most one scrape in flight. A failed scrape is a gap with a reason, not an error of the run.
//! Host names are resolved repeatedly, and every address of a name is scraped: a headless Service has one address per pod. Only addresses that are
//! allowed for a target are called. Nothing here runs on the threads of the load. `server-metrics` interprets the responses.

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
use tokio::sync::mpsc as commands;
use tracing::warn;

use worker::Worker;

/// The time between two scrapes of an address, while there is enough memory.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of a scrape. A busy server responds late.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of a scrape, in bytes; vLLM's has about 60,000.
pub const MAX_BYTES: usize = 16 << 20;
/// Timeout for a round of scrapes before or after a load: a slow scrape, an interval, and a scrape.
const EDGE_LIMIT: Duration = Duration::from_secs(7);
/// The same timeout after a stop: the run's grace period is for requests in flight and for the report.
const STOPPED_LIMIT: Duration = Duration::from_secs(1);
/// How often the wait checks for a stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// One source of metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The whole URL, such as `http://vllm.llm-d:8000/metrics`; or `unix:` and the path of a socket, with the URL path `/metrics`.
    pub url: String,
    /// The kind of server; `None`: its metrics identify it.
    pub engine: Option<MetricsKind>,
    /// The user did not name it: if the first scrape fails there are no metrics, and that is no gap.
    pub is_guess: bool,
    /// Whether it gets the bearer token of the target.
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

/// A command for the thread.
enum Command {
    /// Scrape every address now, and notify the sender when done.
    Scrape(SyncSender<()>),
    /// The same, but scrape again after an interval if a server still has requests in flight.
    Settle(SyncSender<()>),
    End,
}

/// A thread that scrapes until [`Scraper::end`].
#[derive(Debug)]
pub struct Scraper {
    commands: commands::Sender<Command>,
    thread: JoinHandle<Scraped>,
}

impl Scraper {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system refuses a thread or a runtime, or the certificate authorities cannot be used.
    pub fn start(order: Order) -> io::Result<Scraper> {
        // The launcher waits for each reply except the last.
        let (sender, receiver) = commands::channel(2);
        // Loading the many system authorities takes time, which a run without TLS saves.
        let needs_tls = order.sources.iter().any(|it| it.url.starts_with("https:"));
        let tls = client::tls(needs_tls, order.authorities.as_deref()).map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let body = move || {
            let scraped = runtime.block_on(Worker::new(order, tls, receiver).run());
            // A lookup is a blocking system call, which may take minutes.
            runtime.shutdown_background();
            scraped
        };
        let thread = thread::Builder::new().name("server-metrics".into()).spawn(body)?;
        Ok(Scraper { commands: sender, thread })
    }

    /// Scrapes every address once, right before a load. Blocks until that is done, at most for 7 s; for 1 s after a stop, and not at all after an
    /// abort.
    pub fn before_load(&self, stop: &Stop) {
        self.ask(stop, Command::Scrape);
    }

    /// Scrapes every address right after a load, and again after an interval if a server has requests in flight, because servers count at the end of
    /// a step. Blocks as long as [`Scraper::before_load`].
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

    /// Ends the thread. `None`: it ended early because of a launcher fault.
    pub fn end(self) -> Option<Scraped> {
        // This fails only if the thread has ended.
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

/// The longest wait from now on.
fn patience(state: StopState) -> Duration {
    match state {
        StopState::Run => EDGE_LIMIT,
        StopState::Drain(_) => STOPPED_LIMIT,
        StopState::Abort(_) => Duration::ZERO,
    }
}
