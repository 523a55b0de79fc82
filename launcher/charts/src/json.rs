//! The data that a page's script needs for a figure, including the positions of the values.
//!
//! The script uses the data to find the values under the pointer, and to write the same CSV as `csv::write`. JSON is smaller than CSV, because names
//! and repeated columns occur only once. If each element had its values as attributes, the page would be even larger than with CSV.

use std::fmt::Write as _;

use crate::{
    figure::{Axis, Figure, Heat, MarkAt, Scale, Series, Shape},
    palette,
    scale::Domain,
    svg::{Layout, Px, Vertical, element_id, legend::Legend, text::clean},
    table::{self, Cell, Rows},
};

/// Returns one JSON object. It contains no `<`, so it can be placed in a `<script>` element.
pub(crate) fn write(figure: &Figure, legend: &Legend, layout: &Layout) -> String {
    let rows = table::rows(figure);
    let columns = table::columns(figure, &rows);
    let columns = list(columns.iter().map(|(name, title)| format!("[{},{}]", text(name), text(title))));
    let (frame, y) = (
        &layout.frame,
        match layout.frame.y {
            Vertical::Values(domain) => domain,
            Vertical::Rows(count) => Domain { scale: Scale::Linear, low: count as f64, high: 0.0 },
        },
    );
    let x = axis(&figure.x, frame.x, frame.left, frame.right);
    let y = axis(&figure.y, y, frame.bottom, frame.top);
    let series = figure.series.iter().zip(&legend.keys).enumerate();
    let series = list(series.map(|(index, (it, key))| of_series(it, *key, index, &rows)));
    let shades = figure.shades.iter().filter(|it| it.from.is_finite() && it.to.is_finite());
    let shades = list(shades.map(|it| format!("[{},{},{}]", value(it.from), value(it.to), text(&it.label))));
    let marks = figure.marks.iter().filter_map(|it| match it.at {
        MarkAt::X(at) if at.is_finite() => Some(format!("[{},{}]", value(at), text(&it.label))),
        _ => None,
    });
    let (id, marks) = (text(&element_id(&figure.id)), list(marks));
    let width = Px(layout.width);
    format!(
        r#"{{"id":{id},"width":{width},"columns":{columns},"x":{x},"y":{y},"series":{series},"shades":{shades},"marks":{marks}}}"#
    )
}

fn axis(axis: &Axis, domain: Domain, from: f64, to: f64) -> String {
    let log = u8::from(domain.scale == Scale::Log);
    let (low, high) = (value(domain.low), value(domain.high));
    let (from, to, unit, label) = (Px(from), Px(to), text(&axis.unit), text(&axis.label));
    format!(r#"{{"log":{log},"low":{low},"high":{high},"from":{from},"to":{to},"unit":{unit},"label":{label}}}"#)
}

fn of_series(series: &Series, key: usize, index: usize, rows: &[Rows]) -> String {
    let shape = match &series.shape {
        Shape::Line(_) => "line",
        Shape::Steps(_) => "steps",
        Shape::Band(_) => "band",
        Shape::Points { .. } => "points",
        Shape::Bars(_) => "bars",
        Shape::Heat(_) => "heat",
        Shape::Requests(_) => "requests",
    };
    let (name, colour) = (text(&series.name), palette::variable(series.tone));
    let cells = match &series.shape {
        Shape::Heat(it) => heat(it),
        _ => cells(index, rows),
    };
    format!(r#"{{"name":{name},"key":{key},"shape":"{shape}","colour":"var({colour})",{cells}}}"#)
}

/// The columns of a series. If an earlier series has an equal column, only the index of that series is written.
fn cells(index: usize, rows: &[Rows]) -> String {
    let mut out = String::from("\"cells\":{");
    for (at, (name, cells)) in rows[index].columns.iter().enumerate() {
        let same = |it: &Rows| it.columns.iter().any(|other| other.0 == *name && other.1 == *cells);
        let comma = if at == 0 { "" } else { "," };
        // Writing to a `String` cannot fail.
        let _ = match rows[..index].iter().position(same) {
            Some(earlier) => write!(out, r#"{comma}"{name}":{earlier}"#),
            None => write!(out, r#"{comma}"{name}":{}"#, list(cells.iter().map(cell))),
        };
    }
    out.push('}');
    out
}

/// The cells of a heat map. The script converts them to rows.
fn heat(it: &Heat) -> String {
    let edges = |edges: &[f64]| list(edges.iter().map(|it| value(*it)));
    let counts = list(it.counts.iter().map(|column| list(column.iter().map(u64::to_string))));
    format!(r#""heat":{{"x":{},"y":{},"counts":{counts}}}"#, edges(&it.x_edges), edges(&it.y_edges))
}

fn cell(it: &Cell) -> String {
    match it {
        Cell::Number(it) => table::number(*it),
        Cell::Text(it) => text(it),
        Cell::Empty => "null".to_owned(),
    }
}

fn value(it: f64) -> String {
    if it.is_finite() { table::number(it) } else { "null".to_owned() }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn text(it: &str) -> String {
    let mut out = String::from("\"");
    for it in clean(it).chars() {
        match it {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // Escaped, so that no text can end the script element or begin a comment.
            '<' => out.push_str("\\u003c"),
            _ => out.push(it),
        }
    }
    out.push('"');
    out
}
