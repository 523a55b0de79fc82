//! Tests the time series in `report.json`.

use std::time::Duration;

use measurement::{record::RequestRecord, recorder::WireTally};
use serde_json::Value;

use crate::{
    fixture::{Analysed, Fixture, ms},
    json_of,
};

/// The text of the time series in the file.
fn text_of_series(fixture: &Fixture, analysed: &Analysed) -> String {
    let mut text = Vec::new();
    fixture.report(analysed).document().unwrap().write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let begin = text.find("  \"timeSeries\": {").unwrap();
    let length = text[begin..].find("\n  }").unwrap();
    text[begin..begin + length + "\n  }".len()].to_owned()
}

fn sum(column: &Value) -> u64 {
    column.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum()
}

/// Collects every column of a series, whatever its name.
fn columns<'a>(value: &'a Value, found: &mut Vec<&'a Vec<Value>>) {
    match value {
        Value::Array(column) => found.push(column),
        Value::Object(entries) => {
            // The columns of the ITL heat map differ in length from all others.
            entries.iter().filter(|(key, _)| *key != "itlHeat").for_each(|(_, it)| columns(it, found));
        }
        _ => {}
    }
}

#[test]
fn the_time_series_of_one_stage() {
    let fixture = Fixture::of_one_stage();
    let analysed = fixture.analyse();
    insta::assert_snapshot!(text_of_series(&fixture, &analysed));
    // In a run of one stage, the series of the stage equals that of the run, so only the run has it.
    assert!(json_of(&fixture, &analysed)["stages"][0].get("timeSeries").is_none());
}

#[test]
fn the_series_of_a_run_is_the_sum_of_its_stages() {
    let fixture = Fixture::new();
    let report = json_of(&fixture, &fixture.analyse());
    let (run, stages) = (&report["timeSeries"], report["stages"].as_array().unwrap());
    for key in ["due", "sent", "inputTokens", "outputTokens"] {
        let of_stages: u64 = stages.iter().map(|it| sum(&it["timeSeries"][key])).sum();
        assert_eq!(sum(&run[key]), of_stages, "{key}");
    }
    assert_eq!((sum(&run["due"]), sum(&run["outputTokens"])), (14, 13 * 5));
    assert_eq!((sum(&run["ended"]["ok"]), sum(&run["ended"]["http_5xx"])), (13, 1));
    assert!(run["ended"].get("timeout").is_none());
    let second = &stages[1]["timeSeries"];
    assert_eq!((second["startMs"].as_f64(), second["firstEventMs"].as_f64()), (Some(3_000.0), Some(3_000.0)));
    let mut all = Vec::new();
    columns(run, &mut all);
    let bins = run["due"].as_array().unwrap().len();
    assert!(all.len() == 23 && all.iter().all(|it| it.len() == bins), "{} columns", all.len());
    let nulls = run["ttftMs"]["p50"].as_array().unwrap().iter().filter(|it| it.is_null()).count();
    let zeros = run["ttftMs"]["count"].as_array().unwrap().iter().filter(|it| **it == 0).count();
    assert!(nulls > 0 && nulls == zeros, "{nulls} nulls, {zeros} zeros");
}

#[test]
fn a_series_of_an_hour_takes_little_of_the_report() {
    let mut fixture = Fixture::of_one_stage();
    let (record, wire) = fixture.requests[0].clone();
    let at = |number: u64| {
        let later = |it: Duration| it + ms(360 * number);
        let record = RequestRecord {
            number,
            scheduled: later(record.scheduled),
            sent: record.sent.map(later),
            first_token: record.first_token.map(|it| later(it) + ms(number % 97)),
            last_token: record.last_token.map(|it| later(it) + ms(number % 97)),
            ended: later(record.ended) + ms(number % 97),
            ..record.clone()
        };
        (record, WireTally { gaps: [ms(10 + number % 7); 4].into_iter().collect(), ..wire.clone() })
    };
    fixture.requests = (0..10_000).map(at).collect();
    let text = text_of_series(&fixture, &fixture.analyse());
    assert!(text.contains("\"binMs\": 16000.0"), "{}", &text[..200]);
    assert!(text.len() < 40_000, "{} bytes", text.len());
}
