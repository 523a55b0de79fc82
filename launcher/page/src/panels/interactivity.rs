//! Throughput against interactivity: one point per stage, and a line along the stages that no other stage beats in both values.

use charts::{Figure, Place, Point, Shape, Tone};
use document::{ReportDocument, StageDocument};

use super::{
    Content,
    plot::{NO_SUCCESS, figure, quantity, series},
};

/// Whether a higher or a lower value is better, for stages with the same interactivity.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    Higher,
    Lower,
}

pub(super) fn content(document: &ReportDocument) -> Content {
    let (axis, of, per) = match &document.hardware {
        Some(hardware) => (
            quantity("Output throughput per accelerator", "tokens/s"),
            per_accelerator as fn(&ReportDocument, &StageDocument) -> Option<f64>,
            format!("for each of {} accelerators, as spec.target.hardware says", hardware.accelerators),
        ),
        None => (
            quantity("Output throughput", "tokens/s"),
            whole as fn(&ReportDocument, &StageDocument) -> Option<f64>,
            "of the whole target; with spec.target.hardware it is per accelerator".to_owned(),
        ),
    };
    let points = points(document, |stage| of(document, stage))?;
    let caption = format!(
        "Each point is a stage: output tokens per second {per}, over interactivity, the median of 1/TPOT (medianOfInverseTpot). \
         The stepped line joins the stages that no other stage beats in both figures."
    );
    let figure = figure("interactivity", "Output against speed per user", caption, axis_of_users(), axis);
    Ok(vec![with_front(figure, points, Better::Higher)])
}

pub(super) fn axis_of_users() -> charts::Axis {
    quantity("Interactivity", "tokens/s for one user")
}

/// A point for each stage with its interactivity and a value, or a sentence why there are none.
pub(super) fn points(
    document: &ReportDocument,
    value: impl Fn(&StageDocument) -> Option<f64>,
) -> Result<Vec<Point>, String> {
    if document.figures.succeeded == 0 {
        return Err(NO_SUCCESS.to_owned());
    }
    let speed = |stage: &StageDocument| stage.figures.interactivity.as_ref()?.median_of_inverse_tpot;
    let point = |stage: &StageDocument| {
        Some(Point { x: speed(stage)?, y: value(stage)?, label: stage.name.clone(), ..Point::default() })
    };
    if document.stages.iter().all(|it| speed(it).is_none()) {
        return Err(
            "Interactivity is 1/TPOT, and the run has no TPOT: it needs streamed answers of two tokens or more."
                .to_owned(),
        );
    }
    let points: Vec<Point> = document.stages.iter().filter_map(point).collect();
    if points.is_empty() {
        return Err(
            "No stage has both figures: its requests took no time, or its tokens were counted in two ways.".to_owned()
        );
    }
    Ok(points)
}

/// Adds the points, and a step line along the points that no other point beats.
pub(super) fn with_front(mut figure: Figure, points: Vec<Point>, better: Better) -> Figure {
    if points.len() > 1 {
        figure.series.push(series("Pareto front", Tone::Plan, Shape::Line(front(&points, better))));
    }
    figure.series.push(series("stages", Tone::Main, Shape::Points { points, joined: false }));
    figure
}

/// The best value that is reached at each interactivity: the best of all points with at least this interactivity.
pub(super) fn front(points: &[Point], better: Better) -> Vec<Place> {
    let mut fastest_first: Vec<&Point> = points.iter().collect();
    fastest_first.sort_by(|one, other| other.x.total_cmp(&one.x));
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for point in fastest_first {
        let beats = |best: f64| if better == Better::Higher { point.y > best } else { point.y < best };
        match corners.last_mut() {
            Some((x, best)) if *x == point.x && beats(*best) => *best = point.y,
            Some((_, best)) if !beats(*best) => {}
            _ => corners.push((point.x, point.y)),
        }
    }
    corners.reverse();
    let mut places: Vec<Place> = Vec::with_capacity(corners.len() * 2);
    for (x, y) in corners {
        if let Some(before) = places.last().copied() {
            places.push(Place { x: before.x, y: Some(y) });
        }
        places.push(Place { x, y: Some(y) });
    }
    places
}

fn whole(_: &ReportDocument, stage: &StageDocument) -> Option<f64> {
    Some(stage.figures.throughput.as_ref()?.output_tokens_per_second)
}

fn per_accelerator(document: &ReportDocument, stage: &StageDocument) -> Option<f64> {
    let stages = &document.hardware.as_ref()?.stages;
    stages.iter().find(|it| it.name == stage.name)?.figures.output_tokens_per_second_per_accelerator
}
