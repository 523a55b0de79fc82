//! Tests the data for charts: distributions, ITL over time, and the sample of requests.

use document::ReportDocument;
use serde_json::{Value, json};

use crate::{
    fixture::{Fixture, ms},
    json_of,
};

fn numbers(column: &Value) -> Vec<f64> {
    column.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect()
}

fn rises(column: &Value) -> bool {
    numbers(column).is_sorted_by(|one, other| one < other)
}

#[test]
fn distributions_have_the_values_of_the_figures() {
    let fixture = Fixture::of_a_steady_stage();
    let report = json_of(&fixture, &fixture.analyse());
    let stage = &report["stages"][0];
    for key in ["ttftMs", "itlMs", "tpotMs", "latencyMs"] {
        let (found, figure) = (&stage["distributions"][key], &stage["figures"][key]);
        assert_eq!(found["count"], figure["count"], "{key}");
        assert!(rises(&found["ms"]) && rises(&found["share"]), "{key}: {found}");
        let (shares, values) = (numbers(&found["share"]), numbers(&found["ms"]));
        assert_eq!(shares.len(), values.len());
        let (median, _) = values.iter().zip(&shares).find(|(_, share)| **share >= 0.5).unwrap();
        let expected = figure["p50"].as_f64().unwrap();
        assert!((median / expected - 1.0).abs() < 0.000_6, "{key}: {median} and not {expected}");
    }
    // Five values from 40 to 44 ms, with 80 requests each. They count from the due time.
    let ttft = &stage["distributions"]["ttftMs"];
    assert_eq!(numbers(&ttft["share"]), [0.2, 0.4, 0.6, 0.8, 1.0]);
    assert_eq!(stage["distributions"], report["distributions"]);
}

#[test]
fn distributions_say_how_many_independent_values_they_are_worth() {
    let fixture = Fixture::of_a_steady_stage();
    let stage = json_of(&fixture, &fixture.analyse())["stages"][0].clone();
    let worth = |key: &str| stage["distributions"][key]["effectiveValues"].as_f64().unwrap();
    let mean = |key: &str| stage["uncertainty"][key]["mean"]["effectiveValues"].as_f64().unwrap();
    for (key, of) in [("ttftMs", "ttftMs"), ("tpotMs", "tpotMs"), ("latencyMs", "latencyMs"), ("itlMs", "tpotMs")] {
        assert!((worth(key) - mean(of)).abs() <= 0.05, "{key}: {}", worth(key));
    }
    // There are four gaps per request. They depend on each other, so they count as fewer values.
    assert_eq!(stage["distributions"]["itlMs"]["count"], 1_600);
    assert!(worth("itlMs") <= 400.0);
    let two = Fixture::new();
    let report = json_of(&two, &two.analyse());
    assert!(report["distributions"]["ttftMs"].get("effectiveValues").is_none());
    assert_eq!(report["distributions"]["ttftMs"]["count"], 13);
}

#[test]
fn a_run_without_a_success_has_no_distribution() {
    let mut fixture = Fixture::new();
    fixture.requests.retain(|(record, _)| !record.outcome.is_success());
    let report = json_of(&fixture, &fixture.analyse());
    assert!(report.get("distributions").is_none() && report["stages"][0].get("distributions").is_none());
    assert!(report["timeSeries"].get("itlHeat").is_none());
    assert_eq!(report["requestSample"]["outcome"], json!(["http_503"]));
}

#[test]
fn each_gap_is_in_one_field_of_the_map() {
    let fixture = Fixture::new();
    let report = json_of(&fixture, &fixture.analyse());
    let heat = &report["timeSeries"]["itlHeat"];
    let columns = heat["counts"].as_array().unwrap();
    let bins = report["timeSeries"]["due"].as_array().unwrap().len();
    assert_eq!((heat["binsPerColumn"].as_u64(), columns.len()), (Some(1), bins));
    assert_eq!(columns.iter().flat_map(numbers).sum::<f64>(), 13.0 * 4.0);
    // All ITLs are 10 ms.
    let edges = numbers(&heat["edgesMs"]);
    assert!(edges.len() == 2 && edges[0] < 10.0 && 10.0 < edges[1], "{edges:?}");
}

#[test]
fn few_requests_are_all_in_the_sample_in_the_order_of_time() {
    let mut fixture = Fixture::new();
    fixture.requests.reverse();
    fixture.requests[0].0.sent = None;
    let report = json_of(&fixture, &fixture.analyse());
    let sample = &report["requestSample"];
    assert_eq!((sample["of"].as_u64(), numbers(&sample["dueMs"]).len()), (Some(14), 14));
    assert!(rises(&sample["dueMs"]), "{sample}");
    assert_eq!(numbers(&sample["stage"]), [0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 1., 1., 1., 1.]);
    let row = |place: usize| {
        let keys = ["number", "dueMs", "sentMs", "firstTokenMs", "endedMs", "outcome"];
        Value::Array(keys.into_iter().map(|key| sample[key][place].clone()).collect())
    };
    assert_eq!(row(1), json!([1, 100.0, 101.0, 143.0, 184.0, "ok"]));
    // The failed request was due at 3.1 s.
    assert_eq!(row(11), json!([3, 3_100.0, null, null, 3_105.0, "http_503"]));
}

#[test]
fn the_report_of_thirty_long_stages_is_small_and_is_read_again() {
    let mut fixture = Fixture::of_one_stage();
    let (stage, (record, wire)) = (fixture.workload.stages[0].clone(), fixture.requests[0].clone());
    fixture.workload.stages = vec![stage; 30];
    fixture.requests.clear();
    for number in 0..9_000_u64 {
        // The factor and the modulus have no common divisor, so the values are spread over the whole range.
        let (spread, at) = (ms(number * 7_919 % 9_973), ms(number * 400));
        let first = at + ms(20) + spread / 20;
        let gaps = [1_u32, 2, 3, 5].map(|it| ms(8) + spread / (40 * it));
        let last = first + gaps.iter().sum::<std::time::Duration>();
        let mut record = record.clone();
        (record.stage, record.number) = ((number / 300) as u32, number % 300);
        (record.scheduled, record.sent) = (at, Some(at));
        (record.first_token, record.last_token, record.ended) = (Some(first), Some(last), last);
        fixture
            .requests
            .push((record, measurement::recorder::WireTally { gaps: gaps.into_iter().collect(), ..wire.clone() }));
    }
    let mut text = Vec::new();
    fixture.report(&fixture.analyse()).document().unwrap().write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let read = ReportDocument::read(&text).unwrap();
    let points: Vec<usize> =
        read.stages.iter().map(|it| it.distributions.as_ref().unwrap().itl_ms.as_ref().unwrap().ms.0.len()).collect();
    assert!(points.iter().all(|it| (100..=118).contains(it)), "{points:?}");
    let sample = read.request_sample.as_ref().unwrap();
    assert_eq!((sample.of, sample.due_ms.0.len()), (9_000, 300));
    assert!(text.len() < 2_000_000, "{} bytes", text.len());
    let mut again = Vec::new();
    read.write(&mut again).unwrap();
    assert!(again == text.as_bytes());
}
