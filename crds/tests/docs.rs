//! docs/benchmarkrun.md names every field of the API, and its example is one that the API takes.

#![cfg(feature = "kube")]

use crds::{BenchmarkRun, BenchmarkRunSpec, EffectiveSpec, Settings};
use serde_json::Value;

const DOC: &str = include_str!("../../docs/benchmarkrun.md");

fn fields(schema: &Value, found: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (name, inner) in properties {
            found.push(name.clone());
            fields(inner, found);
        }
    }
    fields_of_items(schema, found);
}

fn fields_of_items(schema: &Value, found: &mut Vec<String>) {
    if schema["items"].is_object() {
        fields(&schema["items"], found);
    }
}

#[test]
fn every_field_stands_in_the_documentation() {
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    let mut found = Vec::new();
    fields(&schema["spec"], &mut found);
    fields(&schema["status"], &mut found);
    assert!(found.len() > 80, "the schema was not read: {found:?}");
    let word = |text: &str, name: &str| text.split(|it: char| !it.is_ascii_alphanumeric()).any(|it| it == name);
    let missing: Vec<_> = found.iter().filter(|name| !word(DOC, name)).collect();
    assert!(missing.is_empty(), "docs/benchmarkrun.md does not name {missing:?}");
}

#[test]
fn every_field_has_a_description() {
    fn check(path: &str, schema: &Value) {
        if let Some(properties) = schema["properties"].as_object() {
            for (name, inner) in properties {
                let path = format!("{path}.{name}");
                assert!(inner["description"].as_str().is_some_and(|it| !it.is_empty()), "{path} has no description");
                check(&path, inner);
                check(&path, &inner["items"]);
            }
        }
    }
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    check("spec", &schema["spec"]);
    check("status", &schema["status"]);
}

/// `kubectl explain` has no other place for a default, because the schema has none.
#[test]
fn every_description_tells_the_default_that_is_filled_in() {
    fn check(path: &str, schema: &Value, effective: &Value) {
        if let Some(fields) = effective.as_object() {
            for (name, inner) in fields {
                check(&format!("{path}.{name}"), &schema["properties"][name], inner);
            }
            return;
        }
        let default = match effective {
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" and "),
            other => other.to_string(),
        };
        let description = schema["description"].as_str().unwrap_or_default();
        let told = [".", ",", ";"].iter().any(|end| description.contains(&format!("Default: {default}{end}")));
        assert!(told, "{path}: {description:?} does not tell the default {default}");
    }
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    for target in ["{simulator: {}}", "{serviceRef: {name: gateway}}"] {
        let spec = serde_saphyr::from_str(&format!("{{target: {target}}}")).unwrap();
        let mut effective = serde_json::to_value(EffectiveSpec::new(&spec, &Settings::default())).unwrap();
        // The profile has its default as a whole, and the launcher's is the operator's setting.
        for field in ["profile", "launcher"] {
            effective.as_object_mut().unwrap().remove(field).unwrap();
        }
        check("spec", &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"], &effective);
    }
}

#[test]
fn every_number_of_the_spec_has_a_bound_that_its_type_holds() {
    fn check(path: &str, schema: &Value) {
        if schema["type"] == "integer" {
            assert!(
                schema["maximum"].is_number(),
                "{path} has no maximum: a larger number would be stored and never read"
            );
        }
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            check(&format!("{path}.{name}"), inner);
        }
        if schema["items"].is_object() {
            check(&format!("{path}[]"), &schema["items"]);
        }
    }
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    check("spec", &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]);
}

#[test]
fn the_example_has_every_default_as_it_is() {
    let start = DOC.find("```yaml\n").unwrap() + "```yaml\n".len();
    let end = start + DOC[start..].find("```").unwrap();
    let example: BenchmarkRun = serde_saphyr::from_str(&DOC[start..end]).unwrap();
    let smallest = serde_saphyr::from_str("{target: {simulator: {}}}").unwrap();
    let effective = |spec: &BenchmarkRunSpec| EffectiveSpec::new(spec, &Settings::default());
    assert_eq!(effective(&example.spec), effective(&smallest));
}
