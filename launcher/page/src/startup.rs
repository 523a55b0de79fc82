//! Draws how servers started: each column has one bar for each part of a start.

use charts::svg::{Ranked, Ranking};
use report::startup::{Column, parts};

/// The bars in the order of a start. Leaves out parts that no start of a column has.
pub fn ranking(columns: &[Column<'_>]) -> Ranking {
    let bars = parts(columns).into_iter().flat_map(|part| {
        let mut name = if part.is_nested { format!("- {}", part.name) } else { part.name };
        let bars = part.seconds.into_iter().zip(part.texts).enumerate();
        let bars = bars.filter_map(|(group, (seconds, note))| Some((group, seconds?, note)));
        bars.map(move |(group, value, note)| Ranked { name: std::mem::take(&mut name), group, value, note })
    });
    let groups = columns.iter().map(|it| match it.starts.len() {
        1 => it.name.clone(),
        several => format!("{}, mean of {several}", it.name),
    });
    Ranking {
        id: "startup".to_owned(),
        title: "How servers started".to_owned(),
        caption:
            "Seconds of each part of a start, from the log of the server. Steps of different processes may overlap."
                .to_owned(),
        unit: "s".to_owned(),
        groups: groups.collect(),
        bars: bars.collect(),
        line: None,
    }
}
