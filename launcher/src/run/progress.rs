//! Shows the progress of a load: lines that change in place on a terminal, and a plain line at intervals elsewhere.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use tracing::{info, warn};
use workload_profiles::Workload;

use super::{
    forecast::forecast_text,
    progress_text::{Standing, View},
    search::{SearchStanding, Searcher},
};
use crate::console::{self, LiveDisplay};
use engine::issue::{PlannedTime, Progress};
use loadgen::phases::PlannedPhases;

const SHOW_EVERY: Duration = Duration::from_millis(200);
/// Time between two plain lines of the same stage.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How often plain output checks whether a new stage has begun.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The period over which the displayed rate is computed.
const RATE_OVER: Duration = Duration::from_secs(5);
/// The assumed width of a terminal that does not report it, in columns.
const WIDTH: usize = 80;

/// Shows the progress of the load until [`Watcher::end`].
pub(super) struct Watcher {
    end: mpsc::Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts the display. `workload` is the issued workload. `phases` are its phases, if their verdict is predicted. `search` is the search that
    /// chooses the stages of the load, if the load is a search.
    pub(super) fn start(
        progress: Arc<Progress>,
        workload: Workload,
        phases: PlannedPhases,
        search: Option<Arc<Searcher>>,
        plain: bool,
    ) -> Watcher {
        let (end, ended) = mpsc::channel();
        let looker = Looker { progress, workload, phases, search, sent: VecDeque::new() };
        let body = move || if plain { log(looker, &ended) } else { show(looker, &ended) };
        let thread = thread::Builder::new().name("progress".into()).spawn(body);
        if let Err(error) = &thread {
            warn!(%error, "progress is not shown");
        }
        Watcher { end, thread: thread.ok() }
    }

    /// Ends the display, and waits for its last output.
    pub(super) fn end(self) {
        drop(self.end);
        if self.thread.is_some_and(|thread| thread.join().is_err()) {
            warn!("the progress display ended early");
        }
    }
}

/// Reads the counters of a load.
struct Looker {
    progress: Arc<Progress>,
    workload: Workload,
    phases: PlannedPhases,
    search: Option<Arc<Searcher>>,
    /// The number of requests that had been sent at recent times. The newest is last.
    sent: VecDeque<(Duration, u64)>,
}

impl Looker {
    /// Reads the current state of the load. `None` before the load begins.
    fn look(&mut self) -> Option<View> {
        let timeline = self.progress.timeline.get()?;
        let (now, times): (_, &[PlannedTime]) = (timeline.clock.now(), &timeline.stages);
        let read = |it: &AtomicU64| it.load(Relaxed);
        let progress = &self.progress;
        let issued = read(&progress.issued);
        while self.sent.len() > 1 && self.sent.front().is_some_and(|(at, _)| *at + RATE_OVER < now) {
            self.sent.pop_front();
        }
        let rate = self
            .sent
            .front()
            .filter(|(at, _)| *at < now)
            .map(|(at, before)| issued.saturating_sub(*before) as f64 / (now - *at).as_secs_f64());
        self.sent.push_back((now, issued));
        let forecast = forecast_text(&self.workload, &self.phases, progress);
        let standing = Standing {
            now,
            stage: usize::try_from(read(&progress.stage)).unwrap_or(usize::MAX),
            began: Duration::from_nanos(read(&progress.began)),
            pause_until: Duration::from_nanos(read(&progress.pause_until)),
            issued,
            ended: read(&progress.ended),
            failed: read(&progress.failed),
            ended_before: read(&progress.ended_before),
            rate,
            measured_rate: Some(f64::from_bits(read(&progress.measured_rate))).filter(|it| *it > 0.0),
            ttft: progress.ttft.median().zip(progress.ttft.quantile(900)),
            forecast,
        };
        let view = View::new(standing, times, &self.workload.stages);
        let Some(search) = &self.search else { return Some(view) };
        let SearchStanding { trial, done, left } = search.standing(now)?;
        Some(View { stage: trial, done: Some(done), left: Some(left), ..view })
    }
}

fn log(mut looker: Looker, ended: &mpsc::Receiver<()>) {
    let mut told = String::new();
    let mut silent = Duration::ZERO;
    while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        silent += LOOK_EVERY;
        let Some(view) = looker.look().filter(|it| it.stage != told || silent >= LINE_EVERY) else { continue };
        info!("{}", view.line());
        told = view.stage;
        silent = Duration::ZERO;
    }
}

fn show(mut looker: Looker, ended: &mpsc::Receiver<()>) {
    let display = LiveDisplay::start();
    let paint = console::stderr_paint();
    while ended.recv_timeout(SHOW_EVERY) == Err(RecvTimeoutError::Timeout) {
        let Some(view) = looker.look() else { continue };
        let width = console::stderr_width().unwrap_or(WIDTH);
        // One column is left free, because a full line would move the cursor to the next line.
        display.show(&view.live_lines(width.saturating_sub(1), paint));
    }
}
