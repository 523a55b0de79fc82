//! Short constructors for figures.

use charts::{Axis, Figure, Mark, MarkAt, Place, Scale, Series, Shape, Tone};
use document::ReportDocument;

/// Why a panel of latencies has no data.
pub(super) const NO_SUCCESS: &str = "No request succeeded.";

/// A figure without series.
pub(super) fn figure(id: &str, title: &str, caption: impl Into<String>, x: Axis, y: Axis) -> Figure {
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.into(),
        x,
        y,
        series: Vec::new(),
        shades: Vec::new(),
        marks: Vec::new(),
    }
}

/// An axis of a quantity, from zero.
pub(super) fn quantity(label: &str, unit: &str) -> Axis {
    Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Linear, includes: vec![0.0] }
}

/// An axis of values over several orders of magnitude.
pub(super) fn logarithmic(label: &str, unit: &str) -> Axis {
    Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Log, includes: Vec::new() }
}

/// Maximum ratio of the largest to the smallest latency on a linear axis. Beyond it, the small values would lie on the axis.
const LARGEST_LINEAR_SPREAD: f64 = 20.0;

/// An axis of latencies in milliseconds: linear from zero, or logarithmic if the values are too far apart.
pub(super) fn latency(label: &str, values: impl IntoIterator<Item = f64>) -> Axis {
    let above_zero = values.into_iter().filter(|it| *it > 0.0);
    let (least, most) = above_zero.fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(it), most.max(it)));
    if most > least * LARGEST_LINEAR_SPREAD { logarithmic(label, "ms") } else { quantity(label, "ms") }
}

/// An axis of shares, from 0 to 1.
pub(super) fn share(label: &str) -> Axis {
    Axis { label: label.to_owned(), unit: "share".to_owned(), scale: Scale::Linear, includes: vec![0.0, 1.0] }
}

/// The axis of time, with the same length in every figure of a run: from the start to the end of the client's and the servers' series.
pub(super) fn time(document: &ReportDocument) -> Axis {
    let client = document.time_series.as_ref().map(|it| it.start_ms + it.bin_ms * it.due.0.len() as f64);
    let server = document.server_metrics.as_ref().and_then(|it| it.time_series.as_ref());
    let server = server.map(|it| it.start_ms + it.bin_ms * it.failed_scrapes.0.len() as f64);
    let ends = client.into_iter().chain(server).map(seconds);
    Axis {
        label: "Time since the start of the run".to_owned(),
        unit: "s".to_owned(),
        scale: Scale::Linear,
        includes: [0.0].into_iter().chain(ends).collect(),
    }
}

/// Milliseconds as seconds.
pub(super) fn seconds(millis: f64) -> f64 {
    millis / 1e3
}

pub(super) fn series(name: impl Into<String>, tone: Tone, shape: Shape) -> Series {
    Series { name: name.into(), tone, shape }
}

pub(super) fn line(name: impl Into<String>, tone: Tone, places: Vec<Place>) -> Series {
    series(name, tone, Shape::Line(places))
}

pub(super) fn mark(at: MarkAt, label: impl Into<String>) -> Mark {
    Mark { at, label: label.into() }
}
