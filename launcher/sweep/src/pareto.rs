//! The Pareto front of all cells: the trade-off between what one user gets and what all users get together.

use crds::benchmark_run::Stat;
use figures::{Figure, Value, Way};

use crate::document::{CellDocument, CellStageDocument, FrontDocument};

/// The figures across, in the order of preference: the first one that any cell has is used.
const ACROSS: [Value; 2] = [Value::plain(Figure::InverseOfTpotP90), Value::stat(Figure::Latency, Stat::P50)];
/// The figure up.
const UP: Value = Value::plain(Figure::OutputTokensPerSecond);

/// Marks the stages on the front, and returns its figures. `None` if no stage has both figures.
pub(crate) fn mark(cells: &mut [CellDocument]) -> Option<FrontDocument> {
    let read = |across: Value, cells: &[CellDocument]| -> Vec<(usize, usize, [f64; 2])> {
        let sign = |value: Value| if value.figure.row().better == Way::Up { 1.0 } else { -1.0 };
        let all = cells.iter().enumerate();
        let all = all.flat_map(|(cell, it)| it.stages.iter().enumerate().map(move |(stage, it)| (cell, stage, it)));
        let point = |(cell, stage, it): (usize, usize, &CellStageDocument)| {
            let of = |value: Value| it.figure(&value.name()).map(|it| sign(value) * it.value);
            Some((cell, stage, [of(across)?, of(UP)?]))
        };
        all.filter_map(point).collect()
    };
    let (across, points) = ACROSS.into_iter().map(|it| (it, read(it, cells))).find(|it| !it.1.is_empty())?;
    let is_dominated = |[x, y]: [f64; 2]| {
        points.iter().any(|(_, _, [other_x, other_y])| *other_x >= x && *other_y >= y && (*other_x > x || *other_y > y))
    };
    for (cell, stage, point) in &points {
        cells[*cell].stages[*stage].on_front = !is_dominated(*point);
    }
    Some(FrontDocument { across: across.name(), up: UP.name() })
}
