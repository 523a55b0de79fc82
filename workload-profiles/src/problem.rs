//! What is wrong with a profile, and what was read otherwise than written: one line each, all of them at once.

use std::{cell::RefCell, fmt};

pub(crate) use crds::wording::{listed, named, quoted, suggestion};
use serde::{Deserialize, Serialize};

/// How many problems one error lists; a broken list of a thousand stages says the same thing over and over.
const MAX_LISTED: usize = 48;
/// How much of another library's message is repeated, in characters.
const MAX_REPEATED: usize = 240;
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

    /// Adds problems with paths that have none yet.
    pub fn add_new(&self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            if !self.problems.borrow().iter().any(|it| it.path == problem.path) {
                self.problems.borrow_mut().push(problem);
            }
        }
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

/// The first line of another library's message, and not too much of it.
pub(crate) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(MAX_REPEATED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_problems_is_cut() {
        let problems = (0..MAX_LISTED + 2).map(|it| Problem::new(format!("stage {it}"), "is wrong")).collect();
        let text = ProfileError { problems }.to_string();
        assert_eq!(text.lines().count(), MAX_LISTED + 1);
        assert!(text.ends_with("and 2 more of the kind"));
    }
}
