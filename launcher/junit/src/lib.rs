//! Writes test cases as JUnit XML, which pipelines show as test results. Jenkins, GitLab and GitHub actions read the elements `testsuites`,
//! `testsuite` and `testcase`, with `failure`, `error` or `skipped` inside.

use std::{
    io::{self, Write},
    time::Duration,
};

use crds::{Met, Outcome, benchmark_run::Enforcement, resolve::ResolvedObjective, wording::one_line};
use quick_xml::{
    Writer,
    events::{BytesDecl, BytesText, Event},
};

/// The name of the test case that passes if the measurement is valid.
const VALIDITY: &str = "the measurement is valid";

/// The test cases of a run, which become one `testsuite`.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The name of the run.
    pub name: String,
    /// The time at which the run began, in RFC 3339.
    pub started: String,
    /// The duration of the run.
    pub duration: Duration,
    /// The test cases, in the order of the report.
    pub cases: Vec<Case>,
    /// Remarks for the element `system-out`. They make no test case fail.
    pub notes: Vec<String>,
}

/// A test case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    name: String,
    problem: Option<Problem>,
}

/// The reason why a test case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    /// The name of the XML element: `failure`, `error` or `skipped`.
    element: &'static str,
    kind: &'static str,
    message: String,
}

impl Case {
    /// The test case for the validity of the measurement. `message`: why it is not valid.
    pub fn validity(outcome: Outcome, message: &str) -> Case {
        let element = match outcome {
            outcome if outcome.has_valid_figures() => None,
            Outcome::Invalid => Some("failure"),
            _ => Some("error"),
        };
        let problem = element.map(|element| Problem { element, kind: outcome.name(), message: text(message) });
        Case { name: VALIDITY.into(), problem }
    }

    /// The test case for an objective. Its name is the same in every run of a spec, so that a pipeline can show a history.
    pub fn objective(objective: &ResolvedObjective, met: Met, enforcement: Enforcement, reason: &str) -> Case {
        let (kind, enforced) = match met {
            Met::True => ("", None),
            Met::False => ("missed", Some("failure")),
            Met::Inconclusive => ("inconclusive", Some("error")),
        };
        let problem = enforced.map(|element| match enforcement {
            Enforcement::Report => {
                let message = text(&format!("{kind}, but reported only, because enforcement is Report: {reason}"));
                Problem { element: "skipped", kind, message }
            }
            Enforcement::Fail => Problem { element, kind, message: text(reason) },
        });
        Case { name: objective_name(objective), problem }
    }

    /// The test case for an objective whose result is reported elsewhere. `reason`: where and why.
    pub fn left_out(objective: &ResolvedObjective, reason: &str) -> Case {
        let problem = Problem { element: "skipped", kind: "left out", message: text(reason) };
        Case { name: objective_name(objective), problem: Some(problem) }
    }
}

fn objective_name(objective: &ResolvedObjective) -> String {
    text(&format!("{}: {}", objective.name, objective.described()))
}

/// Writes the XML file, with one `testsuite` per run.
///
/// # Errors
/// The writer fails.
pub fn write(suites: &[Suite], to: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let all = counts(suites);
    let mut writer = Writer::new_with_indent(&mut *to, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let element = writer.create_element("testsuites").with_attributes(attributes(&all));
    element.write_inner_content(|writer| suites.iter().try_for_each(|it| write_suite(writer, it)))?;
    to.write_all(b"\n")
}

type Counts = [(&'static str, String); 4];

fn counts(suites: &[Suite]) -> Counts {
    let cases = || suites.iter().flat_map(|it| &it.cases);
    let count = |element: &str| {
        cases().filter(|it| it.problem.as_ref().is_some_and(|it| it.element == element)).count().to_string()
    };
    [
        ("tests", cases().count().to_string()),
        ("failures", count("failure")),
        ("errors", count("error")),
        ("skipped", count("skipped")),
    ]
}

fn attributes(counts: &Counts) -> impl Iterator<Item = (&str, &str)> {
    counts.iter().map(|(name, value)| (*name, value.as_str()))
}

fn write_suite<W: Write>(writer: &mut Writer<W>, suite: &Suite) -> io::Result<()> {
    let (name, seconds) = (text(&suite.name), suite.duration.as_secs_f64().to_string());
    let counts = counts(std::slice::from_ref(suite));
    let element = writer.create_element("testsuite").with_attribute(("name", name.as_str()));
    let element = element.with_attributes(attributes(&counts));
    let element = element.with_attribute(("timestamp", suite.started.as_str()));
    let element = element.with_attribute(("time", seconds.as_str()));
    element.write_inner_content(|writer| {
        suite.cases.iter().try_for_each(|it| write_case(writer, &name, it))?;
        if !suite.notes.is_empty() {
            let notes: Vec<String> = suite.notes.iter().map(|it| text(it)).collect();
            let out = writer.create_element("system-out");
            out.write_text_content(BytesText::new(&notes.join("\n")))?;
        }
        Ok(())
    })?;
    Ok(())
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

/// Returns a text as one line without characters that XML 1.0 forbids. quick-xml escapes special characters.
fn text(text: &str) -> String {
    one_line(text)
}
