mod curves;
mod over_time;

use charts::{Figure, MarkAt, Place, Series, Shape, Tone};
use document::ReportDocument;
use serde_json::json;

use super::{Panel, panels};
use crate::fixture::{full, older, read};

fn panel(document: &ReportDocument, id: &str) -> Panel {
    panels(document).into_iter().find(|it| it.id == id).unwrap()
}

fn figure(document: &ReportDocument, panel_id: &str, id: &str) -> Figure {
    panel(document, panel_id).content.unwrap().into_iter().find(|it| it.id == id).unwrap()
}

fn series<'a>(figure: &'a Figure, name: &str) -> &'a Series {
    figure.series.iter().find(|it| it.name == name).unwrap()
}

/// The values of a line.
fn values(series: &Series) -> Vec<Option<f64>> {
    match &series.shape {
        Shape::Line(places) | Shape::Steps(places) => places.iter().map(|it| it.y).collect(),
        Shape::Bars(bars) => bars.iter().map(|it| Some(it.value)).collect(),
        Shape::Points { points, .. } => points.iter().map(|it| Some(it.y)).collect(),
        _ => Vec::new(),
    }
}

fn corners(places: &[Place]) -> Vec<(f64, f64)> {
    places.iter().map(|it| (it.x, it.y.unwrap())).collect()
}

const IDS: [&str; 15] = [
    "interactivity",
    "load",
    "distributions",
    "latency-over-time",
    "itl-heat",
    "offered-load",
    "requests",
    "outcomes",
    "concurrency",
    "server-queue",
    "kv-cache",
    "prefix-hits",
    "tokens",
    "gpu",
    "cost",
];

#[test]
fn every_run_has_the_same_panels_in_the_same_order() {
    for document in [older(), full()] {
        let found: Vec<&str> = panels(&read(&document)).iter().map(|it| it.id).collect();
        assert_eq!(found, IDS);
    }
}

#[test]
fn a_run_with_everything_has_every_panel() {
    for panel in panels(&read(&full())) {
        let figures = panel.content.unwrap();
        assert!(!figures.is_empty(), "{}", panel.id);
        for figure in figures {
            assert!(!figure.series.is_empty() && !figure.caption.is_empty(), "{}", figure.id);
        }
    }
}

#[test]
fn figures_have_names_of_their_own() {
    let panels = panels(&read(&full()));
    let mut ids: Vec<&str> =
        panels.iter().flat_map(|it| it.content.as_ref().unwrap()).map(|it| it.id.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    assert!(ids.iter().all(|it| it.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-')));
}

#[test]
fn a_panel_without_data_says_why() {
    let document = read(&older());
    for (id, part) in [
        ("distributions", "an older release wrote it"),
        ("latency-over-time", "no series over time"),
        ("itl-heat", "no series over time"),
        ("offered-load", "no series over time"),
        ("requests", "no sample of requests"),
        ("server-queue", "name their address in spec.target.metrics or with --metrics-url"),
        ("kv-cache", "spec.target.metrics"),
        ("prefix-hits", "The usage of the answers has no cached tokens either"),
        ("gpu", "spec.target.metrics"),
        ("cost", "spec.target.hardware"),
    ] {
        let why = panel(&document, id).content.unwrap_err();
        assert!(why.contains(part) && why.ends_with('.'), "{id}: {why}");
    }
}

#[test]
fn a_run_without_a_success_says_so() {
    let mut document = full();
    document["figures"]["succeeded"] = 0.into();
    document["stages"][0]["figures"]["succeeded"] = 0.into();
    for latency in ["ttftMs", "tpotMs", "itlMs", "latencyMs", "interactivity", "throughput"] {
        document["stages"][0]["figures"].as_object_mut().unwrap().remove(latency);
    }
    let document = read(&document);
    assert!(panel(&document, "load").content.unwrap_err().contains("No stage has a request that succeeded"));
    for id in ["interactivity", "cost", "distributions"] {
        assert_eq!(panel(&document, id).content.unwrap_err(), "No request succeeded.");
    }
}

#[test]
fn a_metric_that_the_server_lacks_is_named() {
    let mut document = full();
    let series = document["serverMetrics"]["timeSeries"].as_object_mut().unwrap();
    for column in ["kvCacheUsage", "gpuUtilization", "gpuPowerWatts"] {
        series.remove(column);
    }
    let document = read(&document);
    assert!(panel(&document, "kv-cache").content.unwrap_err().contains("do not include the use of the KV cache"));
    assert!(panel(&document, "gpu").content.unwrap_err().contains("DCGM exporter"));
}

#[test]
fn a_search_has_its_trials_as_points() {
    let trial = |role: &str, load: f64, verdict: &str, value: f64, share: f64| {
        json!({
            "stage": "s", "role": role, "load": load, "seconds": 30.0, "requests": 100, "verdict": verdict, "belief": 0.5,
            "objectives": [
                {"name": "ttft", "share": 0.1, "allowed": 0.05, "valueMs": value, "limitMs": 100.0},
                {"name": "errors", "share": share, "allowed": 0.01},
            ],
        })
    };
    let mut document = full();
    document["search"] = json!({
        "over": "Rate", "budgetSeconds": 1200.0, "usedSeconds": 120.0, "stopped": "confirmed",
        "answer": {"load": 4.0, "risk": 0.05, "stage": "r10"}, "edge": {"estimate": 5.0, "low": 4.5, "high": 6.0},
        "trials": [
            trial("WarmUp", 1.0, "Undecided", 9.0, 0.0),
            trial("Grow", 8.0, "Failed", 250.0, 0.02),
            trial("Grow", 16.0, "ClientLimited", 250.0, 0.02),
            trial("Confirm", 4.0, "Passed", 80.0, 0.0),
        ],
    });
    let document = read(&document);
    let found = figure(&document, "search", "search-objectives");
    let points = |tone: Tone| {
        let of = found.series.iter().filter(|it| it.tone == tone);
        let points = of.flat_map(|it| match &it.shape {
            Shape::Points { points, .. } => points.iter().map(|it| (it.x, it.y)).collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        points.collect::<Vec<_>>()
    };
    assert_eq!(points(Tone::Category(0)), [(4.0, 0.8)], "the confirmation");
    assert_eq!(points(Tone::Provisional(0)), [(8.0, 2.5)], "neither the warm-up nor a trial that the client limited");
    // A share of zero has no place on a logarithmic axis.
    assert_eq!((points(Tone::Category(1)), points(Tone::Provisional(1))), (vec![], vec![(8.0, 2.0)]));
    assert!(found.marks.iter().any(|it| it.at == MarkAt::Limit(1.0)));
    assert!(found.marks.iter().any(|it| it.at == MarkAt::X(4.0)));
    assert_eq!((found.shades[0].from, found.shades[0].to), (4.5, 6.0));
    let over_time = figure(&document, "search", "search-trials");
    let ends: Vec<Option<f64>> = values(series(&over_time, "load"));
    assert_eq!(ends, [1.0, 1.0, 8.0, 8.0, 16.0, 16.0, 4.0, 4.0].map(Some));
    let signs = |name: &str| values(series(&over_time, name));
    assert_eq!((signs("holds"), signs("fails")), (vec![Some(4.0)], vec![Some(8.0)]));
    assert_eq!(panels(&document).first().map(|it| it.id), Some("search"));
}
