//! Quantiles of latency over the load of the stages, with their intervals, the objectives and the knee.

use charts::{Figure, Mark, MarkAt, Point, Series, Shape, Tone};
use crds::benchmark_run::{EVERY_STAGE, Metric, Stat};
use document::{
    EstimateDocument, FiguresDocument, LatenciesDocument, ObjectiveDocument, ReportDocument, Statistics,
    UncertaintyDocument,
};

use super::{
    Content,
    load_levels::{Level, LoadLevels, levels},
    plot::{self, figure, mark, quantity, series},
};

struct Latency {
    id: &'static str,
    name: &'static str,
    metric: Metric,
    values: fn(&FiguresDocument) -> Option<&Statistics>,
    intervals: fn(&UncertaintyDocument) -> Option<&LatenciesDocument>,
}

const LATENCIES: [Latency; 3] = [
    Latency {
        id: "load-ttft",
        name: "TTFT",
        metric: Metric::Ttft,
        values: |it| it.ttft_ms.as_ref(),
        intervals: |it| it.ttft_ms.as_ref(),
    },
    Latency {
        id: "load-tpot",
        name: "TPOT",
        metric: Metric::Tpot,
        values: |it| it.tpot_ms.as_ref(),
        intervals: |it| it.tpot_ms.as_ref(),
    },
    Latency {
        id: "load-latency",
        name: "Latency",
        metric: Metric::Latency,
        values: |it| it.latency_ms.as_ref(),
        intervals: |it| it.latency_ms.as_ref(),
    },
];

struct Quantile {
    stat: Stat,
    tone: Tone,
    value: fn(&Statistics) -> f64,
    interval: fn(&LatenciesDocument) -> Option<&EstimateDocument>,
    /// With fewer values, the quantile is the largest value.
    fewest: u64,
}

const QUANTILES: [Quantile; 3] = [
    Quantile { stat: Stat::P50, tone: Tone::Median, value: |it| it.p50, interval: |it| it.p50.as_ref(), fewest: 2 },
    Quantile { stat: Stat::P90, tone: Tone::High, value: |it| it.p90, interval: |it| it.p90.as_ref(), fewest: 10 },
    Quantile { stat: Stat::P99, tone: Tone::Highest, value: |it| it.p99, interval: |it| it.p99.as_ref(), fewest: 100 },
];

pub(super) fn content(document: &ReportDocument) -> Content {
    let load = levels(document)?;
    let knee = Knee::find(&load);
    let mut figures = vec![throughput(&load, &knee)];
    figures.extend(LATENCIES.iter().filter_map(|it| latency(document, &load, &knee, it)));
    Ok(figures)
}

fn throughput(load: &LoadLevels<'_>, knee: &Knee) -> Figure {
    let points = |value: fn(&FiguresDocument) -> Option<f64>| -> Vec<Point> {
        let point = |it: &Level<'_>| {
            Some(Point { x: it.load, y: value(&it.stage.figures)?, range: None, label: it.stage.name.clone() })
        };
        load.levels.iter().filter_map(point).collect()
    };
    let done = points(|it| Some(it.throughput.as_ref()?.requests_per_second));
    let good = points(|it| it.goodput.as_ref()?.goodput_requests_per_second);
    let caption = format!("Requests that succeeded per second, by stage. {}", knee.words);
    let mut figure = figure(
        "load-throughput",
        "Requests per second",
        caption,
        load.axis.clone(),
        quantity("Completed", "requests/s"),
    );
    figure.series.push(series("requests/s", Tone::Median, Shape::Points { points: done, joined: true }));
    if !good.is_empty() {
        figure.series.push(series("goodput/s", Tone::Good, Shape::Points { points: good, joined: true }));
    }
    figure.marks.extend(knee.mark());
    figure
}

/// `None` if no stage has this latency.
fn latency(document: &ReportDocument, load: &LoadLevels<'_>, knee: &Knee, of: &Latency) -> Option<Figure> {
    // Stages with different clocks do not form one curve.
    let mut clocks: Vec<&str> = load.levels.iter().map(|it| it.stage.clock.as_str()).collect();
    clocks.sort_unstable();
    clocks.dedup();
    let has_clock = of.metric != Metric::Tpot;
    let series: Vec<Series> = match &clocks[..] {
        [_, _, ..] if has_clock => {
            let of_clock = |clock: &&'static Quantile, name: &str| quantile(load, of, clock, Some(name));
            clocks.iter().flat_map(|clock| QUANTILES.iter().filter_map(move |it| of_clock(&it, clock))).collect()
        }
        _ => QUANTILES.iter().filter_map(|it| quantile(load, of, it, None)).collect(),
    };
    if series.is_empty() {
        return None;
    }
    let counted = match has_clock {
        true => format!(", counted from {}", clocks.join(" or ")),
        false => String::new(),
    };
    let caption = format!(
        "Quantiles of {} by stage{counted}, with their 95 % intervals where there are values enough. A quantile that would be the largest \
         value of a stage is left out.{}",
        of.name, knee.name
    );
    let values = load.levels.iter().filter_map(|it| (of.values)(&it.stage.figures)).flat_map(|it| [it.p50, it.p99]);
    let axis = plot::latency(of.name, values);
    let mut figure = figure(of.id, of.name, caption, load.axis.clone(), axis);
    figure.series = series;
    figure.marks.extend(knee.mark());
    figure.marks.extend(document.objectives.iter().filter_map(|it| limit(it, of.metric)));
    Some(figure)
}

/// `clock`: the clock of the stages on the page; `None`: the page contains all stages.
fn quantile(load: &LoadLevels<'_>, of: &Latency, quantile: &Quantile, clock: Option<&str>) -> Option<Series> {
    let point = |it: &Level<'_>| {
        if clock.is_some_and(|clock| clock != it.stage.clock) {
            return None;
        }
        let values = (of.values)(&it.stage.figures).filter(|it| it.count >= quantile.fewest)?;
        let estimate = (of.intervals)(&it.stage.uncertainty).and_then(quantile.interval);
        let range = estimate.and_then(|it| Some((it.low?, it.high?)));
        // The highest quantile of a stage carries the stage's name.
        let is_highest =
            QUANTILES.iter().rfind(|it| values.count >= it.fewest).is_some_and(|it| it.stat == quantile.stat);
        let label = if is_highest { it.stage.name.clone() } else { String::new() };
        Some(Point { x: it.load, y: (quantile.value)(values), range, label })
    };
    let points: Vec<Point> = load.levels.iter().filter_map(point).collect();
    let name = quantile.stat.name();
    let name = clock.map_or_else(|| name.to_owned(), |clock| format!("{name} from {clock}"));
    (!points.is_empty()).then(|| series(name, quantile.tone, Shape::Points { points, joined: true }))
}

/// The limit of an objective on a quantile that the figure shows.
fn limit(objective: &ObjectiveDocument, metric: Metric) -> Option<Mark> {
    let stat = objective.stat?;
    let shown = objective.metric == metric && QUANTILES.iter().any(|it| it.stat == stat);
    shown.then(|| {
        let side = if objective.bound == "max" { "at most" } else { "at least" };
        // The line crosses all loads.
        let place = objective.stage.as_deref().filter(|it| *it != EVERY_STAGE);
        let place = place.map(|it| format!(", in stage {it}")).unwrap_or_default();
        let label = format!("{}: {} {side} {} ms{place}", objective.name, stat.name(), objective.limit);
        mark(MarkAt::Y(objective.limit), label)
    })
}

/// The load beyond which more load adds more waiting than throughput.
///
/// It is the load with the largest power, throughput / mean time in the system: L. Kleinrock, "Power and deterministic rules of thumb for
/// probabilistic problems in computer communications", ICC 1979. It is a knee only between the lowest and the highest load; at either end, the
/// loads do not show where the knee is. If its power is hardly above the power of a neighbouring load, the difference may be noise.
pub(super) struct Knee {
    at: Option<f64>,
    /// How it was found.
    words: String,
    /// The name of its stage, if it was found.
    name: String,
}

impl Knee {
    /// Minimum number of loads for a knee between their ends.
    const FEWEST_LOADS: usize = 3;
    /// Minimum ratio of its power to the power of each neighbouring load.
    const LEAST_RATIO: f64 = 1.05;

    fn find(load: &LoadLevels<'_>) -> Knee {
        let mut powers: Vec<(f64, f64, &str)> = load.levels.iter().filter_map(power).collect();
        // For stages with the same load, the largest power counts.
        powers.dedup_by(|next, kept| {
            let is_same_load = next.0 == kept.0;
            if is_same_load && next.1 > kept.1 {
                *kept = *next;
            }
            is_same_load
        });
        let largest = (0..powers.len()).reduce(|one, other| if powers[other].1 > powers[one].1 { other } else { one });
        let Some(largest) = largest else {
            return Knee::none("");
        };
        if powers.len() < Self::FEWEST_LOADS {
            return Knee::none("A knee is looked for in three loads or more.");
        }
        let rule = "the largest requests per second / mean latency (power, Kleinrock 1979)";
        if largest == 0 {
            return Knee::none(format!(
                "No knee is marked: the lowest load has {rule}, so that it lies there or below."
            ));
        }
        if largest + 1 == powers.len() {
            return Knee::none(format!(
                "No knee is marked: the highest load has {rule}, so that it lies there or above."
            ));
        }
        let (at, power, name) = powers[largest];
        let beside = powers[largest - 1].1.max(powers[largest + 1].1);
        if power < beside * Self::LEAST_RATIO {
            return Knee::none(format!(
                "No knee is marked: stage {name} has {rule}, but less than 5 % above a load beside it."
            ));
        }
        Knee {
            at: Some(at),
            words: format!("The knee is stage {name}, which has {rule}."),
            name: format!(" The knee is stage {name}."),
        }
    }

    fn none(words: impl Into<String>) -> Knee {
        Knee { at: None, words: words.into(), name: String::new() }
    }

    fn mark(&self) -> Option<Mark> {
        self.at.map(|it| mark(MarkAt::X(it), "knee"))
    }
}

/// The load of a stage, its power, and its name.
fn power<'a>(level: &Level<'a>) -> Option<(f64, f64, &'a str)> {
    let figures = &level.stage.figures;
    let rate = figures.throughput.as_ref()?.requests_per_second;
    let time = figures.latency_ms.as_ref()?.mean;
    (time > 0.0).then(|| (level.load, rate / time, level.stage.name.as_str()))
}
