//! Tests of figures over time.

use charts::{MarkAt, Request, Shade, Shape, Tone};
use serde_json::json;

use super::{figure, series, values};
use crate::{
    fixture::{Level, full, read, sweep},
    panels::panels,
};

#[test]
fn warm_up_and_steady_window_are_shaded() {
    let found = figure(&read(&full()), "latency-over-time", "time-ttft");
    assert_eq!(
        found.shades,
        [
            Shade { from: 0.0, to: 0.2, label: "warm-up".to_owned(), tone: Tone::Quiet },
            Shade { from: 0.4, to: 0.9, label: "steady".to_owned(), tone: Tone::Main },
        ]
    );
    assert_eq!(values(series(&found, "p99")), [Some(60.0), None]);
    assert!(found.caption.contains("The steady window is shaded"), "{}", found.caption);
}

#[test]
fn the_window_of_a_profiler_is_shaded_in_every_figure_over_time() {
    let mut document = full();
    document["profiling"] = json!({
        "kind": "Torch", "stage": "r10", "startMs": 0.0, "durationMs": 300.0, "stages": ["r10"],
        "window": {"fromMs": 250.0, "toMs": 550.0}, "remarks": ["kept"],
    });
    let shade = Shade { from: 0.25, to: 0.55, label: "profiled".to_owned(), tone: Tone::Doubt };
    let figures: Vec<_> = panels(&read(&document)).into_iter().flat_map(|it| it.content.unwrap()).collect();
    let of_time: Vec<_> = figures.iter().filter(|it| it.x.label.starts_with("Time")).collect();
    assert!(of_time.len() > 10);
    for figure in of_time {
        assert!(figure.shades.contains(&shade), "{}", figure.id);
    }
}

#[test]
fn the_shade_of_a_warm_up_ends_with_its_time_and_not_with_the_first_request_after_it() {
    let mut document = full();
    document["stages"][0]["figures"]["firstDueMs"] = json!(350.0);
    let end = |document: &serde_json::Value| figure(&read(document), "latency-over-time", "time-ttft").shades[0].to;
    assert_eq!(end(&document), 0.2);
    document["stages"][0]["warmUp"] = json!({"count": 3});
    assert_eq!(end(&document), 0.35);
}

#[test]
fn figures_over_time_have_one_axis_of_time() {
    let mut document = full();
    document["timeSeries"]["startMs"] = json!(1_000.0);
    document["serverMetrics"]["timeSeries"]["failedScrapes"] = json!([0, 0, 0, 0, 0]);
    let figures: Vec<_> = panels(&read(&document)).into_iter().flat_map(|it| it.content.unwrap()).collect();
    let of_time: Vec<_> = figures.iter().filter(|it| it.x.label.starts_with("Time")).collect();
    assert!(of_time.len() > 10);
    for figure in of_time {
        // The client's series ends after 2 s, and the servers' series after 2.5 s.
        assert_eq!(figure.x.includes, [0.0, 2.0, 2.5], "{}", figure.id);
    }
}

#[test]
fn a_window_that_drifts_is_not_called_steady() {
    let mut document = full();
    document["stages"][0]["uncertainty"]["steadyState"]["verdict"] = "driftingUp".into();
    let found = figure(&read(&document), "latency-over-time", "time-latency");
    assert_eq!((found.shades[1].label.as_str(), found.shades[1].tone), ("drifting up", Tone::Doubt));
    assert!(found.caption.contains("it is not steady"), "{}", found.caption);
}

#[test]
fn stages_have_borders_with_their_names_but_not_more_than_can_be_read() {
    let level = || Level { rate: 1.0, done: 1.0, mean_ms: 10.0, count: 10 };
    let mut document = sweep(&[level(), level()]);
    document["timeSeries"] = full()["timeSeries"].clone();
    let found = figure(&read(&document), "outcomes", "outcomes");
    let marks: Vec<_> = found.marks.iter().map(|it| (it.at, it.label.as_str())).collect();
    assert_eq!(marks, [(MarkAt::X(0.0), "s0"), (MarkAt::X(1.0), "s1")]);
    let many: Vec<Level> = (0..100).map(|_| level()).collect();
    let mut document = sweep(&many);
    document["timeSeries"] = full()["timeSeries"].clone();
    assert_eq!(figure(&read(&document), "outcomes", "outcomes").marks.len(), 20);
}

#[test]
fn counts_become_rates_and_failures_stand_above_successes() {
    let document = read(&full());
    let offered = figure(&document, "offered-load", "offered-load");
    assert_eq!(values(series(&offered, "due")), [Some(12.0), Some(8.0)]);
    let outcomes = figure(&document, "outcomes", "outcomes");
    let found: Vec<_> = outcomes.series.iter().map(|it| (it.name.as_str(), it.tone, values(it))).collect();
    assert_eq!(
        found,
        [
            ("ok", Tone::Main, vec![Some(10.0), Some(6.0)]),
            ("http_5xx", Tone::Bad, vec![Some(2.0)]),
            ("timeout", Tone::Category(2), vec![Some(2.0)]),
        ]
    );
}

#[test]
fn the_heat_has_the_edges_of_its_columns_in_seconds() {
    let found = figure(&read(&full()), "itl-heat", "itl-heat");
    match &found.series[0].shape {
        Shape::Heat(heat) => {
            assert_eq!(heat.x_edges, [0.0, 1.0]);
            assert_eq!((&heat.y_edges[..], &heat.counts[..]), (&[1.0, 10.0, 100.0][..], &[vec![7, 1]][..]));
        }
        other => assert_eq!(format!("{other:?}"), "heat"),
    }
}

#[test]
fn the_sample_says_its_size_and_its_moments_are_in_order() {
    let found = figure(&read(&full()), "requests", "requests");
    assert!(found.caption.starts_with("2 of 12,345 requests"), "{}", found.caption);
    match &found.series[0].shape {
        Shape::Requests(requests) => assert_eq!(
            requests[..],
            [
                Request {
                    due: 0.1,
                    sent: Some(0.101),
                    first_token: Some(0.15),
                    ended: 0.2,
                    succeeded: true,
                    label: "r10 #3: ok".to_owned(),
                },
                // In the file, this request ended before it was due. The figure moves its end to the due time.
                Request {
                    due: 0.2,
                    sent: None,
                    first_token: None,
                    ended: 0.2,
                    succeeded: false,
                    label: "r10 #7: timeout".to_owned(),
                },
            ]
        ),
        other => assert_eq!(format!("{other:?}"), "requests"),
    }
}

#[test]
fn server_and_client_stand_beside_each_other() {
    let document = read(&full());
    let concurrency = figure(&document, "concurrency", "concurrency");
    assert_eq!(values(series(&concurrency, "client: in flight")), [Some(1.5), Some(1.0)]);
    assert_eq!(values(series(&concurrency, "server: running and waiting")), [Some(1.0), Some(5.0)]);
    let tokens = figure(&document, "tokens", "tokens");
    assert_eq!(values(series(&tokens, "output, client")), [Some(60.0), Some(40.0)]);
    assert_eq!(values(series(&tokens, "generated, server")), [Some(50.0), Some(60.0)]);
}

#[test]
fn computed_prompt_tokens_are_those_that_were_not_cached() {
    let found = figure(&read(&full()), "tokens", "tokens-by-source");
    // The second bin has more cached tokens than prompt tokens, because the two counters are not read at the same time.
    assert_eq!(values(series(&found, "prompt, computed")), [Some(60.0), Some(0.0)]);
    assert_eq!(values(series(&found, "prompt, from the cache")), [Some(40.0), Some(90.0)]);
}

#[test]
fn the_cached_share_of_usage_stands_beside_the_servers_hits() {
    let mut document = full();
    document["stages"][0]["figures"]["cachedShare"] = json!(0.4);
    let found = figure(&read(&document), "prefix-hits", "prefix-hits");
    assert_eq!(values(series(&found, "usage of the answers, by stage")), [Some(0.4)]);
    assert_eq!(values(series(&found, "server's metrics")), [Some(0.5), Some(0.75)]);
    document.as_object_mut().unwrap().remove("serverMetrics");
    let found = figure(&read(&document), "prefix-hits", "prefix-hits");
    assert_eq!(found.series.len(), 1);
}

#[test]
fn rates_of_few_requests_take_bins_together() {
    use crate::panels::bins::{Bins, together};
    let few = document::Column(vec![1_u64; 192]);
    assert_eq!(together(&few), 8, "24 points are left");
    assert_eq!(together(&document::Column(vec![1_u64; 10])), 1);
    assert_eq!(together(&document::Column(vec![4_u64; 1_000])), 4);
    assert_eq!(together(&document::Column(vec![50_u64; 192])), 1);
    let places = Bins::new(0.0, 250.0).mean_rates(&document::Column(vec![1, 3, 2]), 2);
    let expected = [(0.25, Some(8.0)), (0.625, Some(8.0))];
    assert_eq!(places.iter().map(|it| (it.x, it.y)).collect::<Vec<_>>(), expected);
}
