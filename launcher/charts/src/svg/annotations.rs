//! Draws shades (behind the data) and marks (in front of it), with their names.

use super::{
    canvas::{Anchor, Canvas, Font},
    frame::Vertical,
    labels::Taken,
    layout::{Layout, SMALL},
    paint::Paint,
    strip::{LINE, Label},
    text,
};
use crate::{
    figure::{Figure, MarkAt, Tone},
    units,
};

fn top_of(layout: &Layout, line: usize) -> f64 {
    layout.frame.top - layout.strip.height + line as f64 * LINE
}

pub(crate) fn shades(canvas: &mut Canvas, paint: Paint, figure: &Figure, layout: &Layout) {
    let frame = &layout.frame;
    for shade in &figure.shades {
        let (Some(from), Some(to)) = (frame.x_within(shade.from), frame.x_within(shade.to)) else { continue };
        let (from, to) = (from.min(to), from.max(to));
        if to - from < 0.05 {
            continue;
        }
        let colour = paint.tone(shade.tone);
        canvas.put(format_args!(
            r#"<rect x="{}" y="{}" width="{}" height="{}" fill="{colour}" fill-opacity="0.12"><title>{}</title></rect>"#,
            canvas.across(from),
            super::Px(frame.top),
            canvas.across(to - from),
            super::Px(frame.bottom - frame.top),
            text::escape(&shade.label)
        ));
    }
    let font = Font { size: SMALL, paint: paint.muted(), bold: false, halo: None };
    for label in layout.strip.labels.iter().filter(|it| it.mark.is_none()) {
        canvas.text(label.x, top_of(layout, label.line) + 10.0, Anchor::Start, &font, &label.text);
    }
}

pub(crate) fn marks(canvas: &mut Canvas, paint: Paint, figure: &Figure, layout: &Layout, taken: &mut Taken) {
    let frame = &layout.frame;
    for (index, mark) in figure.marks.iter().enumerate() {
        match mark.at {
            MarkAt::X(x) if frame.x.contains(x) => {
                let label = layout.strip.labels.iter().find(|it| it.mark == Some(index));
                x_mark(canvas, paint, layout, x, label);
            }
            MarkAt::X(x) => beyond(canvas, paint, figure, layout, (&mark.label, x, true), taken),
            MarkAt::Y(y) => y_mark(canvas, paint.text(), paint, figure, layout, (&mark.label, y), taken),
            MarkAt::Limit(y) => {
                y_mark(canvas, &paint.tone(Tone::Bad), paint, figure, layout, (&mark.label, y), taken);
            }
            MarkAt::Below(x) => sign(canvas, paint, layout, &mark.label, x),
            MarkAt::Point(x, y) => point(canvas, paint, layout, (&mark.label, x, y), taken),
        }
    }
}

const LINE_LOOK: &str = r#" stroke-width="1.2" stroke-dasharray="4 3""#;

fn x_mark(canvas: &mut Canvas, paint: Paint, layout: &Layout, x: f64, label: Option<&Label>) {
    let frame = &layout.frame;
    let Some(x) = frame.x(x) else { return };
    let top = label.map_or(frame.top, |it| top_of(layout, it.line) + 2.0);
    canvas.line((x, top), (x, frame.bottom), paint.muted(), LINE_LOOK);
    if let Some(label) = label {
        let font = Font { size: SMALL, paint: paint.text(), bold: false, halo: None };
        canvas.text(label.x, top_of(layout, label.line) + 10.0, Anchor::Start, &font, &label.text);
    }
}

/// Draws a sign such as `✓` below the labels of the x axis, in the colour of its verdict.
fn sign(canvas: &mut Canvas, paint: Paint, layout: &Layout, label: &str, x: f64) {
    let tone = match label {
        "✓" => Tone::Good,
        "✗" => Tone::Bad,
        _ => Tone::Doubt,
    };
    let Some(x) = layout.frame.x(x) else { return };
    let colour = paint.tone(tone);
    let font = Font { size: SIGN, paint: &colour, bold: true, halo: None };
    canvas.text(x, layout.frame.bottom + SIGNS_BELOW, Anchor::Middle, &font, label);
}

/// The font size of a sign, in pixels.
const SIGN: f64 = 13.0;
/// The distance from the axis to the base line of the sign, in pixels.
const SIGNS_BELOW: f64 = 34.0;

fn y_mark(
    canvas: &mut Canvas,
    line: &str,
    paint: Paint,
    figure: &Figure,
    layout: &Layout,
    (label, value): (&str, f64),
    taken: &mut Taken,
) {
    let frame = &layout.frame;
    let Vertical::Values(domain) = frame.y else { return };
    if !domain.contains(value) {
        return beyond(canvas, paint, figure, layout, (label, value, false), taken);
    }
    let Some(y) = frame.y(value) else { return };
    canvas.line((frame.left, y), (frame.right, y), line, LINE_LOOK);
    let (right, left) = (frame.right - 4.0, frame.left + 4.0);
    let (above, below) = (y - 5.0, y + 13.0);
    let mut places = vec![(left, above, Anchor::Start), (right, above, Anchor::End)];
    places.extend([(right, below, Anchor::End), (left, below, Anchor::Start)]);
    let between = [0.75, 0.5, 0.25].map(|share| left + (right - left) * share);
    places.extend(between.iter().flat_map(|x| [(*x, above, Anchor::Middle), (*x, below, Anchor::Middle)]));
    // A limit without a name has no meaning. So if there is no free place, the name covers data.
    if !in_front(canvas, paint, line, layout, label, &places, taken) {
        in_front(canvas, paint, line, layout, label, &places[..1], &mut Taken::default());
    }
}

/// Draws a mark that lies outside its axis: its name, its value and an arrow at the nearest end.
fn beyond(
    canvas: &mut Canvas,
    paint: Paint,
    figure: &Figure,
    layout: &Layout,
    (label, value, on_x): (&str, f64, bool),
    taken: &mut Taken,
) {
    let frame = &layout.frame;
    let (unit, above) = match (on_x, frame.y) {
        (true, _) => (&figure.x.unit, value > frame.x.high),
        (false, Vertical::Values(domain)) => (&figure.y.unit, value > domain.high),
        (false, Vertical::Rows(_)) => return,
    };
    if !value.is_finite() {
        return;
    }
    let arrow = match (on_x, above) {
        (true, true) => "→",
        (true, false) => "←",
        (false, true) => "↑",
        (false, false) => "↓",
    };
    let text = format!("{label}: {} {arrow}", units::value(value, unit));
    let right = !on_x || above;
    let (x, anchor) = if right { (frame.right - 4.0, Anchor::End) } else { (frame.left + 4.0, Anchor::Start) };
    let lines = (0..4).map(|line| {
        let offset = 12.0 + 14.0 * f64::from(line);
        let low = !on_x && !above;
        (x, if low { frame.bottom - offset + 7.0 } else { frame.top + offset }, anchor)
    });
    in_front(canvas, paint, paint.text(), layout, &text, &lines.collect::<Vec<_>>(), taken);
}

const RING: f64 = 7.0;

/// The areas of the rings around marked points. Names of points must not cover them.
pub(crate) fn rings(figure: &Figure, layout: &Layout) -> Taken {
    let mut taken = Taken::default();
    for mark in &figure.marks {
        let MarkAt::Point(x, y) = mark.at else { continue };
        if let (Some(x), Some(y)) = (layout.frame.x(x), layout.frame.y(y)) {
            taken.take([x - RING, y - RING, x + RING, y + RING]);
        }
    }
    taken
}

fn point(canvas: &mut Canvas, paint: Paint, layout: &Layout, (label, x, y): (&str, f64, f64), taken: &mut Taken) {
    let frame = &layout.frame;
    let inside = |domain: Vertical| matches!(domain, Vertical::Values(it) if it.contains(y));
    if !(frame.x.contains(x) && inside(frame.y)) {
        return;
    }
    let (Some(x), Some(y)) = (frame.x(x), frame.y(y)) else { return };
    canvas.put(format_args!(
        r#"<circle cx="{}" cy="{}" r="{RING}" fill="none" stroke="{}" stroke-width="1.6"/>"#,
        canvas.across(x),
        super::Px(y),
        paint.text()
    ));
    let places = [
        (x + 11.0, y - 8.0, Anchor::Start),
        (x - 11.0, y - 8.0, Anchor::End),
        (x + 11.0, y + 16.0, Anchor::Start),
        (x - 11.0, y + 16.0, Anchor::End),
        (x, y - 13.0, Anchor::Middle),
        (x, y + 22.0, Anchor::Middle),
    ];
    in_front(canvas, paint, paint.text(), layout, label, &places, taken);
}

/// Writes a text at the first free place. Returns false if there is none.
fn in_front(
    canvas: &mut Canvas,
    paint: Paint,
    colour: &str,
    layout: &Layout,
    label: &str,
    places: &[(f64, f64, Anchor)],
    taken: &mut Taken,
) -> bool {
    let frame = &layout.frame;
    let text = text::fitted(label, SMALL, (frame.right - frame.left) * 0.6);
    let Some(found) = taken.first_free(bounds(layout), &boxes(&text, SMALL, places)) else { return false };
    let (x, y, anchor) = places[found];
    let font = Font { size: SMALL, paint: colour, bold: false, halo: Some(paint.background()) };
    canvas.text(x, y, anchor, &font, &text);
    true
}

/// The area in which labels can be placed.
pub(crate) fn bounds(layout: &Layout) -> [f64; 4] {
    let frame = &layout.frame;
    [frame.left, frame.top - 4.0, layout.width, frame.bottom]
}

/// The rectangle of a text at each of these places.
pub(crate) fn boxes(text: &str, size: f64, places: &[(f64, f64, Anchor)]) -> Vec<[f64; 4]> {
    let width = text::width(text, size);
    let left = |x: f64, anchor| match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2.0,
        Anchor::End => x - width,
    };
    let of = |&(x, y, anchor): &(f64, f64, Anchor)| {
        let left = left(x, anchor);
        [left, y - size * 0.85, left + width, y + size * 0.25]
    };
    places.iter().map(of).collect()
}
