//! TTFT and latency over time, with the warm-up and the steady window.

use charts::Figure;
use document::{ReportDocument, TimesDocument};

use super::{
    Content,
    bins::{Bins, QUANTILES_OF_BINS, of_run},
    plot::{figure, latency, time},
    stage_times,
};

pub(super) fn content(document: &ReportDocument) -> Content {
    let series = of_run(document)?;
    let bins = Bins::from_series(series);
    let one = |id: &str, name: &str, of: &str, times: &TimesDocument| -> Figure {
        let windows = stage_times::words_of_windows(document);
        let caption =
            format!("{name} of the requests that succeeded, at the time of {of}. {QUANTILES_OF_BINS} {windows}");
        let axis = latency(name, times.p50.0.iter().chain(&times.p99.0).copied().flatten());
        let mut figure = figure(id, name, caption, time(document), axis);
        figure.series.extend(bins.quantiles(times));
        stage_times::shade_windows(&mut figure, document);
        stage_times::mark_borders(&mut figure, document);
        figure
    };
    let ttft = series.ttft_ms.as_ref().map(|it| one("time-ttft", "TTFT", "the first token", it));
    let latency = series.latency_ms.as_ref().map(|it| one("time-latency", "Latency", "the last token", it));
    let figures: Vec<Figure> = ttft.into_iter().chain(latency).collect();
    if figures.is_empty() {
        return Err("No request succeeded, so there is no latency.".to_owned());
    }
    Ok(figures)
}
