//! Tests how every report shows objectives.

use analysis::objectives::Source;
use crds::{Met, Outcome};
use document::ReportDocument;
use proptest::prelude::*;
use quick_xml::{Reader, XmlVersion, events::Event};
use report::{baseline, junit, markdown, paint::Paint, terminal};
use serde_json::{Value, json};

use crate::{
    fixture::{Analysed, Fixture},
    json_of, keys,
};

/// The fixture as a valid measurement with a met, a missed and an undecided objective.
fn judged(enforcement: &str) -> (Fixture, Analysed) {
    judged_beside(enforcement, None)
}

fn judged_beside(enforcement: &str, baseline: Option<&dyn Source>) -> (Fixture, Analysed) {
    let mut fixture = Fixture::new();
    fixture.run.validity.max_error_ratio = 0.5;
    let slo = json!({
        "enforcement": enforcement,
        "objectives": [
            {"name": "met", "metric": "ttft", "stat": "p50", "stage": "*", "bound": {"max": "500ms"}},
            {"name": "missed", "metric": "latency", "stat": "p99", "stage": "r10", "bound": {"max": "50ms"}},
            {"name": "undecided", "metric": "ttft", "stat": "max", "stage": "r99", "bound": {"max": "1s"}},
        ],
        "baseline": baseline.map(|_| json!({"maxRegressionPercent": 10})),
    });
    fixture.run.slo = Some(serde_json::from_value(slo).unwrap());
    let slo = fixture.run.slo.take();
    let verdict = fixture.analyse().analysis.verdict;
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
    fixture.run.slo = slo;
    let analysed = fixture.analyse_beside(baseline);
    (fixture, analysed)
}

fn xml_of(fixture: &Fixture, analysed: &Analysed) -> String {
    let mut text = Vec::new();
    junit::write(&fixture.report(analysed).document().unwrap(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Each element with its attributes, as an XML parser reads them.
fn elements(xml: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut reader = Reader::from_str(xml);
    let mut found = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => return found,
            Event::Start(it) | Event::Empty(it) => {
                let name = it.name().as_ref().to_owned();
                let attributes = it.attributes().map(|it| {
                    let it = it.unwrap();
                    let key = it.key.as_ref().to_owned();
                    (key, it.normalized_value(XmlVersion::Explicit1_0).unwrap().into_owned())
                });
                found.push((name, attributes.collect()));
            }
            _ => {}
        }
    }
}

fn attribute<'a>(of: &'a [(String, String)], name: &str) -> &'a str {
    of.iter().find(|it| it.0 == name).map(|it| it.1.as_str()).unwrap()
}

#[test]
fn report_json_has_a_row_for_each_objective() {
    let (fixture, analysed) = judged("Fail");
    let report = json_of(&fixture, &analysed);
    assert_eq!((&report["outcome"], &report["reasons"][0]["reason"]), (&"SLOViolated".into(), &"SLOViolated".into()));
    let rows = report["objectives"].as_array().unwrap();
    let met: Vec<&Value> = rows.iter().map(|it| &it["met"]).collect();
    assert_eq!(met, ["True", "False", "Inconclusive"]);
    assert_eq!(
        (&rows[0]["unit"], &rows[0]["limit"], &rows[0]["observedStage"]),
        (&"ms".into(), &500.0.into(), &"r10".into())
    );
    assert!(rows[1]["observed"].as_f64().is_some_and(|it| it > 50.0) && rows[1]["values"] == 10, "{}", rows[1]);
    assert!(rows[2].get("observed").is_none() && rows[2]["reason"] == "the load has no stage r99", "{}", rows[2]);
    let mut found = std::collections::BTreeSet::new();
    keys(&report["objectives"], &mut found);
    found.extend(["baseline".to_owned(), "baselineLimit".to_owned()]);
    let documentation = include_str!("../../../../docs/metrics.md");
    let missing: Vec<_> = found.iter().filter(|it| !documentation.contains(&format!("`{it}`"))).collect();
    assert!(missing.is_empty(), "docs/metrics.md does not explain {missing:?}");
}

#[test]
fn a_report_is_the_baseline_of_a_later_run() {
    let (fixture, analysed) = judged("Report");
    let mut text = Vec::new();
    fixture.report(&analysed).document().unwrap().write(&mut text).unwrap();
    let baseline = baseline::parse(&String::from_utf8(text).unwrap()).unwrap();
    let (fixture, analysed) = judged_beside("Fail", Some(&baseline));
    let rows = &json_of(&fixture, &analysed)["objectives"];
    assert_eq!((&rows[0]["met"], &rows[0]["baseline"]), (&"True".into(), &rows[0]["observed"]), "the same figure");
    let (earlier, limit) = (rows[0]["baseline"].as_f64().unwrap(), rows[0]["baselineLimit"].as_f64().unwrap());
    assert!((limit - earlier * 1.1).abs() < 1e-5, "{limit} is 10 % above {earlier}");
}

/// The report of a run that measured this model, for use as a baseline.
fn earlier(model: &str) -> ReportDocument {
    let (fixture, analysed) = judged("Report");
    let mut report = json_of(&fixture, &analysed);
    report["model"] = model.into();
    baseline::parse(&report.to_string()).unwrap()
}

#[test]
fn an_own_limit_and_that_of_the_baseline_stand_apart() {
    let names = |baseline: Option<&dyn Source>| {
        let (fixture, analysed) = judged_beside("Fail", baseline);
        let cases = elements(&xml_of(&fixture, &analysed));
        let cases = cases.iter().filter(|it| it.0 == "testcase").map(|it| attribute(&it.1, "name").to_owned());
        cases.collect::<Vec<_>>()
    };
    let (fixture, analysed) = judged("Fail");
    let model = analysed.analysis.model.clone();
    assert!(analysed.analysis.judgement.remarks.iter().all(|it| !it.contains("baseline")));
    let baseline = earlier(&model);
    assert_eq!(names(Some(&baseline)), names(None), "a limit that follows from a run is not the name of a test");
    assert!(!markdown::render(&fixture.report(&analysed).document().unwrap()).contains("Baseline: "));

    let (mut fixture, analysed) = judged_beside("Fail", Some(&baseline));
    fixture.run.slo.as_mut().unwrap().baseline.as_mut().unwrap().report = Some("runs/a|b/report.json".into());
    let met = analysed.analysis.objectives.as_ref().unwrap().results[0].clone();
    let (value, limit) = (met.baseline.unwrap().value, met.baseline.unwrap().limit);
    let page = markdown::render(&fixture.report(&analysed).document().unwrap());
    for part in [
        "Baseline: runs/a\\|b/report.json; a figure may be up to 10 % worse than in this baseline.".to_owned(),
        "| objective | met | figure | observed | limit | baseline | its limit | why |".to_owned(),
        format!("| {value} | max 500ms | {value} | max {limit} |"),
    ] {
        assert!(page.contains(&part), "no {part:?} in\n{page}");
    }
    let table = terminal::table(&fixture.report(&analysed).document().unwrap(), Paint::OFF);
    assert!(table.contains("\nbaseline: runs/a|b/report.json; a figure may be up to 10 % worse"), "{table}");
    let row = table.lines().find(|it| it.contains("at most 500 ms")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert!(words.join(" ").ends_with("at most 500 ms baseline 49 ms at most 53.9 ms"), "{row:?}");
}

#[test]
fn a_baseline_of_another_model_is_a_remark() {
    let (_, analysed) = judged_beside("Fail", Some(&earlier("org/other\u{1b}")));
    let remarks = analysed.analysis.judgement.remarks.join("\n");
    assert!(remarks.contains("the baseline is of the model org/other\\u{1b}, and this run is of "), "{remarks}");
    assert_eq!(analysed.analysis.objectives.unwrap().results[0].met, Met::True, "it is no error");
}

#[test]
fn report_md_and_the_terminal_show_each_objective_beside_its_limit() {
    let (fixture, analysed) = judged("Fail");
    let page = markdown::render(&fixture.report(&analysed).document().unwrap());
    for line in [
        "# chat: SLOViolated",
        "- **SLOViolated**: missed: p99 of latency in stage r10 is ",
        "1 of 3 objectives met, 1 missed, 1 inconclusive.",
        "| met | True | p50 of ttft in every stage | ",
        "| undecided | Inconclusive | max of ttft in stage r99 | - | max 1s | the load has no stage r99 |",
    ] {
        assert!(page.contains(line), "no {line:?} in\n{page}");
    }
    let table = terminal::table(&fixture.report(&analysed).document().unwrap(), Paint::OFF);
    assert!(table.contains("\nSLOViolated: "), "{table}");
    let row =
        |mark: &str| table.lines().find(|it| it.starts_with(mark)).unwrap_or_else(|| panic!("no {mark} in\n{table}"));
    let missed = row(" \u{2717} missed     missed: latency p99 in stage r10");
    assert!(missed.ends_with("at most 50 ms"), "{missed:?}");
    assert!(row(" \u{2713} met        met: TTFT p50 in every stage").ends_with("at most 500 ms"), "{table}");
    assert!(row(" ? undecided  undecided: TTFT max in stage r99").ends_with("at most 1 s"), "{table}");
    assert!(table.contains("\nundecided: the load has no stage r99\n"), "{table}");
    let (fixture, analysed) = judged("Report");
    let page = markdown::render(&fixture.report(&analysed).document().unwrap());
    assert!(page.contains("# chat: Passed") && page.contains("reported only"), "{page}");
}

#[test]
fn the_envelope_counts_the_objectives_and_has_their_rows() {
    let (fixture, analysed) = judged("Fail");
    let sent = report::envelope::envelope(&fixture.run.run, &analysed.analysis, None);
    let read = crds::Envelope::parse(&sent.to_text()).unwrap();
    assert_eq!(read, sent);
    assert_eq!(read.core.objectives.unwrap().to_string(), "1 of 3 objectives met, 1 missed, 1 inconclusive");
    let rows: Vec<_> = read.objectives.iter().map(|it| (it.name.as_str(), it.met, it.limit.as_str())).collect();
    assert_eq!(
        rows,
        [("met", Met::True, "500ms"), ("missed", Met::False, "50ms"), ("undecided", Met::Inconclusive, "1s")]
    );
}

#[test]
fn junit_xml_has_a_case_for_the_validity_and_one_for_each_objective() {
    let cases = |enforcement: &str| {
        let (fixture, analysed) = judged(enforcement);
        let found = elements(&xml_of(&fixture, &analysed));
        let counts = ["tests", "failures", "errors", "skipped"].map(|it| attribute(&found[1].1, it).to_owned());
        // The remarks come last.
        let (remarks, cases) = found[2..].split_last().unwrap();
        assert_eq!(remarks.0, "system-out");
        let names: Vec<String> = cases
            .iter()
            .map(|(element, it)| {
                format!("{element} {}", attribute(it, if element == "testcase" { "name" } else { "type" }))
            })
            .collect();
        (counts.join(" "), names)
    };
    let (counts, names) = cases("Fail");
    assert_eq!(counts, "4 1 1 0");
    assert_eq!(
        names,
        [
            "testcase the measurement is valid",
            "testcase met: p50 of ttft in every stage, max 500ms",
            "testcase missed: p99 of latency in stage r10, max 50ms",
            "failure missed",
            "testcase undecided: max of ttft in stage r99, max 1s",
            "error inconclusive",
        ]
    );
    let (counts, names) = cases("Report");
    assert_eq!(
        (counts.as_str(), names[3].as_str(), names[5].as_str()),
        ("4 0 0 2", "skipped missed", "skipped inconclusive")
    );

    // An invalid run without objectives.
    let fixture = Fixture::new();
    let found = elements(&xml_of(&fixture, &fixture.analyse()));
    // The remarks come last.
    assert_eq!((found.len(), found[4].0.as_str()), (5, "system-out"));
    assert_eq!((found[3].0.as_str(), attribute(&found[3].1, "type")), ("failure", "Invalid"));
    assert!(attribute(&found[3].1, "message").starts_with("TooManyErrors: "));
}

proptest! {
    /// Names from users and messages from servers stay within one text of the XML, whatever they contain.
    #[test]
    fn any_text_is_escaped(name in any::<String>(), stage in any::<String>(), error in any::<String>()) {
        let mut fixture = Fixture::new();
        fixture.run.run.name = format!("{name}]]></testsuite>&<\u{1}\u{fffe}");
        fixture.workload.stages[0].name = stage.clone();
        fixture.requests[13].1.error = Some(error);
        let slo = json!({
            "enforcement": "Fail",
            "objectives": [{"name": "a", "metric": "ttft", "stat": "p50", "stage": stage, "bound": {"max": "1ms"}}],
        });
        fixture.run.slo = Some(serde_json::from_value(slo).unwrap());
        let analysed = fixture.analyse();
        let xml = xml_of(&fixture, &analysed);
        let found = elements(&xml);
        let names: Vec<&str> = found.iter().map(|it| it.0.as_str()).collect();
        prop_assert_eq!(names, ["testsuites", "testsuite", "testcase", "failure", "testcase", "error", "system-out"]);
        let allowed = |it: char| it == '\n' || !it.is_control() && it != '\u{fffe}';
        prop_assert!(xml.chars().all(allowed), "a character that XML cannot hold");
        let shown = attribute(&found[1].1, "name");
        prop_assert!(shown.contains("]]></testsuite>&<"), "{shown}");
    }
}

#[test]
fn a_document_judged_by_its_own_objectives_stays_as_it_is() {
    let baseline = judged("Report");
    let baseline = baseline.0.report(&baseline.1).document().unwrap();
    for (enforcement, earlier) in [("Fail", None), ("Report", None), ("Fail", Some(&baseline))] {
        let earlier = earlier.map(|it| it as &dyn Source);
        let (fixture, analysed) = judged_beside(enforcement, earlier);
        let document = fixture.report(&analysed).document().unwrap();
        assert_eq!(document.judged(fixture.run.slo.as_ref().unwrap(), earlier), document, "{enforcement}");
    }
    let mut fixture = Fixture::of_a_steady_stage();
    let slo = json!({"enforcement": "Fail", "objectives": [
        {"name": "a", "metric": "ttft", "stat": "mean", "bound": {"max": "42ms"}},
        {"name": "b", "metric": "requestsPerSecond", "bound": {"min": 10.0}},
    ]});
    fixture.run.slo = Some(serde_json::from_value(slo).unwrap());
    let document = fixture.report(&fixture.analyse()).document().unwrap();
    assert!(document.objectives.iter().any(|it| it.reason.contains("95 % interval")), "{:?}", document.objectives);
    assert_eq!(document.judged(fixture.run.slo.as_ref().unwrap(), None), document);
    // In an invalid run, objectives stay undecided, and the run stays invalid.
    fixture.run.validity.min_successful_requests = 1_000_000;
    let invalid = fixture.report(&fixture.analyse()).document().unwrap();
    assert_eq!(invalid.outcome, Outcome::Invalid);
    assert_eq!(invalid.judged(fixture.run.slo.as_ref().unwrap(), None), invalid);
}
