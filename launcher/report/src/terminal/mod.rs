//! The text that is printed at the end of a run. The answer comes first, then what it is based on.

mod figures;
mod judgement;
mod lines;
mod objectives;
mod stages;

use analysis::{Accuracy, search::SearchResult};
use crds::{LauncherReason, Outcome, Word as _, wording::one_line};
use document::{LoadGenDocument, ReasonDocument, Renderer, ReportDocument, Section, answer::Answer};

use lines::{WIDTH, indented, sentence};

use super::{
    accuracy, loadgen,
    paint::{Paint, Style},
    search, text,
    text_table::{Cell, add_row, new_table},
};

/// The figures of a run as text, with a final line break. With several stages, a table shows each stage. There are no figures of all stages together,
/// because different loads together describe no load.
pub fn table(document: &ReportDocument, paint: Paint) -> String {
    let parts: Vec<String> =
        Section::of(document, Renderer::Terminal).flat_map(|section| parts(section, document, paint)).collect();
    parts.join("\n\n") + "\n"
}

/// The parts of a section, which are separated by blank lines.
fn parts(section: Section, document: &ReportDocument, paint: Paint) -> Vec<String> {
    match section {
        Section::Head => vec![answer(document, paint)],
        Section::Objectives => vec![objectives::rows(document, paint)],
        Section::Search => document.search.iter().flat_map(trials).collect(),
        Section::LoadGen => document.loadgen.iter().map(loadgen_tests).collect(),
        Section::Accuracy => document.accuracy.iter().map(scores).collect(),
        // The trials of a search are its stages.
        Section::Stages if document.search.is_some() => Vec::new(),
        Section::Stages => vec![stages::table(document, paint)],
        Section::Figures => figures::parts(document, paint),
        Section::Judgement => vec![judgement::lines(document, paint)],
        // These sections are shown within other sections, or only in `report.md`.
        Section::Headline
        | Section::Profiling
        | Section::Classes
        | Section::Steps
        | Section::Interactivity
        | Section::Cost
        | Section::Sureness
        | Section::Sessions
        | Section::ManagedServer
        | Section::Replicas
        | Section::Server
        | Section::Startups
        | Section::Failures
        | Section::Contamination
        | Section::Identity
        | Section::Repeat => Vec::new(),
    }
}

fn trials(search: &SearchResult) -> Vec<String> {
    let mut table = new_table(&search::columns(search));
    for [name, cells @ ..] in search::rows(search) {
        add_row(&mut table, one_line(&name), cells.iter().map(|it| Cell::from(one_line(it))));
    }
    let notes = search::notes(search).iter().map(|it| indented(it, usize::from(WIDTH))).collect::<Vec<_>>();
    vec![table.painted(WIDTH, Paint::OFF), notes.join("\n")]
}

/// The answer, the outcome, and further reasons. The reasons for missed or undecided objectives are in the rows of the objectives instead.
fn answer(document: &ReportDocument, paint: Paint) -> String {
    let outcome = document.outcome;
    let answer = Answer::new(document).sentence;
    let partial = if document.partial { ", partial" } else { "" };
    let goals = text::goals(document).map_or_else(String::new, |it| {
        let only = if it.are_few && outcome == Outcome::Passed { ", a valid measurement" } else { "" };
        format!("{only}; {}", it.text)
    });
    let style = match outcome {
        Outcome::Passed => Style::Green,
        Outcome::Inconclusive | Outcome::Cancelled => Style::Yellow,
        _ => Style::Red,
    };
    let rest = format!("{partial}: {}{goals}", one_line(&document.model));
    let bold = indented(&answer, usize::MAX).lines().map(|it| paint.apply(Style::Bold, it)).collect::<Vec<_>>();
    let mut lines = vec![bold.join("\n"), sentence(outcome.name(), style, &rest, paint)];
    let of_objectives = [LauncherReason::SLOViolated, LauncherReason::SLOInconclusive];
    let is_shown = |it: &ReasonDocument| {
        it.message.is_empty()
            || answer.contains(&one_line(&it.message))
            || of_objectives.iter().any(|of| of.name() == it.reason)
    };
    lines.extend(document.reasons.iter().filter(|it| !is_shown(it)).map(|it| {
        let (name, message) = (one_line(&it.reason), one_line(&it.message));
        sentence(&name, style, &format!(": {message}"), paint)
    }));
    lines.join("\n")
}

fn loadgen_tests(tests: &LoadGenDocument) -> String {
    // Each test is a column, because there are few tests and many figures.
    let tested: Vec<loadgen::TestRow> = loadgen::rows(tests).collect();
    let header: Vec<&str> = std::iter::once("LoadGen").chain(tested.iter().map(|it| it.name.as_str())).collect();
    let mut table = new_table(&header);
    for (index, name) in loadgen::COLUMNS.iter().enumerate() {
        add_row(&mut table, (*name).to_owned(), tested.iter().filter_map(|it| it.cells.get(index).cloned()));
    }
    let notes = loadgen::notes(tests).iter().map(|it| note(it)).collect::<String>();
    table.painted(WIDTH, Paint::OFF) + &notes
}

fn scores(found: &Accuracy) -> String {
    let mut table = new_table(&accuracy::COLUMNS);
    for mut row in accuracy::rows(found) {
        let name = row.remove(0);
        add_row(&mut table, name, row);
    }
    let notes: String = accuracy::notes(found).iter().map(|it| note(it)).collect();
    format!(
        "{}\n\n{}{notes}",
        indented(&one_line(&accuracy::headline(found)), usize::MAX),
        table.painted(WIDTH, Paint::OFF)
    )
}

/// A note on its own lines below a table.
fn note(text: &str) -> String {
    format!("\n{}", indented(&format!("note: {}", one_line(text)), usize::MAX))
}
