//! The CustomResourceDefinitions of BenchmarkRun, BenchmarkSchedule and BenchmarkSweep, as the chart ships them.

use kube::CustomResourceExt as _;
use serde_json::{Map, Value, json};

use crate::{BenchmarkRun, BenchmarkSchedule, BenchmarkSweep};

/// JSON pointer to the properties of a custom resource in its definition.
const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema/properties";

/// The definition of BenchmarkRun as YAML. The schema has a default for the status. So GitOps tools treat a new object as in progress even before the
/// operator has written its first status.
///
/// # Errors
/// A schema that cannot be written as YAML. The types of this release never cause this error.
pub fn crd_yaml() -> Result<String, Box<dyn std::error::Error>> {
    let mut crd = serde_json::to_value(BenchmarkRun::crd())?;
    complete_run(at(&mut crd, &format!("{SCHEMA}/spec"))?)?;
    let effective = at(&mut crd, &format!("{SCHEMA}/status/properties/effectiveSpec"))?;
    visit(effective, &mut forget_required);
    to_yaml(crd)
}

/// The definition of BenchmarkSchedule as YAML, completed in the same way as BenchmarkRun's.
///
/// # Errors
/// A schema that cannot be written as YAML, as for [`crd_yaml`].
pub fn schedule_crd_yaml() -> Result<String, Box<dyn std::error::Error>> {
    template_yaml(serde_json::to_value(BenchmarkSchedule::crd())?)
}

/// The definition of BenchmarkSweep as YAML, completed in the same way as BenchmarkRun's.
///
/// # Errors
/// A schema that cannot be written as YAML, as for [`crd_yaml`].
pub fn sweep_crd_yaml() -> Result<String, Box<dyn std::error::Error>> {
    template_yaml(serde_json::to_value(BenchmarkSweep::crd())?)
}

/// Completes the definition of a kind with a run template.
fn template_yaml(mut crd: Value) -> Result<String, Box<dyn std::error::Error>> {
    let run = at(&mut crd, &format!("{SCHEMA}/spec/properties/runTemplate/properties/spec"))?;
    complete_run(run)?;
    visit(run, &mut forget_transitions);
    to_yaml(crd)
}

/// Adds rules to the schema of a run's spec that `derive` cannot express.
fn complete_run(spec: &mut Value) -> Result<(), Box<dyn std::error::Error>> {
    let objective = at(spec, "/properties/slo/properties/objectives/items")?;
    let objective = objective.as_object_mut().ok_or("the schema of an objective is no object")?;
    // `max` and `min` have no type in the schema, so a CEL rule cannot refer to them.
    objective.insert("oneOf".into(), json!([{"required": ["max"]}, {"required": ["min"]}]));
    Ok(())
}

fn to_yaml(mut crd: Value) -> Result<String, Box<dyn std::error::Error>> {
    let status = at(&mut crd, &format!("{SCHEMA}/status"))?;
    let status = status.as_object_mut().ok_or("the schema of the status is no object")?;
    status.insert("default".into(), json!({"observedGeneration": -1}));
    visit(&mut crd, &mut |schema| {
        forget_unsigned_formats(schema);
        forget_nullable(schema);
        join_lines(schema);
    });
    Ok(serde_saphyr::to_string(&crd)?)
}

fn at<'a>(value: &'a mut Value, pointer: &str) -> Result<&'a mut Value, String> {
    value.pointer_mut(pointer).ok_or_else(|| format!("the schema has no {pointer}"))
}

fn visit(value: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            change(fields);
            fields.values_mut().for_each(|it| visit(it, change));
        }
        Value::Array(items) => items.iter_mut().for_each(|it| visit(it, change)),
        _ => {}
    }
}

/// Removes `format: uint64` and similar formats. Kubernetes does not know these formats, and would print a warning about them at every install. They
/// are not needed, because each such field has explicit bounds.
fn forget_unsigned_formats(schema: &mut Map<String, Value>) {
    schema.retain(|key, value| key != "format" || !value.as_str().is_some_and(|it| it.starts_with("uint")));
}

/// Removes `nullable: true`. The API server then drops nulls before it checks the rules, so null and absent are equal. So one patch can switch
/// between the members of a union: it sets the old member to null and the new member to a value.
fn forget_nullable(schema: &mut Map<String, Value>) {
    schema.retain(|key, value| key != "nullable" || !value.is_boolean());
}

/// Removes the list of required fields. After a rollback, the older operator writes statuses without newer fields. If these fields were required, the
/// API server would refuse the statuses. A property that is named `required` is kept.
fn forget_required(schema: &mut Map<String, Value>) {
    schema.retain(|key, value| key != "required" || !value.is_array());
}

/// Removes the rules that compare a field with its stored value. These rules make a run immutable, but the run template of a schedule can change.
fn forget_transitions(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(rules)) = schema.get_mut("x-kubernetes-validations") {
        rules.retain(|it| !it["rule"].as_str().is_some_and(|it| it.contains("oldSelf")));
        if rules.is_empty() {
            schema.remove("x-kubernetes-validations");
        }
    }
}

/// Joins each paragraph of a description into one line, because a terminal wraps lines itself.
fn join_lines(schema: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split("\n\n").map(|it| it.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
    }
}
