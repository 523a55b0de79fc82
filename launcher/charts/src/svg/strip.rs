//! The strip of names above the frame.

use super::{frame::Frame, layout::SMALL, text};
use crate::figure::{Figure, MarkAt};

/// The names above the frame, arranged in lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Strip {
    pub labels: Vec<Label>,
    pub height: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Label {
    /// The start of the text.
    pub(super) x: f64,
    /// The line of the text; 0 is the upper line.
    pub(super) line: usize,
    pub(super) text: String,
    /// The index of the mark; `None` if the text is the name of a shade.
    pub(super) mark: Option<usize>,
}

pub(super) const LINE: f64 = 14.0;
/// Maximum number of lines. More would take space from the data. Names that do not fit are left out; the description of the drawing contains them.
pub(super) const LINES: usize = 2;
pub(super) const MOST_LABELS: usize = 60;

/// Arranges the names of shades, and of marks on the x axis, from left to right.
pub(crate) fn strip(figure: &Figure, frame: &Frame) -> Strip {
    let shades = figure.shades.iter().filter_map(|it| Some((frame.x_within(it.from.min(it.to))?, &it.label, None)));
    let marks = figure.marks.iter().enumerate().filter_map(|(index, it)| match it.at {
        MarkAt::X(x) if frame.x.contains(x) => Some((frame.x(x)?, &it.label, Some(index))),
        _ => None,
    });
    let mut wanted: Vec<_> = shades.chain(marks).filter(|it| !it.1.is_empty()).take(MOST_LABELS).collect();
    wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ends = [f64::NEG_INFINITY; LINES];
    let mut labels: Vec<Label> = Vec::new();
    let mut shades: Vec<&str> = Vec::new();
    for (x, label, mark) in wanted {
        // Shades with the same name get only one label.
        if mark.is_none() && shades.contains(&label.as_str()) {
            continue;
        }
        shades.extend(mark.is_none().then_some(label.as_str()));
        let text = text::fitted(label, SMALL, (frame.right - frame.left) * 0.5);
        let width = text::width(&text, SMALL);
        let start = (x + 3.0).min(frame.right + 8.0 - width);
        if let Some(line) = ends.iter().position(|it| *it + 8.0 <= start) {
            ends[line] = start + width;
            labels.push(Label { x: start, line, text, mark });
        }
    }
    let lines = labels.iter().map(|it| it.line + 1).max().unwrap_or(0);
    Strip { labels, height: lines as f64 * LINE }
}
