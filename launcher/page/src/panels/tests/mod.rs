mod curves;
mod over_time;

use charts::{Figure, Place, Series, Shape};
use document::ReportDocument;

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
