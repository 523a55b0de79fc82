//! Quantiles of latencies over the load of the stages, with intervals, limits of objectives, and the knee.

use std::collections::HashMap;

use charts::{Figure, Mark, MarkAt, Point, Series, Shape, Tone};
use crds::{
    Met,
    benchmark_run::{EVERY_STAGE, Metric, Stat},
};
use document::{EstimateDocument, ObjectiveDocument, ReportDocument, StageObjectiveDocument, answer::TagState};
use figures as catalogue;

use super::{
    Content, by_load,
    load_levels::{Level, LoadLevels, levels},
    plot::{self, figure, mark, quantity, series},
};
use crate::{table::cut, text};

struct Latency {
    id: &'static str,
    name: &'static str,
    metric: Metric,
}

impl Latency {
    fn figure(&self) -> catalogue::Figure {
        catalogue::Figure::from_metric(self.metric)
    }
}

const LATENCIES: [Latency; 3] = [
    Latency { id: "load-ttft", name: "TTFT", metric: Metric::Ttft },
    Latency { id: "load-tpot", name: "TPOT", metric: Metric::Tpot },
    Latency { id: "load-latency", name: "Latency", metric: Metric::Latency },
];

/// The quantiles that are shown for each latency.
const QUANTILES: [(Stat, Tone); 3] = [(Stat::P50, Tone::Median), (Stat::P90, Tone::High), (Stat::P99, Tone::Highest)];

pub(super) fn content(document: &ReportDocument) -> Content {
    let load = levels(document)?;
    let knee = Knee::find(&load);
    let mut figures = vec![throughput(&load, &knee)];
    let verdicts = document.verdicts();
    figures.extend(LATENCIES.iter().filter_map(|it| latency(document, &load, &knee, &verdicts, it)));
    figures.extend(by_load::figures(document, &load));
    Ok(figures)
}

fn throughput(load: &LoadLevels<'_>, knee: &Knee) -> Figure {
    let done = load.points(
        |it| Some(it.figures.throughput.as_ref()?.requests_per_second),
        |it| it.uncertainty.requests_per_second.as_ref(),
    );
    let good = load.points(
        |it| it.figures.goodput.as_ref()?.goodput_requests_per_second,
        |it| it.uncertainty.goodput_requests_per_second.as_ref(),
    );
    let caption = format!("Requests that succeeded per second, by stage. {}", knee.words);
    let mut figure = figure(
        "load-throughput",
        "Requests per second",
        caption,
        load.axis.clone(),
        quantity("Completed", "requests/s"),
    );
    figure.finding = plot::between(done.iter().map(|it| it.y), "");
    figure.series.push(series("requests/s", Tone::Main, Shape::Points { points: done, joined: true }));
    if !good.is_empty() {
        figure.series.push(series("goodput/s", Tone::Category(1), Shape::Points { points: good, joined: true }));
    }
    figure.marks.extend(knee.mark());
    figure
}

/// The figure of one latency; `None` if no stage has it.
fn latency(
    document: &ReportDocument,
    load: &LoadLevels<'_>,
    knee: &Knee,
    verdicts: &HashMap<&str, Met>,
    of: &Latency,
) -> Option<Figure> {
    // Stages with latencies from different origins (scheduled and sent) do not form one curve.
    let mut clocks: Vec<&str> = load.levels.iter().map(|it| it.stage.clock.as_str()).collect();
    clocks.sort_unstable();
    clocks.dedup();
    let has_clock = of.metric != Metric::Tpot;
    let limits: Vec<&ObjectiveDocument> = document.objectives.iter().filter(|it| is_limit(it, of.metric)).collect();
    let judged = limits.first().and_then(|it| it.stat).unwrap_or(Stat::P90);
    let one = |(stat, tone), clock| quantile(load, of, (stat, tone), clock, judged, limits.is_empty());
    let mut series: Vec<Series> = match &clocks[..] {
        [_, _, ..] if has_clock => {
            clocks.iter().flat_map(|clock| QUANTILES.into_iter().filter_map(move |it| one(it, Some(*clock)))).collect()
        }
        _ => QUANTILES.into_iter().filter_map(|it| one(it, None)).collect(),
    };
    if series.is_empty() {
        return None;
    }
    series.extend(limits.first().into_iter().flat_map(|it| judged_stages(load, it)));
    let counted = match has_clock {
        true => format!(", counted from {}", clocks.join(" or ")),
        false => String::new(),
    };
    let signs = if document.objectives.is_empty() {
        ""
    } else {
        " The signs below the axis are the verdicts on all objectives: ✓ met, ✗ missed, ? undecided."
    };
    let caption = format!(
        "Quantiles of {} by stage{counted}. Bars are 95 % intervals of the {}, if there are enough values. A quantile that would be the largest \
         value of a stage is left out.{}{signs}",
        of.name,
        judged.name(),
        knee.name
    );
    let values = load.levels.iter().filter_map(|it| it.stage.figures.statistics(of.figure()));
    let values = values.flat_map(|it| [it.p50, it.p99]);
    let axis = plot::latency(of.name, values);
    let mut figure = figure(of.id, of.name, caption, load.axis.clone(), axis);
    figure.series = series;
    figure.marks.extend(knee.mark());
    figure.marks.extend(limits.iter().map(|it| limit(it)));
    figure.marks.extend(load.levels.iter().filter_map(|it| {
        let met = verdicts.get(it.stage.name.as_str())?;
        Some(mark(MarkAt::Below(it.load), TagState::from(*met).sign()))
    }));
    Some(figure)
}

/// The line of one quantile. `clock`: includes only stages with latencies from this origin; `None` includes all stages. `judged` is the statistic
/// that has intervals. `is_free`: no objective limits the latency. Then the points of `judged` show their interval when the pointer is on them.
fn quantile(
    load: &LoadLevels<'_>,
    of: &Latency,
    (stat, tone): (Stat, Tone),
    clock: Option<&str>,
    judged: Stat,
    is_free: bool,
) -> Option<Series> {
    let is_judged = stat == judged;
    // With fewer values than this, the quantile would be the largest value.
    let fewest = stat.fewest_values().unwrap_or(2);
    let point = |it: &Level<'_>| {
        if clock.is_some_and(|clock| clock != it.stage.clock) {
            return None;
        }
        let values = it.stage.figures.statistics(of.figure()).filter(|it| it.count >= fewest)?;
        let estimate = it.stage.uncertainty.latencies(of.figure()).and_then(|it| it.get(stat)).filter(|_| is_judged);
        let range = estimate.and_then(EstimateDocument::interval);
        let y = values.get(stat);
        let note = match (is_judged, is_free) {
            (true, true) => format!("{}: {} {}", load.words(it), stat.name(), with_interval(y, range)),
            _ => String::new(),
        };
        Some(Point { x: it.load, y, range, label: it.stage.name.clone(), note })
    };
    let points: Vec<Point> = load.levels.iter().filter_map(point).collect();
    let name = stat.name();
    let name = clock.map_or_else(|| name.to_owned(), |clock| format!("{name} from {clock}"));
    (!points.is_empty()).then(|| series(name, tone, Shape::Points { points, joined: true }))
}

/// The stages, grouped by their verdict on a limit. Each verdict is a separate series, because it has its own marker.
fn judged_stages(load: &LoadLevels<'_>, objective: &ObjectiveDocument) -> Vec<Series> {
    let results: HashMap<&str, &StageObjectiveDocument> =
        objective.stages.iter().map(|it| (it.stage.as_str(), it)).collect();
    let of = |met: Met, word: &str| {
        let point = |level: &Level<'_>| {
            let it = results.get(level.stage.name.as_str()).filter(|it| it.met == met)?;
            let y = it.observed?;
            let reason = if met == Met::Inconclusive && !it.reason.is_empty() { it.reason.as_str() } else { word };
            let note = format!("{}: {}, {reason}", load.words(level), with_interval(y, it.low.zip(it.high)));
            Some(Point { x: level.load, y, range: None, label: it.stage.clone(), note: cut(&note) })
        };
        load.levels.iter().filter_map(point).collect::<Vec<Point>>()
    };
    let tones = [(Met::True, Tone::Good), (Met::Inconclusive, Tone::Doubt), (Met::False, Tone::Bad)];
    let all = tones.into_iter().filter_map(|(met, tone)| {
        let word = TagState::from(met).word();
        let points = of(met, word);
        (!points.is_empty()).then(|| series(word, tone, Shape::Points { points, joined: false }))
    });
    all.collect()
}

/// A time with its interval: `69.8 ms (50.7 to 70.9 ms)`.
fn with_interval(value: f64, range: Option<(f64, f64)>) -> String {
    let interval = range.map(|(low, high)| format!(" ({})", text::durations(low.max(0.0), high)));
    format!("{}{}", text::duration(value), interval.unwrap_or_default())
}

/// Whether an objective limits a quantile that the figure shows.
fn is_limit(objective: &ObjectiveDocument, metric: Metric) -> bool {
    objective.metric == metric && QUANTILES.iter().any(|it| Some(it.0) == objective.stat)
}

/// The limit of an objective as a horizontal line.
fn limit(objective: &ObjectiveDocument) -> Mark {
    let side = if objective.bound == "max" { "limit" } else { "at least" };
    let stat = objective.stat.map_or("", |it| it.name());
    // The line crosses all loads, so its name includes the stage that it applies to.
    let place = objective.stage.as_deref().filter(|it| *it != EVERY_STAGE);
    let place = place.map(|it| format!(", in stage {it}")).unwrap_or_default();
    mark(MarkAt::Limit(objective.limit), format!("{stat} {side} {}{place}", text::bound(objective.limit)))
}

/// The load beyond which more load increases waiting more than throughput.
///
/// It is the load with the largest power, which is throughput / mean time in the system: L. Kleinrock, "Power and deterministic rules of thumb for
/// probabilistic problems in computer communications", ICC 1979. If the lowest or the highest load has the largest power, the true knee may lie
/// beyond it, so no knee is reported. The same applies if a neighbouring load has nearly the same power, because the difference can be noise.
pub(super) struct Knee {
    at: Option<f64>,
    /// How the knee was found, or why there is none.
    words: String,
    /// The sentence that names the knee and its stage; empty if there is no knee.
    name: String,
}

impl Knee {
    /// Minimum number of loads for a search for the knee.
    const FEWEST_LOADS: usize = 3;
    /// Minimum ratio of the knee's power to the power of each neighbouring load.
    const LEAST_RATIO: f64 = 1.05;

    fn find(load: &LoadLevels<'_>) -> Knee {
        let mut powers: Vec<(f64, f64, &str)> = load.levels.iter().filter_map(power).collect();
        // If several stages have the same load, only the one with the largest power is used.
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
            return Knee::none("To find a knee, a run needs three loads or more.");
        }
        let rule = "the largest requests per second / mean latency (power, Kleinrock 1979)";
        if largest == 0 {
            return Knee::none(format!(
                "No knee is marked: the lowest load has {rule}, so the knee is there or below."
            ));
        }
        if largest + 1 == powers.len() {
            return Knee::none(format!(
                "No knee is marked: the highest load has {rule}, so the knee is there or above."
            ));
        }
        let (at, power, name) = powers[largest];
        let beside = powers[largest - 1].1.max(powers[largest + 1].1);
        if power < beside * Self::LEAST_RATIO {
            return Knee::none(format!(
                "No knee is marked: stage {name} has {rule}, but less than 5 % above the value of a neighbouring load."
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

/// Returns (load, power, name) of a stage.
fn power<'a>(level: &Level<'a>) -> Option<(f64, f64, &'a str)> {
    let figures = &level.stage.figures;
    let rate = figures.throughput.as_ref()?.requests_per_second;
    let time = figures.latency_ms.as_ref()?.mean;
    (time > 0.0).then(|| (level.load, rate / time, level.stage.name.as_str()))
}
