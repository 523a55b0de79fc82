//! Figures of a comparison: differences in percent, each with its interval.

use charts::{Axis, Figure, Mark, MarkAt, Point, Scale, Series, Shape, Tone};
use comparison::{FigureDocument, PairDocument, StagePairDocument, Verdict, Way};

/// The figures that are shown over the stages of a sweep: one latency or rate of each kind.
const OVER_STAGES: [&str; 4] = ["ttft.p90", "tpot.p90", "latency.p90", "outputTokensPerSecond"];

/// The verdicts of differences that have an interval, with their colours.
const VERDICTS: [(Verdict, Tone); 3] =
    [(Verdict::Better, Tone::Good), (Verdict::Worse, Tone::Bad), (Verdict::NoDifferenceFound, Tone::Quiet)];

/// Two figures with the differences of a stage: one for values that are better if lower, and one for values that are better if higher. A value
/// without an interval in percent is left out.
pub(super) fn of_stage(id: &str, stage: &StagePairDocument, pair: &PairDocument) -> Vec<Figure> {
    let one = |way: Way, name: &str, title: &str, better: &str| {
        let shown: Vec<&FigureDocument> =
            stage.figures.iter().filter(|it| it.better == way && it.interval_percent.is_some()).collect();
        let of = |wanted: Verdict| {
            let places = shown.iter().enumerate().filter(move |(_, it)| it.verdict == wanted);
            places.filter_map(|(at, it)| point(at as f64 + 1.0, it, &it.title)).collect::<Vec<Point>>()
        };
        let series = VERDICTS.into_iter().map(|(verdict, tone)| (verdict.name(), tone, of(verdict)));
        let series: Vec<Series> = series
            .filter(|(_, _, points)| !points.is_empty())
            .map(|(name, tone, points)| Series {
                name: name.to_owned(),
                tone,
                shape: Shape::Points { points, joined: false },
            })
            .collect();
        (!series.is_empty()).then(|| Figure {
            id: format!("difference-{id}-{name}"),
            title: title.to_owned(),
            caption: format!(
                "{} - A in percent of A, with intervals that are right together: {better}. Only figures with an interval, in the order of the table.",
                pair.run
            ),
            finding: String::new(),
            x: Axis { label: "row".into(), unit: String::new(), scale: Scale::Linear, includes: vec![0.0, shown.len() as f64 + 1.0], labels: Vec::new() },
            y: percent_axis(),
            series,
            shades: Vec::new(),
            marks: vec![as_base()],
        })
    };
    let down = one(Way::Down, "down", "Latencies, errors and cost", "below 0 is better");
    let up = one(Way::Up, "up", "Rates, goodput and interactivity", "above 0 is better");
    down.into_iter().chain(up).collect()
}

/// The differences of the figures in [`OVER_STAGES`] over the stages; `None` for a single stage.
pub(super) fn over_stages(pair: &PairDocument) -> Option<Figure> {
    let of = |name: &str, title: &mut String| {
        let places = pair.stages.iter().enumerate().filter_map(|(at, stage)| {
            let is_decided =
                |it: &FigureDocument| it.verdict != Verdict::CannotBeDecided && it.interval_percent.is_some();
            let found = stage.figures.iter().find(|it| it.figure == name && is_decided(it))?;
            title.clone_from(&found.title);
            point(at as f64 + 1.0, found, &stage.base)
        });
        places.collect::<Vec<Point>>()
    };
    let series = OVER_STAGES.iter().enumerate().filter_map(|(tone, name)| {
        let mut title = String::new();
        let points = of(name, &mut title);
        let shape = Shape::Points { points, joined: true };
        (!title.is_empty()).then_some(Series { name: title, tone: Tone::Category(tone), shape })
    });
    let series: Vec<Series> = series.collect();
    (pair.stages.len() > 1 && !series.is_empty()).then(|| Figure {
        id: format!("differences-{}", pair.run.to_lowercase()),
        title: "Differences over the stages".into(),
        caption: format!(
            "{} - A in percent of A, with intervals that are right together, one point per stage in their order. A difference that cannot be decided has no point.",
            pair.run
        ),
        finding: String::new(),
        x: Axis {
            label: "stage".into(),
            unit: String::new(),
            scale: Scale::Linear,
            includes: vec![0.0, pair.stages.len() as f64 + 1.0],
            labels: Vec::new(),
        },
        y: percent_axis(),
        series,
        shades: Vec::new(),
        marks: vec![as_base()],
    })
}

/// The difference as a point; `None` if it has no percentage because the base's value is 0.
fn point(x: f64, figure: &FigureDocument, label: &str) -> Option<Point> {
    let range = figure.interval_percent.map(|[low, high]| (low, high));
    Some(Point { x, y: figure.percent?, range, label: crate::table::cut(label), note: String::new() })
}

fn percent_axis() -> Axis {
    Axis { label: "difference".into(), unit: "%".into(), scale: Scale::Linear, includes: vec![0.0], labels: Vec::new() }
}

fn as_base() -> Mark {
    Mark { at: MarkAt::Y(0.0), label: "as A".into() }
}
