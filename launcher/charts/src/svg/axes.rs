//! Draws axes, their labels and the grid.

use super::{
    canvas::{Anchor, Canvas, Font, Path},
    frame::Vertical,
    layout::{Layout, SMALL, TEXT},
    paint::Paint,
    shapes::heat,
    text,
};
use crate::figure::{Axis, Figure};

/// Draws the grid behind the data: a line for each label, and fainter lines between the labels of a logarithmic axis.
pub(crate) fn grid(canvas: &mut Canvas, paint: Paint, layout: &Layout) {
    let frame = &layout.frame;
    let (mut minor, mut major) = (Path::default(), Path::default());
    for y in layout.y_ticks.minor.iter().filter_map(|it| frame.y(*it)) {
        minor.go(frame.left, y);
        minor.horizontal(frame.right);
    }
    for x in layout.x_ticks.minor.iter().filter_map(|it| frame.x(*it)) {
        minor.go(x, frame.top);
        minor.vertical(frame.bottom);
    }
    for y in layout.y_ticks.labels.iter().filter_map(|it| frame.y(it.0)) {
        major.go(frame.left, y);
        major.horizontal(frame.right);
    }
    // In a page, the labels of the x axis have no grid lines, because marks already divide the time axis, and each load has a label.
    let across = layout.x_ticks.labels.iter().filter(|_| !canvas.is_in_page());
    for x in across.filter_map(|it| frame.x(it.0)) {
        major.go(x, frame.top);
        major.vertical(frame.bottom);
    }
    for (path, rest) in [(minor, r#" stroke-width="1" stroke-opacity="0.5""#), (major, r#" stroke-width="1""#)] {
        if !path.is_empty() {
            canvas.path(&path.d, format_args!(r#"fill="none" stroke="{}"{rest}"#, paint.grid()));
        }
    }
}

/// The axis line at the bottom, and the labels and titles of both axes.
pub(crate) fn axes(canvas: &mut Canvas, paint: Paint, figure: &Figure, layout: &Layout) {
    let frame = &layout.frame;
    canvas.line((frame.left, frame.bottom), (frame.right, frame.bottom), paint.axis(), r#" stroke-width="1""#);
    let font = Font { size: TEXT, paint: paint.muted(), bold: false, halo: None };
    for (at, label) in &layout.y_ticks.labels {
        if let Some(y) = frame.y(*at) {
            canvas.text(frame.left - 7.0, y + 4.0, Anchor::End, &font, label);
        }
    }
    let mut ticks = Path::default();
    for (at, label) in &layout.x_ticks.labels {
        if let Some(x) = frame.x(*at) {
            ticks.go(x, frame.bottom);
            ticks.vertical(frame.bottom + 4.0);
            let half = text::width(label, TEXT) / 2.0;
            // Moves a label at the right end so that it stays within the drawing.
            let x = x.min(layout.width - 2.0 - half);
            canvas.text(x, frame.bottom + 17.0, Anchor::Middle, &font, label);
        }
    }
    if !ticks.is_empty() {
        canvas.path(&ticks.d, format_args!(r#"fill="none" stroke="{}""#, paint.axis()));
    }
    let key = heat::key(figure);
    if let Some(key) = &key {
        let font = Font { size: SMALL, paint: paint.muted(), bold: false, halo: None };
        heat::draw_key(canvas, paint, &font, (layout.width - layout.pad - key.width, layout.y_title), key);
    }
    // In a page, the titles of the axes are outside the drawing.
    if canvas.is_in_page() {
        return;
    }
    let font = Font { size: TEXT, paint: paint.text(), bold: false, halo: None };
    let room = layout.width - 2.0 * layout.pad;
    let room_of_y = key.as_ref().map_or(room, |it| room - it.width - 12.0);
    let y_title = match frame.y {
        Vertical::Rows(rows) => format!("{} ({rows})", figure.y.label),
        Vertical::Values(_) => title(&figure.y, &layout.y_ticks.unit),
    };
    canvas.text(layout.pad, layout.y_title, Anchor::Start, &font, &text::fitted(&y_title, TEXT, room_of_y));
    let x_title = text::fitted(&title(&figure.x, &layout.x_ticks.unit), TEXT, room);
    canvas.text(frame.right, layout.x_title, Anchor::End, &font, &x_title);
}

/// The label of an axis with its unit.
pub(crate) fn title(axis: &Axis, unit: &str) -> String {
    match (axis.label.as_str(), unit) {
        (label, "") => label.to_owned(),
        ("", unit) => unit.to_owned(),
        (label, unit) => format!("{label} ({unit})"),
    }
}
