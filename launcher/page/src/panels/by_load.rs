//! Small charts of a sweep: each shows one figure of every stage over the load.

use charts::{Axis, Figure, Shape, Tone};
use document::{EstimateDocument, ReportDocument, StageDocument};

use super::{
    load_levels::LoadLevels,
    plot::{between, figure, quantity, series, share},
};

/// A small chart of one figure.
struct Small {
    id: &'static str,
    title: &'static str,
    caption: &'static str,
    axis: fn() -> Axis,
    of: fn(&ReportDocument, &StageDocument) -> Option<f64>,
    /// Reads the interval of the value.
    estimate: fn(&StageDocument) -> Option<&EstimateDocument>,
}

const SMALL: [Small; 4] = [
    Small {
        id: "load-output",
        title: "Output tokens per second",
        caption: "Output tokens of requests that succeeded per second, by stage, with 95 % intervals.",
        axis: || quantity("Output", "tokens/s"),
        of: |_, it| Some(it.figures.throughput.as_ref()?.output_tokens_per_second),
        estimate: |it| it.uncertainty.output_tokens_per_second.as_ref(),
    },
    Small {
        id: "load-speed",
        title: "Tokens per second for one user",
        caption: "Interactivity, the median of 1/TPOT, by stage.",
        axis: || quantity("Interactivity", "tokens/s"),
        of: |_, it| it.figures.interactivity.as_ref()?.median_of_inverse_tpot,
        estimate: |_| None,
    },
    Small {
        id: "load-itl",
        title: "ITL p99",
        caption: "99 of 100 gaps between two tokens are shorter than this; by stage, with 95 % intervals.",
        axis: || quantity("ITL", "ms"),
        of: |_, it| it.figures.itl_ms.as_ref().filter(|it| it.count >= 100).map(|it| it.p99),
        estimate: |it| it.uncertainty.itl_ms.as_ref()?.p99.as_ref(),
    },
    Small {
        id: "load-kv-cache",
        title: "KV cache used",
        caption: "The mean share of the KV cache that was in use, by stage, from the server's metrics.",
        axis: || Axis { includes: vec![0.0], ..share("KV cache") },
        of: |document, it| {
            let stages = &document.server_metrics.as_ref()?.stages;
            let window = stages.iter().find(|window| window.name == it.name)?.figures.as_ref()?;
            window.kv_cache_usage.as_ref().map(|it| it.mean)
        },
        estimate: |_| None,
    },
];

/// The charts that have values for the stages.
pub(super) fn figures(document: &ReportDocument, load: &LoadLevels<'_>) -> Vec<Figure> {
    SMALL.iter().filter_map(|it| small(document, load, it)).collect()
}

fn small(document: &ReportDocument, load: &LoadLevels<'_>, small: &Small) -> Option<Figure> {
    let points = load.points(|it| (small.of)(document, it), small.estimate);
    if points.len() < 2 {
        return None;
    }
    let axis = (small.axis)();
    let mut figure = figure(small.id, small.title, small.caption, load.axis.clone(), axis);
    let unit = if figure.y.unit == "tokens/s" { "" } else { figure.y.unit.as_str() };
    figure.finding = between(points.iter().map(|it| it.y), unit);
    figure.series.push(series(small.title, Tone::Main, Shape::Points { points, joined: true }));
    Some(figure)
}
