//! The progress of a load as text, cut to the width of the terminal. Pure.

use std::time::Duration;

use crds::units::Span;
use report::{
    paint::{Paint, Style},
    shortened,
};
use workload_profiles::workload::{Margin, Stage};

use engine::issue::PlannedTime;

/// Minimum and maximum width of the bar, in columns. If there is no room for the minimum, the text next to the bar is shortened.
const BAR: (usize, usize) = (10, 60);
/// Blanks between the parts of a line.
const GAP: &str = "  ";

/// The state of a load. Times count from the start of the load.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    pub(super) now: Duration,
    /// The index of the stage that runs. During a pause, the stage before the pause.
    pub(super) stage: usize,
    pub(super) began: Duration,
    pub(super) pause_until: Duration,
    pub(super) issued: u64,
    pub(super) ended: u64,
    pub(super) failed: u64,
    pub(super) ended_before: u64,
    /// The rate at which requests were sent recently, in requests per second.
    pub(super) rate: Option<f64>,
    /// The rate of the stage, if it was computed from earlier stages.
    pub(super) measured_rate: Option<f64>,
    /// TTFT of the most recent requests: the median and the 90th percentile.
    pub(super) ttft: Option<(Duration, Duration)>,
    pub(super) forecast: Option<String>,
}

/// The state of a load, as text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    /// The completed fraction of the load, or of the stage if the length of the load is unknown. `None` if both are unknown.
    pub(super) done: Option<f64>,
    pub(super) stage: String,
    pub(super) elapsed: String,
    /// The remaining time or number of requests.
    pub(super) left: Option<String>,
    pub(super) rate: Option<String>,
    pub(super) ttft: Option<String>,
    pub(super) failed: u64,
    pub(super) in_flight: u64,
    pub(super) forecast: Option<String>,
}

impl View {
    /// Describes a state. `times` and `stages` must belong to the same load.
    pub(super) fn new(it: Standing, times: &[PlannedTime], stages: &[Stage]) -> View {
        let pausing = it.pause_until > it.now.max(it.began) && it.stage + 1 < stages.len();
        let index = if pausing { it.stage + 1 } else { it.stage };
        let name = stages.get(index).map(|it| shortened(&it.name)).unwrap_or_default();
        // During a pause, the rate of the next stage is still unknown.
        let measured = it.measured_rate.filter(|_| !pausing).map(|it| format!(", {it}/s measured")).unwrap_or_default();
        let mut stage = format!("stage {} of {} ({name}{measured})", index + 1, stages.len().max(1));
        if pausing {
            stage = format!("pause before {stage}");
        } else if stages.get(index).is_some_and(|stage| in_warm_up(stage, &it)) {
            stage.push_str(", warm-up");
        }
        let (done, left) = progress(&it, pausing, times);
        View {
            done,
            stage,
            elapsed: format!("{} elapsed", short_time(it.now.as_secs())),
            left,
            rate: it.rate.filter(|_| !pausing).map(|it| format!("{it:.1} requests/s")),
            ttft: it.ttft.map(|(p50, p90)| format!("TTFT p50 {} p90 {}", Span(p50).rounded(), Span(p90).rounded())),
            failed: it.failed,
            in_flight: it.issued.saturating_sub(it.ended),
            forecast: it.forecast,
        }
    }

    /// Returns one line for a log.
    pub(super) fn line(&self) -> String {
        let figures = self.figures(usize::MAX, Paint::OFF);
        [Some(self.stage.clone()), self.left.clone(), Some(figures)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Returns two lines of at most `width` columns: the stage with a bar for the whole load, and the figures.
    pub(super) fn live_lines(&self, width: usize, paint: Paint) -> Vec<String> {
        vec![self.bar_line(width, paint), self.figures(width, paint)]
    }

    /// Returns the stage, the bar, the percentage and the times. Times that do not fit are omitted.
    fn bar_line(&self, width: usize, paint: Paint) -> String {
        let percent = self.done.map(|it| format!("{:.0} %", it.clamp(0.0, 1.0) * 100.0));
        let left = self.left.as_ref();
        let both = left.map(|it| format!("{}, {it}", self.elapsed)).or_else(|| Some(self.elapsed.clone()));
        let least = if self.done.is_some() { BAR.0 + GAP.len() } else { 0 };
        let tail = |times: Option<&String>| {
            [percent.as_ref(), times].into_iter().flatten().map(|it| format!("{GAP}{it}")).collect::<String>()
        };
        let used = |tail: &String| self.stage.chars().count() + least + tail.chars().count();
        let tails = [tail(both.as_ref()), tail(left), tail(None)];
        let Some(tail) = tails.iter().find(|it| used(it) <= width) else {
            return self.stage.chars().take(width).collect();
        };
        let length = (BAR.0 + width - used(tail)).min(BAR.1);
        let bar = self.done.map(|it| format!("{GAP}{}", bar(it, length, paint))).unwrap_or_default();
        format!("{}{bar}{tail}", paint.apply(Style::Bold, &self.stage))
    }

    /// Returns the figures in at most `width` columns. If they do not fit, the least important ones are omitted.
    fn figures(&self, width: usize, paint: Paint) -> String {
        let failed = format!("{} failed", self.failed);
        // Each number is the rank of importance. 0 is the most important.
        let pieces = [
            (2, self.rate.clone()),
            (4, Some(format!("{} in flight", self.in_flight))),
            (3, self.ttft.clone()),
            (1, Some(failed.clone())),
            (0, self.forecast.clone()),
        ];
        let mut by_importance: Vec<(usize, usize, String)> =
            pieces.into_iter().enumerate().filter_map(|(place, (rank, it))| Some((rank, place, it?))).collect();
        by_importance.sort_unstable();
        let mut used = 0;
        let mut chosen: Vec<(usize, String)> = Vec::new();
        for (_, place, piece) in by_importance {
            let more = piece.chars().count() + if chosen.is_empty() { 0 } else { 2 };
            if more <= width - used {
                used += more;
                chosen.push((place, piece));
            }
        }
        chosen.sort_unstable();
        let is_alarm = |it: &str| self.failed > 0 && it == failed;
        let painted = chosen.iter().map(|(_, it)| if is_alarm(it) { paint.apply(Style::Red, it) } else { it.clone() });
        painted.collect::<Vec<_>>().join(", ")
    }
}

fn bar(done: f64, length: usize, paint: Paint) -> String {
    let full = ((length as f64 * done.clamp(0.0, 1.0)) as usize).min(length);
    paint.apply(Style::Cyan, &"\u{2588}".repeat(full)) + &paint.apply(Style::Dim, &"\u{2591}".repeat(length - full))
}

fn in_warm_up(stage: &Stage, it: &Standing) -> bool {
    match stage.warm_up {
        Some(Margin::Duration(length)) => it.now.saturating_sub(it.began) < length.0,
        Some(Margin::Count(count)) => it.issued.saturating_sub(it.ended_before) < count,
        Some(Margin::All) => true,
        None => false,
    }
}

/// Returns the completed fraction, and what remains. They refer to time if the lengths of all stages are known, otherwise to the requests of the
/// stage.
fn progress(it: &Standing, pausing: bool, times: &[PlannedTime]) -> (Option<f64>, Option<String>) {
    let Some(stage) = times.get(it.stage) else { return (None, None) };
    let lengths: Option<Vec<Duration>> = times.iter().map(|it| it.length).collect();
    if let Some(lengths) = lengths {
        let pauses = times.iter().take(times.len() - 1).map(|it| it.pause_after);
        let whole = lengths.iter().sum::<Duration>() + pauses.sum::<Duration>();
        let before = times.iter().zip(&lengths).take(it.stage).map(|(stage, length)| *length + stage.pause_after);
        let of_stage = match pausing {
            true => lengths[it.stage] + stage.pause_after.saturating_sub(it.pause_until.saturating_sub(it.now)),
            false => it.now.saturating_sub(it.began).min(lengths[it.stage]),
        };
        let done = before.sum::<Duration>() + of_stage;
        let left = whole.saturating_sub(done);
        let text = if left.is_zero() {
            "waiting for the last answers".to_owned()
        } else {
            format!("{} left", time_left(left))
        };
        return (Some(done.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE)), Some(text));
    }
    let ended = it.ended.saturating_sub(it.ended_before);
    match (stage.requests, stage.length) {
        (Some(requests), _) => (Some(ended as f64 / requests as f64), Some(format!("{ended} of {requests} requests"))),
        (None, Some(length)) => {
            let passed = it.now.saturating_sub(it.began).min(length);
            let text = format!("{} of the stage left", time_left(length - passed));
            (Some(passed.as_secs_f64() / length.as_secs_f64()), Some(text))
        }
        (None, None) => (None, Some(format!("{ended} requests"))),
    }
}

/// Returns whole seconds, rounded up, so that the last second is shown until it is over.
fn time_left(left: Duration) -> String {
    short_time(u64::try_from(left.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX))
}

pub(super) fn short_time(seconds: u64) -> String {
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use workload_profiles::workload::Load;

    use super::*;

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn stages(names: &[&str]) -> Vec<Stage> {
        let load =
            Load::Closed { concurrency: 1, count: None, duration: None, ramp_up: Span::default(), start_rate: None };
        names.iter().map(|it| Stage::new(*it, load.clone())).collect()
    }

    /// Stages of 10 seconds, with pauses of 2 seconds.
    fn timed(stages: usize) -> Vec<PlannedTime> {
        vec![PlannedTime { length: Some(secs(10)), requests: None, pause_after: secs(2) }; stages]
    }

    fn standing() -> Standing {
        Standing {
            now: secs(15),
            stage: 1,
            began: secs(12),
            pause_until: secs(12),
            issued: 42,
            ended: 40,
            failed: 1,
            ended_before: 30,
            rate: Some(3.12),
            measured_rate: None,
            ttft: Some((Duration::from_micros(45_210), Duration::from_millis(60))),
            forecast: None,
        }
    }

    #[test]
    fn stages_of_known_length_are_told_by_their_time() {
        let view = View::new(standing(), &timed(3), &stages(&["c1", "c2", "c4"]));
        assert_eq!(view.done, Some(15.0 / 34.0));
        let bar = |full: usize, empty: usize| "\u{2588}".repeat(full) + &"\u{2591}".repeat(empty);
        let figures = "3.1 requests/s, 2 in flight, TTFT p50 45.21ms p90 60ms, 1 failed";
        let lines = |width| view.live_lines(width, Paint::OFF);
        let first = format!("stage 2 of 3 (c2)  {}  44 %  15s elapsed, 19s left", bar(13, 18));
        assert_eq!(lines(79), [first, figures.to_owned()]);
        let narrow = format!("stage 2 of 3 (c2)  {}  44 %  19s left", bar(4, 6));
        assert_eq!(lines(45), [narrow, "3.1 requests/s, 2 in flight, 1 failed".to_owned()]);
        assert!(lines(200)[0].contains(&bar(26, 34)), "{:?}", lines(200));
        assert_eq!(view.line(), format!("stage 2 of 3 (c2), 19s left, {figures}"));
    }

    #[test]
    fn colours_do_not_change_the_text() {
        let view = View::new(standing(), &timed(3), &stages(&["c1", "c2", "c4"]));
        let [first, second] = &view.live_lines(79, Paint::new(true))[..] else { panic!("not two lines") };
        assert!(second.contains("\u{1b}[31m1 failed\u{1b}[0m"), "{second}");
        let plain = ["0", "1", "2", "31", "36"]
            .iter()
            .fold(first.clone(), |text, it| text.replace(&format!("\u{1b}[{it}m"), ""));
        assert_eq!(plain, view.live_lines(79, Paint::OFF)[0]);
        let view = View { failed: 0, ..view };
        assert!(!view.live_lines(79, Paint::new(true))[1].contains('\u{1b}'));
    }

    #[test]
    fn a_measured_rate_is_told_with_the_name_of_its_stage() {
        let standing = Standing { measured_rate: Some(12.5), ..standing() };
        let view = View::new(standing.clone(), &timed(3), &stages(&["sync", "sweep-1", "sweep-2"]));
        assert_eq!(view.stage, "stage 2 of 3 (sweep-1, 12.5/s measured)");
        let pausing = Standing { now: secs(23), pause_until: secs(24), ..standing };
        let view = View::new(pausing, &timed(3), &stages(&["sync", "sweep-1", "sweep-2"]));
        assert_eq!(view.stage, "pause before stage 3 of 3 (sweep-2)");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut view = View::new(standing(), &timed(3), &stages(&["a-very-long-name-of-a-stage", "b", "c"]));
        view.forecast = Some("VALID if it goes on like this, 120 more to complete".into());
        for width in 0..200 {
            let lines = view.live_lines(width, Paint::OFF);
            assert!(lines.iter().all(|it| it.chars().count() <= width), "{width}: {lines:?}");
            assert!(width < 16 || lines[0].contains("stage 2 of 3 (b)"), "{width}: {lines:?}");
        }
        let lines = view.live_lines(64, Paint::OFF);
        assert!(lines[0].contains("19s left") && lines[1].contains("VALID if"), "{lines:?}");
    }

    #[test]
    fn pauses_and_warm_ups_are_told_as_such() {
        let pausing = Standing { now: secs(23), pause_until: secs(24), ..standing() };
        let view = View::new(pausing, &timed(3), &stages(&["c1", "c2", "c4"]));
        assert_eq!((view.stage.as_str(), view.left.as_deref()), ("pause before stage 3 of 3 (c4)", Some("11s left")));
        assert_eq!(view.rate, None);
        let mut warm = stages(&["c1", "c2"]);
        for (margin, told) in [
            (Margin::Duration(Span(secs(4))), true),
            (Margin::Duration(Span(secs(3))), false),
            (Margin::Count(13), true),
            (Margin::Count(12), false),
            (Margin::All, true),
        ] {
            warm[1].warm_up = Some(margin);
            let view = View::new(standing(), &timed(2), &warm);
            assert_eq!(view.stage.ends_with("(c2), warm-up"), told, "{margin:?}: {}", view.stage);
        }
    }

    #[test]
    fn where_only_a_count_is_known_it_is_told() {
        let counted = |requests| PlannedTime { length: None, requests, pause_after: Duration::ZERO };
        let mut times = vec![counted(Some(8)), counted(Some(20)), timed(1)[0]];
        let names = stages(&["a", "b", "c"]);
        let view = View::new(standing(), &times, &names);
        assert_eq!((view.done, view.left.as_deref()), (Some(0.5), Some("10 of 20 requests")));
        times[1] = counted(None);
        let view = View::new(standing(), &times, &names);
        assert_eq!((view.done, view.left.as_deref()), (None, Some("10 requests")));
        assert_eq!(view.live_lines(80, Paint::OFF)[0], "stage 2 of 3 (b)  15s elapsed, 10 requests");
        let view = View::new(Standing { stage: 2, ..standing() }, &times, &names);
        assert_eq!((view.done, view.left.as_deref()), (Some(0.3), Some("7s of the stage left")));
        assert_eq!(View::new(standing(), &[], &[]).left, None);
    }

    #[test]
    fn the_end_of_a_load_is_no_time_that_is_left() {
        let late = Standing { now: secs(60), stage: 2, began: secs(24), ..standing() };
        assert_eq!(
            View::new(late, &timed(3), &stages(&["a", "b", "c"])).left.as_deref(),
            Some("waiting for the last answers")
        );
        for (millis, text) in [(1, "1s"), (59_500, "1m 00s"), (61_000, "1m 01s"), (3_600_000, "1h 00m")] {
            assert_eq!(time_left(Duration::from_millis(millis)), text);
        }
    }
}
