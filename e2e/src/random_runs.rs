//! Random BenchmarkRuns that are drawn from the CRD's schema, most of them almost valid, and how this project's reader judges them.

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, ensure};
use crds::{
    benchmark_run::BenchmarkRunSpec,
    resolve::{RunIdentity, Settings, resolve},
    schema, yaml,
};
use rand::{Rng, RngExt as _, seq::IndexedRandom as _};
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::tools;

/// Candidate texts for all fields. For each pattern in the CRD at least one of them matches, and some match no pattern.
const TEXTS: [&str; 48] = [
    "gateway",
    "workload-pvc",
    "token",
    "ca.crt",
    "/llm",
    "/",
    "http://gateway.llm-d:80",
    "https://[::1]:8443/v1",
    "http://h",
    "Equal",
    "Exists",
    "NoSchedule",
    "NoExecute",
    "0.05",
    "1",
    "0",
    "0.5",
    "500ms",
    "1.5s",
    "900",
    "2.50",
    "USD",
    "EUR",
    "500m",
    "20Gi",
    "0.25",
    "org/model-7B",
    "benchwright.dev/run",
    "nvidia.com/gpu",
    "sanity_random",
    "load.stages.0.rate",
    "p99",
    "",
    " ",
    "A b",
    "\u{00fc}\u{20ac}\u{1f600}",
    "unix:/run/vllm.sock",
    "http://h:800000",
    "ftp://h",
    "http://u:p@h",
    "-1",
    "1e5",
    "on",
    "null",
    "a\nb",
    "http://169.254.169.254/",
    "../../etc/passwd",
    "{{ x }}",
];

/// Mappings of which a run may set exactly one member, or at most one.
const UNIONS: [(&str, &[&str]); 7] = [
    ("spec.target", &["url", "serviceRef", "gatewayRef", "simulator"]),
    ("spec.target.metrics[]", &["url", "serviceRef"]),
    ("spec.target.tls.ca", &["configMapRef", "secretKeyRef"]),
    ("spec.profile", &["name", "inline", "configMapRef"]),
    ("spec.profile.files[]", &["configMapRef", "claim"]),
    ("spec.storage", &["pvc", "none"]),
    ("spec.slo.objectives[]", &["max", "min"]),
];

/// Draws random runs: from the schema of the spec, and from the texts that match each pattern.
pub struct RandomRuns {
    spec: Value,
    matching: BTreeMap<String, Vec<&'static str>>,
}

impl RandomRuns {
    /// Reads the CRD in the chart.
    ///
    /// # Errors
    /// The file cannot be read, or no candidate text matches one of its patterns.
    pub fn new() -> anyhow::Result<Self> {
        let path = tools::repository().join("charts/benchwright/files/benchmarkruns.yaml");
        let crd: Value = serde_saphyr::from_str(&fs::read_to_string(&path).context("cannot read the definition")?)?;
        let spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone();
        let mut patterns = Vec::new();
        collect_patterns(&spec, &mut patterns);
        let mut matching = BTreeMap::new();
        for pattern in patterns {
            let expression = Regex::new(&pattern)?;
            let found: Vec<_> = TEXTS.iter().copied().filter(|it| expression.is_match(it)).collect();
            ensure!(!found.is_empty(), "no text of the list matches {pattern:?}; add one");
            matching.insert(pattern, found);
        }
        Ok(RandomRuns { spec, matching })
    }

    /// Draws a BenchmarkRun. About half of all runs are valid.
    pub fn draw(&self, rng: &mut impl Rng) -> Value {
        let name = if rng.random_ratio(1, 40) { *choose(rng, &TEXTS) } else { "chat-r42" };
        json!({
            "apiVersion": "benchwright.dev/v1alpha1",
            "kind": "BenchmarkRun",
            "metadata": {"name": name},
            "spec": self.value(&self.spec, "spec", rng),
        })
    }

    fn value(&self, schema: &Value, path: &str, rng: &mut impl Rng) -> Value {
        if rng.random_ratio(1, 150) {
            return odd_value(rng);
        }
        match schema["type"].as_str() {
            Some("object") => self.mapping(schema, path, rng),
            Some("array") => {
                let most = schema["maxItems"].as_u64().unwrap_or(3);
                let count = if rng.random_ratio(1, 60) { most.min(40) + 1 } else { rng.random_range(0..=most.min(2)) };
                let inner = format!("{path}[]");
                (0..count).map(|_| self.value(&schema["items"], &inner, rng)).collect()
            }
            Some("boolean") => json!(rng.random::<bool>()),
            Some("integer" | "number") => number(schema, rng),
            Some("string") => json!(self.text(schema, rng)),
            // The schema accepts both numbers and texts here, as for shares and quantities.
            _ if rng.random_ratio(1, 3) => number(schema, rng),
            _ => json!(self.text(schema, rng)),
        }
    }

    fn text(&self, schema: &Value, rng: &mut impl Rng) -> String {
        if rng.random_ratio(1, 60) {
            return (*choose(rng, &TEXTS)).to_owned();
        }
        if rng.random_ratio(1, 200) {
            return "x".repeat(rng.random_range(0..2_000));
        }
        if let Some(choices) = schema["enum"].as_array().and_then(|it| it.choose(rng)).and_then(Value::as_str) {
            return choices.to_owned();
        }
        let matching = schema["pattern"].as_str().and_then(|it| self.matching.get(it));
        (*choose(rng, matching.map_or(&TEXTS[..], Vec::as_slice))).to_owned()
    }

    fn mapping(&self, schema: &Value, path: &str, rng: &mut impl Rng) -> Value {
        let mut fields = Map::new();
        let known = schema["properties"].as_object();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let union = UNIONS.iter().find(|(of, _)| *of == path).map(|(_, members)| *members);
        let member = union.map(|it| *choose(rng, it));
        let strict = !rng.random_ratio(1, 25);
        for (name, inner) in known.into_iter().flatten() {
            let is_member = union.is_some_and(|it| it.contains(&name.as_str()));
            let wanted = match (is_member, required.contains(&name.as_str())) {
                (true, _) if strict => member == Some(name.as_str()),
                (_, true) => !rng.random_ratio(1, 80),
                _ => rng.random_ratio(1, 4),
            };
            if wanted {
                fields.insert(name.clone(), self.value(inner, &format!("{path}.{name}"), rng));
            }
        }
        if schema["additionalProperties"].is_object() {
            for _ in 0..rng.random_range(0..3) {
                let value = self.value(&schema["additionalProperties"], &format!("{path}.*"), rng);
                fields.insert((*choose(rng, &TEXTS)).to_owned(), value);
            }
        }
        if known.is_some() && rng.random_ratio(1, 200) {
            fields.insert("nonsense".into(), odd_value(rng));
        }
        Value::Object(fields)
    }
}

fn choose<'a, T>(rng: &mut impl Rng, from: &'a [T]) -> &'a T {
    from.choose(rng).expect("no list of this module is empty")
}

fn number(schema: &Value, rng: &mut impl Rng) -> Value {
    let least = schema["minimum"].as_f64().unwrap_or(0.0);
    let most = schema["maximum"].as_f64().unwrap_or(1e6);
    #[expect(clippy::cast_possible_truncation, reason = "the bounds of the definition are below 2^53")]
    let (least, most) = (least as i64, most as i64);
    match rng.random_range(0..40) {
        0 => json!(least - 1),
        1 => json!(most.saturating_add(1)),
        2 => json!(0.5),
        3 => json!(i64::MAX),
        4 | 5 => json!(least),
        6 | 7 => json!(most),
        _ => json!(rng.random_range(least..=most.min(least + 1_000))),
    }
}

/// A random value of any type.
fn odd_value(rng: &mut impl Rng) -> Value {
    match rng.random_range(0..8) {
        0 => Value::Null,
        1 => json!([]),
        2 => json!({}),
        3 => json!({"a": {"b": [1, null, "c"]}}),
        4 => json!(true),
        5 => json!(-3),
        6 => json!(1e300),
        _ => json!(*choose(rng, &TEXTS)),
    }
}

fn collect_patterns(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            found.extend(fields.get("pattern").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|it| collect_patterns(it, found));
        }
        Value::Array(items) => items.iter().for_each(|it| collect_patterns(it, found)),
        _ => {}
    }
}

/// How this project's reader judges a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The run is valid.
    Right,
    /// The run violates the CRD's schema.
    AgainstDefinition(Vec<String>),
    /// The run conforms to the schema, but the operator refuses it.
    AgainstRules(Vec<String>),
}

/// Parses a run as a file, checks it against the CRD's schema, and resolves it like the operator.
///
/// # Errors
/// The run is not YAML, or a value that conforms to the schema does not fit into the types of this release. Both would be bugs of this project.
pub fn judge(run: &Value) -> anyhow::Result<Judgement> {
    let document = yaml::read(&serde_json::to_string(run)?).ok().flatten().context("JSON is YAML")?;
    let checked = schema::check(&document.root);
    let mut problems: Vec<String> = document.problems.iter().map(ToString::to_string).collect();
    problems.extend(checked.problems.iter().map(ToString::to_string));
    if !problems.is_empty() {
        return Ok(Judgement::AgainstDefinition(problems));
    }
    let spec: BenchmarkRunSpec = serde_json::from_value(checked.value["spec"].clone())
        .with_context(|| format!("the definition takes what the types do not: {run}"))?;
    let identity = RunIdentity::first_attempt(
        run["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        "bench",
        "2db48264-0000-4000-8000-000000000000",
    );
    Ok(match resolve(identity, &spec, &Settings::default()) {
        Ok(_) => Judgement::Right,
        Err(errors) => Judgement::AgainstRules(errors.iter().map(ToString::to_string).collect()),
    })
}
