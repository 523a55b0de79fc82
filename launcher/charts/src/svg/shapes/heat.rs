//! Draws counts in cells as colours, and the key of the colours.

use crate::{
    figure::{Figure, Heat, Shape},
    palette::HEAT_LEVELS,
    svg::{
        canvas::{Anchor, Canvas, Font, Path, Px},
        frame::Frame,
        paint::Paint,
        text,
    },
    units,
};

/// The colour level of a count; `None` for an empty cell. Levels are equal steps of the count's logarithm, so that a few slow tokens are visible next
/// to thousands of fast ones.
fn level(count: u64, greatest: u64) -> Option<usize> {
    match count {
        0 => None,
        // There are enough levels for each count to have a level of its own.
        _ if greatest <= HEAT_LEVELS as u64 => usize::try_from(count - 1).ok(),
        _ => {
            let share = (count as f64).ln() / (greatest as f64).ln();
            Some(((share * HEAT_LEVELS as f64) as usize).min(HEAT_LEVELS - 1))
        }
    }
}

fn greatest(heat: &Heat) -> u64 {
    heat.counts.iter().flatten().copied().max().unwrap_or(0)
}

pub(crate) fn draw(canvas: &mut Canvas, paint: Paint, frame: &Frame, heat: &Heat) {
    let greatest = greatest(heat);
    let mut levels: [Path; HEAT_LEVELS] = Default::default();
    let columns = heat.counts.len().min(heat.x_edges.len().saturating_sub(1));
    for (row, edges) in heat.y_edges.windows(2).enumerate() {
        let (Some(bottom), Some(top)) = (frame.y_within(edges[0]), frame.y_within(edges[1])) else { continue };
        let level_at = |column: usize| level(*heat.counts[column].get(row)?, greatest);
        let mut column = 0;
        while column < columns {
            let here = level_at(column);
            // Neighbouring cells with the same level are drawn as one rectangle.
            let end = (column + 1..columns).find(|it| level_at(*it) != here).unwrap_or(columns);
            let ends = (frame.x_within(heat.x_edges[column]), frame.x_within(heat.x_edges[end]));
            if let (Some(here), (Some(left), Some(right))) = (here, ends) {
                levels[here].rectangle((left, top), (right, bottom));
            }
            column = end;
        }
    }
    for (level, path) in levels.iter().enumerate().filter(|it| !it.1.is_empty()) {
        let colour = paint.heat(level);
        canvas.path(&path.d, format_args!(r#"fill="{colour}" shape-rendering="crispEdges""#));
    }
}

/// The key that explains the colours of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    before: String,
    after: String,
    levels: Vec<usize>,
    pub width: f64,
}

const CELL: f64 = 14.0;
/// The key is spaced for this text size, in pixels, because a page enlarges texts on a narrow screen.
const FONT: f64 = 12.5;

/// The key for the first heat map of a figure; `None` if there is none.
pub(crate) fn key(figure: &Figure) -> Option<Key> {
    let (name, heat) = figure.series.iter().find_map(|it| match &it.shape {
        Shape::Heat(heat) => Some((&it.name, heat)),
        _ => None,
    })?;
    let greatest = greatest(heat);
    if greatest == 0 {
        return None;
    }
    let levels: Vec<usize> = (0..HEAT_LEVELS.min(usize::try_from(greatest).unwrap_or(HEAT_LEVELS))).collect();
    let before = format!("{} 1", text::fitted(name, FONT, 150.0));
    let after = if greatest == 1 { String::new() } else { units::value(greatest as f64, "") };
    let width = text::width(&before, FONT) + text::width(&after, FONT) + levels.len() as f64 * CELL + 12.0;
    Some(Key { before, after, levels, width })
}

/// Draws a key. `left` is its left end, and `base` is the base line of its texts.
pub(crate) fn draw_key(canvas: &mut Canvas, paint: Paint, font: &Font<'_>, (left, base): (f64, f64), key: &Key) {
    let first = left + text::width(&key.before, FONT) + 6.0;
    canvas.text(first - 6.0, base, Anchor::End, font, &key.before);
    for (index, level) in key.levels.iter().enumerate() {
        let (x, width, colour) = (canvas.across(first + index as f64 * CELL), canvas.across(CELL), paint.heat(*level));
        canvas
            .put(format_args!(r#"<rect x="{x}" y="{}" width="{width}" height="10" fill="{colour}"/>"#, Px(base - 9.0)));
    }
    canvas.text(first + key.levels.len() as f64 * CELL + 6.0, base, Anchor::Start, font, &key.after);
}
