//! What warm-up, cool-down, window and grace of a stage have to be so that something of it is measured.

use crds::units::Span;

use crate::{
    reader::Section,
    workload::{Load, Margin, Stage, Trace, Window},
};

/// Leaves a problem with each of them that its stage cannot have.
pub(super) fn check(section: &Section, stage: &Stage, window: Window) {
    check_empty(section, stage);
    check_ends(section, stage, window);
}

/// Margins that leave nothing between them, by time or by number.
fn check_empty(section: &Section, stage: &Stage) {
    let (warm_up, cool_down) = (stage.warm_up, stage.cool_down);
    if warm_up == Some(Margin::All) {
        return;
    }
    let margins = [("warmUp", warm_up), ("coolDown", cool_down)];
    let length = |margin| if let Some(Margin::Duration(length)) = margin { Some(length) } else { None };
    if matches!(stage.load, Load::Burst { .. }) {
        for (key, length) in margins.map(|(key, it)| (key, length(it))) {
            if let Some(length) = length.filter(|it| !it.0.is_zero()) {
                let message =
                    format!("is {length}, but a burst is due at one moment, which is then outside of its window");
                section.problem(key, format!("{message}; write a count"));
            }
        }
    }
    // The margin that is there, the first of both.
    let key = |warms_up: bool| if warms_up { "warmUp" } else { "coolDown" };
    let (begin, end) = (length(warm_up), length(cool_down));
    let both = Span(begin.unwrap_or_default().0.saturating_add(end.unwrap_or_default().0));
    let whole = match &stage.load {
        Load::Open { duration, .. } | Load::Closed { duration, .. } => *duration,
        Load::Burst { .. } | Load::Trace { .. } | Load::LoadGen { .. } => None,
    };
    if let Some(whole) = whole.filter(|it| both >= *it) {
        let together = if begin.and(end).is_some() { " together with the coolDown" } else { "" };
        let message = format!("is {both}{together}, which leaves nothing of a stage of {whole}; shorten it");
        section.problem(key(begin.is_some()), message);
    }
    let count = |margin| if let Some(Margin::Count(count)) = margin { Some(count) } else { None };
    let (begin, end) = (count(warm_up), count(cool_down));
    let both = begin.unwrap_or(0).saturating_add(end.unwrap_or(0));
    let recorded = match &stage.load {
        Load::Trace { trace: Trace::Inline(entries), .. } => Some(entries.len() as u64),
        _ => None,
    };
    let whole = [stage.load.count(), recorded].into_iter().flatten().min();
    if let Some(whole) = whole.filter(|it| both >= *it) {
        let together = if begin.and(end).is_some() { " together with the coolDown" } else { "" };
        let message = format!("is {both}{together}, which leaves nothing of a stage of {whole} requests; lower it");
        section.problem(key(begin.is_some()), message);
    }
}

/// A window and a grace need to know when the stage ends.
fn check_ends(section: &Section, stage: &Stage, window: Window) {
    let problem = |key: &str, what: &str| section.problem(key, what.to_owned());
    let windowed = window != Window::All && stage.warm_up != Some(Margin::All);
    if windowed && matches!(stage.load, Load::Burst { .. }) {
        problem("load", "is a burst, which is due at one moment and has no window; write window: all");
    }
    let Load::Closed { count, duration, .. } = &stage.load else { return };
    let by_count = |margin: Option<Margin>| matches!(margin, Some(Margin::Count(_)));
    if duration.is_none() {
        const REMEDY: &str = "a closed loop without a duration ends with its requests";
        if matches!(stage.cool_down, Some(Margin::Duration(_))) {
            problem("coolDown", &format!("is a length of time, but {REMEDY}; write a count, or set a duration"));
        }
        if stage.grace.is_some() {
            problem("grace", &format!("has no beginning, because {REMEDY}; set a duration, or take it out"));
        }
        if windowed {
            problem("load", &format!("has no end for the window, because {REMEDY}; set a duration, or window: all"));
        }
        return;
    }
    if by_count(stage.cool_down) && count.is_none() {
        problem(
            "coolDown",
            "is a count, but nobody knows how many requests a closed loop sends in a time; write a duration",
        );
    }
    if windowed && (by_count(stage.warm_up) || by_count(stage.cool_down)) {
        problem(
            "load",
            "is a closed loop, whose requests have no times by number for a window; write margins as durations",
        );
    }
}
