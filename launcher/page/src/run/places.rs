//! Assigns the sections of a report to positions on the page. Each position keeps the order of the sections.

use document::{ReportDocument, Section};
use serde::Serialize;

use super::{
    fold::Fold,
    tables::{self, Place},
};
use crate::table::Table;

/// The tables at each position of the page.
#[derive(Default, Serialize)]
pub(super) struct Places {
    /// Tables on what a run tests besides its load, such as accuracy. They come before the figures.
    pub(super) tests: Vec<Table>,
    pub(super) figures: Vec<Table>,
    /// Figures that few readers need.
    pub(super) more_figures: Vec<Fold>,
}

impl Places {
    pub(super) fn add(&mut self, section: Section, document: &ReportDocument) {
        match section {
            Section::Objectives => {
                self.more_figures.extend(Fold::of_tables(
                    "objectives",
                    "Objectives in full",
                    tables::objectives(document),
                ));
            }
            Section::Search => self.tests.extend(tables::search(document)),
            Section::LoadGen => self.tests.extend(tables::loadgen(document)),
            Section::Accuracy => self.tests.extend(tables::accuracy(document)),
            Section::Profiling => self.fold("profiling", tables::profiling(document)),
            Section::Figures => {
                self.figures.extend(tables::overview(document));
                self.fold("latencies", [tables::latencies(document)]);
                self.fold("rates", [tables::rates(document)]);
                self.fold("errors", [tables::failures(document)]);
            }
            // If the server died, the head of the page shows its table instead.
            Section::ManagedServer => {
                self.tests.extend(tables::managed_server(document, Place::BesideStart));
                self.fold("managed-server", tables::managed_server(document, Place::Below));
            }
            Section::Server => {
                let title = "The server's own metrics";
                self.more_figures.extend(Fold::of_tables("server", title, tables::server(document)));
            }
            Section::Startups => {
                self.tests.extend(tables::startups(document));
                self.fold("startups", tables::startups_aside(document));
            }
            // These sections have no table here. They are shown in the head of the page, below "Can I trust it?" and "Run it again", in charts,
            // within other sections, or only in `report.md`.
            Section::Head
            | Section::Headline
            | Section::Stages
            | Section::Sureness
            | Section::Contamination
            | Section::Judgement
            | Section::Identity
            | Section::Repeat
            | Section::Classes
            | Section::Steps
            | Section::Interactivity
            | Section::Cost
            | Section::Sessions
            | Section::Replicas
            | Section::Failures => {}
        }
    }

    fn fold(&mut self, id: &'static str, tables: impl IntoIterator<Item = Table>) {
        self.more_figures.extend(fold(id, tables));
    }
}

/// A fold with the title of its first table.
fn fold(id: &'static str, tables: impl IntoIterator<Item = Table>) -> Option<Fold> {
    let tables: Vec<Table> = tables.into_iter().collect();
    let title = tables.first()?.title.clone();
    Fold::of_tables(id, &title, tables)
}
