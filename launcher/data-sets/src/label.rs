//! The labels of rows.

use python_data::{Cell, cell::List};
use serde_json::Value;

/// The label of a row, which pandas calls its index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Label {
    /// The file has no labels. Rows are identified by their position.
    #[default]
    None,
    Number(i64),
    Text(String),
    /// Several values, or a value that is not a number.
    Other,
}

impl Label {
    pub(super) fn from_text(text: &str) -> Label {
        text.trim().parse().map_or_else(|_| Label::Text(text.to_owned()), Label::Number)
    }

    pub(super) fn from_values(values: &[Value]) -> Label {
        match values {
            [] => Label::None,
            [Value::Number(number)] => number.as_i64().map_or(Label::Other, Label::Number),
            [Value::String(text)] => Label::Text(text.clone()),
            _ => Label::Other,
        }
    }

    pub(super) fn from_cell(cell: &Cell<'_>) -> Label {
        match cell {
            Cell::Int(number) => Label::Number(*number),
            Cell::Text(text) => Label::Text(text.clone().into_owned()),
            Cell::List(List::Cells(_)) => Label::Other,
            _ => Label::Other,
        }
    }
}
