//! Functions that create figures and their parts.

use charts::{Axis, Figure, Mark, MarkAt, Place, Scale, Series, Shape, Tone};
use document::ReportDocument;

use crate::text;

/// The reason why a panel of latencies has no data.
pub(super) const NO_SUCCESS: &str = "No request succeeded.";

/// A figure without series.
pub(super) fn figure(id: &str, title: &str, caption: impl Into<String>, x: Axis, y: Axis) -> Figure {
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.into(),
        finding: String::new(),
        x,
        y,
        series: Vec::new(),
        shades: Vec::new(),
        marks: Vec::new(),
    }
}

/// A linear axis that includes zero.
pub(super) fn quantity(label: &str, unit: &str) -> Axis {
    axis(label, unit, Scale::Linear, vec![0.0])
}

/// A logarithmic axis, for values of several orders of magnitude.
pub(super) fn logarithmic(label: &str, unit: &str) -> Axis {
    axis(label, unit, Scale::Log, Vec::new())
}

fn axis(label: &str, unit: &str, scale: Scale, includes: Vec<f64>) -> Axis {
    Axis { label: label.to_owned(), unit: unit.to_owned(), scale, includes, labels: Vec::new() }
}

/// Maximum ratio of the largest to the smallest latency on a linear axis. With a larger ratio, the points of small values would touch the axis.
const LARGEST_LINEAR_SPREAD: f64 = 20.0;

/// An axis of latencies in milliseconds: linear from zero, or logarithmic if the values differ too much.
pub(super) fn latency(label: &str, values: impl IntoIterator<Item = f64>) -> Axis {
    let above_zero = values.into_iter().filter(|it| *it > 0.0);
    let (least, most) = above_zero.fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(it), most.max(it)));
    if most > least * LARGEST_LINEAR_SPREAD { logarithmic(label, "ms") } else { quantity(label, "ms") }
}

/// An axis of shares, from 0 to 1.
pub(super) fn share(label: &str) -> Axis {
    axis(label, "share", Scale::Linear, vec![0.0, 1.0])
}

/// The axis of time. It has the same length in every figure of a run: from the start of the run to the end of the longest time series.
pub(super) fn time(document: &ReportDocument) -> Axis {
    let client = document.time_series.as_ref().map(|it| it.start_ms + it.bin_ms * it.due.0.len() as f64);
    let server = document.server_metrics.as_ref().and_then(|it| it.time_series.as_ref());
    let server = server.map(|it| it.start_ms + it.bin_ms * it.failed_scrapes.0.len() as f64);
    let ends = client.into_iter().chain(server).map(seconds);
    axis("Time since the start of the run", "s", Scale::Linear, [0.0].into_iter().chain(ends).collect())
}

/// An axis of the stages' loads, with a label at each load. It is logarithmic if the loads differ too much.
pub(super) fn loads(label: &str, unit: &str, loads: impl IntoIterator<Item = f64>) -> Axis {
    let mut labels: Vec<f64> = loads.into_iter().collect();
    labels.dedup();
    let ends = labels.first().copied().zip(labels.last().copied());
    let is_far = ends.is_some_and(|(least, most)| least > 0.0 && most >= 2.0 * least);
    let (scale, includes) = if is_far { (Scale::Log, Vec::new()) } else { (Scale::Linear, vec![0.0]) };
    Axis { labels, ..axis(label, unit, scale, includes) }
}

/// The minimum and the maximum of a figure, such as `99.7 to 1,649`.
pub(super) fn between(values: impl IntoIterator<Item = f64>, unit: &str) -> String {
    let known = values.into_iter().filter(|it| it.is_finite());
    let (least, most) =
        known.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), it| (least.min(it), most.max(it)));
    match unit {
        _ if least > most => String::new(),
        "ms" => text::durations(least, most),
        "share" => text::percents(least, most),
        _ => format!("{} to {} {unit}", text::three(least), text::three(most)).trim_end().to_owned(),
    }
}

/// Converts milliseconds to seconds.
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
