//! Describes a figure in words, for readers who cannot see it.

use crate::{
    figure::{Figure, MarkAt, Request, Series, Shape},
    units,
};

/// Maximum number of series, shades or marks that are described. If there are more, the rest is only counted.
const MOST: usize = 20;

/// The caption, then a sentence for each series, shade and mark.
pub(crate) fn describe(figure: &Figure) -> String {
    let mut sentences = vec![figure.caption.clone()];
    sentences.push(format!("Horizontal axis: {}. Vertical axis: {}.", figure.x.label, figure.y.label));
    sentences.extend(figure.series.iter().take(MOST).map(|it| series(figure, it)));
    if figure.series.len() > MOST {
        sentences.push(format!("And {} more series.", figure.series.len() - MOST));
    }
    let (x, y) = (|it| units::value(it, &figure.x.unit), |it| units::value(it, &figure.y.unit));
    sentences.extend(figure.shades.iter().take(MOST).map(|it| {
        let (from, to) = (x(it.from), x(it.to));
        format!("{}: from {from} to {to}.", it.label)
    }));
    sentences.extend(figure.marks.iter().take(MOST).map(|it| match it.at {
        MarkAt::X(at) | MarkAt::Below(at) => format!("{}: at {}.", it.label, x(at)),
        MarkAt::Y(at) | MarkAt::Limit(at) => format!("{}: at {}.", it.label, y(at)),
        MarkAt::Point(at_x, at_y) => format!("{}: at {}, {}.", it.label, x(at_x), y(at_y)),
    }));
    sentences.retain(|it| !it.is_empty());
    sentences.join(" ")
}

fn series(figure: &Figure, series: &Series) -> String {
    let name = &series.name;
    let unit = &figure.y.unit;
    let of_values = |values: Vec<f64>| {
        let known: Vec<f64> = values.into_iter().filter(|it| it.is_finite()).collect();
        let (low, high) = (
            known.iter().copied().fold(f64::INFINITY, f64::min),
            known.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        match known.len() {
            0 => format!("{name}: no values."),
            1 => format!("{name}: {}.", units::value(low, unit)),
            count => {
                format!("{name}: {count} values from {} to {}.", units::value(low, unit), units::value(high, unit))
            }
        }
    };
    match &series.shape {
        Shape::Line(places) | Shape::Steps(places) => of_values(places.iter().filter_map(|it| it.y).collect()),
        Shape::Band(intervals) => of_values(intervals.iter().flat_map(|it| [it.low, it.high]).collect()),
        Shape::Points { points, .. } => of_values(points.iter().map(|it| it.y).collect()),
        Shape::Bars(bars) => of_values(bars.iter().map(|it| it.value).collect()),
        Shape::Heat(heat) => {
            let total = heat.counts.iter().flatten().fold(0u64, |sum, it| sum.saturating_add(*it));
            format!("{name}: {total} values in {} columns.", heat.counts.len())
        }
        Shape::Requests(all) => {
            let failed = all.iter().filter(|it: &&Request| !it.succeeded).count();
            format!("{name}: {} requests, of which {failed} failed.", all.len())
        }
    }
}
