//! Tests a comparison as text, Markdown and JSON.

use analysis::{Accuracy, AccuracyFigure, AccuracyLimit, NotComputed};
use comparison::{GateRule, markdown, text};
use crds::AccuracyVerdict;
use document::TOOL_VERSION;

use crate::{
    decisions::pair,
    queue::{Server, run},
};

fn compared() -> comparison::Comparison {
    let mut slower = run(Server { token_ms: 22.0, ..Server::default() }, 2);
    slower.stages[0].labels.clock = "sent".into();
    let mut comparison = pair(&run(Server::default(), 1), &slower);
    comparison.gate = Some(GateRule { percent: Some(5.0), figures: Vec::new() }.apply(&comparison));
    comparison
}

#[test]
fn the_text_of_a_comparison() {
    insta::assert_snapshot!(text(&compared()));
}

#[test]
fn the_markdown_of_a_comparison() {
    insta::assert_snapshot!(markdown(&compared()));
}

/// The accuracy of a run with a score of `percent` and a limit of 60.
fn scored(percent: f64, verdict: AccuracyVerdict, missing: &[&str]) -> Option<Accuracy> {
    let figure = |name: &str, value: f64| AccuracyFigure { name: name.into(), value, text: value.to_string() };
    let not_computed = missing.iter().map(|it| NotComputed { figure: (*it).into(), reason: "no token ids".into() });
    let limit = AccuracyLimit {
        figure: "exact_match".into(),
        is_upper: false,
        limit: 60.0,
        value: Some(percent),
        met: Some(percent >= 60.0),
    };
    Some(Accuracy {
        check: "exactMatch".into(),
        verdict,
        reasons: Vec::new(),
        figures: vec![figure("exact_match", percent), figure("gen_num", 8.0)],
        limits: vec![limit],
        not_computed: not_computed.collect(),
        scored: 8,
        without_answer: 0,
        wanted: None,
        doubts: Vec::new(),
        method: Vec::new(),
    })
}

#[test]
fn accuracy_stands_side_by_side_where_a_run_was_scored() {
    let (mut base, mut other) = (run(Server::default(), 1), run(Server::default(), 2));
    base.accuracy = scored(62.5, AccuracyVerdict::Passed, &[]);
    other.accuracy = scored(50.0, AccuracyVerdict::Failed, &["gen_tok_len"]);
    let comparison = pair(&base, &other);
    let cells = |text: &str, start: &str| -> Vec<String> {
        let line =
            text.lines().find(|it| it.trim_start_matches("| ").starts_with(start)).unwrap_or_else(|| panic!("{text}"));
        let line = line.replace(" | ", "  ");
        line.trim_matches(['|', ' '])
            .split("  ")
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    for text in [text(&comparison), markdown(&comparison)] {
        assert_eq!(cells(&text, "accuracy"), ["accuracy", "A", "B"]);
        let verdicts = ["Passed", "Failed"].map(|it| format!("check exactMatch: {it}; 8 answers scored"));
        assert_eq!(cells(&text, "verdict"), ["verdict", &verdicts[0], &verdicts[1]]);
        let scores = ["62.5 (at least 60: met)", "50 (at least 60: missed)"];
        assert_eq!(cells(&text, "exact_match"), ["exact_match", scores[0], scores[1]]);
        assert_eq!(cells(&text, "gen_num"), ["gen_num", "8", "8"]);
        assert_eq!(cells(&text, "gen_tok_len"), ["gen_tok_len", "-", "not computed"]);
    }
    let json = serde_json::to_value(&comparison).unwrap();
    assert_eq!(json["runs"][1]["accuracy"], serde_json::to_value(&other.accuracy).unwrap());
    // If one run has a score, there is a table. Without any score, there is none.
    base.accuracy = None;
    assert_eq!(cells(&text(&pair(&base, &other)), "gen_num"), ["gen_num", "-", "8"]);
    other.accuracy = None;
    let neither = pair(&base, &other);
    assert!(!text(&neither).contains("\naccuracy") && !markdown(&neither).contains("| accuracy"));
    assert!(serde_json::to_value(&neither).unwrap()["runs"][0].get("accuracy").is_none());
}

#[test]
fn the_json_names_format_and_verdicts() {
    let json = serde_json::to_value(compared()).unwrap();
    assert_eq!(
        (&json["format"], &json["toolVersion"]),
        (&"benchwright.dev/comparison/v1".into(), &TOOL_VERSION.into())
    );
    let pair = &json["pairs"][0];
    assert_eq!((&pair["run"], &pair["remarks"][0]["severity"]), (&"B".into(), &"notComparable".into()));
    let figures = pair["stages"][0]["figures"].as_array().unwrap();
    let tpot = figures.iter().find(|it| it["figure"] == "tpot.mean").unwrap();
    assert_eq!((&tpot["verdict"], &tpot["better"], &tpot["unit"]), (&"worse".into(), &"down".into(), &"ms".into()));
    assert!(tpot["interval"][0].as_f64() > Some(0.0) && tpot["base"]["low"].is_f64(), "{tpot}");
    assert_eq!((&json["gate"]["outcome"], &json["gate"]["percent"]), (&"regression".into(), &5.0.into()));
    // The documentation explains every key.
    let documentation = include_str!("../../../../docs/compare.md");
    let mut keys = std::collections::BTreeSet::new();
    collect(&json, &mut keys);
    let missing: Vec<_> = keys.iter().filter(|it| !documentation.contains(&format!("`{it}`"))).collect();
    assert!(missing.is_empty() && keys.len() > 30, "docs/compare.md does not explain {missing:?}");
}

fn collect(value: &serde_json::Value, keys: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            keys.insert(key.clone());
            collect(value, keys);
        }),
        serde_json::Value::Array(values) => values.iter().for_each(|it| collect(it, keys)),
        _ => {}
    }
}

#[test]
fn hostile_texts_stay_in_their_cells() {
    let (mut base, mut other) = (run(Server::default(), 1), run(Server::default(), 2));
    base.model = "<script>alert(1)</script>|\n| x".into();
    other.model = "\u{1b}[31mred".into();
    other.stages[0].name = "r10|<b>\n## x".into();
    let comparison = pair(&base, &other);
    let page = markdown(&comparison);
    assert!(
        !page.contains("<script") && !page.contains("<b>") && !page.contains('\u{1b}') && !page.contains("\n## x"),
        "{page}"
    );
    let text = text(&comparison);
    assert!(!text.contains('\u{1b}') && !text.contains("\n| x") && !text.contains("\n## x"), "{text}");
}

#[test]
fn many_stages_fit_into_a_comment() {
    let with_stages = |seed: u64| {
        let mut report = run(Server::default(), seed);
        let stage = report.stages[0].clone();
        report.stages =
            (0..40).map(|it| document::StageDocument { name: format!("stage-{it}"), ..stage.clone() }).collect();
        report
    };
    let page = markdown(&pair(&with_stages(1), &with_stages(2)));
    assert!(page.len() < 65_536 && page.contains("The figures of 30 more stages are in the JSON"), "{}", page.len());
}
