//! The figures of a sweep.

use charts::{Axis, Figure, Place, Point, Scale, Series, Shape, Tone};
use sweep::{CellDocument, CellStageDocument, FigureDocument, SweepDocument};

use crate::{table::cut, text::capitalized};

/// The figures over the levels: name, title, unit.
const OVER_LEVELS: [(&str, &str, &str); 4] = [
    ("outputTokensPerSecond", "Output throughput", "tokens/s"),
    ("ttft.p99", "TTFT p99", "ms"),
    ("tpot.p50", "TPOT p50", "ms"),
    ("latency.p99", "Latency p99", "ms"),
];
/// Maximum number of series of one figure. More lines cannot be told apart.
const MOST_SERIES: usize = 12;

/// All cells between what one user gets and what all users get together, and the line along the front. `None` without these figures.
pub(super) fn front(sweep: &SweepDocument) -> Option<Figure> {
    let axes = sweep.front.as_ref()?;
    let points: Vec<(Point, bool)> = stages(sweep)
        .filter_map(|(cell, stage)| {
            let (x, y) = (stage.figure(&axes.across)?, stage.figure(&axes.up)?);
            let note =
                format!("{}: {:.4} {}, {:.4} {}", label(cell, stage, sweep), x.value, axes.across, y.value, axes.up);
            Some((
                Point { x: x.value, y: y.value, range: range(y), label: label(cell, stage, sweep), note },
                stage.on_front,
            ))
        })
        .collect();
    if points.len() < 2 {
        return None;
    }
    let of = |on_front: bool| points.iter().filter(|it| it.1 == on_front).map(|it| it.0.clone()).collect::<Vec<_>>();
    let mut on_front = of(true);
    on_front.sort_by(|one, other| one.x.total_cmp(&other.x));
    let line = on_front.iter().map(|it| Place { x: it.x, y: Some(it.y) }).collect();
    let (across, unit) = match axes.across.as_str() {
        "latency.p50" => ("Latency p50", "ms"),
        _ => ("Interactivity", "tokens/s for one user"),
    };
    Some(Figure {
        id: "front".into(),
        title: "What one user gets, and what all users get".into(),
        caption: "One point per cell and stage, the mean over its runs. The line joins the points that no other point surpasses in both figures."
            .into(),
        finding: format!("{} of {} on the front", on_front.len(), points.len()),
        x: axis(across, unit, Scale::Linear, vec![0.0]),
        y: axis("Output throughput", "tokens/s", Scale::Linear, vec![0.0]),
        series: vec![
            Series { name: "Pareto front".into(), tone: Tone::Plan, shape: Shape::Line(line) },
            Series { name: "others".into(), tone: Tone::Quiet, shape: Shape::Points { points: of(false), joined: false } },
            Series { name: "on the front".into(), tone: Tone::Main, shape: Shape::Points { points: on_front, joined: false } },
        ],
        shades: Vec::new(),
        marks: Vec::new(),
    })
}

/// One figure for each value in [`OVER_LEVELS`], over the levels of the last factor. A series is a combination of the other factors and the stage.
pub(super) fn over_levels(sweep: &SweepDocument) -> Vec<Figure> {
    let Some((last, others)) = sweep.factors.split_last().filter(|it| it.0.levels.len() > 1) else { return Vec::new() };
    let numbers: Option<Vec<f64>> =
        last.levels.iter().map(|it| it.parse().ok().filter(|it: &f64| it.is_finite())).collect();
    let x_of = |level: &str| -> Option<f64> {
        let at = last.levels.iter().position(|it| it == level)?;
        Some(numbers.as_ref().map_or(at as f64 + 1.0, |it| it[at]))
    };
    let series_of = |cell: &CellDocument, stage: &CellStageDocument| {
        let levels: Vec<&str> = others.iter().filter_map(|it| cell.levels.get(&it.name).map(String::as_str)).collect();
        let stage = has_stages(sweep).then_some(stage.name.as_str());
        let name = levels.into_iter().chain(stage).collect::<Vec<_>>().join(", ");
        if name.is_empty() { "all".to_owned() } else { cut(&name) }
    };
    let one = |(name, title, unit): (&str, &str, &str)| {
        let mut all: Vec<(String, Vec<Point>)> = Vec::new();
        for (cell, stage) in stages(sweep) {
            let level = cell.levels.get(&last.name).map_or("", String::as_str);
            let (Some(x), Some(figure)) = (x_of(level), stage.figure(name)) else { continue };
            let series = series_of(cell, stage);
            let note = format!("{}: {:.4} {unit}", label(cell, stage, sweep), figure.value);
            let point = Point { x, y: figure.value, range: range(figure), label: cut(level), note };
            match all.iter_mut().find(|it| it.0 == series) {
                Some((_, points)) => points.push(point),
                None => all.push((series, vec![point])),
            }
        }
        let left_out = all.len().saturating_sub(MOST_SERIES);
        let more = if left_out > 0 { format!(" {left_out} more series are in the table.") } else { String::new() };
        let series = all.into_iter().take(MOST_SERIES).enumerate().map(|(at, (name, points))| Series {
            name,
            tone: Tone::Category(at),
            shape: Shape::Points { points, joined: true },
        });
        let series: Vec<Series> = series.collect();
        (!series.is_empty()).then(|| Figure {
            id: format!("over-levels-{}", name.replace('.', "-").to_lowercase()),
            title: title.to_owned(),
            caption: format!(
                "For each level of {}: the mean of each cell's runs, with its 95 % interval.{more}",
                last.name
            ),
            finding: String::new(),
            x: Axis {
                labels: numbers.clone().unwrap_or_default(),
                ..axis(
                    &capitalized(&last.name),
                    "",
                    Scale::Linear,
                    if numbers.is_some() { vec![0.0] } else { ends(last.levels.len()) },
                )
            },
            y: axis(title, unit, Scale::Linear, vec![0.0]),
            series,
            shades: Vec::new(),
            marks: Vec::new(),
        })
    };
    OVER_LEVELS.into_iter().filter_map(one).collect()
}

/// Levels without numbers are at 1, 2 and so on.
fn ends(levels: usize) -> Vec<f64> {
    vec![0.5, levels as f64 + 0.5]
}

fn stages(sweep: &SweepDocument) -> impl Iterator<Item = (&CellDocument, &CellStageDocument)> {
    sweep.cells.iter().flat_map(|cell| cell.stages.iter().map(move |stage| (cell, stage)))
}

fn has_stages(sweep: &SweepDocument) -> bool {
    sweep.cells.iter().any(|it| it.stages.len() > 1)
}

fn label(cell: &CellDocument, stage: &CellStageDocument, sweep: &SweepDocument) -> String {
    cut(&::sweep::label(sweep, cell, stage))
}

fn range(figure: &FigureDocument) -> Option<(f64, f64)> {
    figure.low.zip(figure.high)
}

fn axis(label: &str, unit: &str, scale: Scale, includes: Vec<f64>) -> Axis {
    Axis { label: label.into(), unit: unit.into(), scale, includes, labels: Vec::new() }
}
