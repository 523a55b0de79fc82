//! Draws points with ranges and names.

use crate::{
    figure::{Point, Tone},
    palette,
    svg::{
        annotations::{bounds, boxes},
        canvas::{Anchor, Canvas, Font, Path, Px},
        frame::Frame,
        labels::Taken,
        layout::{Layout, SMALL},
        legend::{dash_attribute, put_markers},
        paint::Paint,
        text,
    },
    thin,
};

/// With more points than this, markers are small and have no edge.
const LARGE: usize = 60;
/// With more points than this, no names are written, because they would hide the points.
const NAMED: usize = 60;

/// Rectangles are reserved along a line, at this distance in pixels, so that names do not cover it.
const ALONG: f64 = 5.0;

/// Draws points and reserves their places.
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
        let (width, dashes) = (palette::width(tone), dash_attribute(tone));
        let attributes =
            format!(r#"fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"{dashes}"#);
        canvas.path(&path.d, format_args!("{attributes}"));
    }
    whiskers(canvas, &colour, frame, &placed, taken);
    let size = match (placed.len() > LARGE, joined) {
        (true, _) => 2.0,
        (false, true) => 3.0,
        (false, false) => 4.5,
    };
    let has_note = |it: &Point| canvas.is_in_page() && !it.note.is_empty();
    let (noted, plain): (Vec<_>, Vec<_>) = placed.iter().copied().partition(|it| has_note(it.0));
    let places: Vec<(f64, f64)> = plain.iter().map(|it| it.1).collect();
    put_markers(canvas, paint, tone, size, &places);
    for (point, place) in noted {
        with_note(canvas, paint, frame, tone, point, place);
    }
    if placed.len() <= NAMED {
        placed.iter().for_each(|(_, (x, y))| taken.take([x - size, y - size, x + size, y + size]));
        let lines = placed.windows(2).take(if joined { NAMED } else { 0 });
        lines.for_each(|pair| take_line(pair[0].1, pair[1].1, taken));
    }
}

fn whiskers(canvas: &mut Canvas, colour: &str, frame: &Frame, placed: &[(&Point, (f64, f64))], taken: &mut Taken) {
    let mut path = Path::default();
    for (point, (x, _)) in placed {
        let Some((low, high)) = point.range else { continue };
        let (Some(low), Some(high)) = (frame.y_within(low), frame.y_within(high)) else { continue };
        path.go(*x, low);
        path.vertical(high);
        for y in [low, high] {
            path.go(x - 3.0, y);
            path.horizontal(x + 3.0);
        }
        taken.take([x - 2.0, low.min(high), x + 2.0, low.max(high)]);
    }
    if !path.is_empty() {
        canvas.path(&path.d, format_args!(r#"fill="none" stroke="{colour}" stroke-width="1.2""#));
    }
}

/// The radius around a point that reacts to the pointer, in pixels.
const REACH: f64 = 12.0;
/// The distance from the point up to the top of its note, in pixels.
const ABOVE: f64 = 38.0;
/// The height of a note, in pixels.
const NOTE: f64 = 24.0;
/// The font size of a note.
const NOTE_TEXT: f64 = 12.0;

/// Draws a point with its note. The page's style shows the note while the point has the focus.
fn with_note(canvas: &mut Canvas, paint: Paint, frame: &Frame, tone: Tone, point: &Point, (x, y): (f64, f64)) {
    let note = text::escape(&point.note);
    canvas.put(format_args!(r#"<g class="chart-point" tabindex="0" role="img" aria-label="{note}">"#));
    canvas.put(format_args!(r#"<circle cx="{}" cy="{}" r="{REACH}" fill="none"/>"#, canvas.across(x), Px(y)));
    put_markers(canvas, paint, tone, 5.5, &[(x, y)]);
    let width = text::width(&point.note, NOTE_TEXT) * 0.9 + 16.0;
    let share = (x - frame.left) / (frame.right - frame.left).max(1.0);
    let left = -width * share.clamp(0.0, 1.0);
    let (at, top) = (canvas.across(x), Px((y - ABOVE).max(-NOTE)));
    canvas.put(format_args!(
        concat!(
            r#"<svg class="chart-note" x="{at}" y="{top}" height="{height}" aria-hidden="true">"#,
            r#"<rect x="{left}" width="{width}" height="{height}" rx="4"/><text x="{middle}" y="16" text-anchor="middle">{note}</text></svg></g>"#
        ),
        at = at,
        top = top,
        height = Px(NOTE),
        left = Px(left),
        width = Px(width),
        middle = Px(left + width / 2.0),
        note = note
    ));
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

/// Writes the name of each point next to it, if there is space.
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
