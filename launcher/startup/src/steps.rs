//! Determines the steps of a start from the log lines at which they begin and end.

use crds::server_engine::startup_log::StepName;
use jiff::Timestamp;

use crate::startup::{Process, Step};

/// Maximum number of alternative end lines of a step. The one with rank 0 is preferred.
const RANKS: usize = 2;

/// A line at which a step begins or ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// The number of the line in the log.
    pub line: u64,
    /// The time of the line. If the line has no time, the time of the next line of its process that has one; `None` until that line is read.
    pub at: Option<Timestamp>,
}

impl Mark {
    fn date(&mut self, at: Timestamp) {
        self.at.get_or_insert(at);
    }
}

/// The lines at which a step of one process begins and ends.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    start: Option<Mark>,
    ends: [Option<Mark>; RANKS],
}

impl Bounds {
    /// The end line with the best rank that was found.
    fn end(&self) -> Option<Mark> {
        self.ends.iter().flatten().next().copied()
    }
}

/// All steps of one process.
#[derive(Clone, Debug)]
pub(crate) struct ProcessSteps {
    pub process: Option<Process>,
    bounds: [Bounds; StepName::ALL.len()],
    /// Whether a line without a time still waits for the next line with a time.
    is_undated: bool,
}

impl ProcessSteps {
    pub fn new(process: Option<Process>) -> Self {
        ProcessSteps { process, bounds: [Bounds::default(); StepName::ALL.len()], is_undated: false }
    }

    /// Keeps only the steps that happen before a server prints its arguments.
    pub fn before_begin(mut self) -> Self {
        for step in
            StepName::ALL.into_iter().filter(|it| !matches!(it, StepName::DetectPlatform | StepName::LlmImports))
        {
            self.bounds[step as usize] = Bounds::default();
        }
        self
    }

    /// Records the start of a step. Only the first start counts; it removes ends that came before it.
    pub fn start(&mut self, step: StepName, mark: Mark) {
        let bounds = &mut self.bounds[step as usize];
        if bounds.start.is_none() {
            *bounds = Bounds { start: Some(mark), ends: [None; RANKS] };
            self.is_undated |= mark.at.is_none();
        }
    }

    /// Records an end of a step. Only the first end of each rank counts.
    pub fn end(&mut self, step: StepName, rank: u8, mark: Mark) {
        let end = self.bounds[step as usize].ends.get_mut(usize::from(rank)).filter(|it| it.is_none());
        if let Some(end) = end {
            *end = Some(mark);
            self.is_undated |= mark.at.is_none();
        }
    }

    /// Gives the time of a line of this process to the recorded earlier lines that have no time.
    pub fn date(&mut self, at: Timestamp) {
        if !self.is_undated {
            return;
        }
        self.is_undated = false;
        for bounds in &mut self.bounds {
            bounds.start.iter_mut().chain(bounds.ends.iter_mut().flatten()).for_each(|it| it.date(at));
        }
    }
}

/// Returns all steps whose start and end are known.
pub(crate) fn steps(processes: &[ProcessSteps]) -> Vec<Step> {
    StepName::ALL
        .into_iter()
        .filter_map(|name| within_a_process(name, processes).or_else(|| across(name, processes)))
        .collect()
}

/// Returns the step of the process that ended it last, because the start waits for the slowest process. If several processes ended it at the same
/// time, the one that began it first is used.
fn within_a_process(name: StepName, processes: &[ProcessSteps]) -> Option<Step> {
    let timed = |it: &ProcessSteps| {
        let bounds = it.bounds[name as usize];
        let (started, ended) = (bounds.start?.at?, bounds.end()?.at?);
        (started <= ended).then(|| (ended, started, it.process.clone()))
    };
    let all: Vec<_> = processes.iter().filter_map(timed).collect();
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    // The order is reversed, because `max_by` returns the last of equal elements, and the first process is wanted.
    let (ended, started, process) =
        all.into_iter().rev().max_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(&one.1)))?;
    Some(Step { name, process, ended_by: None, processes: count, started, seconds: seconds(started, ended) })
}

/// Returns a step that one process began and another process ended.
fn across(name: StepName, processes: &[ProcessSteps]) -> Option<Step> {
    let starts = processes.iter().filter_map(|it| Some((it.bounds[name as usize].start?, it)));
    let (start, began) = starts.min_by_key(|it| it.0.line)?;
    let started = start.at?;
    let ends = processes.iter().filter_map(|it| {
        let end = it.bounds[name as usize].end().filter(|end| end.line > start.line)?;
        Some((end.at.filter(|at| *at >= started)?, it))
    });
    let (ended, by) = ends.reduce(|one, other| if other.0 > one.0 { other } else { one })?;
    Some(Step {
        name,
        process: began.process.clone(),
        ended_by: by.process.clone(),
        processes: 1,
        started,
        seconds: seconds(started, ended),
    })
}

pub(crate) fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

/// Seconds between two times, minus the time in which a step was active.
pub(crate) fn uncategorized(steps: &[Step], from: Timestamp, to: Timestamp) -> f64 {
    let mut spans: Vec<(f64, f64)> = steps
        .iter()
        .map(|it| {
            let begin = seconds(from, it.started);
            (begin, begin + it.seconds)
        })
        .collect();
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all = seconds(from, to);
    let (mut reached, mut free) = (0.0, 0.0);
    for (begin, end) in spans {
        let (begin, end) = (begin.clamp(0.0, all), end.clamp(0.0, all));
        if begin > reached {
            free += begin - reached;
        }
        reached = end.max(reached);
    }
    free + (all - reached).max(0.0)
}
