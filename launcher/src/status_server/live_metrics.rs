//! The progress of a load as Prometheus text, format 0.0.4. Pure, except that it reads atomic counters.
//!
//! All values come from the [`Progress`] that the load updates anyway. No label contains the name of the run, because Prometheus adds the name of the
//! pod.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use engine::issue::Progress;

/// The content type of the text.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A load that is running or has run.
#[derive(Debug)]
pub(super) struct LiveLoad {
    progress: Arc<Progress>,
    /// The names of the stages, in the order in which they run.
    stages: Vec<String>,
    /// The number of successes in the last report. A newly computed number can be lower, because the counters are not read at the same instant. The
    /// reported number must not decrease.
    succeeded: AtomicU64,
}

impl LiveLoad {
    pub(super) fn new(progress: Arc<Progress>, stages: Vec<String>) -> LiveLoad {
        LiveLoad { progress, stages, succeeded: AtomicU64::new(0) }
    }
}

/// Returns all metrics. `load` is `None` before the first load.
pub(super) fn text(commit: &str, measuring: bool, load: Option<&LiveLoad>) -> String {
    let mut page = Page::default();
    let build = [("version", env!("CARGO_PKG_VERSION")), ("commit", commit)];
    page.family("build_info", GAUGE, "The release of this launcher; always 1.").value(&build, 1.0);
    let help = "1 while the load is issued and drained, 0 before and after.";
    page.family("measuring", GAUGE, help).value(&[], if measuring { 1.0 } else { 0.0 });
    if let Some(load) = load {
        requests(&mut page, load);
        stage(&mut page, load);
    }
    page.0
}

fn requests(page: &mut Page, LiveLoad { progress, succeeded, .. }: &LiveLoad) {
    let read = |it: &AtomicU64| it.load(Relaxed);
    if let Some(planned) = progress.planned_requests() {
        let help = "Requests of all stages of this load; absent if their number depends on answers or on time.";
        page.family("requests_planned", GAUGE, help).value(&[], planned as f64);
    }
    let ended = read(&progress.ended);
    let not_ok = &progress.not_ok;
    let (failed, cancelled, unfinished) = (read(&not_ok.failed), read(&not_ok.cancelled), read(&not_ok.unfinished));
    let so_far = ended.saturating_sub(failed + cancelled + unfinished);
    let succeeded = succeeded.fetch_max(so_far, Relaxed).max(so_far);
    let sent = read(&progress.issued);
    page.family("requests_sent_total", COUNTER, "Requests that were started.").value(&[], sent as f64);
    let help = "Requests that have ended, by the way in which they ended.";
    let mut family = page.family("requests_ended_total", COUNTER, help);
    for (outcome, count) in
        [("succeeded", succeeded), ("failed", failed), ("cancelled", cancelled), ("unfinished", unfinished)]
    {
        family.value(&[("outcome", outcome)], count as f64);
    }
    let help = "Requests that were started and have not ended.";
    page.family("requests_under_way", GAUGE, help).value(&[], sent.saturating_sub(ended) as f64);
    let help = "Events with output in requests that have ended; most servers send one token per event.";
    page.family("output_events_total", COUNTER, help).value(&[], read(&progress.output_events) as f64);
    if let Some(ttft) = progress.ttft.median() {
        let help = "Median time to first token of the last 100 requests that succeeded, from their scheduled time.";
        page.family("recent_ttft_median_seconds", GAUGE, help).value(&[], ttft.as_secs_f64());
    }
}

fn stage(page: &mut Page, LiveLoad { progress, stages, .. }: &LiveLoad) {
    let Some(timeline) = progress.timeline.get() else { return };
    let index = progress.stage.load(Relaxed);
    let now = timeline.clock.now();
    page.family("stages", GAUGE, "Number of stages.").value(&[], stages.len() as f64);
    page.family("stage_index", GAUGE, "Index of the stage that runs; the first is 0.").value(&[], index as f64);
    if let Some(name) = usize::try_from(index).ok().and_then(|it| stages.get(it)) {
        page.family("stage_info", GAUGE, "The name of the stage that runs; always 1.").value(&[("stage", name)], 1.0);
    }
    page.family("elapsed_seconds", GAUGE, "Time since the load began.").value(&[], now.as_secs_f64());
    let began = Duration::from_nanos(progress.began.load(Relaxed));
    let help = "Time since the stage began; after its end, this includes the pause.";
    page.family("stage_elapsed_seconds", GAUGE, help).value(&[], now.saturating_sub(began).as_secs_f64());
}

const GAUGE: &str = "gauge";
const COUNTER: &str = "counter";
/// The prefix of all metric names.
const PREFIX: &str = "benchwright";

#[derive(Default)]
struct Page(String);

/// The metrics that share one name.
struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Page {
    /// Begins the metrics with a name. `help` must contain neither a line break nor a backslash.
    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> Family<'_> {
        self.0.push_str(&format!("# HELP {PREFIX}_{name} {help}\n# TYPE {PREFIX}_{name} {kind}\n"));
        Family { text: &mut self.0, name }
    }
}

impl Family<'_> {
    fn value(&mut self, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.text.push_str(&format!("{PREFIX}_{}{labels} {value}\n", self.name));
    }
}

/// Escapes the value of a label, because a stage can have any name.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}
