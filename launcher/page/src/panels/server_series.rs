//! The time series of the servers' metrics.

use charts::{Figure, Place, Series, Tone};
use document::{Column, ReportDocument, ServerSeriesDocument};

use super::{
    bins::Bins,
    plot::{figure, line, time},
    stage_times,
};

/// A column of the servers' time series; `None` if no server has this metric. A bin is `None` if no server reported a value in it.
pub(super) type Level = Option<Column<Option<f64>>>;

/// The time series of the servers, or a sentence why there is none.
pub(super) fn of_server(document: &ReportDocument) -> Result<&ServerSeriesDocument, String> {
    let metrics = document.server_metrics.as_ref().ok_or_else(|| {
        "The run has no server metrics: name their address in spec.target.metrics or with --metrics-url.".to_owned()
    })?;
    metrics.time_series.as_ref().ok_or_else(|| {
        "The report has the server's figures only for whole windows: an older release wrote it.".to_owned()
    })
}

pub(super) fn places(series: &ServerSeriesDocument, column: &Column<Option<f64>>) -> Vec<Place> {
    let bins = Bins::new(series.start_ms, series.bin_ms);
    bins.places(column.0.iter().copied())
}

/// A column as a line; `None` if the servers do not have this metric.
pub(super) fn level(series: &ServerSeriesDocument, name: &str, tone: Tone, column: &Level) -> Option<Series> {
    Some(line(name, tone, places(series, column.as_ref()?)))
}

/// A figure over time with the lines that exist; `None` if there are none.
pub(super) fn over_time(
    document: &ReportDocument,
    id: &str,
    title: &str,
    caption: &str,
    axis: charts::Axis,
    lines: impl IntoIterator<Item = Option<Series>>,
) -> Option<Figure> {
    let mut figure = figure(id, title, caption, time(document), axis);
    figure.series.extend(lines.into_iter().flatten());
    stage_times::mark_borders(&mut figure, document);
    (!figure.series.is_empty()).then_some(figure)
}

/// The figures that exist, or a sentence that the servers have no metric for them.
pub(super) fn content(figures: impl IntoIterator<Item = Option<Figure>>, what: &str) -> super::panel::Content {
    let figures: Vec<Figure> = figures.into_iter().flatten().collect();
    if figures.is_empty() {
        return Err(format!("The server's metrics do not include {what}."));
    }
    Ok(figures)
}
