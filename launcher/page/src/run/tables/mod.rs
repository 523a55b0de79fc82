//! The tables of a run.

mod accuracy;
mod failures;
mod identity;
mod latencies;
mod loadgen;
mod managed_server;
mod objectives;
mod profiling;
mod search;
mod server;
mod stages;
mod startups;

use document::ReportDocument;

use crate::table::Table;

pub(super) use accuracy::accuracy;
pub(super) use failures::table as failures;
pub(super) use identity::table as identity;
pub(super) use latencies::table as latencies;
pub(super) use loadgen::loadgen;
pub(super) use managed_server::{Place, managed_server};
pub(super) use objectives::objectives;
pub(super) use profiling::profiling;
pub(super) use search::search;
pub(super) use stages::{overview, rates};
pub(super) use startups::{startups, startups_aside};

/// The tables on intervals, steady state and Little's law.
pub(super) fn sureness(document: &ReportDocument) -> [Table; 2] {
    [latencies::sureness(document), stages::steady(document)]
}

/// The tables on the servers' metrics and on their GPUs.
pub(super) fn server(document: &ReportDocument) -> impl Iterator<Item = Table> {
    server::table(document).into_iter().chain(server::gpus(document))
}
