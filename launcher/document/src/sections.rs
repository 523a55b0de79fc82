//! The sections of a report: one list for the terminal, `report.md`, `comment.md` and `report.html`.
//!
//! All renderers show the sections in the order of this list. A renderer's `match` over [`Section`] has no default case, so that the compiler reports
//! a forgotten section. A test of the page compares the output of each renderer with this list.

use crate::ReportDocument;
use Renderer::{Comment, Markdown, Page, Terminal};
use Shown::{No, Own, Panel, Within};

/// A part of a report on one subject. Reports have the order of these variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The outcome, its reasons, and what was measured.
    Head,
    Objectives,
    /// The few figures that readers look for first.
    Headline,
    /// The trials of a search.
    Search,
    LoadGen,
    Accuracy,
    Profiling,
    /// The stages of a run with several stages.
    Stages,
    Classes,
    /// Counts, rates and distributions.
    Figures,
    /// The steps of requests.
    Steps,
    Interactivity,
    Cost,
    /// Confidence intervals, steady state and Little's law.
    Sureness,
    Sessions,
    ManagedServer,
    Replicas,
    /// The servers' metrics.
    Server,
    Startups,
    Failures,
    /// Whether the server could have had the prompts in its cache.
    Contamination,
    /// The launcher's measurements of itself, and caveats.
    Judgement,
    /// Versions, digests and labels.
    Identity,
    /// How to repeat the run.
    Repeat,
}

/// A renderer that shows a document as sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renderer {
    /// The table that a run prints.
    Terminal,
    /// `report.md`.
    Markdown,
    /// `comment.md`.
    Comment,
    /// `report.html`.
    Page,
}

/// Where a renderer shows a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// As a separate section.
    Own,
    /// As part of another section.
    Within(Section),
    /// As charts in panels.
    Panel,
    /// Not at all, because `report.md` contains it.
    No,
}

#[derive(Debug)]
struct Row {
    section: Section,
    key: &'static str,
    title: &'static str,
    shown: [Shown; Renderer::ALL.len()],
}

/// One row per section. Entries of `shown` are in the order of [`Renderer::ALL`].
#[rustfmt::skip]
const ROWS: [Row; 24] = [
    //                                                                           terminal                     report.md                  comment.md                 report.html
    row(Section::Head, "head", "Verdict",                                        [Own,                        Own,                       Own,                       Own]),
    row(Section::Objectives, "objectives", "Objectives",                         [Own,                        Own,                       Own,                       Own]),
    row(Section::Headline, "headline", "Headline figures",                       [Within(Section::Figures),   Within(Section::Figures),  Within(Section::Figures),  Own]),
    row(Section::Search, "search", "Trials of the search",                       [Own,                        Own,                       Within(Section::Head),     Own]),
    row(Section::LoadGen, "loadgen", "LoadGen tests",                            [Own,                        Own,                       Own,                       Own]),
    row(Section::Accuracy, "accuracy", "Accuracy",                               [Own,                        Own,                       Own,                       Own]),
    row(Section::Profiling, "profiling", "Profiling",                            [No,                         Own,                       No,                        Own]),
    row(Section::Stages, "stages", "Stages",                                     [Own,                        Own,                       Within(Section::Figures),  Own]),
    row(Section::Classes, "classes", "Traffic classes",                          [No,                         Own,                       No,                        No]),
    row(Section::Figures, "figures", "Figures",                                  [Own,                        Own,                       Own,                       Own]),
    row(Section::Steps, "steps", "Where the time went",                          [No,                         Own,                       No,                        No]),
    row(Section::Interactivity, "interactivity", "Interactivity",                [No,                         Own,                       No,                        Panel]),
    row(Section::Cost, "cost", "Accelerators and cost",                          [Within(Section::Figures),   Own,                       No,                        Panel]),
    row(Section::Sureness, "sureness", "How sure the figures are",               [No,                         Own,                       Own,                       Own]),
    row(Section::Sessions, "sessions", "Sessions",                               [No,                         Own,                       No,                        No]),
    row(Section::ManagedServer, "managed-server", "Managed server",              [No,                         Own,                       No,                        Own]),
    row(Section::Replicas, "replicas", "Replicas",                               [No,                         Own,                       No,                        No]),
    row(Section::Server, "server", "Server",                                     [Within(Section::Judgement), Own,                       No,                        Own]),
    row(Section::Startups, "startups", "How the servers started",                [No,                         Own,                       No,                        Own]),
    row(Section::Failures, "failures", "Requests that did not succeed",          [Within(Section::Figures),   Own,                       Within(Section::Figures),  Within(Section::Figures)]),
    row(Section::Contamination, "contamination", "Prompts and the server's cache", [No,                       Own,                       No,                        Own]),
    row(Section::Judgement, "judgement", "How far to trust these figures",       [Own,                        Own,                       Own,                       Own]),
    row(Section::Identity, "identity", "Identity",                               [No,                         Within(Section::Head),     Own,                       Own]),
    row(Section::Repeat, "repeat", "To run it again",                            [No,                         Own,                       No,                        Own]),
];

const fn row(section: Section, key: &'static str, title: &'static str, shown: [Shown; Renderer::ALL.len()]) -> Row {
    Row { section, key, title, shown }
}

impl Renderer {
    /// Every renderer.
    pub const ALL: [Renderer; 4] = [Terminal, Markdown, Comment, Page];
}

impl Section {
    /// Every section, in the order of the list.
    pub fn all() -> impl Iterator<Item = Section> {
        ROWS.iter().map(|it| it.section)
    }

    /// The sections of a document that a renderer shows separately ([`Shown::Own`]).
    pub fn of(document: &ReportDocument, renderer: Renderer) -> impl Iterator<Item = Section> {
        Section::all().filter(move |it| it.shown(renderer) == Own && it.is_in(document))
    }

    /// Where a renderer shows this section.
    pub fn shown(self, renderer: Renderer) -> Shown {
        self.row().shown[renderer as usize]
    }

    /// The name of the section in links, such as `managed-server`.
    pub fn key(self) -> &'static str {
        self.row().key
    }

    /// The heading of the section.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// Whether a document has content for this section.
    pub fn is_in(self, document: &ReportDocument) -> bool {
        match self {
            Section::Objectives => !document.objectives.is_empty(),
            Section::Search => document.search.is_some(),
            Section::LoadGen => document.loadgen.is_some(),
            Section::Accuracy => document.accuracy.is_some(),
            Section::Profiling => document.profiling.is_some(),
            Section::Stages => document.stages.len() > 1,
            Section::Classes => !document.classes.is_empty(),
            Section::Steps => document.figures.steps.is_some(),
            Section::Interactivity => document.stages.iter().any(|it| it.figures.interactivity.is_some()),
            Section::Cost => document.hardware.is_some(),
            Section::Sessions => document.sessions.is_some(),
            Section::ManagedServer => document.managed_server.is_some(),
            Section::Replicas => document.server_replicas.is_some(),
            Section::Server => document.server_metrics.is_some(),
            Section::Startups => !document.startups.is_empty(),
            Section::Failures => document.figures.requests != document.figures.succeeded,
            Section::Head
            | Section::Headline
            | Section::Figures
            | Section::Sureness
            | Section::Contamination
            | Section::Judgement
            | Section::Identity
            | Section::Repeat => true,
        }
    }

    fn row(self) -> &'static Row {
        // A test checks that the rows are in the order of the variants.
        &ROWS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_section_has_one_row_at_its_place_and_a_key_of_its_own() {
        for (place, row) in ROWS.iter().enumerate() {
            assert_eq!(row.section as usize, place, "{}", row.key);
        }
        assert_eq!(ROWS.iter().map(|it| it.key).collect::<BTreeSet<_>>().len(), ROWS.len());
    }

    #[test]
    fn a_section_stands_within_one_that_the_renderer_shows() {
        for renderer in Renderer::ALL {
            for section in Section::all() {
                if let Within(outer) = section.shown(renderer) {
                    assert_eq!(outer.shown(renderer), Own, "{section:?} in {renderer:?}");
                }
            }
        }
    }

    #[test]
    fn the_markdown_report_leaves_nothing_out() {
        assert!(Section::all().all(|it| it.shown(Markdown) != No));
    }
}
