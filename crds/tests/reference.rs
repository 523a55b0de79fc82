//! docs/reference-fields.md lists every field of the CRDs, with its type, default, bounds and description.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fmt::Write as _, fs, path::Path};

use serde_json::Value;

const HEAD: &str = "# Fields of BenchmarkRun, BenchmarkSchedule and BenchmarkSweep

Every field of the API, from the CRDs. `make reference` writes this page; edit the descriptions in `crds/src`.
[benchmarkrun.md](benchmarkrun.md) explains a run by an example, [schedules.md](schedules.md) a schedule and
[sweep-cluster.md](sweep-cluster.md) a sweep.
`kubectl explain benchmarkrun.spec.target` prints the same text. `[]` is an item of a list, `<name>` a key of a map.
";

/// A field, with its path relative to the heading of its table.
struct Field<'a> {
    path: String,
    schema: &'a Value,
    is_required: bool,
}

fn fields<'a>(schema: &'a Value, path: &str, found: &mut Vec<Field<'a>>) {
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let is_required = schema["required"].as_array().is_some_and(|it| it.contains(&name.as_str().into()));
        found.push(Field { path: path.clone(), schema: inner, is_required });
        fields(inner, &path, found);
        fields(&inner["items"], &format!("{path}[]"), found);
        fields(&inner["additionalProperties"], &format!("{path}.<name>"), found);
    }
}

fn kind(schema: &Value) -> String {
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("map of {}", kind(&schema["additionalProperties"]))
        }
        Some(name) => name.to_owned(),
        None if schema["x-kubernetes-int-or-string"] == true => "integer or string".to_owned(),
        None => "any".to_owned(),
    }
}

/// A number in the form that users write it. The CRD has bounds such as `1.0`.
fn number(value: &Value) -> Option<String> {
    value.as_f64().map(|it| it.to_string())
}

fn bounds(schema: &Value) -> Option<String> {
    if let Some(values) = schema["enum"].as_array() {
        return Some(values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
    }
    match (number(&schema["minimum"]), number(&schema["maximum"])) {
        (Some(min), Some(max)) => return Some(format!("{min} to {max}")),
        (Some(min), None) => return Some(format!("{min} or more")),
        (None, Some(max)) => return Some(format!("at most {max}")),
        (None, None) => {}
    }
    let limits = [("maxLength", "characters"), ("maxItems", "items"), ("maxProperties", "keys")];
    limits.iter().find_map(|(key, unit)| Some(format!("at most {} {unit}", number(&schema[key])?)))
}

/// Splits a description into the default at its end and the rest.
fn default(description: &str) -> (Option<&str>, String) {
    let Some((before, rest)) = description.split_once("Default: ") else { return (None, description.to_owned()) };
    let (value, after) = rest.split_once(". ").unwrap_or((rest.trim_end_matches('.'), ""));
    (Some(value), format!("{before}{after}").trim().to_owned())
}

fn row(text: &mut String, field: &Field<'_>) {
    let (default, description) = default(field.schema["description"].as_str().unwrap_or_default());
    let cells = [
        format!("`{}`", field.path),
        kind(field.schema),
        default.map_or_else(|| if field.is_required { "required" } else { "" }.to_owned(), str::to_owned),
        bounds(field.schema).unwrap_or_default(),
        description,
    ];
    let cells = cells.map(|it| it.replace('|', "\\|"));
    writeln!(text, "| {} |", cells.join(" | ")).unwrap();
}

/// Writes one table with the fields that have no subfields, and then one table for each other field.
fn tables(text: &mut String, name: &str, schema: &Value) {
    let head = "\n| field | type | default | bounds | description |\n| --- | --- | --- | --- | --- |\n";
    let mut rest = String::new();
    text.push_str(head);
    let mut found = Vec::new();
    fields(schema, "", &mut found);
    for (place, field) in found.iter().enumerate().filter(|(_, it)| !it.path.contains(['.', '['])) {
        row(text, field);
        let below = |it: &&Field<'_>| it.path[field.path.len()..].starts_with(['.', '[']);
        let inner: Vec<_> =
            found[place + 1..].iter().take_while(|it| it.path.starts_with(&field.path) && below(it)).collect();
        if !inner.is_empty() {
            write!(rest, "\n### {name}.{}\n{head}", field.path).unwrap();
            inner.into_iter().for_each(|it| row(&mut rest, it));
        }
    }
    text.push_str(&rest);
}

fn page() -> String {
    let mut text = HEAD.to_owned();
    for (kind, yaml) in [
        ("BenchmarkRun", crds::crd_yaml().unwrap()),
        ("BenchmarkSchedule", crds::schedule_crd_yaml().unwrap()),
        ("BenchmarkSweep", crds::sweep_crd_yaml().unwrap()),
    ] {
        let mut crd: Value = serde_saphyr::from_str(&yaml).unwrap();
        let mut schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].take();
        let run = &mut schema["spec"]["properties"]["runTemplate"]["properties"]["spec"];
        if let Some(run) = run.as_object_mut() {
            run.remove("properties");
        }
        for part in ["spec", "status"] {
            writeln!(text, "\n## {kind}: {part}").unwrap();
            tables(&mut text, part, &schema[part]);
        }
    }
    text
}

/// With `UPDATE_GOLDEN=1`, rewrites the page.
#[test]
fn the_reference_of_fields_is_that_of_the_definitions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference-fields.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == page(), "docs/reference-fields.md has other fields than the definitions: run `make reference`");
}
