//! `junit.xml`: the validity of a measurement and its objectives as test cases, for the pages of a pipeline.
//!
//! The form is the one that Jenkins, GitLab and GitHub's actions read: `testsuites`, `testsuite`, `testcase`, with `failure`,
//! `error` or `skipped` inside.

use std::io::{self, Write};

use analysis::{Analysis, ObjectiveResult};
use crds::{Met, Outcome, benchmark_run::Enforcement, wording::one_line};
use quick_xml::{
    Writer,
    events::{BytesDecl, BytesText, Event},
};

use crate::{
    Report,
    text::{objective_figure, objective_limit},
};

/// The name of the file in a results folder.
pub(super) const FILE_NAME: &str = "junit.xml";
/// The name of the test case that tells whether the measurement is valid.
const VALIDITY: &str = "the measurement is valid";

/// What a test case came to.
struct Case {
    name: String,
    problem: Option<Problem>,
}

/// Why a test case did not pass.
struct Problem {
    /// `failure`, `error` or `skipped`.
    element: &'static str,
    kind: &'static str,
    message: String,
}

/// Writes the file.
///
/// # Errors
/// The writer's.
pub fn write(report: &Report<'_>, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let analysis = report.analysis;
    let objectives = analysis.objectives.iter();
    let objectives = objectives.flat_map(|all| all.results.iter().map(|it| objective(it, all.enforcement)));
    let cases: Vec<Case> = std::iter::once(validity(analysis)).chain(objectives).collect();
    let count = |element: &str| {
        cases.iter().filter(|it| it.problem.as_ref().is_some_and(|it| it.element == element)).count().to_string()
    };
    let name = text(&report.run.run.title());
    let (started, seconds) = (analysis.started.to_string(), analysis.all.duration.as_secs_f64().to_string());
    let counts = [
        ("tests", cases.len().to_string()),
        ("failures", count("failure")),
        ("errors", count("error")),
        ("skipped", count("skipped")),
    ];
    let counts = || counts.iter().map(|(name, value)| (*name, value.as_str()));
    let mut writer = Writer::new_with_indent(&mut *to, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer.create_element("testsuites").with_attributes(counts()).write_inner_content(|writer| {
        let suite = writer.create_element("testsuite").with_attribute(("name", name.as_str()));
        let suite = suite.with_attributes(counts());
        let suite = suite.with_attribute(("timestamp", started.as_str())).with_attribute(("time", seconds.as_str()));
        suite.write_inner_content(|writer| cases.iter().try_for_each(|it| write_case(writer, &name, it)))?;
        Ok(())
    })?;
    to.write_all(b"\n")
}

fn write_case<W: Write>(writer: &mut Writer<W>, suite: &str, case: &Case) -> io::Result<()> {
    let element = writer.create_element("testcase");
    let element = element.with_attribute(("classname", suite)).with_attribute(("name", case.name.as_str()));
    let Some(problem) = &case.problem else {
        element.write_empty()?;
        return Ok(());
    };
    element.write_inner_content(|writer| {
        let message = problem.message.as_str();
        let inner = writer.create_element(problem.element);
        let inner = inner.with_attribute(("type", problem.kind)).with_attribute(("message", message));
        inner.write_text_content(BytesText::new(message))?;
        Ok(())
    })?;
    Ok(())
}

fn validity(analysis: &Analysis) -> Case {
    let verdict = &analysis.verdict;
    let element = match verdict.outcome {
        outcome if outcome.has_valid_figures() => None,
        Outcome::Invalid => Some("failure"),
        _ => Some("error"),
    };
    let reasons: Vec<String> = verdict.reasons.iter().map(ToString::to_string).collect();
    let message = text(&reasons.join("; "));
    let kind = verdict.outcome.name();
    Case { name: VALIDITY.into(), problem: element.map(|element| Problem { element, kind, message }) }
}

fn objective(result: &ObjectiveResult, enforcement: Enforcement) -> Case {
    let (kind, enforced) = match result.met {
        Met::True => ("", None),
        Met::False => ("missed", Some("failure")),
        Met::Inconclusive => ("inconclusive", Some("error")),
    };
    let message = |element: &str| match element {
        "skipped" => text(&format!("{kind}, and enforcement is Report: {}", result.reason)),
        _ => text(&result.reason),
    };
    let element = enforced.map(|it| if enforcement == Enforcement::Report { "skipped" } else { it });
    let name = format!("{}: {}, {}", result.objective.name, objective_figure(result), objective_limit(result));
    let problem = element.map(|element| Problem { element, kind, message: message(element) });
    Case { name: text(&name), problem }
}

/// A text that XML 1.0 can hold, on one line; quick-xml escapes what has a meaning in it.
fn text(text: &str) -> String {
    one_line(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
