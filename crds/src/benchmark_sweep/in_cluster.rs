//! Checks the runs of a sweep before an operator creates them. Admission checks the run template of a sweep with the rights of its author, but
//! it sees a level only as a path with a value. So a level must not set what admission would have to check, except where admission recognises
//! its path. Pure.

use serde_json::{Value, json};

use super::{cells, resolve::ResolvedSweep};
use crate::{
    BenchmarkRunSpec,
    resolve::FieldError,
    schema,
    wording::quoted,
    yaml::{Content, Entry, Node, Place},
};

/// The fields of a run's spec that name a Secret or a ConfigMap with certificates. No level may change them.
pub const FIXED: [&str; 5] = [
    "target.auth.secretKeyRef.name",
    "target.tls.ca.secretKeyRef.name",
    "target.tls.ca.configMapRef.name",
    "target.server.hubToken.secretKeyRef.name",
    "storage.s3.secretRef.name",
];
/// The fields of a run's spec that name an image or an object that pods use. A level may set them by exactly this path, because the admission policy
/// for sweeps looks for it, and then requires the right to create pods.
pub const CHECKED: [&str; 7] = [
    "launcher.image",
    "launcher.serviceAccountName",
    "profile.configMapRef.name",
    "storage.pvc.claimName",
    "target.server.image",
    "target.server.modelClaim.claimName",
    "target.server.serviceAccountName",
];
/// The fields of `profile.files` that name an object. No level may change them.
const OF_FILES: [&str; 2] = ["configMapRef.name", "claim.claimName"];
/// Maximum number of errors to report.
const MAX_ERRORS: usize = 5;

/// Checks all cells. `check_run` checks the spec of a run with this name further.
///
/// # Errors
/// At most five errors. An error of several cells is reported for the first of them.
pub fn check(
    sweep: &ResolvedSweep,
    check_run: impl Fn(&str, &BenchmarkRunSpec) -> Result<(), Vec<FieldError>>,
) -> Result<(), Vec<FieldError>> {
    let (mut all, mut seen) = (Vec::new(), Vec::new());
    for (at, cell) in sweep.cells.iter().enumerate() {
        let checked = run_spec(sweep, at, 1).and_then(|spec| {
            let found = check_run(&sweep.run_name(at, 1), &spec);
            found.map_err(|errors| errors.iter().map(|it| of_cell(&cell.name, it)).collect())
        });
        for error in checked.err().into_iter().flatten() {
            let problem = error.message.replace(&cell.name, "");
            if !seen.contains(&problem) {
                seen.push(problem);
                all.push(error);
            }
        }
        if all.len() >= MAX_ERRORS {
            break;
        }
    }
    all.truncate(MAX_ERRORS);
    if all.is_empty() { Ok(()) } else { Err(all) }
}

/// The spec of a run.
///
/// # Errors
/// The fields that the cell sets and that the operator must not or cannot use.
pub fn run_spec(sweep: &ResolvedSweep, cell: usize, repeat: u32) -> Result<BenchmarkRunSpec, Vec<FieldError>> {
    let name = &sweep.cells[cell].name;
    let spec = sweep.run_spec(cell, repeat);
    let document = json!({"metadata": {"name": sweep.run_name(cell, repeat)}, "spec": spec});
    let checked = schema::check(&node(&document));
    let mut errors: Vec<FieldError> = checked
        .problems
        .into_iter()
        .map(|it| of_cell(name, &FieldError { path: it.path, message: it.message }))
        .collect();
    if errors.is_empty() {
        errors.extend(changed_references(sweep, cell, &spec));
    }
    let typed = serde_json::from_value::<BenchmarkRunSpec>(spec);
    match typed {
        Ok(spec) if errors.is_empty() && spec.cleanup.run.is_none() => Ok(spec),
        Ok(spec) => {
            if spec.cleanup.run.is_some() {
                let message = "deletes finished runs, which a sweep would then run again; take it out: the runs are deleted together with the sweep";
                errors.push(FieldError { path: "spec.runTemplate.spec.cleanup.run".into(), message: message.into() });
            }
            Err(errors)
        }
        Err(error) => {
            if errors.is_empty() {
                let message = format!("cell {name}: {error}; correct the level");
                errors.push(FieldError { path: "spec.factors".into(), message });
            }
            Err(errors)
        }
    }
}

/// The error of a run's field as an error of the sweep.
fn of_cell(cell: &str, error: &FieldError) -> FieldError {
    FieldError { path: "spec.factors".into(), message: format!("cell {cell}: {}: {}", error.path, error.message) }
}

/// The references that a cell changes although admission could not check them.
fn changed_references(sweep: &ResolvedSweep, cell: usize, spec: &Value) -> Vec<FieldError> {
    let template = &sweep.template;
    let is_new =
        |value: Option<&Value>, before: Option<&Value>| value.is_some_and(|it| !it.is_null() && Some(it) != before);
    let sets = |path: &str| cells::changes(&sweep.cells[cell], &sweep.settings).any(|it| it.2 == path);
    let mut errors = Vec::new();
    let mut refuse = |path: &str, value: Option<&Value>, remedy: &str| {
        let at = factor_of(sweep, cell, path);
        let message = format!(
            "cell {}: {path} is {}, which runTemplate does not name; {remedy}",
            sweep.cells[cell].name,
            quoted(value.and_then(Value::as_str).unwrap_or_default())
        );
        errors.push(FieldError { path: at, message });
    };
    for path in FIXED {
        let found = at(spec, path);
        if is_new(found, at(template, path)) {
            refuse(path, found, "name one object in runTemplate, and let levels set its key instead");
        }
    }
    for path in CHECKED {
        let found = at(spec, path);
        if is_new(found, at(template, path)) && !sets(path) {
            refuse(path, found, &format!("write the path of the level as {path}"));
        }
    }
    let files = |of: &Value| at(of, "profile.files").and_then(Value::as_array).cloned().unwrap_or_default();
    let before = files(template);
    for (index, file) in files(spec).iter().enumerate() {
        for name in OF_FILES {
            let found = at(file, name);
            if is_new(found, before.get(index).and_then(|it| at(it, name))) {
                refuse(&format!("profile.files[{index}].{name}"), found, "name the files in runTemplate");
            }
        }
    }
    errors
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    value.pointer(&format!("/{}", path.replace('.', "/")))
}

/// The path of the factor whose level sets a field, or a part of it.
fn factor_of(sweep: &ResolvedSweep, cell: usize, path: &str) -> String {
    let plain = |it: &str| it.replace('[', ".").replace(']', "");
    let path = plain(path);
    let found = cells::changes(&sweep.cells[cell], &sweep.settings).find(|it| path.starts_with(&plain(it.2)));
    found.map_or_else(|| "spec.factors".to_owned(), |it| format!("spec.factors[{}]", it.0))
}

/// A JSON value as a document without positions.
fn node(value: &Value) -> Node {
    let place = Place { line: 0, column: 0 };
    let content = match value {
        Value::Array(items) => Content::List(items.iter().map(node).collect()),
        Value::Object(fields) => Content::Mapping(
            fields.iter().map(|(key, value)| Entry { key: key.clone(), place, value: node(value) }).collect(),
        ),
        Value::String(text) => Content::Scalar(value.clone(), text.clone()),
        other => Content::Scalar(other.clone(), other.to_string()),
    };
    Node { place, content }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::benchmark_sweep::{BenchmarkSweepSpec, resolve};

    /// A sweep of one factor with one level that sets these fields.
    fn sweep(template: Value, set: Value) -> ResolvedSweep {
        let spec: BenchmarkSweepSpec = serde_json::from_value(json!({
            "runTemplate": {"spec": template}, "factors": [{"name": "a", "levels": [{"name": "b", "set": set}]}],
        }))
        .expect("a spec");
        resolve("sweep", &spec, "uid").unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    #[track_caller]
    fn check_refused(template: Value, set: Value, parts: &[&str]) {
        let errors = run_spec(&sweep(template, set), 0, 1).expect_err("refused");
        let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        assert!(parts.iter().all(|it| text.contains(it)), "{text}");
    }

    fn with_token() -> Value {
        json!({"target": {"url": "http://h", "auth": {"secretKeyRef": {"name": "mine", "key": "a"}}}})
    }

    #[test]
    fn a_level_cannot_name_a_secret_but_a_key_of_the_templates_secret() {
        check_refused(
            with_token(),
            json!({"target.auth.secretKeyRef.name": "other"}),
            &["spec.factors[0]", "target.auth.secretKeyRef.name is \"other\"", "let levels set its key"],
        );
        // The Secret of one field in another field.
        let bucket = json!({"storage.s3.bucket": "abc", "storage.s3.secretRef.name": "mine"});
        check_refused(with_token(), bucket, &["storage.s3.secretRef.name is \"mine\""]);
        for path in ["target.tls.ca.secretKeyRef", "target.tls.ca.configMapRef"] {
            let set = json!({format!("{path}.name"): "x", format!("{path}.key"): "y"});
            check_refused(with_token(), set, &[path]);
        }
        let key = sweep(with_token(), json!({"target.auth.secretKeyRef.key": "b", "target.url": "http://other"}));
        let spec = run_spec(&key, 0, 1).expect("another key of the same Secret");
        assert_eq!(spec.target.auth.map(|it| it.secret_key_ref.key).as_deref(), Some("b"));
    }

    #[test]
    fn a_level_names_images_and_claims_only_by_the_path_that_admission_knows() {
        let template = || json!({"target": {"server": {"engine": "VLLM", "model": "m", "image": "a"}}});
        for path in CHECKED.iter().filter(|it| !it.starts_with("profile")) {
            let found = run_spec(&sweep(template(), json!({*path: "b"})), 0, 1);
            assert!(found.is_ok(), "{path}: {found:?}");
        }
        let files = json!({"target": {"url": "http://h"}, "profile": {"files": [{"claim": {"claimName": "data"}}]}});
        for path in
            ["profile.files[0].claim.claimName", "profile.files.0.claim.claimName", "profile.files[1].claim.claimName"]
        {
            check_refused(
                files.clone(),
                json!({path: "other"}),
                &["claim.claimName is \"other\"", "name the files in runTemplate"],
            );
        }
    }

    #[test]
    fn a_wrong_field_of_a_cell_is_refused_with_field_value_and_remedy() {
        let template = || json!({"target": {"url": "http://h"}});
        check_refused(
            template(),
            json!({"target.ulr": "x"}),
            &["spec.factors: cell a=b: spec.target.ulr", "did you mean url?"],
        );
        check_refused(template(), json!({"repeat": "many"}), &["spec.repeat", "is \"many\""]);
        check_refused(template(), json!({"cleanup.run.afterSuccessSeconds": 5}), &["cleanup.run", "take it out"]);
        let spec: BenchmarkSweepSpec = serde_json::from_value(json!({
            "runTemplate": {"spec": {"target": {"ulr": "http://h"}}},
            "factors": [{"name": "rate", "field": "target.url", "values": ["http://a", 7]}],
        }))
        .expect("a spec");
        let found = check(&resolve("sweep", &spec, "uid").expect("cells"), |_, _| Ok(())).expect_err("refused");
        let text = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        assert!(found.len() == 1 && text.contains("cell rate=7: spec.target.url: is 7"), "{text}");
    }
}
