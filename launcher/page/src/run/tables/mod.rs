//! The tables of a run.

mod accuracy;
mod failures;
mod identity;
mod latencies;
mod loadgen;
mod objectives;
mod profiling;
mod server;
mod stages;
mod startups;

use report::json::ReportDocument;

use crate::table::Table;

pub(super) use accuracy::accuracy;
pub(super) use loadgen::loadgen;
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
