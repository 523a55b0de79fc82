use comparison::{Comparison, GateRule, Run, compare};
use serde_json::{Value, json};

use super::*;
use crate::fixture::{full, read};

/// A run whose TPOT and rate have these values, with intervals around them.
fn run(tpot: f64, rate: f64) -> Value {
    let estimate =
        |value: f64| json!({"value": value, "low": 0.99 * value, "high": 1.01 * value, "effectiveValues": 500.0});
    let mut run = full();
    let uncertainty = &mut run["stages"][0]["uncertainty"];
    uncertainty["tpotMs"] =
        json!({"count": 1000, "mean": estimate(tpot), "p50": estimate(tpot), "p90": estimate(tpot)});
    uncertainty["requestsPerSecond"] = estimate(rate);
    run
}

fn compared(base: &Value, other: &Value) -> Comparison {
    let (base, other) = (read(base), read(other));
    let mut comparison =
        compare(&[Run { path: "a", report: &base, more: &[] }, Run { path: "b", report: &other, more: &[] }]).unwrap();
    comparison.gate = Some(GateRule::default().apply(&comparison));
    comparison
}

#[test]
fn a_page_says_what_is_wrong_before_the_figures_and_draws_each_difference() {
    let mut other = run(12.0, 10.0);
    other["stages"][0]["labels"]["clock"] = "sent".into();
    let page = render(&compared(&run(10.0, 10.0), &other)).unwrap();
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part} is missing in {page}"));
    assert!(at("not comparable: clock: A scheduled, B sent.") < at("<figure"));
    assert!(at("gate: regression") < at("id=\"pair-b\"") && at("TPOT mean is worse: +20.0 %") < at("<figure"));
    // There is one figure for values that are better if lower, and one for values that are better if higher.
    assert_eq!(page.matches("<figure").count(), 2);
    assert!(page.contains("TPOT p50, ms") && page.contains(r#"<strong class="bad">✗ worse</strong>"#));
    assert!(
        page.contains("Content-Security-Policy") && !page.contains(" src=") && !page.contains("http-equiv=\"refresh")
    );
}

#[test]
fn a_sweep_has_a_figure_over_its_stages_and_a_bound_on_its_size() {
    let sweep = |tpot: f64| {
        let mut run = run(tpot, 10.0);
        let stage = run["stages"][0].clone();
        let named = |number: u64| {
            let mut stage = stage.clone();
            stage["name"] = format!("stage-{number}").into();
            stage
        };
        run["stages"] = (0..60).map(named).collect();
        run
    };
    let comparison = compared(&sweep(10.0), &sweep(12.0));
    let page = render(&comparison).unwrap();
    assert!(page.contains("Differences over the stages") && page.contains("20 more stages are in the JSON."));
    assert!(page.len() < 4 << 20, "{}", page.len());
}

#[test]
fn accuracy_stands_beside_each_other_where_a_run_was_scored() {
    let mut other = run(12.0, 10.0);
    other["accuracy"] = json!({
        "check": "<b>rouge", "verdict": "Passed", "figures": [{"name": "rouge1", "value": 39.38, "text": "39.38"}],
        "limits": [{"figure": "rouge1", "isUpper": false, "limit": 38.0, "value": 39.38, "met": true}],
        "scored": 24, "withoutAnswer": 0,
    });
    let page = render(&compared(&run(10.0, 10.0), &other)).unwrap();
    assert!(page.contains("<th scope=\"row\">rouge1</th><td>-</td><td>39.38 (at least 38: met)</td>"), "{page}");
    assert!(page.contains("rouge: Passed; 24 answers scored</td>") && !page.contains("<b>rouge"), "{page}");
    assert!(!render(&compared(&run(10.0, 10.0), &run(10.0, 10.0))).unwrap().contains("table-accuracy"));
}

#[test]
fn hostile_texts_run_nothing() {
    let mut other = run(12.0, 10.0);
    other["model"] = "</script><script>alert(1)</script>".into();
    other["run"]["name"] = "<img src=x onerror=alert(1)>".into();
    other["stages"][0]["name"] = "\"><svg onload=alert(1)>".into();
    let page = render(&compared(&run(10.0, 10.0), &other)).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<img") && !page.contains("<svg onload"), "{page}");
    assert!(page.contains("&lt;&#x2F;script&gt;") || page.contains("&lt;/script&gt;"), "{page}");
}

#[test]
fn nothing_to_draw_is_a_page_all_the_same() {
    let mut other = run(12.0, 10.0);
    other["outcome"] = "Invalid".into();
    let page = render(&compared(&run(10.0, 10.0), &other)).unwrap();
    assert!(page.contains("What makes this comparison wrong") && !page.contains("<figure"), "{page}");
}
