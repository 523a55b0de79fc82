//! Decides which requests of a stage are part of its figures. Pure. The decision needs only the request itself and bounds that are known
//! when the stage begins, so no records need to be kept for it.

use std::time::Duration;

use workload_profiles::workload::{Load, Margin, Stage, Window};

use crate::{
    record::RequestRecord,
    schedule::Schedule,
    wire::{fields, variants},
};

/// A part of a stage that a request can belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowPart {
    /// The request is part of the figures.
    Counted,
    /// The request was due in the warm-up.
    WarmUp,
    /// The request was due in the cool-down.
    CoolDown,
    /// The request was due within a trimmed window, but ended after it.
    Late,
}

impl WindowPart {
    /// All parts.
    pub const ALL: [WindowPart; 4] = [WindowPart::Counted, WindowPart::WarmUp, WindowPart::CoolDown, WindowPart::Late];

    /// Returns the name in `report.json`.
    pub fn name(self) -> &'static str {
        match self {
            WindowPart::Counted => "counted",
            WindowPart::WarmUp => "warmUp",
            WindowPart::CoolDown => "coolDown",
            WindowPart::Late => "late",
        }
    }
}

/// The window of a stage. Times are from the start of the stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageWindow {
    kind: Window,
    /// Number and due time of the first request after the warm-up.
    first: (u64, Duration),
    /// Number and due time of the first request of the cool-down. If either is `None`, only the other one decides.
    end: (Option<u64>, Option<Duration>),
    /// When the stage ends; `None` if its requests determine that.
    over: Option<Duration>,
    /// Number of requests; `None` if time or answers determine it.
    count: Option<u64>,
}

/// The window of a stage that began at `start`, on the run's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opened {
    pub(crate) window: StageWindow,
    pub(crate) start: Duration,
}

/// The reason why the margins of a stage cannot be changed after its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarginError {
    #[error("its requests decide when it is over, so that its cool-down is a number of requests; give a number")]
    NoEnd,
    #[error("how many requests it sends in its duration is not known before; give its cool-down as a length of time")]
    NoCount,
    #[error(
        "its window is trimmed or cut, and begins and ends at a time; give a length of time in place of a number of requests"
    )]
    NoTime,
    #[error(
        "the rows of its data set ended it, and its window is trimmed or cut; only a run with these margins has its figures"
    )]
    Shortened,
}

impl StageWindow {
    pub fn new(stage: &Stage, kind: Window, schedule: Option<&Schedule>) -> StageWindow {
        let due = |number: u64| schedule.map(|it| it.get(number).unwrap_or(Duration::MAX));
        let count = schedule.map(Schedule::len).or_else(|| stage.load.count());
        StageWindow { kind, over: over(&stage.load, schedule), count, ..StageWindow::default() }.of_margins(stage, due)
    }

    /// Returns the window of the same stage with the margins of `stage`, after the run.
    ///
    /// # Errors
    /// The window needs data that is unknown after the run.
    pub fn with_margins(&self, stage: &Stage) -> Result<StageWindow, MarginError> {
        let is_count = |it: Option<Margin>| matches!(it, Some(Margin::Count(_)));
        let is_timed = self.kind != Window::All;
        match stage.cool_down {
            Some(Margin::Duration(_)) if self.over.is_none() => return Err(MarginError::NoEnd),
            Some(Margin::Count(_)) if self.count.is_none() => return Err(MarginError::NoCount),
            _ => {}
        }
        // A window of the kind `all` only needs the order of the requests, which their numbers show.
        if is_timed && (is_count(stage.warm_up) || is_count(stage.cool_down)) {
            return Err(MarginError::NoTime);
        }
        if is_timed && matches!(stage.load, Load::Closed { .. }) && self.count != stage.load.count() {
            return Err(MarginError::Shortened);
        }
        Ok(self.of_margins(stage, |_| None))
    }

    /// Computes the window. `due` returns when a request is due, from the start of the stage; `None` if it is due when a slot becomes free.
    fn of_margins(&self, stage: &Stage, due: impl Fn(u64) -> Option<Duration>) -> StageWindow {
        let StageWindow { over, count, .. } = *self;
        let first = match stage.warm_up {
            None => (0, Duration::ZERO),
            Some(Margin::Duration(length)) => (0, length.0),
            Some(Margin::Count(count)) => (count, due(count).unwrap_or_default()),
            Some(Margin::All) => (u64::MAX, Duration::MAX),
        };
        let end = match stage.cool_down {
            None => (None, None),
            Some(Margin::Duration(length)) => (None, over.map(|it| it.saturating_sub(length.0))),
            Some(Margin::Count(last)) => {
                let number = count.map(|it| it.saturating_sub(last));
                (number, number.filter(|_| last > 0).and_then(due))
            }
            Some(Margin::All) => (Some(0), Some(Duration::ZERO)),
        };
        StageWindow { first, end, ..*self }
    }

    /// Returns when the stage ends, from its start; `None` if its requests determine that.
    pub fn over(&self) -> Option<Duration> {
        self.over
    }

    /// Whether no request of the stage is part of the figures.
    pub fn is_empty(&self) -> bool {
        self.first.0 == u64::MAX || self.end.0 == Some(0)
    }

    /// Returns the part that a request belongs to, in a stage that began at `start`.
    pub fn part(&self, start: Duration, request: &RequestRecord) -> WindowPart {
        self.part_of(start, request.number, request.scheduled, request.ended)
    }

    /// Returns the part for a request number with these due and end times, on the run's clock.
    pub fn part_of(&self, start: Duration, number: u64, due: Duration, ended: Duration) -> WindowPart {
        let (due, ended) = (due.saturating_sub(start), ended.saturating_sub(start));
        let if_so = |part: WindowPart, belongs: bool| if belongs { part } else { WindowPart::Counted };
        // In a window that counts events, a request that ended within it counts, even if it was due before.
        if self.kind == Window::Cut && ended > self.first.1 {
            return if_so(WindowPart::CoolDown, self.close().is_some_and(|close| due >= close));
        }
        match self.part_of_unissued(number, Some(due)) {
            WindowPart::Counted if self.kind == Window::Trimmed => {
                if_so(WindowPart::Late, self.close().is_some_and(|close| ended > close))
            }
            part => part,
        }
    }

    /// Returns the part of a request that was never sent, by its number and its due time from the start of the stage. If `due` is `None`,
    /// only the number decides.
    pub fn part_of_unissued(&self, number: u64, due: Option<Duration>) -> WindowPart {
        if number < self.first.0 || due.is_some_and(|due| due < self.first.1) {
            return WindowPart::WarmUp;
        }
        let cooling = match self.end {
            (Some(end), _) => number >= end,
            (None, Some(end)) => due.is_some_and(|due| due >= end),
            (None, None) => false,
        };
        if cooling { WindowPart::CoolDown } else { WindowPart::Counted }
    }

    /// Returns start and end of a window that counts each event by its time, on the run's clock; `None` for other windows.
    pub fn bounds(&self, start: Duration) -> Option<(Duration, Duration)> {
        let close = self.close().filter(|_| self.kind == Window::Cut)?;
        Some((start.saturating_add(self.first.1), start.saturating_add(close.max(self.first.1))))
    }

    /// Whether the window counts each token by its arrival time.
    pub(crate) fn counts_arrivals(&self) -> bool {
        self.kind == Window::Cut
    }

    fn close(&self) -> Option<Duration> {
        self.end.1.or(self.over)
    }
}

/// Returns when all requests of a stage have been due: after its duration, or with its last request if that is later.
fn over(load: &Load, schedule: Option<&Schedule>) -> Option<Duration> {
    let duration = match load {
        Load::Open { duration, .. } | Load::Closed { duration, .. } | Load::Users { duration, .. } => {
            duration.map(|it| it.0)
        }
        Load::Burst { .. } | Load::Trace { .. } | Load::LoadGen { .. } => None,
    };
    let last = schedule.and_then(|it| it.get(it.len().checked_sub(1)?));
    duration.max(last)
}

variants!(WindowPart { Counted = 0, WarmUp = 1, CoolDown = 2, Late = 3 });
fields!(Opened { window, start });
fields!(StageWindow { kind, first, end, over, count });

#[cfg(test)]
mod tests {
    use crds::units::{RequestRate, Span};
    use workload_profiles::workload::{Arrivals, Rate};

    use super::*;
    use crate::record::RequestOutcome;

    const fn secs(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// One request per second for ten seconds, due 0 to 9 s after the start of the stage.
    fn open() -> Load {
        let rate = Rate::Steady(RequestRate::try_from(1.0).unwrap());
        let duration = Some(Span(secs(10)));
        Load::Open { arrivals: Arrivals::Constant, rate, duration, count: None, max_concurrency: None }
    }

    /// Returns the schedule of [`open`]; `None` for a closed loop.
    fn schedule(load: &Load) -> Option<Schedule> {
        matches!(load, Load::Open { .. }).then(|| (0..10).map(secs).collect())
    }

    fn closed(count: Option<u64>, duration: Option<u64>) -> Load {
        let duration = duration.map(|it| Span(secs(it)));
        Load::Closed { concurrency: 1, count, duration, ramp_up: Span::default(), start_rate: None }
    }

    fn request(number: u64, due: u64, ended: u64) -> RequestRecord {
        RequestRecord {
            stage: 0,
            number,
            turn: None,
            scheduled: secs(due),
            sent: Some(secs(due)),
            permit_wait: None,
            first_token: None,
            last_token: None,
            ended: secs(ended),
            outcome: RequestOutcome::Ok,
            requested_input_tokens: None,
            requested_output_tokens: None,
            input_tokens: None,
            cached_tokens: None,
            class: None,
            output_tokens: None,
            content_events: 0,
            replica: None,
        }
    }

    /// Checks the parts of requests (number, due, ended) in a stage that begins at 100 s. Their times are from the start of the stage.
    fn check(
        load: Load,
        kind: Window,
        (warm_up, cool_down): (Option<Margin>, Option<Margin>),
        expected: &[((u64, u64, u64), WindowPart)],
    ) {
        let schedule = schedule(&load);
        let stage = Stage { warm_up, cool_down, ..Stage::new("s", load) };
        let window = StageWindow::new(&stage, kind, schedule.as_ref());
        for ((number, due, ended), part) in expected {
            let request = request(*number, 100 + due, 100 + ended);
            assert_eq!(window.part(secs(100), &request), *part, "{number} {due} {ended} {window:?}");
        }
    }

    fn span(seconds: u64) -> Option<Margin> {
        Some(Margin::Duration(Span(secs(seconds))))
    }

    use WindowPart::{CoolDown, Counted, Late, WarmUp};

    #[test]
    fn without_margins_everything_counts() {
        check(open(), Window::All, (None, None), &[((0, 0, 1), Counted), ((9, 9, 50), Counted)]);
        check(closed(Some(5), None), Window::All, (None, None), &[((0, 0, 9), Counted), ((4, 90, 99), Counted)]);
    }

    #[test]
    fn margins_are_by_the_due_time_or_by_number() {
        let edges = [((1, 1, 30), WarmUp), ((2, 2, 3), Counted), ((6, 6, 30), Counted), ((7, 7, 8), CoolDown)];
        check(open(), Window::All, (span(2), span(3)), &edges);
        check(open(), Window::All, (Some(Margin::Count(2)), Some(Margin::Count(3))), &edges);
        let count = |it| Some(Margin::Count(it));
        check(
            closed(Some(10), None),
            Window::All,
            (count(2), count(3)),
            &[((1, 50, 51), WarmUp), ((2, 0, 1), Counted), ((6, 0, 1), Counted), ((7, 0, 1), CoolDown)],
        );
        check(closed(None, Some(10)), Window::All, (span(2), span(3)), &edges);
    }

    #[test]
    fn margins_after_the_run_count_like_those_before_it() {
        let margins =
            [None, span(2), span(30), Some(Margin::Count(0)), Some(Margin::Count(3)), Some(Margin::Count(30))];
        let schedule = schedule(&open());
        let requests = || (0..10).flat_map(|due| [0, 1, 40].map(|lasts| request(due, 100 + due, 100 + due + lasts)));
        for kind in [Window::All, Window::Trimmed, Window::Cut] {
            for (warm_up, cool_down) in margins.iter().flat_map(|it| margins.map(|other| (*it, other))) {
                let stage = Stage { warm_up, cool_down, ..Stage::new("s", open()) };
                let before = StageWindow::new(&stage, kind, schedule.as_ref());
                let run = StageWindow::new(&Stage::new("s", open()), kind, schedule.as_ref());
                let Ok(after) = run.with_margins(&stage) else {
                    assert_ne!(kind, Window::All);
                    continue;
                };
                for it in requests() {
                    assert_eq!(after.part(secs(100), &it), before.part(secs(100), &it), "{before:?} {it:?}");
                    let due = Some(it.scheduled - secs(100));
                    assert_eq!(after.part_of_unissued(it.number, due), before.part_of_unissued(it.number, due));
                }
                assert_eq!(after.bounds(secs(100)), before.bounds(secs(100)));
            }
        }
    }

    #[test]
    fn what_was_never_sent_belongs_by_its_number_and_due_time() {
        let parts = |load: Load, kind, (warm_up, cool_down), due: fn(u64) -> Option<Duration>| {
            let schedule = schedule(&load);
            let stage = Stage { warm_up, cool_down, ..Stage::new("s", load) };
            let window = StageWindow::new(&stage, kind, schedule.as_ref());
            [1, 2, 6, 7].map(|it| window.part_of_unissued(it, due(it)))
        };
        let edges = [WarmUp, Counted, Counted, CoolDown];
        let by_count = (Some(Margin::Count(2)), Some(Margin::Count(3)));
        for kind in [Window::All, Window::Trimmed, Window::Cut] {
            assert_eq!(parts(open(), kind, (span(2), span(3)), |it| Some(secs(it))), edges);
            assert_eq!(parts(open(), kind, by_count, |it| Some(secs(it))), edges);
        }
        assert_eq!(parts(closed(Some(10), None), Window::All, by_count, |_| None), edges);
        // In a closed loop, it is unknown when a slot would have sent the request.
        assert_eq!(parts(closed(Some(10), None), Window::All, (span(2), None), |_| None), [Counted; 4]);
        assert_eq!(parts(open(), Window::All, (Some(Margin::All), None), |it| Some(secs(it))), [WarmUp; 4]);
    }

    #[test]
    fn a_stage_can_be_all_warm_up() {
        check(open(), Window::All, (Some(Margin::All), None), &[((0, 0, 1), WarmUp), ((9, 9, 9), WarmUp)]);
        let stage = Stage { warm_up: Some(Margin::All), ..Stage::new("s", open()) };
        assert!(StageWindow::new(&stage, Window::All, None).is_empty());
        assert!(!StageWindow::default().is_empty());
    }

    #[test]
    fn a_trimmed_window_takes_what_is_due_and_over_within_it() {
        check(
            open(),
            Window::Trimmed,
            (span(2), span(3)),
            &[((1, 1, 3), WarmUp), ((2, 2, 7), Counted), ((3, 3, 8), Late), ((7, 7, 7), CoolDown)],
        );
        check(open(), Window::Trimmed, (None, None), &[((9, 9, 10), Counted), ((9, 9, 11), Late)]);
    }

    #[test]
    fn a_cut_window_takes_whatever_happens_within_it() {
        check(
            open(),
            Window::Cut,
            (span(2), span(3)),
            &[((0, 0, 2), WarmUp), ((0, 0, 3), Counted), ((6, 6, 30), Counted), ((7, 7, 8), CoolDown)],
        );
        let stage = Stage { warm_up: span(2), cool_down: span(3), ..Stage::new("s", open()) };
        let cut = |kind| StageWindow::new(&stage, kind, None).bounds(secs(100));
        assert_eq!(cut(Window::Cut), Some((secs(102), secs(107))));
        assert_eq!(cut(Window::Trimmed), None);
    }

    #[test]
    fn a_count_at_the_edge_of_a_cut_is_the_time_of_its_request() {
        let schedule = schedule(&open());
        let (warm_up, cool_down) = (Some(Margin::Count(2)), Some(Margin::Count(3)));
        let stage = Stage { warm_up, cool_down, ..Stage::new("s", open()) };
        let window = StageWindow::new(&stage, Window::Cut, schedule.as_ref());
        assert_eq!(window.bounds(Duration::ZERO), Some((secs(2), secs(7))));
    }
}
