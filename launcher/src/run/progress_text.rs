//! The progress line of a load, cut to the width of the terminal. Pure.

use std::time::Duration;

use crds::{units::Span, wording::one_line};
use workload_profiles::workload::{Margin, Stage};

use engine::issue::PlannedTime;

/// The length of the bar: a tenth of the line, within these bounds. It does not change with the text beside it.
const BAR: (usize, usize) = (8, 40);
/// The maximum length of a stage name; a longer one is cut.
const MAX_NAME: usize = 16;

/// The state of a load, on its own clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    pub(super) now: Duration,
    /// The stage that runs, or ran before the pause, from 0.
    pub(super) stage: usize,
    pub(super) began: Duration,
    pub(super) pause_until: Duration,
    pub(super) issued: u64,
    pub(super) ended: u64,
    pub(super) failed: u64,
    pub(super) ended_before: u64,
    /// Recently sent requests per second.
    pub(super) rate: Option<f64>,
    /// The rate of the stage if earlier stages determined it.
    pub(super) measured_rate: Option<f64>,
    /// The median of the most recent requests.
    pub(super) ttft: Option<Duration>,
    pub(super) forecast: Option<String>,
}

/// The same as text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    /// The completed fraction of the load, or of the stage if the load has no known length; `None` if neither is known.
    pub(super) done: Option<f64>,
    pub(super) stage: String,
    /// The remaining time or requests.
    pub(super) left: Option<String>,
    pub(super) rate: Option<String>,
    pub(super) ttft: Option<String>,
    pub(super) errors: u64,
    pub(super) in_flight: u64,
    pub(super) forecast: Option<String>,
}

impl View {
    /// `times` and `stages` belong to the same load.
    pub(super) fn new(it: Standing, times: &[PlannedTime], stages: &[Stage]) -> View {
        let pausing = it.pause_until > it.now.max(it.began) && it.stage + 1 < stages.len();
        let index = if pausing { it.stage + 1 } else { it.stage };
        let name = stages.get(index).map(|it| shortened(&it.name)).unwrap_or_default();
        // The rate of the stage after a pause is unknown.
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
            left,
            rate: it.rate.filter(|_| !pausing).map(|it| format!("{it:.1}/s")),
            ttft: it.ttft.map(|it| format!("TTFT {}", Span(it).rounded())),
            errors: it.failed,
            in_flight: it.issued.saturating_sub(it.ended),
            forecast: it.forecast,
        }
    }

    /// One line of at most `width` columns that begins with a bar. Parts that do not fit are left out, the least important first.
    pub(super) fn line(&self, width: usize) -> String {
        let pieces = [
            (0, Some(self.stage.clone())),
            (1, self.left.clone()),
            (4, self.rate.clone()),
            (5, self.ttft.clone()),
            (3, Some(format!("{} error{}", self.errors, if self.errors == 1 { "" } else { "s" }))),
            (6, Some(format!("{} in flight", self.in_flight))),
            (2, self.forecast.clone()),
        ];
        let mut chosen: Vec<(usize, usize, String)> = Vec::new();
        let mut by_weight: Vec<(usize, usize, String)> =
            pieces.into_iter().enumerate().filter_map(|(place, (weight, it))| Some((weight, place, it?))).collect();
        by_weight.sort_by_key(|it| it.0);
        let length = (width / 10).clamp(BAR.0, BAR.1);
        let bar = if self.done.is_some() { length + 1 } else { 0 };
        let mut used = 0;
        for (weight, place, piece) in by_weight {
            let more = piece.chars().count() + if chosen.is_empty() { 0 } else { 2 };
            if used + more + bar <= width {
                used += more;
                chosen.push((place, weight, piece));
            }
        }
        if chosen.is_empty() {
            return self.stage.chars().take(width).collect();
        }
        chosen.sort_by_key(|it| it.0);
        let text = chosen.into_iter().map(|it| it.2).collect::<Vec<_>>().join(", ");
        match self.done {
            Some(done) => {
                let full = ((length as f64 * done.clamp(0.0, 1.0)) as usize).min(length);
                format!("{}{} {text}", "\u{2588}".repeat(full), "\u{2591}".repeat(length - full))
            }
            None => text,
        }
    }
}

fn shortened(name: &str) -> String {
    let name = one_line(name);
    if name.chars().count() <= MAX_NAME { name } else { name.chars().take(MAX_NAME - 1).chain(['\u{2026}']).collect() }
}

fn in_warm_up(stage: &Stage, it: &Standing) -> bool {
    match stage.warm_up {
        Some(Margin::Duration(length)) => it.now.saturating_sub(it.began) < length.0,
        Some(Margin::Count(count)) => it.issued.saturating_sub(it.ended_before) < count,
        Some(Margin::All) => true,
        None => false,
    }
}

/// The completed fraction and the rest: by time if all stages have a known length, otherwise by the requests of the stage.
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
        let text = if left.is_zero() { "last answers".to_owned() } else { format!("{} left", time_left(left)) };
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

/// Whole seconds, rounded up: the last second is shown until it is over.
fn time_left(left: Duration) -> String {
    let seconds = left.as_millis().div_ceil(1_000);
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

    /// Stages of 10 seconds with pauses of 2.
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
            ttft: Some(Duration::from_micros(45_210)),
            forecast: None,
        }
    }

    #[test]
    fn stages_of_known_length_are_told_by_their_time() {
        let view = View::new(standing(), &timed(3), &stages(&["c1", "c2", "c4"]));
        let expected = "\u{2588}\u{2588}\u{2588}\u{2591}\u{2591}\u{2591}\u{2591}\u{2591} stage 2 of 3 (c2), 19s left, \
                        3.1/s, TTFT 45.21ms, 1 error, 2 in flight";
        assert_eq!(view.line(80), expected);
        let bar = format!("{}{} stage", "\u{2588}".repeat(8), "\u{2591}".repeat(12));
        assert!(view.line(200).starts_with(&bar) && view.line(200).ends_with("2 in flight"), "{}", view.line(200));
        assert_eq!(view.done, Some(15.0 / 34.0));
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
            let line = view.line(width);
            assert!(line.chars().count() <= width, "{width}: {line}");
            assert!(width < 40 || line.contains("stage 2 of 3"), "{width}: {line}");
        }
        assert!(view.line(50).contains("19s left"), "{}", view.line(50));
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
        assert!(view.line(80).starts_with("stage 2 of 3 (b), 10 requests"), "{}", view.line(80));
        let view = View::new(Standing { stage: 2, ..standing() }, &times, &names);
        assert_eq!((view.done, view.left.as_deref()), (Some(0.3), Some("7s of the stage left")));
        assert_eq!(View::new(standing(), &[], &[]).left, None);
    }

    #[test]
    fn the_end_of_a_load_is_no_time_that_is_left() {
        let late = Standing { now: secs(60), stage: 2, began: secs(24), ..standing() };
        assert_eq!(View::new(late, &timed(3), &stages(&["a", "b", "c"])).left.as_deref(), Some("last answers"));
        for (millis, text) in [(1, "1s"), (59_500, "1m 00s"), (61_000, "1m 01s"), (3_600_000, "1h 00m")] {
            assert_eq!(time_left(Duration::from_millis(millis)), text);
        }
    }
}
