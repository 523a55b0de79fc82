//! The verdict on each stage.

use crds::Met;
use document::{ReportDocument, answer::TagState};

/// The verdict of a stage on all objectives that judge it: missed if one is missed; `None` if none judges it.
pub(crate) fn of_stage(document: &ReportDocument, stage: &str) -> Option<Met> {
    let all = document.objectives.iter().filter_map(|it| it.in_stage(stage));
    all.map(|it| it.met).reduce(worse)
}

fn worse(one: Met, other: Met) -> Met {
    match (one, other) {
        (Met::False, _) | (_, Met::False) => Met::False,
        (Met::Inconclusive, _) | (_, Met::Inconclusive) => Met::Inconclusive,
        (Met::True, Met::True) => Met::True,
    }
}

/// The name of a verdict.
pub(crate) fn word(met: Met) -> &'static str {
    match met {
        Met::True => "met",
        Met::False => "missed",
        Met::Inconclusive => "undecided",
    }
}

/// The class of a verdict in the style of the page; empty without one.
pub(crate) fn tone(state: TagState) -> &'static str {
    match state {
        TagState::Met => "good",
        TagState::Missed => "bad",
        TagState::Undecided => "doubt",
        TagState::Plain => "",
    }
}
