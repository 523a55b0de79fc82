//! Tests that a difference which makes figures incomparable is reported, and that these figures are then undecided.

use comparison::{Remark, Severity, Verdict};
use document::ReportDocument;
use serde_json::json;

use crate::{
    decisions::{figure, figures, pair},
    queue::{Server, run},
};

/// Returns the remark with this label after `change` was applied to the second run.
#[track_caller]
fn remark(label: &str, change: &dyn Fn(&mut ReportDocument)) -> Remark {
    let (base, mut other) = (run(Server::default(), 1), run(Server::default(), 2));
    change(&mut other);
    let comparison = pair(&base, &other);
    let found = comparison.pairs[0].remarks.iter().find(|it| it.label == label);
    let found = found.unwrap_or_else(|| panic!("no {label} in {:?}", comparison.pairs[0].remarks)).clone();
    // Incomparable figures are undecided, and all other figures are decided.
    for it in figures(&comparison) {
        let concerns = found.figures.is_empty() || found.figures.contains(&it.figure);
        let is_blocked = it.why == format!("not comparable: {label}");
        assert_eq!(is_blocked, found.severity == Severity::NotComparable && concerns, "{label}: {it:?}");
    }
    found
}

#[test]
fn a_profiled_stage_is_compared_with_none() {
    let (base, mut other) = (run(Server::default(), 1), run(Server::default(), 2));
    other.stages[0].profiled = true;
    let comparison = pair(&base, &other);
    assert!(comparison.pairs[0].stages.is_empty());
    let unmatched = &comparison.pairs[0].unmatched;
    assert_eq!((unmatched.len(), unmatched[0].run.as_str()), (1, "B"));
    assert!(unmatched[0].why.starts_with("the server was profiled"), "{unmatched:?}");
    let gate = comparison::GateRule::default().apply(&comparison);
    assert!(gate.reasons[0].contains("is not compared: the server was profiled in it"), "{:?}", gate.reasons);
}

#[test]
fn each_label_is_said_with_both_values_and_concerns_its_figures() {
    type Change = fn(&mut ReportDocument);
    let all: [(&str, Change, Severity, &str, &str); 12] = [
        ("clock", |it| it.stages[0].labels.clock = "sent".into(), Severity::NotComparable, "ttft.p50", "tpot.p50"),
        ("tokens", |it| it.stages[0].labels.tokens = "client".into(), Severity::NotComparable, "tpot.p50", "ttft.p50"),
        ("itl", |it| it.stages[0].labels.itl = "event".into(), Severity::NotComparable, "itl.p50", "latency.p50"),
        ("window", |it| it.stages[0].labels.window = "cut".into(), Severity::NotComparable, "", ""),
        ("arrivals", |it| it.stages[0].labels.arrivals = "paced".into(), Severity::NotComparable, "", ""),
        ("prompts", |it| it.stages[0].labels.prompts = "repeated".into(), Severity::NotComparable, "", ""),
        ("failures", |it| it.stages[0].labels.failures = "included".into(), Severity::NotComparable, "", ""),
        (
            "tpot",
            |it| it.stages[0].labels.tpot = "x".into(),
            Severity::NotComparable,
            "interactivity.inverseOfTpotP90",
            "ntpot.p50",
        ),
        ("ntpot", |it| it.stages[0].labels.ntpot = "x".into(), Severity::NotComparable, "ntpot.p50", "tpot.p50"),
        ("percentiles", |it| it.stages[0].labels.percentiles = "hdr".into(), Severity::Note, "", ""),
        ("events", |it| it.stages[0].labels.events = "several".into(), Severity::Note, "itl.p50", "tpot.p50"),
        ("cache", |it| it.stages[0].labels.cache = "told".into(), Severity::Note, "", ""),
    ];
    for (label, change, severity, within, without) in all {
        let found = remark(label, &change);
        assert_eq!(found.severity, severity, "{label}");
        assert!(found.base != found.other && !found.base.is_empty() && !found.other.is_empty(), "{found:?}");
        assert!(found.meaning.len() > 30 && found.stages.is_empty(), "{found:?}");
        assert!(within.is_empty() || found.figures.iter().any(|it| it == within), "{found:?}");
        assert!(!found.figures.iter().any(|it| it == without), "{found:?}");
    }
}

#[test]
fn runs_that_are_not_alike_are_said() {
    type Change = fn(&mut ReportDocument);
    let all: [(&str, Change, Severity); 15] = [
        ("outcome", |it| it.outcome = crds::Outcome::Invalid, Severity::NotComparable),
        ("outcome", |it| it.partial = true, Severity::NotComparable),
        ("goals", |it| it.workload["goodput"] = json!({"ttft": "1s"}), Severity::NotComparable),
        ("contamination", |it| it.contamination.exposure = "seen".into(), Severity::NotComparable),
        ("contamination", |it| it.contamination.exposure = "possible".into(), Severity::Note),
        ("launcher", |it| it.tool_version = "9.9.9".into(), Severity::Note),
        ("model", |it| it.model = "org/other".into(), Severity::Note),
        ("profile", |it| it.inputs.profile_sha256 = "ab".repeat(32), Severity::Note),
        ("files", |it| it.inputs.files.clear(), Severity::Note),
        ("seed", |_| {}, Severity::Note),
        ("streaming", |it| it.workload["streaming"] = false.into(), Severity::Note),
        (
            "requests.random.output.max",
            |it| it.workload["requests"]["random"]["output"]["max"] = 9.into(),
            Severity::Note,
        ),
        ("OSL", |it| it.stages[0].figures.osl_tokens.as_mut().unwrap().mean = 20.0, Severity::Note),
        (
            "steady state",
            |it| it.stages[0].uncertainty.steady_state.as_mut().unwrap().verdict = "driftingUp".into(),
            Severity::Note,
        ),
        ("stage", |it| it.stages[0].not_run = Some("the run ended before".into()), Severity::NotComparable),
    ];
    for (label, change, severity) in all {
        let found = remark(label, &change);
        assert!(found.severity == severity && found.meaning.len() > 30, "{found:?}");
    }
}

#[test]
fn another_load_of_the_only_stage_is_said() {
    let found = remark("load", &|it| {
        let text = serde_json::to_string(&it.stages[0].load).unwrap().replace("10.0", "20.0");
        it.stages[0].load = serde_json::from_str(&text).unwrap();
    });
    assert!(found.severity == Severity::Note && found.base.contains("10") && found.other.contains("20"), "{found:?}");
}

#[test]
fn the_same_texts_on_one_target_are_said() {
    let (base, mut other) = (run(Server::default(), 1), run(Server::default(), 2));
    other.seeds = base.seeds.clone();
    let labels = |one: &ReportDocument, two: &ReportDocument| -> Vec<String> {
        pair(one, two).pairs[0].remarks.iter().map(|it| it.label.clone()).collect()
    };
    assert!(labels(&base, &other).contains(&"prompt salt".to_owned()));
    other.resolved_run.endpoint = crds::resolve::Endpoint::Url("http://other".into());
    assert!(!labels(&base, &other).contains(&"prompt salt".to_owned()));
    // Runs of the same profile differ only in their seed and salt.
    let found = labels(&base, &run(Server::default(), 2));
    assert!(found.iter().all(|it| it == "seed" || it == "steady state"), "{found:?}");
}

#[test]
fn costs_in_other_currencies_do_not_compare() {
    let with = |currency: &str, seed: u64, rate: f64| {
        let mut report = run(Server::default(), seed);
        let stage = &report.stages[0];
        let cost = rate / stage.figures.throughput.as_ref().unwrap().output_tokens_per_second;
        let figures = json!({"costPerMillionOutputTokens": cost});
        let hardware = json!({
            "source": "spec.target.hardware", "accelerators": 1, "pricePerAcceleratorHour": 2.5, "currency": currency,
            "figures": figures, "stages": [{"name": stage.name, "figures": figures}],
        });
        report.hardware = serde_json::from_value(hardware).unwrap();
        report
    };
    let name = "costPerMillionOutputTokens";
    let same = pair(&with("USD", 1, 100.0), &with("USD", 2, 100.0));
    assert_eq!(figure(&same, name).verdict, Verdict::NoDifferenceFound);
    let dearer = pair(&with("USD", 1, 100.0), &with("USD", 2, 200.0));
    let it = figure(&dearer, name);
    assert!(it.verdict == Verdict::Worse && (it.percent.unwrap() - 100.0).abs() < 15.0, "{it:?}");
    let other = pair(&with("USD", 1, 100.0), &with("EUR", 2, 200.0));
    assert_eq!(figure(&other, name).why, "not comparable: currency");
    assert_eq!(figure(&other, "tpot.mean").verdict, Verdict::NoDifferenceFound);
}

#[test]
fn the_verdicts_of_loadgen_stand_side_by_side() {
    let with = |seed: u64, result: &str, rate: f64| {
        let mut report = run(Server::default(), seed);
        let test = json!({
            "folder": "Performance", "scenario": "Server", "mode": "PerformanceOnly", "audited": false, "result": result,
            "errors": 0, "warnings": 0, "samplesPerSecond": rate, "tokensPerSecond": 10.0 * rate,
        });
        let tests = json!({"benchmark": "llama3.1-8b", "round": "v6.1", "tests": [test]});
        report.loadgen = Some(serde_json::from_value(tests).unwrap());
        report
    };
    let comparison = pair(&with(1, "VALID", 98.5), &with(2, "INVALID", 40.0));
    let found = comparison.pairs[0].remarks.iter().find(|it| it.label == "LoadGen test Performance").unwrap();
    assert_eq!((found.severity, found.base.as_str()), (Severity::Note, "VALID, 98.5 samples/s, 985 tokens/s"));
    assert_eq!(found.other, "INVALID, 40 samples/s, 400 tokens/s");
    // A remark needs a value from both runs.
    let alone = pair(&with(1, "VALID", 98.5), &run(Server::default(), 2));
    assert!(alone.pairs[0].remarks.iter().all(|it| !it.label.starts_with("LoadGen test")));
}

#[test]
fn the_length_of_a_stage_and_the_size_of_a_burst_are_said() {
    let base = serde_json::to_value(&run(Server::default(), 1).stages[0].load).unwrap();
    let kind = base.as_object().unwrap().keys().next().unwrap().clone();
    let longer = remark("length", &|it| {
        let mut load = base.clone();
        load[&kind]["duration"] = json!("5000s");
        load[&kind].as_object_mut().unwrap().remove("count");
        it.stages[0].load = serde_json::from_value(load).unwrap();
    });
    assert!(longer.severity == Severity::Note && longer.other.contains("5000s"), "{longer:?}");
    let burst = |count: u64| {
        move |it: &mut ReportDocument| {
            it.stages[0].load = serde_json::from_value(json!({"burst": {"count": count}})).unwrap();
        }
    };
    let (mut base, mut other) = (run(Server::default(), 1), run(Server::default(), 2));
    burst(40)(&mut base);
    burst(400)(&mut other);
    let remarks = pair(&base, &other).pairs.remove(0).remarks;
    let load = remarks.iter().find(|it| it.label == "load").unwrap();
    assert!(load.base.contains("40") && load.other.contains("400"), "{load:?}");
    assert!(remarks.iter().all(|it| it.label != "length"), "{remarks:?}");
}
