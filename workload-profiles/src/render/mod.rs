//! A profile template and its variables in, the text of a profile out.
//!
//! Two syntaxes may stand side by side: Tera's `{{ model }}`, and llm-d-benchmark's `REPLACE_ENV_NAME`. Tera comes first, so
//! that a value can never be read as template code.
//!
//! Templates come from users and are rendered in an operator that lives for months, so rendering ends soon whatever the
//! template says. A clock could only tell that it did not, and a thread that renders cannot be stopped; so the bound is in
//! the language, and [`language`] enforces it before Tera sees the text:
//! - Code repeats only by `for`: macros, components, blocks, includes, inheritance and list comprehensions are refused, and
//!   every list that a `for` runs over passes through a filter that takes a step for each element from a budget of
//!   [`MAX_STEPS`]. So every piece of code runs at most `MAX_STEPS + 1` times, and there are at most
//!   [`language::MAX_CODE_BYTES`] of it. `range` takes its steps from the same budget, because it makes elements.
//! - No value is longer than what stands in one tag and the variables it names: there is no `set` to carry a value on, no `~`,
//!   and no filter that makes a text or a list grow.
//! - What is written goes to a buffer that fails at [`MAX_TEXT_BYTES`].
//!
//! Nothing is read from disk or from the environment.

pub(crate) mod language;
pub(crate) mod replace_env;
mod yaml_position;

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

/// How many elements all loops and ranges of a template may run through together.
const MAX_STEPS: usize = 1024;
/// The most decimals that `round` keeps; a number has no more that mean something.
const MAX_PRECISION: i32 = 15;
/// The template's name inside Tera; no suffix that Tera escapes for.
const NAME: &str = "profile";

/// Renders a template.
///
/// # Errors
/// Every construct that is refused, every variable that has no value, and every variable of the user that the template
/// does not use; else the first error of Tera. A `REPLACE_ENV_` name without a value is left in the text: in a comment it
/// does no harm, and elsewhere [`yaml::report_unfilled`] finds it in the parsed profile and names its path.
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

/// Tera with the one template, and with loops and ranges that take their steps from one budget.
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
        Problem::new(path, format!("{message}; write the tag as docs/profiles.md has it"))
    })?;
    Ok(tera)
}

/// Tera's own, for results that are numbers: with a large precision that one makes NaN.
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
    // A number that is too large to be scaled has no decimals.
    Ok((if rounded.is_finite() { rounded } else { value }).into())
}

/// A length of time as its number of seconds: a number is one, and a text has a unit.
fn seconds(value: Value, _: Kwargs, _: &State) -> TeraResult<Value> {
    let Some(text) = value.as_str() else { return Ok(value) };
    let span = text.trim().parse::<Span>().map_err(|_| {
        let wanted = "write a number of seconds, or a number and its unit, such as 90s, 1.5s, 250ms or 2m";
        tera::Error::message(format!("{} is no length of time; {wanted}", quoted(text)))
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

/// Every name that the template uses has a value or a default, and every variable of the user is used.
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

/// The variables as values: numbers and booleans where the text is exactly how one prints, lists where it begins like one.
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

/// What Tera says, with the line of the template.
fn problem(error: &tera::Error) -> Problem {
    match error.kind() {
        ErrorKind::SyntaxError(report) | ErrorKind::RenderingError(report) => {
            let location = format!("template, line {}", report.span().start_line);
            Problem::new(location, first_line(report.message()))
        }
        _ => Problem::new("template", first_line(&error.to_string())),
    }
}

/// What Tera says of values, with the line of the template and the variables in it.
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
        // A filter of ours has said what to write.
        _ if problem.message.contains("; write") => set.join(", "),
        _ => format!("{}; write a value that the line can use, such as a number", set.join(", ")),
    };
    Problem::new(problem.path, format!("{}, in {}; {remedy}", problem.message, quoted(line.trim())))
}

/// A buffer that takes [`MAX_TEXT_BYTES`] and no more.
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
