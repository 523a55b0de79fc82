//! Verdicts in the style of the page.

use document::answer::TagState;

/// The class of a verdict; empty without one.
pub(crate) fn tone(state: TagState) -> &'static str {
    match state {
        TagState::Met => "good",
        TagState::Missed => "bad",
        TagState::Undecided => "doubt",
        TagState::Plain => "",
    }
}
