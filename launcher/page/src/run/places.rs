//! The places of a report's sections on the page, each in the order of the list.

use document::{ReportDocument, Section};
use serde::Serialize;

use super::{
    asides::{self, Aside},
    tables::{self, Place},
    tiles::{self, Tile},
};
use crate::table::Table;

/// A part of the summary: tiles, or a table.
#[derive(Serialize)]
pub(super) struct Block {
    tiles: Vec<Tile>,
    table: Option<Table>,
}

/// The content that the sections put into each place of the page.
#[derive(Default)]
pub(super) struct Places {
    /// Above the panels.
    pub(super) summary: Vec<Block>,
    /// Side by side, below the summary.
    pub(super) asides: Vec<Aside>,
    /// Below the panels.
    pub(super) tables: Vec<Table>,
}

impl Places {
    pub(super) fn add(&mut self, section: Section, document: &ReportDocument) {
        match section {
            Section::Objectives => self.above(tables::objectives(document)),
            Section::Headline => self.summary.push(Block { tiles: tiles::tiles(document), table: None }),
            Section::LoadGen => self.above(tables::loadgen(document)),
            Section::Accuracy => self.above(tables::accuracy(document)),
            Section::Profiling => self.above(tables::profiling(document)),
            Section::Stages => self.above(tables::overview(document)),
            Section::Figures => self.below(tables::figures(document)),
            Section::Sureness => {
                self.asides.extend(asides::steady_state(document));
                self.below(tables::sureness(document));
            }
            // The head contains the server if it died.
            Section::ManagedServer => {
                self.above(tables::managed_server(document, Place::BesideStart));
                self.below(tables::managed_server(document, Place::Below));
            }
            Section::Server => self.below(tables::server(document)),
            Section::Startups => {
                self.above(tables::startups(document));
                self.below(tables::startups_aside(document));
            }
            Section::Contamination => self.asides.push(asides::cache(document)),
            Section::Judgement => {
                self.asides.extend(asides::warnings(document));
                self.below([tables::own_part(document)]);
            }
            Section::Identity => {
                self.asides.push(asides::labels(&document.labels));
                self.below([tables::identity(document)]);
            }
            Section::Repeat => self.asides.push(asides::again(document)),
            // Shown in the head of the page, in panels, within other sections, or only in `report.md`.
            Section::Head
            | Section::Classes
            | Section::Steps
            | Section::Interactivity
            | Section::Cost
            | Section::Sessions
            | Section::Replicas
            | Section::Failures => {}
        }
    }

    fn above(&mut self, table: Option<Table>) {
        self.summary.extend(table.map(|it| Block { tiles: Vec::new(), table: Some(it) }));
    }

    fn below(&mut self, tables: impl IntoIterator<Item = Table>) {
        self.tables.extend(tables.into_iter().filter_map(Table::filled));
    }
}
