//! The CustomResourceDefinition of BenchmarkRun, as the chart ships it.

use kube::CustomResourceExt as _;
use serde_json::{Map, Value, json};

use crate::BenchmarkRun;

/// The CustomResourceDefinition as YAML, with the status default that lets GitOps tools see an object whose operator has
/// not written yet as in progress.
///
/// # Errors
/// Never for the types of this release; a schema that YAML cannot express.
pub fn crd_yaml() -> Result<String, Box<dyn std::error::Error>> {
    let mut crd = serde_json::to_value(BenchmarkRun::crd())?;
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/status";
    let status = crd.pointer_mut(schema).and_then(|it| it.as_object_mut()).ok_or("the schema has no status")?;
    status.insert("default".into(), json!({"observedGeneration": -1}));
    let objective =
        "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/slo/properties/objectives/items";
    let objective =
        crd.pointer_mut(objective).and_then(|it| it.as_object_mut()).ok_or("the schema has no objectives")?;
    // A rule cannot see max and min, because they have no type.
    objective.insert("oneOf".into(), json!([{"required": ["max"]}, {"required": ["min"]}]));
    let effective = format!("{schema}/properties/effectiveSpec");
    let effective = crd.pointer_mut(&effective).ok_or("the status has no effectiveSpec")?;
    visit(effective, &mut forget_required);
    visit(&mut crd, &mut |schema| {
        forget_unsigned_formats(schema);
        forget_nullable(schema);
        join_lines(schema);
    });
    Ok(serde_saphyr::to_string(&crd)?)
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

/// Takes out `format: uint64` and the like, which Kubernetes does not know and warns of at every install; each such field has
/// its bounds.
fn forget_unsigned_formats(schema: &mut Map<String, Value>) {
    schema.retain(|key, value| key != "format" || !value.as_str().is_some_and(|it| it.starts_with("uint")));
}

/// Takes out `nullable: true`. The API server then removes a null before it checks the rules, so that null and absent are the
/// same: a patch that sets one member of a union to null and another one to a value switches between them.
fn forget_nullable(schema: &mut Map<String, Value>) {
    schema.retain(|key, value| key != "nullable" || !value.is_boolean());
}

/// Takes out the list of required fields. After a rollback an earlier operator writes statuses without the fields that it does not
/// know, and the API server would refuse every one of them. A property that is called `required` stays.
fn forget_required(schema: &mut Map<String, Value>) {
    schema.retain(|key, value| key != "required" || !value.is_array());
}

/// Makes one line of each paragraph of a description: a terminal breaks lines by itself.
fn join_lines(schema: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split("\n\n").map(|it| it.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
    }
}
