//! What is wrong with a profile, and what was read otherwise than written: one line each, all of them at once.

use std::{cell::RefCell, fmt};

use serde::{Deserialize, Serialize};

/// How many problems one error lists; a broken list of a thousand stages says the same thing over and over.
const MAX_LISTED: usize = 48;
/// How much of a value or a name from outside a message repeats, in characters.
const MAX_QUOTED: usize = 80;
/// How much of another library's message is repeated, in characters.
const MAX_REPEATED: usize = 240;
/// The longest name that is compared with others, in characters: comparing takes the product of two lengths.
const MAX_COMPARED: usize = 64;
/// How many known names one message lists.
const MAX_NAMED: usize = 20;

/// One thing that keeps a profile from being run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Problem {
    /// Where: a dotted path such as `load.stages[0].rate`, or a place in the text.
    pub path: String,
    /// What was found, and what to do about it.
    pub message: String,
}

impl Problem {
    /// A problem at a place.
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Problem { path: path.into(), message: message.into() }
    }
}

/// A profile that cannot be run. It prints a line a problem, `path: what was found; what to do`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", lines(problems))]
pub struct ProfileError {
    /// Every problem that was found, at least one.
    pub problems: Vec<Problem>,
}

impl ProfileError {
    /// The error for one problem.
    pub(crate) fn one(path: impl Into<String>, message: impl Into<String>) -> Self {
        ProfileError { problems: vec![Problem::new(path, message)] }
    }
}

impl From<Problem> for ProfileError {
    fn from(problem: Problem) -> Self {
        ProfileError { problems: vec![problem] }
    }
}

/// A line a problem, and how many were left out.
fn lines(problems: &[Problem]) -> String {
    let mut lines: Vec<String> = problems.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if problems.len() > MAX_LISTED {
        lines.push(format!("and {} more of the kind", problems.len() - MAX_LISTED));
    }
    lines.join("\n")
}

/// A key that is read otherwise than its author may expect, or not at all. The profile runs all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Which key, as a dotted path.
    pub path: String,
    /// What is done instead.
    pub message: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Where the readers of a profile leave what they find, so that they can go on after a problem.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    problems: RefCell<Vec<Problem>>,
    notices: RefCell<Vec<Notice>>,
}

impl Findings {
    /// Adds a problem: what is wrong at a path, and the remedy.
    pub fn problem(&self, path: impl Into<String>, message: impl Into<String>) {
        self.problems.borrow_mut().push(Problem::new(path, message));
    }

    /// Adds a notice.
    pub fn notice(&self, path: impl Into<String>, message: impl Into<String>) {
        self.notices.borrow_mut().push(Notice { path: path.into(), message: message.into() });
    }

    /// The notices, or the problems when there are any.
    pub fn into_result(self) -> Result<Vec<Notice>, ProfileError> {
        let problems = self.problems.into_inner();
        if problems.is_empty() { Ok(self.notices.into_inner()) } else { Err(ProfileError { problems }) }
    }
}

/// A text from outside as a message shows it: in quotes, escaped, and not too long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// A name from outside as a message shows it: without quotes where it is a plain word.
pub(crate) fn named(name: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "_-./[]".contains(it);
    if !name.is_empty() && name.len() <= MAX_QUOTED && name.chars().all(plain) { name.to_owned() } else { quoted(name) }
}

/// The first line of another library's message, and not too much of it.
pub(crate) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(MAX_REPEATED).collect()
}

/// The part of a message that names what the author may have meant: the nearest of the known names, else all of them.
pub(crate) fn suggestion<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    // A third of the letters may differ: `std` is no slip of the pen for `seed`, `ratee` is one for `rate`.
    let allowed = (found.chars().count() / 3).max(1);
    let comparable = |name: &&&str| name.len() <= MAX_COMPARED && found.len() <= MAX_COMPARED;
    let distances = known.iter().filter(comparable).map(|name| (strsim::osa_distance(found, name), *name));
    match distances.filter(|(distance, _)| *distance <= allowed).min() {
        Some((_, name)) => format!("did you mean {name}?"),
        None if known.is_empty() => "there is none to choose from".to_owned(),
        None => format!("known are {}", listed(&known)),
    }
}

/// `a, b and c`, but not too many.
pub(crate) fn listed(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(MAX_NAMED).map(|it| named(it)).collect();
    if names.len() > MAX_NAMED {
        shown.push(format!("{} more", names.len() - MAX_NAMED));
    }
    match shown.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_gets_the_word_that_was_meant() {
        let known = ["rate", "duration", "num_requests"];
        assert_eq!(suggestion("ratee", known), "did you mean rate?");
        assert_eq!(suggestion("durration", known), "did you mean duration?");
        assert_eq!(suggestion("colour", known), "known are rate, duration and num_requests");
        assert_eq!(suggestion("x", []), "there is none to choose from");
        assert_eq!(suggestion(&"x".repeat(10_000), ["rate"]), "known are rate");
        assert!(suggestion("colour", (0..50).map(|_| "rate")).ends_with("rate and 30 more"));
    }

    #[test]
    fn a_long_list_of_problems_is_cut() {
        let problems = (0..MAX_LISTED + 2).map(|it| Problem::new(format!("stage {it}"), "is wrong")).collect();
        let text = ProfileError { problems }.to_string();
        assert_eq!(text.lines().count(), MAX_LISTED + 1);
        assert!(text.ends_with("and 2 more of the kind"));
    }

    #[test]
    fn what_comes_from_outside_is_shown_short_and_escaped() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert_eq!(quoted(&"ü".repeat(100)).chars().count(), MAX_QUOTED + 5);
        assert_eq!((named("load.type").as_str(), named("a b").as_str()), ("load.type", "\"a b\""));
    }
}
