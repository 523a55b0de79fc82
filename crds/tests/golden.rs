//! This release can read everything that each earlier release stored, and writes it back unchanged. `golden/` has one folder per release.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use crds::{BenchmarkRunSpec, BenchmarkRunStatus, Envelope, ResolvedRun};
use serde_json::Value;

/// Path and content of the file with this name of each release.
fn files(name: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut releases: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    releases.sort();
    assert!(!releases.is_empty());
    let paths = releases.into_iter().map(|it| it.join(name));
    paths.map(|it| (it.clone(), fs::read_to_string(&it).unwrap())).collect()
}

/// The API server stores a spec as the user wrote it, and the ConfigMap of an attempt contains it as `spec.yaml`.
#[test]
fn a_stored_spec_is_read_and_written_back() {
    for (path, text) in files("spec.yaml") {
        let stored: Value = serde_saphyr::from_str(&text).unwrap();
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(serde_json::to_value(&spec).unwrap(), stored, "{}", path.display());
        let written = serde_saphyr::to_string(&spec).unwrap();
        assert_eq!(serde_saphyr::from_str::<BenchmarkRunSpec>(&written).unwrap(), spec, "{}", path.display());
    }
}

/// The paths of all stored values that were not written back unchanged. Additional fields are allowed, because the earlier release may not have had
/// them.
fn changed(path: &str, stored: &Value, written: &Value) -> Vec<String> {
    match (stored, written) {
        (Value::Object(stored), Value::Object(written)) => {
            let inner =
                |(name, value)| changed(&format!("{path}.{name}"), value, written.get(name).unwrap_or(&Value::Null));
            stored.iter().flat_map(inner).collect()
        }
        (Value::Array(stored), Value::Array(written)) if stored.len() == written.len() => {
            let both = stored.iter().zip(written).enumerate();
            both.flat_map(|(index, (stored, written))| changed(&format!("{path}[{index}]"), stored, written)).collect()
        }
        _ if stored == written => Vec::new(),
        _ => vec![path.to_owned()],
    }
}

#[test]
fn a_stored_status_is_read_and_written_back() {
    for (path, text) in files("status.json") {
        let stored: Value = serde_json::from_str(&text).unwrap();
        let status: BenchmarkRunStatus = serde_json::from_value(stored.clone()).unwrap();
        let written = serde_json::to_value(&status).unwrap();
        assert_eq!(changed("status", &stored, &written), Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn a_termination_message_is_read_and_written_back() {
    for (path, text) in files("termination-message.txt") {
        let envelope = Envelope::parse(&text).unwrap();
        assert!(!envelope.stages.is_empty() && envelope.core.summary.is_some());
        assert_eq!(envelope.to_text(), text, "{}", path.display());
    }
}

#[test]
fn a_run_yaml_is_read_and_written_back() {
    for (path, text) in files("run.yaml") {
        let run: ResolvedRun = serde_saphyr::from_str(&text).unwrap();
        let stored: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(serde_json::to_value(&run).unwrap(), stored, "{}", path.display());
    }
}

/// The paths of all fields in the schema that the value does not have.
fn missing(path: &str, schema: &Value, value: &Value) -> Vec<String> {
    if value.is_null() {
        return vec![path.to_owned()];
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    let inner = properties.flat_map(|(name, schema)| missing(&format!("{path}.{name}"), schema, &value[name]));
    let items = schema["items"].is_object().then(|| missing(&format!("{path}[0]"), &schema["items"], &value[0]));
    inner.chain(items.into_iter().flatten()).collect()
}

/// The paths of all fields that the schema requires and that the value does not have.
fn lacks(path: &str, schema: &Value, value: &Value) -> Vec<String> {
    if value.is_null() {
        return Vec::new();
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let absent = required.filter(|it| value[*it].is_null()).map(|it| format!("{path}.{it}"));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let inner = properties.flat_map(|(name, schema)| lacks(&format!("{path}.{name}"), schema, &value[name]));
    let items = value.as_array().into_iter().flatten().flat_map(|it| lacks(&format!("{path}[]"), &schema["items"], it));
    absent.chain(inner).chain(items).collect()
}

/// After a rollback, the operator is an earlier release while the CRD is that of the later release. The CRD must accept the statuses that this
/// operator writes.
#[test]
fn the_definition_accepts_the_status_of_every_release() {
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"];
    for (path, text) in files("status.json") {
        let stored: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(lacks("status", schema, &stored), Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn the_newest_stored_status_has_every_field() {
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"];
    let (path, text) = files("status.json").pop().unwrap();
    let stored: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(missing("status", schema, &stored), Vec::<String>::new(), "{}", path.display());
}
