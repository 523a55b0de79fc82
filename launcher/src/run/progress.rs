//! A progress bar on a terminal, a plain line now and then elsewhere.

use std::{
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use tracing::{info, warn};

use workload_profiles::Workload;

use super::outlook::outlook;
use crate::issue::Progress;

const BAR_EVERY: Duration = Duration::from_millis(200);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Tells how far the load is until it is ended.
pub(super) struct Watcher {
    end: mpsc::Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// `workload`: the one whose verdict is foretold.
    pub(super) fn start(progress: Arc<Progress>, workload: Option<Workload>, plain: bool) -> Watcher {
        let (end, ended) = mpsc::channel();
        let body = move || {
            if plain { lines(&progress, workload.as_ref(), &ended) } else { bar(&progress, workload.as_ref(), &ended) }
        };
        let thread = thread::Builder::new().name("progress".into()).spawn(body);
        if let Err(error) = &thread {
            warn!(%error, "progress is not shown");
        }
        Watcher { end, thread: thread.ok() }
    }

    /// Ends it, and waits until its last word is out.
    pub(super) fn end(self) {
        drop(self.end);
        if self.thread.is_some_and(|thread| thread.join().is_err()) {
            warn!("the progress display ended early");
        }
    }
}

fn lines(progress: &Progress, workload: Option<&Workload>, ended: &mpsc::Receiver<()>) {
    while ended.recv_timeout(LINE_EVERY) == Err(RecvTimeoutError::Timeout) {
        let read = |it: &std::sync::atomic::AtomicU64| it.load(Ordering::Relaxed);
        info!(
            stage = read(&progress.stage) + 1,
            planned = read(&progress.planned),
            issued = read(&progress.issued),
            ended = read(&progress.ended),
            failed = read(&progress.failed),
            output_events = read(&progress.output_events),
            outlook = workload.and_then(|it| outlook(it, progress)),
            "measuring"
        );
    }
}

fn bar(progress: &Progress, workload: Option<&Workload>, ended: &mpsc::Receiver<()>) {
    let bar = ProgressBar::new(0);
    let template = "{bar:40} {pos}/{len} requests, {msg}, {elapsed_precise}";
    bar.set_style(ProgressStyle::with_template(template).expect("the template is a constant that parses"));
    while ended.recv_timeout(BAR_EVERY) == Err(RecvTimeoutError::Timeout) {
        let read = |it: &std::sync::atomic::AtomicU64| it.load(Ordering::Relaxed);
        let (issued, over) = (read(&progress.issued), read(&progress.ended));
        // Of a stage that ends by time nobody knows how many requests it will have.
        bar.set_length(read(&progress.planned).max(issued));
        bar.set_position(over);
        let outlook = workload.and_then(|it| outlook(it, progress)).map(|it| format!(", {it}")).unwrap_or_default();
        bar.set_message(format!(
            "stage {}, {} in flight, {} failed{outlook}",
            read(&progress.stage) + 1,
            issued.saturating_sub(over),
            read(&progress.failed)
        ));
    }
    bar.finish_and_clear();
}
