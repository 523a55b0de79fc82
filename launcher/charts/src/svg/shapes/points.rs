//! Points with ranges and names.

use super::marks_path::marks_path;
use crate::{
    figure::{Point, Tone},
    palette::{self},
    svg::{
        annotations::{bounds, boxes},
        canvas::{Anchor, Canvas, Font, Path},
        frame::Frame,
        labels::Taken,
        layout::{Layout, SMALL},
        legend::{dash_attribute, put_markers},
        paint::Paint,
        text,
    },
    thin,
};

/// With more points than this, markers are small, and have no edge.
const LARGE: usize = 60;
/// With more points than this, no names are written: they would hide the points.
const NAMED: usize = 60;

/// Distance of the boxes that keep names off a line between points, in pixels.
const ALONG: f64 = 5.0;

/// Draws points, and marks their places as occupied.
pub(crate) fn draw(
    canvas: &mut Canvas,
    paint: Paint,
    frame: &Frame,
    points: &[Point],
    joined: bool,
    tone: Tone,
    taken: &mut Taken,
) {
    let points = thin::by_value(points, |it| it.y);
    let placed: Vec<(&Point, (f64, f64))> = points.iter().filter_map(|it| Some((it, pixels(frame, it)?))).collect();
    let colour = paint.tone(tone);
    if joined {
        let mut path = Path::default();
        for (index, (_, (x, y))) in placed.iter().enumerate() {
            if index == 0 { path.go(*x, *y) } else { path.line(*x, *y) }
        }
        let dashes = dash_attribute(tone);
        canvas.put(format_args!(
            r#"<path d="{}" fill="none" stroke="{colour}" stroke-width="1.6" stroke-linejoin="round"{dashes}/>"#,
            path.d
        ));
    }
    let mut whiskers = Path::default();
    for (point, (x, _)) in &placed {
        let Some((low, high)) = point.range else { continue };
        let (Some(low), Some(high)) = (frame.y_within(low), frame.y_within(high)) else { continue };
        whiskers.go(*x, low);
        whiskers.vertical(high);
        for y in [low, high] {
            whiskers.go(x - 3.0, y);
            whiskers.horizontal(x + 3.0);
        }
        taken.take([x - 2.0, low.min(high), x + 2.0, low.max(high)]);
    }
    if !whiskers.is_empty() {
        canvas.put(format_args!(r#"<path d="{}" fill="none" stroke="{colour}" stroke-width="1.2"/>"#, whiskers.d));
    }
    let size = if placed.len() > LARGE { 2.0 } else { 4.2 };
    let d = marks_path(palette::marker(tone), size, placed.iter().map(|it| it.1));
    if !d.is_empty() {
        put_markers(canvas, paint, tone, &d);
    }
    if placed.len() <= NAMED {
        placed.iter().for_each(|(_, (x, y))| taken.take([x - size, y - size, x + size, y + size]));
        let lines = placed.windows(2).take(if joined { NAMED } else { 0 });
        lines.for_each(|pair| take_line(pair[0].1, pair[1].1, taken));
    }
}

fn pixels(frame: &Frame, it: &Point) -> Option<(f64, f64)> {
    Some((frame.x(it.x)?, frame.y(it.y)?))
}

fn take_line(from: (f64, f64), to: (f64, f64), taken: &mut Taken) {
    let steps = ((to.0 - from.0).hypot(to.1 - from.1) / ALONG).ceil().max(1.0);
    for step in 0..steps as usize {
        let share = step as f64 / steps;
        let (x, y) = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
        taken.take([x - 1.0, y - 1.0, x + 1.0, y + 1.0]);
    }
}

/// Writes the name of each point beside it, if there is room.
pub(crate) fn names(canvas: &mut Canvas, paint: Paint, layout: &Layout, points: &[Point], taken: &mut Taken) {
    let frame = &layout.frame;
    let named = points.iter().filter(|it| !it.label.is_empty() && points.len() <= NAMED);
    for (point, (x, y)) in named.filter_map(|it| Some((it, pixels(frame, it)?))) {
        let text = text::fitted(&point.label, SMALL, (frame.right - frame.left) * 0.4);
        let places = [
            (x + 7.0, y - 5.0, Anchor::Start),
            (x - 7.0, y - 5.0, Anchor::End),
            (x + 7.0, y + 14.0, Anchor::Start),
            (x - 7.0, y + 14.0, Anchor::End),
            (x, y - 9.0, Anchor::Middle),
            (x, y + 18.0, Anchor::Middle),
            (x + 9.0, y + 4.0, Anchor::Start),
            (x - 9.0, y + 4.0, Anchor::End),
        ];
        if let Some(found) = taken.first_free(bounds(layout), &boxes(&text, SMALL, &places)) {
            let (x, y, anchor) = places[found];
            let font = Font { size: SMALL, paint: paint.muted(), bold: false, halo: Some(paint.background()) };
            canvas.text(x, y, anchor, &font, &text);
        }
    }
}
