//! Writes the names of lines at their right ends, in a page.

use super::{
    canvas::{Anchor, Canvas, Font},
    layout::{Layout, SMALL},
    legend::Legend,
    paint::Paint,
    shapes::open_group,
};
use crate::figure::{Figure, Series, Shape};

/// Minimum vertical distance between the base lines of two names, in pixels.
const APART: f64 = 12.0;
/// Horizontal distance between the frame and a name, in pixels.
const GAP: f64 = 5.0;

/// Writes the name of each line next to its last value. Names that would overlap are moved apart, in the order of the lines.
pub(crate) fn names(canvas: &mut Canvas, paint: Paint, figure: &Figure, legend: &Legend, layout: &Layout) {
    let ends = figure.series.iter().zip(&legend.keys).filter_map(|(it, key)| Some((last(it, layout)?, *key)));
    let mut ends: Vec<(f64, usize)> = ends.collect();
    ends.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut room = layout.frame.bottom;
    let font = Font { size: SMALL, paint: paint.text(), bold: false, halo: None };
    for (y, key) in ends {
        let base = (y + 4.0).min(room);
        room = base - APART;
        open_group(canvas, Some(key));
        canvas.text(layout.frame.right + GAP, base, Anchor::Start, &font, &legend.entries[key].name);
        canvas.put(format_args!("</g>"));
    }
}

/// The position of the last value of a line, in the drawing.
fn last(series: &Series, layout: &Layout) -> Option<f64> {
    let value = match &series.shape {
        Shape::Line(places) | Shape::Steps(places) => places.iter().rev().find_map(|it| it.y),
        Shape::Points { points, joined: true } => points.last().map(|it| it.y),
        _ => None,
    };
    layout.frame.y_within(value?)
}
