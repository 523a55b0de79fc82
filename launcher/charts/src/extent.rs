//! The range of a figure's values on each axis.

use crate::{
    figure::{Axis, Figure, MarkAt, Scale, Shape},
    scale::Domain,
    stack,
};

/// The range of the x axis.
pub(crate) fn of_x(figure: &Figure) -> Domain {
    let mut values = figure.x.includes.clone();
    for series in &figure.series {
        match &series.shape {
            Shape::Line(places) | Shape::Steps(places) => {
                values.extend(places.iter().filter(|it| it.y.is_some_and(f64::is_finite)).map(|it| it.x));
            }
            Shape::Band(intervals) => values.extend(intervals.iter().map(|it| it.x)),
            Shape::Points { points, .. } => values.extend(points.iter().map(|it| it.x)),
            Shape::Bars(bars) => values.extend(bars.iter().flat_map(|it| [it.from, it.to])),
            Shape::Heat(heat) => values.extend(&heat.x_edges),
            Shape::Requests(requests) => values.extend(requests.iter().flat_map(|it| [it.due, it.ended])),
        }
    }
    let marks = figure.marks.iter().filter_map(|it| match it.at {
        MarkAt::X(x) | MarkAt::Point(x, _) => Some(x),
        MarkAt::Y(_) | MarkAt::Limit(_) | MarkAt::Below(_) => None,
    });
    let points = figure.series.iter().any(|it| matches!(it.shape, Shape::Points { .. }));
    let domain = with_marks(&figure.x, values, marks);
    if points { domain.padded(0.05, &figure.x.includes) } else { domain }
}

/// The range of the y axis, before its ends are rounded.
pub(crate) fn of_y(figure: &Figure) -> Domain {
    let mut values = figure.y.includes.clone();
    for series in &figure.series {
        match &series.shape {
            Shape::Line(places) | Shape::Steps(places) => values.extend(places.iter().filter_map(|it| it.y)),
            Shape::Band(intervals) => values.extend(intervals.iter().flat_map(|it| [it.low, it.high])),
            Shape::Points { points, .. } => {
                values.extend(points.iter().map(|it| it.y));
                values.extend(points.iter().filter_map(|it| it.range).flat_map(|(low, high)| [low, high]));
            }
            Shape::Bars(_) => values.push(0.0),
            Shape::Heat(heat) => values.extend(&heat.y_edges),
            Shape::Requests(_) => {}
        }
    }
    values.extend(stack::stacked(&figure.series).iter().flatten().map(|it| it.high));
    let marks = figure.marks.iter().filter_map(|it| match it.at {
        MarkAt::Y(y) | MarkAt::Limit(y) | MarkAt::Point(_, y) => Some(y),
        MarkAt::X(_) | MarkAt::Below(_) => None,
    });
    with_marks(&figure.y, values, marks)
}

/// Widens an axis so that it includes marks. The axis grows to at most three times its length (linear) or by two powers of ten (logarithmic), because
/// otherwise the data would become a flat line. Marks beyond that are not included.
fn with_marks(axis: &Axis, values: Vec<f64>, marks: impl Iterator<Item = f64>) -> Domain {
    let has_data = values.iter().any(|it| it.is_finite() && (axis.scale == Scale::Linear || *it > 0.0));
    let data = Domain::from_values(axis.scale, values);
    let wider = |to: Domain, mark: f64| {
        let ends = [to.low, to.high, mark];
        Domain::from_values(axis.scale, if has_data { &ends[..] } else { &ends[2..] }.iter().copied())
    };
    let small = |it: &Domain| match axis.scale {
        Scale::Linear => it.high - it.low <= 3.0 * (data.high - data.low),
        Scale::Log => it.high / it.low <= 100.0 * (data.high / data.low),
    };
    marks.fold(data, |domain, mark| Some(wider(domain, mark)).filter(|it| small(it) || !has_data).unwrap_or(domain))
}
