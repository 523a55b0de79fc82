//! Checks the file of a BenchmarkRun, BenchmarkSchedule or BenchmarkSweep against the schema of its CustomResourceDefinition, as the API server does.
//! Reports each problem with its position, the value and the remedy. Rules that involve several fields or the meaning of a text are in [`crate::resolve`].

mod wanted;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

pub use crate::patterns::{AUTO_OR_COUNT, LIMIT, MAX_LIMIT, MAX_QUANTITY, PRICE, QUANTITY, SHARE, is_quantity};
use crate::{
    benchmark_run::KIND,
    wording::{listed, nearest},
    yaml::{Content, Entry, Node, Problem, child},
};

/// The CRDs as the chart contains them. A test compares them with the types.
const RUN_CRD: &str = include_str!("../../../charts/benchwright/files/benchmarkruns.yaml");
const SCHEDULE_CRD: &str = include_str!("../../../charts/benchwright/files/benchmarkschedules.yaml");
const SWEEP_CRD: &str = include_str!("../../../charts/benchwright/files/benchmarksweeps.yaml");

static RUN_SCHEMA: LazyLock<Value> = LazyLock::new(|| of_file(RUN_CRD));
static SCHEDULE_SCHEMA: LazyLock<Value> = LazyLock::new(|| of_file(SCHEDULE_CRD));
static SWEEP_SCHEMA: LazyLock<Value> = LazyLock::new(|| of_file(SWEEP_CRD));

/// The schema of a whole file. It accepts any `metadata`, because the API server checks that with its own schema.
fn of_file(crd: &str) -> Value {
    let crd: Value = serde_saphyr::from_str(crd).expect("the generated definition is YAML");
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": text});
    json!({
        "type": "object",
        "required": ["metadata", "spec"],
        "properties": {
            "apiVersion": text,
            "kind": text,
            "metadata": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "name": text, "generateName": text, "namespace": text, "labels": texts, "annotations": texts,
                },
            },
            "spec": crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"],
            "status": {"x-kubernetes-preserve-unknown-fields": true},
        },
    })
}

/// Former names of fields and values, and their current names.
const RENAMED: [(&str, &str); 5] = [
    ("spec.policy", "execution"),
    ("spec.ttlSecondsAfterFinished", "cleanup.run, with afterSuccessSeconds and afterFailureSeconds"),
    ("spec.target.tls.caConfigMapRef", "ca.configMapRef"),
    ("spec.execution.retry.on", "reasons, because YAML reads the word on as true"),
    ("spec.execution.retry.true", "reasons, because YAML reads the word on as true"),
];

/// The result of a check against the schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The valid part of the document. Invalid and empty values are removed, so that their fields get their defaults, as in a cluster.
    pub value: Value,
    /// All problems of the document.
    pub problems: Vec<Problem>,
    /// Empty entries of mappings, such as variables. They are reported because the API server drops them silently.
    pub dropped: Vec<Problem>,
}

/// Checks the whole file of a BenchmarkRun against the schema.
pub fn check(root: &Node) -> Checked {
    check_against(&RUN_SCHEMA, root)
}

/// Checks the whole file of a BenchmarkSchedule against the schema.
pub fn check_schedule(root: &Node) -> Checked {
    check_against(&SCHEDULE_SCHEMA, root)
}

/// Checks the whole file of a BenchmarkSweep against the schema.
pub fn check_sweep(root: &Node) -> Checked {
    check_against(&SWEEP_SCHEMA, root)
}

fn check_against(schema: &Value, root: &Node) -> Checked {
    let mut checker = Checker { problems: Vec::new(), dropped: Vec::new() };
    let value = checker.value(schema, root, "").unwrap_or_default();
    Checked { value, problems: checker.problems, dropped: checker.dropped }
}

struct Checker {
    problems: Vec<Problem>,
    dropped: Vec<Problem>,
}

impl Checker {
    /// Returns the valid part of the value. If nothing of it is valid, adds a problem and returns `None`.
    fn value(&mut self, schema: &Value, node: &Node, path: &str) -> Option<Value> {
        let kind = schema["type"].as_str();
        match (&node.content, kind) {
            (Content::Mapping(entries), Some("object")) => self.mapping(schema, node, entries, path),
            (Content::List(items), Some("array")) => self.list(schema, node, items, path),
            (Content::Scalar(value, _), Some(kind)) if fits(kind, value) => self.scalar(schema, node, value, path),
            (Content::Scalar(value, _), None) => self.scalar(schema, node, value, path),
            (_, None) if schema["maxItems"] != 0 => Some(node.to_json()),
            _ => self.wrong(schema, node, path),
        }
    }

    fn wrong(&mut self, schema: &Value, node: &Node, path: &str) -> Option<Value> {
        self.problem(node, path, format!("is {}; {}", node.described(), wanted::remedy(schema, node)));
        None
    }

    fn scalar(&mut self, schema: &Value, node: &Node, value: &Value, path: &str) -> Option<Value> {
        match wanted::accepts(schema, value) {
            true => Some(value.clone()),
            false => self.wrong(schema, node, path),
        }
    }

    fn list(&mut self, schema: &Value, node: &Node, items: &[Node], path: &str) -> Option<Value> {
        let most = schema["maxItems"].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
        if items.len() > most {
            let found = items.len();
            self.problem(node, path, format!("is a list of {found}; write at most {most}"));
            return None;
        }
        let before = self.problems.len();
        let read = items.iter().enumerate();
        let read = read.filter_map(|(at, it)| self.value(&schema["items"], it, &format!("{path}[{at}]"))).collect();
        (self.problems.len() == before).then_some(Value::Array(read))
    }

    fn mapping(&mut self, schema: &Value, node: &Node, entries: &[Entry], path: &str) -> Option<Value> {
        let most = schema["maxProperties"].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
        if entries.len() > most {
            self.problem(node, path, format!("is a mapping of {} keys; write at most {most}", entries.len()));
            return None;
        }
        let mut read = Map::new();
        for entry in entries {
            let inner = child(path, &entry.key);
            let known = &schema["properties"][&entry.key];
            let value = match (known, &schema["additionalProperties"]) {
                // As in the API server, a null value counts as absent.
                (Value::Object(_), _) if entry.value.is_null() => None,
                (Value::Object(_), _) => self.value(known, &entry.value, &inner),
                (_, Value::Object(_)) if entry.value.is_null() => {
                    let message =
                        "is empty and has no effect, as in a cluster; write a value, or take it out".to_owned();
                    self.dropped.push(Problem { place: Some(entry.place), path: inner, message });
                    None
                }
                (_, any @ Value::Object(_)) => self.value(any, &entry.value, &inner),
                _ if schema["x-kubernetes-preserve-unknown-fields"] == true => Some(entry.value.to_json()),
                _ => {
                    self.unknown(schema, entry, path);
                    None
                }
            };
            read.extend(value.map(|it| (entry.key.clone(), it)));
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut whole = true;
        for name in required.filter(|it| !read.contains_key(*it)) {
            whole = false;
            let inner = child(path, name);
            let entry = entries.iter().find(|it| it.key == name);
            if entry.is_none_or(|it| it.value.is_null()) {
                let found = if entry.is_some() { "is empty" } else { "is missing" };
                let at = entry.map_or(node, |it| &it.value);
                self.problem(at, &inner, format!("{found}; {}", wanted::remedy(&schema["properties"][name], at)));
            }
        }
        whole.then_some(Value::Object(read))
    }

    fn unknown(&mut self, schema: &Value, entry: &Entry, path: &str) {
        let inner = child(path, &entry.key);
        let known: Vec<&str> =
            schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let remedy = match (RENAMED.iter().find(|(old, _)| *old == inner), nearest(&entry.key, known.iter().copied())) {
            (Some((_, new)), _) => format!("it is called {new}"),
            (None, Some(name)) => format!("did you mean {name}?"),
            (None, None) => {
                // For a misplaced field, a field with the same name further down in this section is a better suggestion than one in another part of
                // the spec.
                let (mut within, mut elsewhere) = (Vec::new(), Vec::new());
                find(schema, path, &entry.key, &mut within);
                find(&RUN_SCHEMA["properties"]["spec"], "spec", &entry.key, &mut elsewhere);
                match (within.as_slice(), elsewhere.as_slice()) {
                    ([one], _) | ([], [one]) => format!("did you mean {one}?"),
                    ([one, other], _) | ([], [one, other]) => format!("did you mean {one} or {other}?"),
                    _ if known.is_empty() => "take it out, because no field is allowed there".to_owned(),
                    _ => format!("take it out; known are {}", listed(&known)),
                }
            }
        };
        let place = if path.is_empty() { KIND.to_owned() } else { path.to_owned() };
        let message = format!("is no field of {place}, and holds {}; {remedy}", entry.value.described());
        self.problems.push(Problem { place: Some(entry.place), path: inner, message });
    }

    fn problem(&mut self, node: &Node, path: &str, message: String) {
        // The root has an empty path, so messages use the kind.
        let path = if path.is_empty() { KIND.to_owned() } else { path.to_owned() };
        self.problems.push(Problem { place: Some(node.place), path, message });
    }
}

fn fits(kind: &str, value: &Value) -> bool {
    match (kind, value) {
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => number.as_f64().is_some_and(|it| it.fract() == 0.0),
        _ => false,
    }
}

/// Collects the paths of all fields with this name.
fn find(schema: &Value, path: &str, name: &str, found: &mut Vec<String>) {
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = child(path, key);
        if key == name {
            found.push(path.clone());
        }
        find(inner, &path, name, found);
    }
}

#[cfg(test)]
mod tests;
