//! Reads warm-up and cool-down of a stage, and checks that margins, window and grace leave requests to measure.

use crds::units::Span;

use crate::{
    formats::common::bounds::MAX_PAUSE_SECONDS,
    reader::Section,
    workload::{Load, MAX_REQUESTS, Margin, Stage, Trace, Window},
};

/// Reads a margin that can cover the whole stage.
pub(super) fn read(section: &Section, key: &'static str) -> Option<Margin> {
    read_one_of(section, key, &["duration", "count", "all"])
}

/// Reads a margin that can only cover a part of a stage.
pub(super) fn read_part(section: &Section, key: &'static str) -> Option<Margin> {
    read_one_of(section, key, &["duration", "count"])
}

fn read_one_of(section: &Section, key: &'static str, names: &[&'static str]) -> Option<Margin> {
    let (name, holder) = section.variant(key, names)?;
    if name == "all" && holder.is_none() {
        return Some(Margin::All);
    }
    let holder = section.with_value(key, name, holder)?;
    match name {
        "duration" => holder.span("duration", MAX_PAUSE_SECONDS).map(Margin::Duration),
        "count" => holder.count("count", 0..=MAX_REQUESTS).map(Margin::Count),
        _ => {
            holder.problem("all", format!("takes no value; write {key}: all"));
            None
        }
    }
}

/// Adds a problem for each margin, window and grace that the stage cannot have.
pub(super) fn check(section: &Section, stage: &Stage, window: Window) {
    if stage.warm_up != Some(Margin::All) {
        check_burst(section, stage);
        check_time_left(section, stage);
        check_requests_left(section, stage);
    }
    check_ends(section, stage, window);
}

/// Adds a problem for a burst with a margin in time. All requests of a burst are due at the same time, so the margin would cover all of them.
fn check_burst(section: &Section, stage: &Stage) {
    if !matches!(stage.load, Load::Burst { .. }) {
        return;
    }
    for (key, length) in [("warmUp", length(stage.warm_up)), ("coolDown", length(stage.cool_down))] {
        if let Some(length) = length.filter(|it| !it.0.is_zero()) {
            let message = format!(
                "is {length}, but all requests of a burst are due at its start, so none would be left to measure"
            );
            section.problem(key, format!("{message}; write a count"));
        }
    }
}

/// Checks that the margins leave some time of the stage to measure.
fn check_time_left(section: &Section, stage: &Stage) {
    let (begin, end) = (length(stage.warm_up), length(stage.cool_down));
    let both = Span(begin.unwrap_or_default().0.saturating_add(end.unwrap_or_default().0));
    let whole = match &stage.load {
        Load::Open { duration, .. } | Load::Closed { duration, .. } | Load::Users { duration, .. } => *duration,
        Load::Burst { .. } | Load::Trace { .. } | Load::LoadGen { .. } => None,
    };
    if let Some(whole) = whole.filter(|it| both >= *it) {
        let together = if begin.and(end).is_some() { " together with the coolDown" } else { "" };
        let message = format!("is {both}{together}, which leaves nothing of a stage of {whole}; shorten it");
        section.problem(first_key(begin.is_some()), message);
    }
}

/// Checks that the margins leave some requests of the stage to measure.
fn check_requests_left(section: &Section, stage: &Stage) {
    let count = |margin| if let Some(Margin::Count(count)) = margin { Some(count) } else { None };
    let (begin, end) = (count(stage.warm_up), count(stage.cool_down));
    let both = begin.unwrap_or(0).saturating_add(end.unwrap_or(0));
    let recorded = match &stage.load {
        Load::Trace { trace: Trace::Inline(entries), .. } => Some(entries.len() as u64),
        _ => None,
    };
    let whole = [stage.load.count(), recorded].into_iter().flatten().min();
    if let Some(whole) = whole.filter(|it| both >= *it) {
        let together = if begin.and(end).is_some() { " together with the coolDown" } else { "" };
        let message = format!("is {both}{together}, which leaves nothing of a stage of {whole} requests; lower it");
        section.problem(first_key(begin.is_some()), message);
    }
}

fn length(margin: Option<Margin>) -> Option<Span> {
    if let Some(Margin::Duration(length)) = margin { Some(length) } else { None }
}

/// The key of the margin that a message about a stage names: the warm-up if the stage has one, else the cool-down.
fn first_key(has_warm_up: bool) -> &'static str {
    if has_warm_up { "warmUp" } else { "coolDown" }
}

/// Adds a problem if a window, a cool-down or a grace period needs the end of the stage, but the stage has no fixed end time.
fn check_ends(section: &Section, stage: &Stage, window: Window) {
    let problem = |key: &str, what: &str| section.problem(key, what.to_owned());
    let windowed = window != Window::All && stage.warm_up != Some(Margin::All);
    if windowed && matches!(stage.load, Load::Burst { .. }) {
        problem("load", "is a burst, whose requests are all due at its start, so it has no window; write window: all");
    }
    let Load::Closed { count, duration, .. } = &stage.load else { return };
    let by_count = |margin: Option<Margin>| matches!(margin, Some(Margin::Count(_)));
    if duration.is_none() {
        const WHY: &str =
            "a closed loop without a duration ends with its last request, at a time that is not known in advance";
        if matches!(stage.cool_down, Some(Margin::Duration(_))) {
            problem("coolDown", &format!("is a length of time, but {WHY}; write a count, or set a duration"));
        }
        if stage.grace.is_some() {
            problem("grace", &format!("needs the end of the stage, but {WHY}; set a duration, or take it out"));
        }
        if windowed {
            problem("load", &format!("has no end for the window, because {WHY}; set a duration, or write window: all"));
        }
        return;
    }
    if by_count(stage.cool_down) && count.is_none() {
        problem(
            "coolDown",
            "is a count, but it is not known in advance how many requests a closed loop sends in its duration; write a duration",
        );
    }
    if windowed && (by_count(stage.warm_up) || by_count(stage.cool_down)) {
        problem(
            "load",
            "is a closed loop, where a number of requests gives no time at which a window begins or ends; write warmUp and coolDown as durations",
        );
    }
}
