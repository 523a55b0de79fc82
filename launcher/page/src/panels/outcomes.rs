//! The outcomes of requests over time.

use charts::{Shape, Tone};
use document::ReportDocument;

use super::{
    Content,
    bins::{Bins, of_run},
    plot::{figure, quantity, series, time},
    stage_times,
};

/// Outcomes that are neither success nor failure.
const QUIET: [&str; 4] = ["cancelled", "abandoned", "incomplete", "skipped"];
/// The name of the outcome for a complete answer.
const OK: &str = "ok";

pub(super) fn content(document: &ReportDocument) -> Content {
    let of_time = of_run(document)?;
    let bins = Bins::from_series(of_time);
    let all_ok = of_time.ended.keys().all(|it| it == OK);
    let words = if all_ok { "Every request succeeded." } else { "The section Errors explains each failure." };
    let caption = format!("Requests that ended per second, stacked by their outcome. {words}");
    let mut figure = figure("outcomes", "Outcomes over time", caption, time(document), quantity("Ended", "requests/s"));
    let mut failures = 0;
    // Successes are the lowest bars, so that failures stand out at the top.
    let (ok, others): (Vec<_>, Vec<_>) = of_time.ended.iter().partition(|(name, _)| *name == OK);
    for (name, counts) in ok.into_iter().chain(others) {
        let tone = match name.as_str() {
            OK => Tone::Main,
            other if QUIET.contains(&other) => Tone::Quiet,
            _ => {
                failures += 1;
                if failures == 1 { Tone::Bad } else { Tone::Category(failures) }
            }
        };
        let together = bins.together(counts.0.len());
        let bins = bins.coarser(together);
        let sums = counts.0.chunks(together).map(|it| it.iter().sum::<u64>());
        let rates = sums.map(|it| (it > 0).then_some(it as f64 / bins.width));
        figure.series.push(series(name, tone, Shape::Bars(bins.bars(rates))));
    }
    if figure.series.is_empty() {
        return Err("No request ended.".to_owned());
    }
    stage_times::mark_borders(&mut figure, document);
    Ok(vec![figure])
}
