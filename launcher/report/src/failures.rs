//! Groups unsuccessful requests by kind and cause, for every table that shows them.

use document::FiguresDocument;
use measurement::record::{Cause, Limit, RequestOutcome};

/// A row: a kind of failure or, if `part` is set, a cause or an exceeded limit of the kind that a row above names.
pub(super) struct Row<'a> {
    pub kind: String,
    /// The cause of a connection error, or the limit that a request exceeded; `None` for the whole kind.
    pub part: Option<&'static str>,
    pub count: u64,
    /// The first error message; empty if there is none.
    pub sample: &'a str,
}

/// Returns each kind with its parts, in the order of [`RequestOutcome`].
pub(super) fn rows(figures: &FiguresDocument) -> Vec<Row<'_>> {
    let mut outcomes: Vec<(RequestOutcome, u64)> = figures
        .outcomes
        .iter()
        .filter_map(|(name, count)| Some((RequestOutcome::from_name(name)?, *count)))
        .filter(|(it, _)| !it.is_success())
        .collect();
    outcomes.sort_unstable();
    let mut rows = Vec::new();
    for (outcome, count) in outcomes {
        let kind = outcome.name();
        let sample = figures.error_samples.get(&kind).map_or("", String::as_str);
        rows.push(Row { kind: kind.clone(), part: None, count, sample });
        if outcome == RequestOutcome::Timeout {
            let limits = Limit::ALL.into_iter().filter_map(|it| Some((it.name(), *figures.timeouts.get(it.name())?)));
            rows.extend(limits.map(|(part, count)| Row { kind: kind.clone(), part: Some(part), count, sample: "" }));
        }
        let causes = Cause::ALL.into_iter().filter(|it| it.outcome() == outcome);
        rows.extend(causes.filter_map(|it| {
            let found = figures.causes.get(it.name())?;
            Some(Row { kind: kind.clone(), part: Some(it.name()), count: found.count, sample: &found.sample })
        }));
    }
    rows
}
