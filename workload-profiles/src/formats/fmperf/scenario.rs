//! The scenarios of LMBenchmark.

use crate::{problem::quoted, reader::Section};

/// The load of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scenario {
    /// Conversations from a file.
    ShareGpt,
    /// Users who send requests in rounds.
    Users(UsersScenario),
}

/// A scenario with users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsersScenario {
    /// The name of the scenario in a profile.
    pub name: &'static str,
    /// Whether LMBenchmark's script hard-codes the users, rounds, lengths and time, and ignores the values in the profile.
    pub hard_coded: bool,
    /// Number of users who are active at any time.
    pub users: u32,
    /// Tokens per answer.
    pub answer: u32,
    /// Number of words in the text that all users share, and in the text of each user.
    pub texts: (u32, u32),
}

/// The only scenario whose script uses the values in the profile.
pub(super) const LONG_INPUT: UsersScenario =
    UsersScenario { name: "long-input", hard_coded: false, users: 15, answer: 100, texts: (1_000, 20_000) };
/// Each text has one word: the script passes the setting for the length as if it were the text itself, and this setting has one word.
const SHORT_INPUT: UsersScenario =
    UsersScenario { name: "short-input", hard_coded: true, users: 320, answer: 20, texts: (1, 1) };
const LONG_LONG: UsersScenario =
    UsersScenario { name: "long-long", hard_coded: true, users: 320, answer: 1_000, texts: (1, 1) };

/// Reads the key `scenarios`; Returns `None` if a problem was reported.
pub(super) fn read(section: &Section, key: &'static str) -> Option<Scenario> {
    let text = section.text(key)?;
    let words: Vec<&str> = text.split([' ', ',']).filter(|it| !it.is_empty()).collect();
    match words.as_slice() {
        ["sharegpt"] => Some(Scenario::ShareGpt),
        ["long-input"] => Some(Scenario::Users(LONG_INPUT)),
        ["short-input"] => Some(Scenario::Users(SHORT_INPUT)),
        ["long-long"] => Some(Scenario::Users(LONG_LONG)),
        ["all"] => {
            let remedy =
                "run the profile three times, with the override scenarios: sharegpt, then short-input, then long-input";
            section.problem(key, format!("is all, which the original runs as three different loads, one after the other, and a run here sends only one; {remedy}"));
            None
        }
        [] | [_] => {
            let wanted = "choose one of sharegpt, short-input, long-input and long-long";
            section.problem(key, format!("is {}; {wanted}", quoted(text)));
            None
        }
        _ => {
            section.problem(
                key,
                format!(
                    "is {}, several loads, and a run sends one; write one of them, and run the profile once for each",
                    quoted(text)
                ),
            );
            None
        }
    }
}
