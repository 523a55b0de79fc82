//! The style of verdicts on a page.

use document::answer::TagState;

/// The CSS class of a verdict; empty if there is no verdict.
pub(crate) fn tone(state: TagState) -> &'static str {
    match state {
        TagState::Met => "good",
        TagState::Missed => "bad",
        TagState::Undecided => "doubt",
        TagState::Plain => "",
    }
}
