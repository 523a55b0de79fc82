//! The tables of a run.

mod accuracy;
mod failures;
mod identity;
mod latencies;
mod loadgen;
mod managed_server;
mod objectives;
mod profiling;
mod server;
mod stages;
mod startups;

use document::ReportDocument;

use crate::table::Table;

pub(super) use accuracy::accuracy;
pub(super) use loadgen::loadgen;
pub(super) use managed_server::{Place, managed_server};
pub(super) use objectives::objectives;
pub(super) use profiling::profiling;
pub(super) use stages::{overview, steady_words};
pub(super) use startups::startups;

/// The tables below the panels, those that have rows.
pub(super) fn all(document: &ReportDocument) -> Vec<Table> {
    [
        Some(latencies::table(document)),
        Some(stages::rates(document)),
        Some(failures::table(document)),
        server::table(document),
        server::gpus(document),
        managed_server(document, Place::Below),
        startups::startups_aside(document),
        Some(latencies::sureness(document)),
        Some(stages::steady(document)),
        Some(identity::own_part(document)),
        Some(identity::table(document)),
    ]
    .into_iter()
    .flatten()
    .filter_map(Table::filled)
    .collect()
}
