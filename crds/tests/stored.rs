//! Tests which parts of a spec the API server stores, which parts users may change after the creation, and which stored values can be read.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;

fn spec_schema() -> Value {
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone()
}

/// A stored default could never be changed, like the rest of the spec. A stored null would count as a member of a union. So neither may be stored.
#[test]
fn nothing_is_stored_that_the_user_did_not_write() {
    fn check(path: &str, schema: &Value) {
        for word in ["default", "nullable"] {
            assert!(schema[word].is_null(), "{path} has {word}: {}", schema[word]);
        }
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            check(&format!("{path}.{name}"), inner);
        }
        for inner in ["items", "additionalProperties"] {
            if schema[inner].is_object() {
                check(path, &schema[inner]);
            }
        }
    }
    check("spec", &spec_schema());
    let written = r#"{"target":{"simulator":{}}}"#;
    let spec: crds::BenchmarkRunSpec = serde_json::from_str(written).unwrap();
    assert_eq!(serde_json::to_string(&spec).unwrap(), written);
}

#[test]
fn every_field_is_immutable_but_three() {
    let spec = spec_schema();
    let rules = spec["x-kubernetes-validations"].as_array().unwrap();
    let free = ["suspend", "cancel", "cleanup"];
    for field in spec["properties"].as_object().unwrap().keys() {
        let same = format!("self.{field} == oldSelf.{field}");
        let same_or_absent = format!("has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || {same})");
        let required = spec["required"].as_array().unwrap().iter().any(|it| it == field);
        let rule = if required { same } else { same_or_absent };
        let is_held = rules.iter().any(|it| it["rule"] == rule.as_str() && it["fieldPath"] == format!(".{field}"));
        assert_ne!(is_held, free.contains(&field.as_str()), "{field}");
    }
}

#[test]
fn stored_values_with_a_missing_or_an_unknown_field_are_read() {
    let spec = crds::BenchmarkRunSpec::default();
    let whole = crds::EffectiveSpec::new(&spec, "", &crds::Settings::default());
    let mut stored = serde_json::to_value(&whole).unwrap();
    stored["validity"].as_object_mut().unwrap().remove("maxStealShare").unwrap();
    stored["execution"]["fieldOfAnotherRelease"] = 1.into();
    stored["seed"] = 7.into();
    let status = |stored: &Value| -> crds::BenchmarkRunStatus {
        serde_json::from_value(serde_json::json!({"effectiveSpec": stored})).unwrap()
    };
    assert_eq!(status(&stored).effective_spec.as_deref(), Some(&crds::EffectiveSpec { seed: 7, ..whole }));
    stored["storage"].as_object_mut().unwrap().remove("pvc").unwrap();
    assert_eq!(status(&stored).effective_spec.unwrap().storage.pvc, None, "absent: no results folder");
    stored["harness"] = "of another release".into();
    assert_eq!(status(&stored).effective_spec, None);
}
