//! Renders a profile template with its variables to the text of a profile.
//!
//! A template can use two syntaxes: Tera's `{{ model }}`, and llm-d-benchmark's `REPLACE_ENV_NAME`. Tera's tags are replaced first, so that a value
//! is never read as template code.
//!
//! Templates come from users, and an operator that runs for months renders them. So rendering has to end soon for every template. A timeout would not
//! help, because a thread that renders cannot be stopped. Instead the template language is restricted, and [`language`] checks this before Tera reads
//! the text:
//! - Only `for` repeats code: macros, components, blocks, includes, inheritance and list comprehensions are refused. All loops share a budget of
//!   [`MAX_STEPS`] steps. The list of each `for` passes through a filter that takes one step per element, and `range` takes steps, too. So each piece
//!   of code runs at most `MAX_STEPS + 1` times, and there are at most [`language::MAX_CODE_BYTES`] of code.
//! - No value is longer than the text of one tag plus the variables that the tag names: there is no `set` to store a value, no `~`, and no filter
//!   that makes a text or a list longer.
//! - The output goes to a buffer that fails after [`MAX_TEXT_BYTES`].
//!
//! Nothing is read from disk or from the environment.

mod defaults;
pub(crate) mod language;
pub(crate) mod replace_env;
mod yaml_position;

pub use self::defaults::{TemplateVariable, template_variables};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crds::units::Span;
use tera::{Context, ErrorKind, Kwargs, State, Tera, TeraResult, Value};
use yaml_position::YamlPosition;

use crate::{
    problem::{Findings, Problem, ProfileError, first_line, quoted, suggestion},
    variables::{Variables, known},
    yaml::{self, MAX_TEXT_BYTES},
};

/// Maximum number of elements in all loops and ranges of a template together.
const MAX_STEPS: usize = 1024;
/// Maximum number of decimals that `round` keeps. Further decimals of a double have no meaning.
const MAX_PRECISION: i32 = 15;
/// The template's name inside Tera. It has no suffix, because suffixes such as `.html` make Tera escape values.
const NAME: &str = "profile";

/// Renders a template.
///
/// # Errors
/// Returns all refused constructs, all variables without a value, and all user variables that the template does not use. If there are none, returns
/// the first error from Tera. A `REPLACE_ENV_` name without a value stays in the text. In a comment it is allowed. Anywhere else,
/// [`yaml::report_unfilled`] finds it in the parsed profile and reports its path.
pub(crate) fn render(template: &str, variables: &Variables) -> Result<String, ProfileError> {
    if template.len() > MAX_TEXT_BYTES {
        let found = template.len();
        let message = format!("has {found} bytes; at most {MAX_TEXT_BYTES} are read, shorten it");
        return Err(ProfileError::one("template", message));
    }
    let checked = language::check(template)?;
    let tera = engine(&checked.text)?;
    check_names(&tera, &checked, template, variables)?;
    let mut output = Output::default();
    if let Err(error) = tera.render_to(NAME, &context(variables), &mut output) {
        return Err(if output.full { too_long() } else { located(&error, template, variables) }.into());
    }
    let text = String::from_utf8_lossy(&output.bytes);
    replace_env::replace(&text, variables).map_err(ProfileError::from)
}

fn too_long() -> Problem {
    Problem::new("template", format!("renders to more than {MAX_TEXT_BYTES} bytes; shorten its loops"))
}

/// Returns a Tera instance with the template. All its loops and ranges take their steps from one shared budget.
fn engine(text: &str) -> Result<Tera, Problem> {
    let mut tera = Tera::default();
    let budget = Arc::new(AtomicUsize::new(MAX_STEPS));
    let steps = Arc::clone(&budget);
    tera.register_filter(language::COUNTED, move |list: Value, _: Kwargs, _: &State| -> TeraResult<Value> {
        match list.as_array().map(<[Value]>::len) {
            Some(length) => take_steps(&steps, length).map(|()| list),
            None => {
                let kind = if list.name() == "string" { "string" } else { "single value" };
                let remedy = "write a list, as the value of a variable in quotes: \"[1, 2, 4]\"";
                Err(tera::Error::message(format!("a loop runs over a list, and this is a {kind}; {remedy}")))
            }
        }
    });
    tera.register_function("range", move |arguments: Kwargs, _: &State| -> TeraResult<Vec<i64>> {
        let start = arguments.get::<i64>("start")?.unwrap_or(0);
        let end = arguments.must_get::<i64>("end")?;
        let step_by = arguments.get::<usize>("step_by")?.unwrap_or(1).max(1);
        let numbers = (start..end).step_by(step_by);
        take_steps(&budget, numbers.size_hint().0)?;
        Ok(numbers.collect())
    });
    for (position, name) in YamlPosition::FILTERS {
        tera.register_filter(name, move |value: Value, _: Kwargs, _: &State| -> TeraResult<String> {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Ok(position.escape(&text).into_owned())
        });
    }
    tera.register_filter("round", round);
    tera.register_filter("seconds", seconds);
    tera.add_raw_template(NAME, text).map_err(|error| {
        let Problem { path, message } = problem(&error);
        Problem::new(path, format!("{message}; docs/profiles.md describes the tags"))
    })?;
    Ok(tera)
}

/// Replaces Tera's `round`, which returns NaN for a large precision.
fn round(value: f64, arguments: Kwargs, _: &State) -> TeraResult<Value> {
    let precision = arguments.get::<i32>("precision")?.unwrap_or_default();
    if !(0..=MAX_PRECISION).contains(&precision) {
        let message = format!("round has the precision {precision}; write one from 0 to {MAX_PRECISION}");
        return Err(tera::Error::message(message));
    }
    let scale = 10_f64.powi(precision);
    let scaled = value * scale;
    let rounded = match arguments.get::<&str>("method")? {
        Some("ceil") => scaled.ceil(),
        Some("floor") => scaled.floor(),
        None => scaled.round(),
        Some(other) => {
            let message = format!("round has the method {}; write ceil or floor, or leave it out", quoted(other));
            return Err(tera::Error::message(message));
        }
    } / scale;
    // A number that overflows when it is scaled has no decimals to round.
    Ok((if rounded.is_finite() { rounded } else { value }).into())
}

/// Converts a time to seconds. A number is already in seconds. A text contains its unit.
fn seconds(value: Value, _: Kwargs, _: &State) -> TeraResult<Value> {
    let Some(text) = value.as_str() else { return Ok(value) };
    let span = text.trim().parse::<Span>().map_err(|_| {
        let wanted = "write a number of seconds, or a number and its unit, such as 90s, 1.5s, 250ms or 2m";
        tera::Error::message(format!("{} is not a length of time; {wanted}", quoted(text)))
    })?;
    let whole = span.0.subsec_nanos() == 0;
    Ok(if whole { span.0.as_secs().into() } else { span.0.as_secs_f64().into() })
}

fn take_steps(budget: &AtomicUsize, steps: usize) -> TeraResult<()> {
    let left = budget.load(Ordering::Relaxed).checked_sub(steps);
    let left = left.ok_or_else(|| {
        tera::Error::message(format!("the loops of the template run for more than {MAX_STEPS} steps; shorten them"))
    })?;
    budget.store(left, Ordering::Relaxed);
    Ok(())
}

/// Checks that every name in the template has a value or a default, and that the template uses every user variable.
fn check_names(
    tera: &Tera,
    checked: &language::Checked,
    template: &str,
    variables: &Variables,
) -> Result<(), ProfileError> {
    let used = tera.get_template_variables(NAME).map_err(|error| problem(&error))?;
    let mut missing: Vec<&str> = used.iter().copied().filter(|name| variables.get(name).is_none()).collect();
    missing.retain(|name| !checked.optional.contains(*name));
    missing.sort_unstable();
    let findings = Findings::default();
    for name in missing {
        let remedy = format!("set profile.variables.{name}, or give it a default: {{{{ {name} | default(value=1) }}}}");
        findings.problem(
            "template",
            format!("uses the variable {name}, which has no value; {remedy}; {}", known(variables)),
        );
    }
    let replaced = replace_env::names(template);
    let filling: Vec<&str> = replaced.iter().filter_map(|it| variables.filling(it)).collect();
    for name in variables.by_user() {
        if !used.contains(name) && !filling.contains(&name) {
            let choice = suggestion(name, used.iter().copied().filter(|it| checked.optional.contains(*it)));
            findings.problem(format!("profile.variables.{name}"), format!("is not used by the profile; {choice}"));
        }
    }
    findings.into_result().map(drop)
}

/// Converts the variables to values of Tera. A text becomes a number or a boolean if that value prints as exactly the same text. It becomes a list if
/// it begins with `[`.
fn context(variables: &Variables) -> Context {
    let mut context = Context::new();
    for name in variables.names() {
        let text = variables.get(name).unwrap_or_default();
        context.insert_value(name.to_owned(), value(text));
    }
    context
}

fn value(text: &str) -> Value {
    let candidate = match yaml::typed(text) {
        Ok(serde_json::Value::Array(items)) if text.trim_start().starts_with('[') => {
            return Value::from_serializable(&items);
        }
        Ok(other) => Value::from_serializable(&other),
        Err(_) => return Value::from(text),
    };
    if candidate.to_string() == text { candidate } else { Value::from(text) }
}

/// Converts an error from Tera, with the line of the template.
fn problem(error: &tera::Error) -> Problem {
    match error.kind() {
        ErrorKind::SyntaxError(report) | ErrorKind::RenderingError(report) => {
            let location = format!("template, line {}", report.span().start_line);
            Problem::new(location, first_line(report.message()))
        }
        _ => Problem::new("template", first_line(&error.to_string())),
    }
}

/// Converts an error from Tera about values. The message contains the line of the template, and the user variables in that line.
fn located(error: &tera::Error, template: &str, variables: &Variables) -> Problem {
    let problem = problem(error);
    let line = match error.kind() {
        ErrorKind::SyntaxError(report) | ErrorKind::RenderingError(report) => {
            report.span().start_line.checked_sub(1).and_then(|it| template.lines().nth(it))
        }
        _ => None,
    };
    let line = line.unwrap_or_default();
    let words: Vec<&str> = line.split(|it: char| !(it.is_ascii_alphanumeric() || it == '_')).collect();
    let user = variables.by_user().filter(|it| words.contains(it));
    let set: Vec<String> =
        user.filter_map(|it| Some(format!("profile.variables.{it} is {}", quoted(variables.get(it)?)))).collect();
    let remedy = match set.as_slice() {
        [] => "change the line".to_owned(),
        // The messages of our own filters already say what to write.
        _ if problem.message.contains("; write") => set.join(", "),
        _ => format!("{}; write a value that the line can use, such as a number", set.join(", ")),
    };
    Problem::new(problem.path, format!("{}, in {}; {remedy}", problem.message, quoted(line.trim())))
}

/// A buffer that holds at most [`MAX_TEXT_BYTES`].
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    full: bool,
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > MAX_TEXT_BYTES {
            self.full = true;
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
