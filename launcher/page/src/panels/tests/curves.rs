//! Tests of figures with one point per stage, and of distributions.

use charts::{Interval, MarkAt, Point, Scale, Shape};
use serde_json::json;

use super::{corners, figure, panel, series, values};
use crate::{
    fixture::{Level, full, read, sweep},
    panels::interactivity::{Better, front},
};

fn points(points: &[(f64, f64)]) -> Vec<Point> {
    points.iter().map(|(x, y)| Point { x: *x, y: *y, ..Point::default() }).collect()
}

#[test]
fn the_front_joins_the_points_that_no_other_point_beats() {
    // The point (30, 90) beats (20, 80) in both values.
    let found = front(&points(&[(10.0, 100.0), (20.0, 80.0), (30.0, 90.0), (40.0, 50.0)]), Better::Higher);
    assert_eq!(corners(&found), [(10.0, 100.0), (10.0, 90.0), (30.0, 90.0), (30.0, 50.0), (40.0, 50.0)]);
    let costs = front(&points(&[(10.0, 1.0), (20.0, 3.0), (30.0, 2.0), (30.0, 4.0)]), Better::Lower);
    assert_eq!(corners(&costs), [(10.0, 1.0), (10.0, 2.0), (30.0, 2.0)]);
    assert_eq!(corners(&front(&points(&[(1.0, 2.0)]), Better::Higher)), [(1.0, 2.0)]);
}

#[test]
fn throughput_is_per_accelerator_where_the_user_names_them() {
    let found = figure(&read(&full()), "interactivity", "interactivity");
    assert_eq!(values(series(&found, "stages")), [Some(25.0)]);
    assert!(found.y.label.contains("per accelerator") && found.caption.contains("for each of 2 accelerators"));
    let cost = figure(&read(&full()), "cost", "cost");
    assert_eq!((values(series(&cost, "stages")), cost.y.unit.as_str()), (vec![Some(27.8)], "USD"));
}

fn level(rate: f64, done: f64, mean_ms: f64) -> Level {
    Level { rate, done, mean_ms, count: 1_000 }
}

/// The position of the knee, and the caption.
fn knee(levels: &[Level]) -> (Option<f64>, String) {
    let found = figure(&read(&sweep(levels)), "load", "load-throughput");
    let at = found.marks.iter().find_map(|it| match it.at {
        MarkAt::X(x) if it.label == "knee" => Some(x),
        _ => None,
    });
    (at, found.caption)
}

#[test]
fn the_knee_is_where_power_is_largest_between_the_ends() {
    // The powers in requests/s per ms are 0.1, 0.18 and 0.05.
    let (at, caption) = knee(&[level(10.0, 10.0, 100.0), level(20.0, 20.0, 110.0), level(40.0, 25.0, 500.0)]);
    assert_eq!(at, Some(20.0));
    assert!(caption.contains("The knee is stage s1") && caption.contains("Kleinrock 1979"), "{caption}");
}

#[test]
fn a_knee_that_may_be_noise_is_not_marked() {
    // The powers in requests/s per ms are 0.1, 0.104 and 0.09.
    let (at, caption) = knee(&[level(10.0, 10.0, 100.0), level(20.0, 10.4, 100.0), level(40.0, 9.0, 100.0)]);
    assert!(at.is_none() && caption.contains("No knee is marked: stage s1"), "{caption}");
    // Two stages with the same load do not count as neighbours.
    let same = [level(10.0, 10.0, 100.0), level(20.0, 11.0, 100.0), level(20.0, 11.1, 100.0), level(40.0, 9.0, 100.0)];
    let (at, caption) = knee(&same);
    assert!(at == Some(20.0) && caption.contains("The knee is stage s2"), "{caption}");
}

#[test]
fn a_knee_at_an_end_is_not_marked() {
    let (at, caption) = knee(&[level(10.0, 10.0, 100.0), level(20.0, 12.0, 300.0), level(40.0, 12.0, 900.0)]);
    assert!(at.is_none() && caption.contains("there or below"), "{caption}");
    let (at, caption) = knee(&[level(10.0, 10.0, 100.0), level(20.0, 20.0, 100.0), level(40.0, 40.0, 100.0)]);
    assert!(at.is_none() && caption.contains("there or above"), "{caption}");
    let (at, caption) = knee(&[level(10.0, 10.0, 100.0), level(20.0, 20.0, 100.0)]);
    assert!(at.is_none() && caption.contains("three loads or more"), "{caption}");
}

#[test]
fn stages_stand_by_rising_load_and_a_percentile_of_few_values_is_left_out() {
    let levels = [Level { count: 99, ..level(20.0, 20.0, 100.0) }, level(10.0, 10.0, 100.0)];
    let found = figure(&read(&sweep(&levels)), "load", "load-ttft");
    let of = |name| match &series(&found, name).shape {
        Shape::Points { points, .. } => points.iter().map(|it| (it.x, it.label.clone())).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    assert_eq!(of("p50"), [(10.0, "s1".to_owned()), (20.0, "s0".to_owned())]);
    assert_eq!(of("p90"), of("p50"));
    assert_eq!(of("p99"), [(10.0, "s1".to_owned())]);
    assert_eq!((found.x.scale, found.x.labels.as_slice()), (Scale::Log, [10.0, 20.0].as_slice()));
    assert_eq!((found.x.label.as_str(), found.x.unit.as_str()), ("Offered load", "requests/s"));
}

#[test]
fn latencies_that_are_far_apart_have_a_logarithmic_axis() {
    let near = figure(&read(&sweep(&[level(10.0, 10.0, 100.0)])), "load", "load-ttft");
    assert_eq!(near.y.scale, Scale::Linear);
    let mut document = sweep(&[level(10.0, 10.0, 100.0), level(20.0, 20.0, 100.0)]);
    document["stages"][1]["figures"]["ttftMs"]["p99"] = json!(20_000.0);
    assert_eq!(figure(&read(&document), "load", "load-ttft").y.scale, Scale::Log);
}

#[test]
fn closed_loops_stand_by_their_concurrency() {
    let mut document = sweep(&[level(10.0, 10.0, 100.0), level(20.0, 20.0, 100.0)]);
    for (index, concurrency) in [(0, 8), (1, 16)] {
        document["stages"][index]["load"] = json!({"closed": {"concurrency": concurrency}});
    }
    let found = figure(&read(&document), "load", "load-throughput");
    assert_eq!(found.x.label, "Concurrency");
    match &series(&found, "requests/s").shape {
        Shape::Points { points, .. } => assert_eq!(points.iter().map(|it| it.x).collect::<Vec<_>>(), [8.0, 16.0]),
        other => assert_eq!(format!("{other:?}"), "points"),
    }
}

#[test]
fn an_objective_on_a_quantile_is_a_line_of_its_figure() {
    let mut document = full();
    document["objectives"] = json!([
        {"name": "fast", "metric": "ttft", "stat": "p99", "bound": "max", "limit": 500.0, "unit": "ms", "met": "True",
         "stages": [{"stage": "r10", "met": "True", "observed": 59.0, "values": 10}]},
        {"name": "much", "metric": "requestsPerSecond", "bound": "min", "limit": 5.0, "unit": "perSecond", "met": "True"},
    ]);
    let document = read(&document);
    let found = figure(&document, "load", "load-ttft");
    assert_eq!(limits(&found), [(500.0, "p99 limit 500\u{a0}ms")]);
    assert_eq!(limits(&figure(&document, "load", "load-latency")), []);
    // The marker of a stage shows its verdict, and its note names the verdict.
    let met = series(&found, "met");
    assert_eq!(values(met), [Some(59.0)]);
    assert!(
        matches!(&met.shape, Shape::Points { points, .. } if points[0].note.ends_with(": 59.0\u{a0}ms, met")),
        "{met:?}"
    );
    let signs: Vec<_> = found.marks.iter().filter(|it| matches!(it.at, MarkAt::Below(_))).map(|it| &it.label).collect();
    assert_eq!(signs, ["✓"]);
}

#[test]
fn the_limit_of_one_stage_names_it() {
    let mut document = full();
    let objective = |name: &str, stage: &str| json!({"name": name, "metric": "ttft", "stat": "p99", "stage": stage, "bound": "max", "limit": 500.0, "unit": "ms", "met": "True"});
    document["objectives"] = json!([objective("low", "r10"), objective("all", "*")]);
    let found = figure(&read(&document), "load", "load-ttft");
    assert_eq!(limits(&found), [(500.0, "p99 limit 500\u{a0}ms, in stage r10"), (500.0, "p99 limit 500\u{a0}ms")]);
}

/// The limits in a figure, each with its name.
fn limits(figure: &charts::Figure) -> Vec<(f64, &str)> {
    let limit = |it: &'_ charts::Mark| match it.at {
        MarkAt::Limit(at) => Some(at),
        _ => None,
    };
    figure.marks.iter().filter_map(|it| Some((limit(it)?, it.label.as_str()))).collect()
}

#[test]
fn a_stage_that_is_not_valid_is_not_drawn() {
    let mut document = sweep(&[level(10.0, 10.0, 100.0), level(20.0, 20.0, 100.0)]);
    document["stages"][1]["invalid"] = json!(["the launcher stalled"]);
    let found = figure(&read(&document), "load", "load-throughput");
    assert_eq!(values(series(&found, "requests/s")), [Some(10.0)]);
    document["outcome"] = "Invalid".into();
    assert_eq!(values(series(&figure(&read(&document), "load", "load-throughput"), "requests/s")), [Some(10.0)]);
    // If no stage is valid, `plot` draws all stages. The page omits these charts elsewhere.
    document["stages"][1]["invalid"] = json!([]);
    let all = values(series(&figure(&read(&document), "load", "load-throughput"), "requests/s"));
    assert_eq!(all, [Some(10.0), Some(20.0)]);
}

/// The distribution figure of a run with one stage.
fn distribution(count: u64, share: &[f64], ms: &[f64]) -> charts::Figure {
    let mut document = full();
    document["stages"][0]["distributions"]["itlMs"] = json!({"count": count, "share": share, "ms": ms});
    figure(&read(&document), "distributions", "cdf-itl")
}

#[test]
fn values_of_zero_stand_at_the_left_end_of_the_axis() {
    let found = distribution(10, &[0.4, 0.5, 1.0], &[0.0, 3.0, 20.0]);
    assert!(found.caption.ends_with(" 40 % of the values are 0 and lie left of the axis."), "{}", found.caption);
    assert_eq!(found.x.includes, [1.0]);
    match &found.series[0].shape {
        Shape::Steps(places) => assert_eq!(corners(places), [(1.0, 0.4), (3.0, 0.5), (20.0, 1.0)]),
        other => assert_eq!(format!("{other:?}"), "steps"),
    }
    let without = distribution(10, &[0.5, 1.0], &[3.0, 20.0]);
    assert!(without.x.includes.is_empty() && !without.caption.contains("are 0"), "{}", without.caption);
    let alone = distribution(10, &[1.0], &[0.0]);
    assert!(alone.caption.contains(" 100 % of the values are 0") && values(&alone.series[0]) == [Some(1.0)]);
}

#[test]
fn a_distribution_of_few_different_values_has_steps_and_a_selection_has_slopes() {
    let steps = |number: u32, count: u64| {
        let ms: Vec<f64> = (1..=number).map(f64::from).collect();
        let share: Vec<f64> = ms.iter().map(|it| it / f64::from(number)).collect();
        matches!(distribution(count, &share, &ms).series[0].shape, Shape::Steps(_))
    };
    assert_eq!([steps(5, 10_000), steps(118, 10_000), steps(110, 110)], [true, false, true]);
}

#[test]
fn a_band_has_the_width_of_the_inequality_and_is_absent_without_effective_values() {
    let document = read(&full());
    let ttft = figure(&document, "distributions", "cdf-ttft");
    // The half height of the band is sqrt(ln(2 / 0.05) / (2 x 200)) = 0.096032.
    let band = ttft.series.iter().find_map(|it| match &it.shape {
        Shape::Band(intervals) => Some(intervals.clone()),
        _ => None,
    });
    let rounded = |it: f64| (it * 1e6).round() / 1e6;
    let band: Vec<_> =
        band.unwrap().iter().map(|it| Interval { low: rounded(it.low), high: rounded(it.high), ..*it }).collect();
    assert_eq!(
        band,
        [
            Interval { x: 41.0, low: 0.003968, high: 0.196032 },
            Interval { x: 49.0, low: 0.403968, high: 0.596032 },
            Interval { x: 59.0, low: 0.903968, high: 1.0 },
        ]
    );
    assert_eq!(ttft.x.scale, Scale::Log);
    let itl = figure(&document, "distributions", "cdf-itl");
    assert!(itl.series.iter().all(|it| !matches!(it.shape, Shape::Band(_))));
    assert!(itl.caption.contains("the effective number of values is not known"), "{}", itl.caption);
    let mut document = full();
    document["stages"][0]["distributions"]["ttftMs"]["effectiveValues"] = json!(29.0);
    let few = figure(&read(&document), "distributions", "cdf-ttft");
    assert!(few.series.iter().all(|it| !matches!(it.shape, Shape::Band(_))));
    assert!(few.caption.contains("that needs 30 effective values"), "{}", few.caption);
}

#[test]
fn of_many_stages_six_distributions_are_shown_from_the_first_to_the_last() {
    let levels: Vec<Level> = (1..=100).map(|it| level(f64::from(it), f64::from(it), 100.0)).collect();
    let mut document = sweep(&levels);
    for index in 0..100 {
        document["stages"][index]["distributions"] =
            json!({"ttftMs": {"count": 1000, "share": [0.5, 1.0], "ms": [1.0, 2.0]}});
    }
    let found = figure(&read(&document), "distributions", "cdf-ttft");
    let names: Vec<&str> = found.series.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["s0", "s19", "s39", "s59", "s79", "s99"]);
    assert!(found.caption.contains("6 of 100 stages"), "{}", found.caption);
    assert!(panel(&read(&document), "load").content.is_ok());
}
