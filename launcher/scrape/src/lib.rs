//! [I/O] Asks servers for their metrics while a load runs, on one thread of its own.
//!
//! Each address is asked once in an interval, and never twice at a time. A scrape that fails is a gap with a reason, and
//! no error of the run. Host names are resolved again and again, and every address of a name is asked: a headless Service
//! has one for each pod. Called are only addresses that the launcher may call for a target as well. Nothing here runs on the
//! threads of the load. What the answers mean is known to `server-metrics`.

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

/// Between two scrapes of an address, while memory has room.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// The longest that a scrape may take. A busy server answers late.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest text of a scrape, in bytes; vLLM's has about 60,000.
pub const MAX_BYTES: usize = 16 << 20;
/// The longest that the launcher waits for a scrape next to a load: a slow scrape, an interval, and a scrape.
const EDGE_LIMIT: Duration = Duration::from_secs(7);
/// The same once the run is asked to stop: its grace period is for requests in flight and for the report.
const STOPPED_LIMIT: Duration = Duration::from_secs(1);
/// How often a stop is checked meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// One source of metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The whole URL, such as `http://vllm.llm-d:8000/metrics`; or `unix:` and the path of a socket, of which `/metrics`
    /// is asked.
    pub url: String,
    /// What it is; `None`: its metrics say it.
    pub engine: Option<MetricsKind>,
    /// Nobody named it: where the first scrape fails there are no metrics, and that is no gap.
    pub is_guess: bool,
    /// Whether it gets the bearer token of the target.
    pub gets_token: bool,
}

/// What to scrape, and how.
#[derive(Clone, Debug)]
pub struct Order {
    pub sources: Vec<Source>,
    pub token: Option<String>,
    /// Certificate authorities that are trusted beside the public ones, as PEM text.
    pub authorities: Option<String>,
    pub interval: Duration,
    /// The longest that a scrape may take.
    pub timeout: Duration,
    /// Finds the addresses of names, and refuses those that may not be called.
    pub resolver: Resolver,
}

/// What the thread is asked to do.
enum Command {
    /// Scrape every address now, and answer when that is done.
    Scrape(SyncSender<()>),
    /// The same, and again after an interval where a server still has requests under way.
    Settle(SyncSender<()>),
    End,
}

/// A thread that scrapes until it is ended.
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
        // The launcher waits for each answer but the last.
        let (sender, receiver) = commands::channel(2);
        // The authorities of the system are many, and reading them takes time that a run without TLS need not wait for.
        let needs_tls = order.sources.iter().any(|it| it.url.starts_with("https:"));
        let tls = client::tls(needs_tls, order.authorities.as_deref()).map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let body = move || {
            let scraped = runtime.block_on(Worker::new(order, tls, receiver).run());
            // A lookup is a blocking call of the system, which may take minutes.
            runtime.shutdown_background();
            scraped
        };
        let thread = thread::Builder::new().name("server-metrics".into()).spawn(body)?;
        Ok(Scraper { commands: sender, thread })
    }

    /// Scrapes every address once, right before a load. Blocks until that is done, at most for 7 s; for 1 s once the run is asked to
    /// stop, and not at all once it is aborted.
    pub fn before_load(&self, stop: &Stop) {
        self.ask(stop, Command::Scrape);
    }

    /// Scrapes every address right after a load: again after an interval where a server has requests under way, because
    /// servers count at the end of a step. Blocks as long as [`Scraper::before_load`].
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

    /// Ends the thread. `None`: it ended early, by a fault of the launcher.
    pub fn end(self) -> Option<Scraped> {
        // It fails only where the thread has ended.
        let _ = self.commands.blocking_send(Command::End);
        self.thread.join().ok()
    }
}

/// Waits for the end of a scrape next to a load.
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
