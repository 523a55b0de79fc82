//! A comparison as text, Markdown and JSON.

use comparison::{GateRule, markdown, text};
use report::TOOL_VERSION;

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
    // Every key is explained.
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
            (0..40).map(|it| report::json::StageDocument { name: format!("stage-{it}"), ..stage.clone() }).collect();
        report
    };
    let page = markdown(&pair(&with_stages(1), &with_stages(2)));
    assert!(page.len() < 65_536 && page.contains("The figures of 30 stages more stand in the JSON"), "{}", page.len());
}
