//! Problems and notices of a profile, one line each, all reported together.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

pub(crate) use crds::wording::{listed, named, quoted, suggestion};
use serde::{Deserialize, Serialize};

/// Maximum problems that an error lists. More would not help: a list of a thousand wrong stages repeats the same problem a thousand times.
const MAX_LISTED: usize = 48;
/// Maximum characters repeated from another library's message.
const MAX_REPEATED: usize = 240;

/// A reason why a profile cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Problem {
    /// A dotted path such as `load.stages[0].rate`, or a position in the text.
    pub path: String,
    /// What was found, and what to do.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Problem { path: path.into(), message: message.into() }
    }
}

/// A profile that cannot be run. Displays one line per problem: `path: what was found; what to do`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", lines(problems))]
pub struct ProfileError {
    /// All problems; at least one.
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

/// Returns one line per problem, at most `MAX_LISTED`, then the number of further problems.
fn lines(problems: &[Problem]) -> String {
    let mut lines: Vec<String> = problems.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if problems.len() > MAX_LISTED {
        lines.push(format!("and {} more problems", problems.len() - MAX_LISTED));
    }
    lines.join("\n")
}

/// A key that does not have the effect that its author may expect. The profile can still run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The key, as a dotted path.
    pub path: String,
    /// What the key does instead.
    pub message: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Collects problems and notices, so that the parser of a profile can continue after a problem.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    problems: RefCell<Vec<Found>>,
    notices: RefCell<Vec<Notice>>,
    /// The URL of the server that the profile itself names.
    named_url: RefCell<Option<String>>,
    /// Paths of values that have no effect. Problems with these values are ignored.
    unused: RefCell<Vec<String>>,
    /// How the format's own tool handles an unknown key. `None` if an unknown key is always a problem. See [`Findings::tolerate_unknown_keys`].
    unknown_keys: Cell<Option<&'static str>>,
}

#[derive(Debug)]
struct Found {
    problem: Problem,
    /// Whether the problem is an unknown key. The profile can run in spite of such a problem.
    tolerable: bool,
}

impl Findings {
    /// Notes the URL of the server that the profile names.
    pub fn names_url(&self, url: &str) {
        *self.named_url.borrow_mut() = Some(url.to_owned());
    }

    /// The URL of the server that the profile names.
    pub fn named_url(&self) -> Option<String> {
        self.named_url.borrow().clone()
    }

    /// Notes that the value at a path has no effect. [`Findings::add_first`] then ignores problems with this value.
    pub fn unused(&self, path: String) {
        self.unused.borrow_mut().push(path);
    }

    /// Inserts problems before the existing ones. Leaves out problems with values that have no effect.
    pub fn add_first(&self, problems: Vec<Problem>) {
        let unused = self.unused.borrow();
        let is_used = |it: &Problem| !unused.contains(&it.path);
        let first = problems.into_iter().filter(is_used).map(|problem| Found { problem, tolerable: false });
        self.problems.borrow_mut().splice(0..0, first);
    }

    /// Adds a problem: what is wrong at a path, and the remedy.
    pub fn problem(&self, path: impl Into<String>, message: impl Into<String>) {
        let problem = Problem::new(path, message);
        self.problems.borrow_mut().push(Found { problem, tolerable: false });
    }

    /// Adds an unknown key.
    pub fn unknown_key(&self, path: impl Into<String>, message: impl Into<String>) {
        let tolerable = self.unknown_keys.get().is_some();
        self.problems.borrow_mut().push(Found { problem: Problem::new(path, message), tolerable });
    }

    /// From this call on, unknown keys cause only notices if the profile has no other problem. The notices end with `words` in parentheses.
    pub fn tolerate_unknown_keys(&self, words: &'static str) {
        self.unknown_keys.set(Some(words));
    }

    /// Turns the unknown keys at matching paths into problems.
    pub fn refuse_unknown_keys(&self, is_refused: impl Fn(&str) -> bool) {
        for found in self.problems.borrow_mut().iter_mut().filter(|it| is_refused(&it.problem.path)) {
            found.tolerable = false;
        }
    }

    /// Adds problems, except those whose path already has a problem.
    pub fn add_new(&self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            if !self.problems.borrow().iter().any(|it| it.problem.path == problem.path) {
                self.problems.borrow_mut().push(Found { problem, tolerable: false });
            }
        }
    }

    /// Whether there are more problems than an error lists. Further problems then need no details.
    pub fn is_full(&self) -> bool {
        self.problems.borrow().len() > MAX_LISTED
    }

    /// Whether there is any problem other than an unknown key. Such a problem means that the parsed profile can differ from what its author wrote.
    pub fn has_problems(&self) -> bool {
        self.problems.borrow().iter().any(|it| !it.tolerable)
    }

    /// Adds a notice.
    pub fn notice(&self, path: impl Into<String>, message: impl Into<String>) {
        self.notices.borrow_mut().push(Notice { path: path.into(), message: message.into() });
    }

    /// Returns the notices, or the problems if there are any. Unknown keys are then problems too, because an unknown key can be the misspelling of a
    /// missing one.
    pub fn into_result(self) -> Result<Vec<Notice>, ProfileError> {
        let problems = self.problems.into_inner();
        if problems.iter().any(|it| !it.tolerable) {
            return Err(ProfileError { problems: problems.into_iter().map(|it| it.problem).collect() });
        }
        let words = self.unknown_keys.get().unwrap_or_default();
        let unknown = problems.into_iter().map(|Found { problem: Problem { path, message }, .. }| Notice {
            path,
            message: format!("{message} ({words})"),
        });
        Ok(self.notices.into_inner().into_iter().chain(unknown).collect())
    }
}

/// Returns the first line of another library's message, shortened.
pub(crate) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(MAX_REPEATED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_problems_is_shortened() {
        let problems = (0..MAX_LISTED + 2).map(|it| Problem::new(format!("stage {it}"), "is wrong")).collect();
        let text = ProfileError { problems }.to_string();
        assert_eq!(text.lines().count(), MAX_LISTED + 1);
        assert!(text.ends_with("and 2 more problems"));
    }
}
