//! Tests of the CEL rules in the CRD, with the API server's own code: each accepts valid specs, refuses invalid ones, and uses little of the API
//! server's cost budget.

use std::fs;

use anyhow::{Context as _, ensure};
use e2e::tools;
use serde_json::{Value, json};

const IMMUTABLE: &str = "a run is immutable";

/// Rules: the path, the beginning of the message, a spec that it accepts, and a spec that it refuses.
const CASES: [(&str, &str, &str, &str); 12] = [
    (
        "spec",
        "promptSalt and repeat cannot",
        "{target: {simulator: {}}, repeat: 1, profile: {promptSalt: a}}",
        "{target: {simulator: {}}, repeat: 2, profile: {promptSalt: a}}",
    ),
    (
        "spec",
        "a run of LoadGen tests",
        "{target: {simulator: {}}, repeat: 2}",
        "{target: {simulator: {}}, repeat: 2, harness: loadgen}",
    ),
    (
        "spec.launcher.labels",
        "labels under",
        "{target: {simulator: {}}, launcher: {labels: {team: a}}}",
        "{target: {simulator: {}}, launcher: {labels: {app.kubernetes.io/name: a}}}",
    ),
    (
        "spec.profile",
        "set at most one of name",
        "{target: {simulator: {}}, profile: {name: a}}",
        "{target: {simulator: {}}, profile: {name: a, inline: b}}",
    ),
    (
        "spec.profile.files[]",
        "set exactly one of configMapRef and claim",
        "{target: {simulator: {}}, profile: {files: [{claim: {claimName: a}}]}}",
        "{target: {simulator: {}}, profile: {files: [{claim: {claimName: a}, configMapRef: {name: a, key: b}}]}}",
    ),
    (
        "spec.slo",
        "baseline compares",
        "{target: {simulator: {}}, slo: {baseline: {runRef: a}, objectives: [{name: a, metric: errorRatio, max: 1}]}}",
        "{target: {simulator: {}}, slo: {baseline: {runRef: a}}}",
    ),
    (
        "spec.slo.objectives[]",
        "a time (ttft",
        "{target: {simulator: {}}, slo: {objectives: [{name: a, metric: ttft, stat: p99, max: 1s}]}}",
        "{target: {simulator: {}}, slo: {objectives: [{name: a, metric: ttft, max: 1s}]}}",
    ),
    (
        "spec.storage",
        "set at most one of pvc, s3 and none",
        "{target: {simulator: {}}, storage: {none: {}}}",
        "{target: {simulator: {}}, storage: {none: {}, pvc: {}}}",
    ),
    ("spec.target", "set exactly one of", "{target: {url: 'http://h'}}", "{target: {url: 'http://h', simulator: {}}}"),
    (
        "spec.target.metrics[]",
        "set exactly one of url and serviceRef",
        "{target: {simulator: {}, metrics: [{url: 'http://h'}]}}",
        "{target: {simulator: {}, metrics: [{}]}}",
    ),
    (
        "spec.target.tls.ca",
        "set exactly one of configMapRef and secretKeyRef",
        "{target: {url: 'https://h', tls: {ca: {secretKeyRef: {name: a, key: b}}}}}",
        "{target: {url: 'https://h', tls: {ca: {}}}}",
    ),
    ("", "metadata.name must be", "chat-r42", "chat.r42"),
];

/// Each immutable field of the spec, with a value. An update that adds the field to a stored run is refused.
const CHANGES: [(&str, &str); 13] = [
    ("target", "{url: 'http://other'}"),
    ("harness", "loadgen"),
    ("profile", "{name: a}"),
    ("seed", "7"),
    ("repeat", "2"),
    ("launcher", "{image: a}"),
    ("storage", "{none: {}}"),
    ("validity", "{maxErrorRatio: 0.5}"),
    ("slo", "{enforcement: Report}"),
    ("execution", "{gracePeriodSeconds: 7}"),
    ("queueName", "load"),
    ("profiling", "{kind: Torch, duration: 5s}"),
    ("search", "{budgetSeconds: 900}"),
];

fn schema() -> anyhow::Result<Value> {
    let path = tools::repository().join("charts/benchwright/files/benchmarkruns.yaml");
    let definition: Value = serde_saphyr::from_str(&fs::read_to_string(path)?)?;
    Ok(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone())
}

/// Collects all rules: the path, the message, and whether the rule compares with the stored object.
fn rules(schema: &Value, place: &str, found: &mut Vec<(String, String, bool)>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let [rule, message] = [&rule["rule"], &rule["message"]].map(|it| it.as_str().unwrap_or_default().to_owned());
        found.push((place.to_owned(), message, rule.contains("oldSelf")));
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        rules(inner, &if place.is_empty() { name.clone() } else { format!("{place}.{name}") }, found);
    }
    rules_of_part(&schema["items"], &format!("{place}[]"), found);
    rules_of_part(&schema["additionalProperties"], &format!("{place}.*"), found);
}

fn rules_of_part(schema: &Value, place: &str, found: &mut Vec<(String, String, bool)>) {
    if schema.is_object() {
        rules(schema, place, found);
    }
}

fn run(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": spec})
}

/// Evaluates several objects in one call, because the program takes seconds to start.
fn ask(requests: &[Value]) -> anyhow::Result<Vec<Value>> {
    let lines: Vec<String> = requests.iter().map(Value::to_string).collect();
    let answers = tools::rule_cost(&lines.join("\n"))?;
    let answers: Vec<Value> = answers.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(answers.len() == requests.len(), "{} answers to {} requests", answers.len(), requests.len());
    Ok(answers)
}

fn has_error(answer: &Value, message: &str) -> bool {
    answer["errors"].as_array().into_iter().flatten().any(|it| it.as_str().is_some_and(|it| it.contains(message)))
}

#[test]
#[ignore = "needs the cluster's parts: make e2e"]
fn each_rule_accepts_what_is_right_and_refuses_what_is_wrong() -> anyhow::Result<()> {
    let mut found = Vec::new();
    rules(&schema()?, "", &mut found);
    for (place, message, of_change) in &found {
        let known = CASES.iter().any(|(at, beginning, ..)| at == place && message.starts_with(beginning));
        let immutable =
            *of_change && (message.starts_with(IMMUTABLE) || message.starts_with("cancel cannot be removed"));
        assert!(known || immutable, "the rule {message:?} of {place:?} has no case in this test");
    }
    let mut requests = Vec::new();
    for (place, _, right, wrong) in CASES {
        for text in [right, wrong] {
            let named = place.is_empty();
            let spec = if named { "{target: {simulator: {}}}" } else { text };
            let object = run(if named { text } else { "chat" }, &serde_saphyr::from_str(spec)?);
            requests.push(json!({"object": object}));
        }
    }
    for ((place, message, right, wrong), answers) in CASES.iter().zip(ask(&requests)?.chunks(2)) {
        assert!(!has_error(&answers[0], message), "{place}: {right} is refused: {}", answers[0]);
        assert!(has_error(&answers[1], message), "{place}: {wrong} is accepted: {}", answers[1]);
    }

    let immutable = found.iter().filter(|(_, message, _)| message.starts_with(IMMUTABLE)).count();
    assert_eq!(immutable, CHANGES.len(), "each immutable field has a change in this test");
    let stored = json!({"target": {"simulator": {}}});
    let mut requests = Vec::new();
    for (field, value) in CHANGES {
        let mut changed = stored.clone();
        changed[field] = serde_saphyr::from_str(value)?;
        requests.push(json!({"object": run("chat", &changed), "old": run("chat", &stored)}));
        requests.push(json!({"object": run("chat", &changed), "old": run("chat", &changed)}));
    }
    for ((field, value), answers) in CHANGES.iter().zip(ask(&requests)?.chunks(2)) {
        assert!(has_error(&answers[0], IMMUTABLE), "{field} may become {value}: {}", answers[0]);
        assert_eq!(answers[1]["errors"], json!([]), "{field}: {value} may stay");
    }

    let cancelled = json!({"target": {"simulator": {}}, "cancel": "Graceful"});
    let update = |from: &Value, to: &Value| json!({"object": run("chat", to), "old": run("chat", from)});
    let answers = ask(&[update(&cancelled, &stored), update(&stored, &cancelled)])?;
    assert!(has_error(&answers[0], "cancel cannot be removed") && answers[1]["errors"] == json!([]), "{answers:?}");
    println!("figure 7: each of the {} rules accepts one spec and refuses another", found.len());
    Ok(())
}

/// The largest value that a schema accepts. It is as long as the bounds allow, but need not match patterns.
fn largest(schema: &Value) -> Value {
    let count = |bound: &str| usize::try_from(schema[bound].as_u64().unwrap_or(1)).unwrap_or(1);
    match schema["type"].as_str() {
        Some("object") if schema["additionalProperties"].is_object() => {
            let value = largest(&schema["additionalProperties"]);
            (0..count("maxProperties"))
                .map(|it| (format!("{it:0>253}"), value.clone()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields.map(|(name, inner)| (name.clone(), largest(inner))).collect::<serde_json::Map<_, _>>().into()
        }
        Some("array") => vec![largest(&schema["items"]); count("maxItems")].into(),
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(schema["maximum"].as_i64().unwrap_or(i64::from(u32::MAX))),
        _ => match schema["enum"].as_array().and_then(|it| it.last()) {
            Some(choice) => choice.clone(),
            None => json!("x".repeat(count("maxLength"))),
        },
    }
}

#[test]
#[ignore = "needs the cluster's parts: make e2e"]
fn the_largest_run_costs_little_of_the_api_servers_budget() -> anyhow::Result<()> {
    let spec = largest(&schema()?["properties"]["spec"]);
    let object = run(&"x".repeat(253), &spec);
    let answers = ask(&[json!({"object": object, "old": object})])?;
    let (cost, limit) =
        (answers[0]["cost"].as_u64().context("no cost")?, answers[0]["limit"].as_u64().context("no limit")?);
    let bytes = object.to_string().len();
    let definition = fs::metadata(tools::repository().join("charts/benchwright/files/benchmarkruns.yaml"))?.len();
    println!(
        "figure 7: an update of the largest run ({bytes} bytes) costs {cost} of at most {limit} CEL units; the CRD has {definition} bytes"
    );
    // The API server accepts objects of 1.5 MiB, but `kubectl apply` stores a second copy in an annotation, which may have at most 256 KiB.
    assert!(definition < 256 * 1024, "{definition} bytes");
    // These limits are far above the values of the smallest run, so they reveal whether the large fields are missing.
    assert!(bytes > 50_000 && cost > 1_000, "{bytes} bytes cost {cost}");
    assert!(cost <= limit / 10, "{cost} of {limit}");
    Ok(())
}
