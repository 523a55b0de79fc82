//! Draws the shapes of series, one file per shape.

mod band;
mod bars;
pub(crate) mod heat;
mod lines;
mod marks_path;
pub(crate) mod phases;
mod points;
pub(crate) mod requests;

pub(crate) use marks_path::marks_path;

use super::{canvas::Canvas, labels::Taken, layout::Layout, legend::Legend, paint::Paint};
use crate::{
    figure::{Figure, Shape, Tone},
    stack,
};

/// Defines the stripe pattern for failures, if the figure needs it.
pub(crate) fn patterns(canvas: &mut Canvas, paint: Paint, figure: &Figure, id: &str) {
    let striped = |it: &crate::Series| match &it.shape {
        Shape::Bars(_) => it.tone == Tone::Bad,
        Shape::Requests(all) => all.iter().any(|it| !it.succeeded),
        _ => false,
    };
    if figure.series.iter().any(striped) {
        canvas.put(format_args!(
            concat!(
                r#"<defs><pattern id="{id}-stripes" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">"#,
                r#"<rect width="5" height="5" fill="{colour}"/><path d="M1 0V5" stroke="{edge}" stroke-width="1.5"/></pattern></defs>"#
            ),
            id = id,
            colour = paint.tone(Tone::Bad),
            edge = paint.background()
        ));
    }
}

/// Draws all series in order. The elements of a series are in a group with its key.
pub(crate) fn draw(
    canvas: &mut Canvas,
    paint: Paint,
    figure: &Figure,
    legend: &Legend,
    layout: &Layout,
    id: &str,
    taken: &mut Taken,
) {
    let stacks = stack::stacked(&figure.series);
    let frame = &layout.frame;
    for ((series, key), stacked) in figure.series.iter().zip(&legend.keys).zip(&stacks) {
        let tone = series.tone;
        if let Shape::Requests(all) = &series.shape {
            requests::draw(canvas, paint, frame, all, *key, id);
            continue;
        }
        let key = if matches!(series.shape, Shape::Heat(_)) { None } else { Some(*key) };
        open_group(canvas, key);
        match &series.shape {
            Shape::Line(places) => lines::line(canvas, paint, frame, places, tone),
            Shape::Steps(places) => lines::steps(canvas, paint, frame, places, tone),
            Shape::Band(intervals) => band::draw(canvas, paint, frame, intervals, tone),
            Shape::Points { points, joined } => {
                points::draw(canvas, paint, frame, points, *joined, tone, taken);
            }
            Shape::Bars(_) => bars::draw(canvas, paint, frame, stacked, tone, id),
            Shape::Heat(heat) => heat::draw(canvas, paint, frame, heat),
            Shape::Requests(_) => {}
        }
        canvas.put(format_args!("</g>"));
    }
}

/// Writes the names of points at free places. Call it after all points and marks are drawn, because their places are then taken.
pub(crate) fn names(
    canvas: &mut Canvas,
    paint: Paint,
    figure: &Figure,
    legend: &Legend,
    layout: &Layout,
    taken: &mut Taken,
) {
    // If the labels of the x axis name the points, the points need no names.
    if !figure.x.labels.is_empty() {
        return;
    }
    for (series, key) in figure.series.iter().zip(&legend.keys) {
        if let Shape::Points { points, .. } = &series.shape {
            open_group(canvas, Some(*key));
            points::names(canvas, paint, layout, points, taken);
            canvas.put(format_args!("</g>"));
        }
    }
}

/// Begins a group of elements that a reader can hide together.
pub(crate) fn open_group(canvas: &mut Canvas, key: Option<usize>) {
    match key {
        Some(key) => canvas.put(format_args!(r#"<g data-key="{key}">"#)),
        None => canvas.put(format_args!("<g>")),
    }
}
