//! The data of a figure as a table, for CSV and for a page.

use crate::{
    figure::{Axis, Figure, Heat, Request, Series, Shape},
    svg::text::clean,
};

/// The columns of all figures, in order. A figure has only the columns that it needs.
pub(crate) const COLUMNS: [&str; 12] =
    ["x", "x_end", "y", "low", "high", "count", "label", "due", "sent", "first_token", "ended", "outcome"];

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Number(f64),
    Text(String),
    Empty,
}

/// The rows of one series. Each column has its name from `COLUMNS` and one cell per row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rows {
    pub name: String,
    pub columns: Vec<(&'static str, Vec<Cell>)>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |it| it.1.len())
    }
}

/// The rows of each series, in the order of the figure.
pub(crate) fn rows(figure: &Figure) -> Vec<Rows> {
    figure.series.iter().map(of_series).collect()
}

/// The columns that appear in these rows, with their titles: name, label and unit of the axis.
pub(crate) fn columns(figure: &Figure, rows: &[Rows]) -> Vec<(&'static str, String)> {
    let used = COLUMNS.iter().filter(|it| rows.iter().any(|rows| rows.columns.iter().any(|(name, _)| name == *it)));
    let title = |name: &'static str| match name {
        "x" | "x_end" | "due" | "sent" | "first_token" | "ended" => titled(name, &figure.x),
        "y" | "low" | "high" => titled(name, &figure.y),
        _ => name.to_owned(),
    };
    used.map(|it| (*it, title(it))).collect()
}

fn titled(name: &str, axis: &Axis) -> String {
    let (label, unit) = (clean(&axis.label), clean(&axis.unit));
    match (label.as_str(), unit.as_str()) {
        ("", "") => name.to_owned(),
        ("", unit) => format!("{name}: {unit}"),
        (label, "") => format!("{name}: {label}"),
        (label, unit) => format!("{name}: {label} ({unit})"),
    }
}

fn of_series(series: &Series) -> Rows {
    let columns = match &series.shape {
        Shape::Line(all) | Shape::Steps(all) => {
            vec![("x", numbers(all, |it| it.x)), ("y", optional(all, |it| it.y))]
        }
        Shape::Band(all) => {
            vec![
                ("x", numbers(all, |it| it.x)),
                ("low", numbers(all, |it| it.low)),
                ("high", numbers(all, |it| it.high)),
            ]
        }
        Shape::Points { points, .. } => {
            let mut columns = vec![("x", numbers(points, |it| it.x)), ("y", numbers(points, |it| it.y))];
            if points.iter().any(|it| it.range.is_some()) {
                columns.push(("low", optional(points, |it| it.range.map(|it| it.0))));
                columns.push(("high", optional(points, |it| it.range.map(|it| it.1))));
            }
            if points.iter().any(|it| !it.label.is_empty()) {
                columns.push(("label", points.iter().map(|it| Cell::Text(clean(&it.label))).collect()));
            }
            columns
        }
        Shape::Bars(all) => {
            vec![
                ("x", numbers(all, |it| it.from)),
                ("x_end", numbers(all, |it| it.to)),
                ("y", numbers(all, |it| it.value)),
            ]
        }
        Shape::Heat(heat) => of_heat(heat),
        Shape::Requests(all) => of_requests(all),
    };
    Rows { name: clean(&series.name), columns }
}

/// One row per non-empty cell.
fn of_heat(heat: &Heat) -> Vec<(&'static str, Vec<Cell>)> {
    let columns = heat.counts.iter().zip(heat.x_edges.windows(2));
    let cells =
        columns.flat_map(|(counts, x)| counts.iter().zip(heat.y_edges.windows(2)).map(move |(it, y)| (*it, x, y)));
    let cells: Vec<(u64, &[f64], &[f64])> = cells.filter(|it| it.0 > 0).collect();
    vec![
        ("x", numbers(&cells, |it| it.1[0])),
        ("x_end", numbers(&cells, |it| it.1[1])),
        ("low", numbers(&cells, |it| it.2[0])),
        ("high", numbers(&cells, |it| it.2[1])),
        ("count", numbers(&cells, |it| it.0 as f64)),
    ]
}

fn of_requests(all: &[Request]) -> Vec<(&'static str, Vec<Cell>)> {
    let outcome = |it: &Request| Cell::Text(if it.succeeded { "success" } else { "failure" }.to_owned());
    vec![
        ("label", all.iter().map(|it| Cell::Text(clean(&it.label))).collect()),
        ("due", numbers(all, |it| it.due)),
        ("sent", optional(all, |it| it.sent)),
        ("first_token", optional(all, |it| it.first_token)),
        ("ended", numbers(all, |it| it.ended)),
        ("outcome", all.iter().map(outcome).collect()),
    ]
}

fn numbers<T>(all: &[T], value: impl Fn(&T) -> f64) -> Vec<Cell> {
    optional(all, |it| Some(value(it)))
}

fn optional<T>(all: &[T], value: impl Fn(&T) -> Option<f64>) -> Vec<Cell> {
    all.iter().map(|it| value(it).filter(|it| it.is_finite()).map_or(Cell::Empty, Cell::Number)).collect()
}

/// Formats a number with at most eight significant digits, as JavaScript does, so that a file and a page contain the same text.
pub(crate) fn number(value: f64) -> String {
    let value = format!("{value:.7e}").parse::<f64>().unwrap_or(value);
    if value == 0.0 {
        return "0".to_owned();
    }
    if (1e-6..1e21).contains(&value.abs()) {
        return value.to_string();
    }
    let text = format!("{value:e}");
    if text.contains("e-") { text } else { text.replace('e', "e+") }
}
