//! The table on how the servers started that the run itself launched.

use crds::benchmark_run::Harness;
use document::{ReportDocument, Section};
use report::startup::{columns, notes, rows};

use crate::table::Table;

/// The table for a run that measures how servers start. It comes before the figures. `None` for any other run.
pub fn startups(document: &ReportDocument) -> Option<Table> {
    table(document).filter(|_| document.resolved_run.harness == Harness::Nop)
}

/// The table for a run that does not measure how servers start. It is folded.
pub fn startups_aside(document: &ReportDocument) -> Option<Table> {
    table(document).filter(|_| document.resolved_run.harness != Harness::Nop)
}

fn table(document: &ReportDocument) -> Option<Table> {
    let columns = columns(&document.startups);
    let rows = rows(&columns).into_iter().map(|(name, cells)| std::iter::once(name).chain(cells).collect());
    (!columns.is_empty()).then(|| {
        Table::of(Section::Startups, "From the logs of the servers. Steps of different processes may overlap.")
            .texts(["Part"])
            .numbers(columns.iter().map(|it| it.name.as_str()))
            .rows(rows)
            .remarks(notes(&columns))
    })
}
