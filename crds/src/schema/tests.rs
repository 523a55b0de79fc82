use super::*;
use crate::yaml;

fn assert_problems(text: &str, expected: &[&str]) {
    let document = yaml::read(text).unwrap().unwrap();
    let lines: Vec<String> = check(&document.root).problems.iter().map(ToString::to_string).collect();
    assert_eq!(lines, expected, "{text}");
}

fn assert_spec(spec: &str, expected: &[&str]) {
    assert_problems(&format!("apiVersion: a\nkind: b\nmetadata: {{name: c}}\nspec:\n  {spec}\n"), expected);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    assert_spec(
        "{target: {simulator: {}, modle: m}, seed: many, harness: Locust, suspend: 1, launcher: {labels: {a: 5}}}",
        &[
            "spec.target.modle, line 5 column 28: is no field of spec.target, and holds \"m\"; did you mean model?",
            "spec.seed, line 5 column 45: is \"many\"; write a whole number from 0 to 9007199254740991",
            "spec.harness, line 5 column 60: is \"Locust\"; choose one of benchwright, inference-perf, loadgen, guidellm, vllm-benchmark, inferencemax, fmperf, aiperf, priority-mix, mmlu and nop",
            "spec.suspend, line 5 column 77: is 1; write true or false",
            "spec.launcher.labels.a, line 5 column 103: is 5; write a text of at most 63 characters, here \"5\" in quotes",
        ],
    );
}

#[test]
fn a_list_is_no_mapping() {
    assert_spec(
        "[{simulator: {}}, loadgen]",
        &[
            "spec, line 5 column 3: is a list, [{\"simulator\":{}},\"loadgen\"]; write a mapping, one line `key: value` for each of \
         cancel, cleanup, execution, harness, launcher, profile, profiling, queueName, repeat, search, seed, slo, storage, suspend, target and validity",
        ],
    );
    assert_spec(
        "{target: {simulator: {}, readiness: [Models, 5]}}",
        &[
            "spec.target.readiness, line 5 column 39: is a list, [\"Models\",5]; write a mapping, one line `key: value` for each of probe and timeoutSeconds",
        ],
    );
}

#[test]
fn bounds_and_forms_are_those_of_the_definition() {
    assert_spec(
        "{target: {url: 'http://h', readiness: {timeoutSeconds: 0}}, execution: {retry: {limit: 9}}}",
        &[
            "spec.target.readiness.timeoutSeconds, line 5 column 58: is 0; write a whole number from 1 to 86400",
            "spec.execution.retry.limit, line 5 column 90: is 9; write a whole number from 0 to 4",
        ],
    );
    assert_spec(
        "{target: {auth: {secretKeyRef: {name: '', key: 'a b'}}, serviceRef: {name: G}}}",
        &[
            "spec.target.auth.secretKeyRef.name, line 5 column 41: is \"\"; write a text of 1 to 253 characters, such as \"example\"",
            "spec.target.auth.secretKeyRef.key, line 5 column 50: is \"a b\"; write a key of letters, digits, dashes, dots and underscores, such as token",
            "spec.target.serviceRef.name, line 5 column 78: is \"G\"; write a name of letters a-z, digits and dashes that begins with a letter, such as gateway",
        ],
    );
}

#[test]
fn variables_overrides_and_shares_are_single_values() {
    assert_spec(
        "{target: {simulator: {}}, profile: {variables: {rates: [1, 2], a: 1, b: true, c: x}, overrides: {d.e: {f: 1}}}}",
        &[
            "spec.profile.variables.rates, line 5 column 58: is a list, [1,2]; write a text, a number, true or false; a list is \
         written as a text, here '[1,2]' in quotes",
            "spec.profile.overrides.d.e, line 5 column 105: is a mapping, {\"f\":1}; write a text, a number, true or false; \
         a mapping is written as a text, here '{\"f\":1}' in quotes",
        ],
    );
    assert_spec(
        "{target: {simulator: {}}, validity: {maxErrorRatio: '2', maxCpuShare: 1.5, maxStealShare: {a: 1}, maxStalledShare: '0.5'}}",
        &[
            "spec.validity.maxErrorRatio, line 5 column 55: is \"2\"; write a number from 0 to 1, such as 0.01",
            "spec.validity.maxCpuShare, line 5 column 73: is 1.5; write a number from 0 to 1, such as 0.01",
            "spec.validity.maxStealShare, line 5 column 93: is a mapping, {\"a\":1}; write a number from 0 to 1, such as 0.01",
        ],
    );
    let long = "x".repeat(1025);
    let document = format!("spec: {{target: {{simulator: {{}}}}, profile: {{overrides: {{a: {long}}}}}}}");
    let checked = check(&yaml::read(&document).unwrap().unwrap().root);
    assert!(checked.problems.iter().any(|it| it.message.contains("at most 1024 characters")), "{checked:?}");
}

#[test]
fn the_exponent_of_a_quantity_has_at_most_three_digits() {
    for (text, is_right) in [("1e3", true), ("2.5E-999", true), ("1e+999", true), ("1e1000", false), ("1e-1000", false)]
    {
        assert_eq!(is_quantity(text), is_right, "{text}");
        let spec = format!("{{target: {{simulator: {{}}}}, launcher: {{resources: {{limits: {{cpu: '{text}'}}}}}}}}");
        let problem = format!(
            "spec.launcher.resources.limits.cpu, line 5 column 66: is \"{text}\"; write a quantity such as 2, 0.5, 500m, 20Gi or 1e3, \
             with an exponent of at most three digits"
        );
        let problems = if is_right { Vec::new() } else { vec![problem.as_str()] };
        assert_spec(&spec, &problems);
    }
}

#[test]
fn a_value_of_any_type_has_no_depth() {
    fn visit(path: &str, schema: &Value) {
        if schema["x-kubernetes-preserve-unknown-fields"] == true {
            let bounds = ["maxItems", "maxProperties", "minItems", "minProperties"].map(|it| schema[it].as_u64());
            let none = [Some(0), Some(0), Some(1), Some(1)];
            assert_eq!(bounds, none, "{path} could be a list or a mapping, which the operator cannot read");
            assert!(schema["maxLength"].as_u64().is_some_and(|it| it <= 1024), "{path} has no bound");
        }
        schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .for_each(|(it, inner)| visit(&format!("{path}.{it}"), inner));
        [&schema["items"], &schema["additionalProperties"]]
            .into_iter()
            .filter(|it| it.is_object())
            .for_each(|it| visit(path, it));
    }
    visit("spec", &RUN_SCHEMA["properties"]["spec"]);
}

#[test]
fn what_is_missing_or_empty_is_told_by_its_name() {
    assert_spec(
        "{target: {serviceRef: {port: 80}}}",
        &[
            "spec.target.serviceRef.name, line 5 column 25: is missing; write a name of letters a-z, digits and dashes that begins with a letter, such as gateway",
        ],
    );
    assert_problems(
        "metadata: {name: a}\nspec:\n",
        &[
            "spec, line 2 column 5: is empty; write a mapping, one line `key: value` for each of cancel, cleanup, execution, harness, launcher, \
         profile, profiling, queueName, repeat, search, seed, slo, storage, suspend, target and validity",
        ],
    );
    assert_spec("{target: {simulator: {}}, seed: , profile: }", &[]);
}

#[test]
fn a_field_in_the_wrong_place_is_told_where_it_belongs() {
    assert_spec(
        "{target: {simulator: {}}, nodeSelector: {a: b}}",
        &[
            "spec.nodeSelector, line 5 column 29: is no field of spec, and holds a mapping, {\"a\":\"b\"}; did you mean spec.launcher.scheduling.nodeSelector or spec.target.server.scheduling.nodeSelector?",
        ],
    );
    // Other parts of the spec have a field `path` as well.
    assert_spec(
        "{target: {simulator: {}, metrics: [{url: 'http://a'}, {path: /b}]}}",
        &[
            "spec.target.metrics[1].path, line 5 column 58: is no field of spec.target.metrics[1], and holds \"/b\"; did you mean spec.target.metrics[1].serviceRef.path?",
        ],
    );
    assert_spec(
        "{target: {simulator: {}}, storage: {perRequestRecords: Off}}",
        &[
            "spec.storage.perRequestRecords, line 5 column 58: is Off, which kubectl reads as false; did you mean None? choose one of None, Full and FullWithTokenTimes",
        ],
    );
}

#[test]
fn a_limit_that_is_none_says_why() {
    let limit = |limit: &str, words: &str| {
        let text = format!(
            "{{target: {{simulator: {{}}}}, slo: {{objectives: [{{name: a, metric: ttft, stat: p99, max: {limit}}}]}}}}"
        );
        let expected = format!(
            "spec.slo.objectives[0].max, line 5 column 88: is {words}write a duration such as 500ms for a time, or a number such as 900 for a rate"
        );
        assert_spec(&text, &[&expected]);
    };
    limit("-1s", "\"-1s\"; that is negative; ");
    limit("NaN", "\"NaN\"; that is not a number; ");
    limit("5 parsecs", "\"5 parsecs\"; the unit parsecs is not known; ");
    limit("soon", "\"soon\"; ");
}

#[test]
fn every_pattern_has_words() {
    fn visit(path: &str, schema: &Value) {
        if let Some(pattern) = schema["pattern"].as_str() {
            assert!(
                wanted::PATTERNS.iter().any(|(it, _)| *it == pattern),
                "{path}: {pattern} has no words in wanted.rs"
            );
            assert!(regex::Regex::new(pattern).is_ok(), "{path}: {pattern}");
        }
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            visit(&format!("{path}.{name}"), inner);
        }
        visit_if_any(path, &schema["items"]);
        visit_if_any(path, &schema["additionalProperties"]);
    }
    fn visit_if_any(path: &str, schema: &Value) {
        if schema.is_object() {
            visit(path, schema);
        }
    }
    visit("spec", &RUN_SCHEMA["properties"]["spec"]);
}

#[test]
fn a_field_that_was_renamed_is_told_by_its_new_name() {
    assert_spec(
        "{target: {simulator: {}}, policy: {gracePeriodSeconds: 5}}",
        &[
            "spec.policy, line 5 column 29: is no field of spec, and holds a mapping, {\"gracePeriodSeconds\":5}; it is called execution",
        ],
    );
}
