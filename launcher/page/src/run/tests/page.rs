//! Tests properties of every page: its policy, its landmarks, and that texts are escaped.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    fixture::{full, older, read},
    run::render,
};

fn page(document: &Value) -> String {
    render(&read(document)).unwrap()
}

/// The text between the first `from` and the next `to` after it.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    page.split_once(from).and_then(|(_, rest)| rest.split_once(to)).map(|it| it.0).unwrap()
}

#[test]
fn the_policy_names_the_style_and_the_script_of_the_page_and_nothing_else() {
    let page = page(&full());
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"").replace("&#39;", "'");
    let style = digest(between(&page, "<style>", "</style>"));
    let script = digest(between(&page, "<script>", "</script>"));
    assert_eq!(
        policy,
        format!("default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'")
    );
    assert_eq!((page.matches("<style>").count(), page.matches("<script>").count()), (1, 1));
}

#[test]
fn the_starts_of_servers_are_a_table() {
    assert!(!page(&full()).contains("How the servers started"));
    let mut document = full();
    document["startups"] = json!([{"server": "1", "log": "server/1.log", "startup": {
        "outcome": "failed", "version": "0.32.0", "engine": "vllm", "readySeconds": 40.0,
        "failure": {"error": "<script>", "lastLine": "end"}, "log": {"lines": 9}}}]);
    let page = page(&document);
    let table = between(&page, "id=\"heading-startups\"", "</section>");
    for part in ["server 1", "vLLM 0.32.0", "40 s", "server 1: failed: &lt;script&gt;"] {
        assert!(table.contains(part), "no {part:?} in {table}");
    }
}

#[test]
fn a_run_that_measures_a_start_shows_it_before_the_panels() {
    let mut document = full();
    document["startups"] =
        json!([{"server": "1", "log": "server/1.log", "startup": {"outcome": "ready", "log": {"lines": 9}}}]);
    for (harness, is_first) in [("inference-perf", false), ("nop", true)] {
        document["resolvedRun"]["harness"] = json!(harness);
        let page = page(&document);
        let place = |text: &str| page.find(text).unwrap();
        assert_eq!(place("id=\"heading-startups\"") < place("id=\"figures\""), is_first, "{harness}");
    }
}

#[test]
fn nothing_is_loaded_and_nothing_is_styled_or_run_in_attributes() {
    for document in [older(), full()] {
        let page = page(&document);
        for part in [" src=", "<link", "@import", "url(h", "url(/", " style=", " onclick=", "<iframe", "<img"] {
            assert!(!page.contains(part), "{part}");
        }
        let links = page.split(" href=\"").skip(1);
        assert!(links.clone().count() > 5 && links.clone().all(|it| it.starts_with('#')));
    }
}

#[test]
fn every_link_within_the_page_has_its_target_and_every_id_is_the_only_one() {
    let page = page(&full());
    let mut ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
    for target in page.split(" href=\"#").skip(1).filter_map(|it| it.split('"').next()) {
        assert!(ids.contains(&target), "{target}");
    }
    for label in page.split(" aria-labelledby=\"").skip(1).filter_map(|it| it.split('"').next()) {
        // An attribute may refer to two ids.
        assert!(label.split(' ').all(|it| ids.contains(&it)), "{label}");
    }
    ids.sort_unstable();
    let twice: Vec<&[&str]> = ids.windows(2).filter(|it| it[0] == it[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn a_reader_finds_landmarks_headings_and_heads_of_tables() {
    let page = page(&full());
    for part in
        ["<html lang=\"en\">", "<main id=\"main\">", "<header", "<nav aria-label=", "<footer>", "class=\"skip\""]
    {
        assert_eq!(page.matches(part).count(), 1, "{part}");
    }
    assert_eq!(page.matches("<h1 ").count(), 1);
    let tables = page.matches("<section class=\"table\"").count();
    assert!(tables >= 7, "{tables}");
    assert_eq!(page.matches("<caption ").count(), tables);
    assert!(page.matches("scope=\"col\"").count() > 40 && page.matches("scope=\"row\"").count() > 30);
}

/// Texts that would run, or end their element, if they were not escaped.
const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "\"onmouseover=alert(3) x=\"",
    "'><img src=x onerror=alert(4)>",
    "javascript:alert(5)",
    "</style><svg onload=alert(6)>{{ view }}<!--",
];

/// A document with all sections, and with `text` in every field that comes from outside.
fn hostile(text: &str) -> Value {
    let mut document = full();
    for path in [
        "/model",
        "/run/name",
        "/toolCommit",
        "/stages/0/name",
        "/contamination/why",
        "/contamination/prompts",
        "/contamination/exposure",
        "/labels/arrivals",
        "/seeds/promptSalt",
        "/resolvedRun/profileSource",
        "/inputs/profileSha256",
        "/serverMetrics/endpoints/0/url",
        "/requestSample/outcome/0",
        "/hardware/accelerator",
        "/hardware/currency",
        "/hardware/stages/0/name",
        "/notices/0/path",
        "/notices/0/message",
    ] {
        *document.pointer_mut(path).unwrap() = text.into();
    }
    document["reasons"] = json!([{"reason": text, "message": text}]);
    document["selfJudgement"]["remarks"] = json!([text]);
    document["serverMetrics"]["remarks"] = json!([text]);
    document["figures"]["outcomes"] = json!({text: 3});
    document["figures"]["errorSamples"] = json!({text: text});
    document["figures"]["causes"] = json!({text: {"count": 1, "sample": text}});
    document["timeSeries"]["ended"] = json!({text: [1, 2]});
    document["server"] =
        json!({"before": {"engine": text, "version": text, "serverHeader": text, "modelRevision": text}});
    document["objectives"] = json!([{
        "name": text, "metric": "ttft", "stat": "p99", "stage": text, "bound": "max", "limit": 1.0, "unit": "ms",
        "met": "False", "observed": 2.0, "observedStage": text, "reason": text,
        "stages": [{"stage": text, "met": "Inconclusive", "observed": 2.0, "reason": text}],
    }]);
    document["managedServer"] = json!({
        "engine": "Custom", "lifecycle": "PerRun", "reused": false, "distribution": "RoundRobin",
        "unknownOptions": [text], "notes": [text],
        "replicas": [{"url": text, "command": [text], "pid": 7, "started": "2026-11-21T02:08:50Z", "exit": text, "died": true,
                      "outOfMemory": text, "lastWords": [text, text], "log": text, "logNote": text}],
        "end": {"killed": [text], "leftBehind": [text], "deletedSharedMemory": [text], "remains": [text]},
    });
    document["loadgen"] = json!({
        "benchmark": text, "round": text,
        "tests": [{"folder": text, "scenario": "Server", "mode": "PerformanceOnly", "audited": false, "result": text,
                   "reasons": [text], "errors": 1, "warnings": 1, "firstWarning": text}],
    });
    document
}

/// The names of the elements of a page, in order. They must not depend on texts from outside.
fn elements(page: &str) -> Vec<String> {
    let tags = page.split('<').skip(1).filter_map(|it| it.split('>').next());
    tags.map(|it| it.split([' ', '\n']).next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_hostile_text_makes_no_element() {
    let plain = page(&hostile("plain"));
    for text in HOSTILE {
        let page = page(&hostile(text));
        assert_eq!(elements(&page), elements(&plain), "{text}");
        assert!(!page.contains(text) || text.starts_with("javascript:"), "{text}");
        assert_eq!(page.matches("<script>").count(), 1, "{text}");
    }
}

#[test]
fn a_hostile_text_makes_no_attribute_and_no_link() {
    for text in HOSTILE {
        let page = page(&hostile(text));
        for tag in page.split('<').skip(1).filter_map(|it| it.split('>').next()) {
            let outside_of_values: String = tag.split('"').step_by(2).collect();
            assert!(!outside_of_values.contains("onmouseover") && !outside_of_values.contains("onerror"), "{tag}");
        }
        assert!(!page.contains("href=\"javascript") && !page.contains("href=javascript"));
    }
}

#[test]
fn embedded_data_cannot_end_its_element() {
    let page = page(&hostile("</script><script>alert(2)</script>"));
    let blocks = page.split("<script type=\"application/json\">").skip(1).filter_map(|it| it.split("</script>").next());
    let mut found = 0;
    for block in blocks {
        assert!(!block.contains('<'), "{block}");
        serde_json::from_str::<Value>(block).unwrap();
        found += 1;
    }
    assert!(found > 10, "{found}");
}
