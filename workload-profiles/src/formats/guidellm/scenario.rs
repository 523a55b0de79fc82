//! A scenario in the nested form.

use serde_json::{Map, Value, json};

use super::entries;
use crate::{
    problem::Findings,
    reader::{Section, described},
    yaml::child,
};

/// The keys at the root of the nested form.
pub(super) const ROOT: [&str; 3] = ["metadata", "spec", "benchmarks"];
/// Keys whose content belongs to the user or to another library. Names inside their content are not changed.
const FREE: [&str; 7] = ["extras", "load_kwargs", "api_routes", "column_mappings", "tools", "labels", "metadata"];
/// Maximum nesting of a scenario. GuideLLM's own keys need 6 levels.
const MAX_DEPTH: usize = 64;

/// A scenario in the nested form. Its single `spec` contains the values of all its benchmarks.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    /// A mapping with the key `spec`.
    pub value: Value,
    /// Pairs of a path in the scenario and the same path as its author wrote it. If several pairs match, the first one counts.
    pub names: Vec<(String, String)>,
    /// Whether the author used the flat form.
    pub is_flat: bool,
}

impl Scenario {
    /// Reads the nested form.
    pub fn nested(profile: &Value, findings: &Findings) -> Option<Scenario> {
        let root = Section::root(profile, &[], findings)?;
        if let Some(metadata) = root.section("metadata")
            && let Some(labels) = metadata.value("labels")
            && !labels.is_object()
        {
            metadata.problem("labels", format!("is {}; write a mapping", described(labels)));
        }
        let benchmarks = root.list("benchmarks");
        let empty = Value::Object(Map::new());
        let spec = underscored(root.value("spec").unwrap_or(&empty), "spec", 0, findings)?;
        root.finish();
        if !spec.is_object() {
            findings.problem("spec", format!("is {}; write a mapping", described(&spec)));
            return None;
        }
        let (spec, names) = entries::merge(spec, benchmarks.unwrap_or_default(), findings)?;
        Some(Scenario { value: json!({"spec": spec}), names, is_flat: false })
    }

    /// Returns a path as its author wrote it.
    pub fn name(&self, path: &str) -> String {
        let found = self.names.iter().find_map(|(known, name)| {
            let rest = path.strip_prefix(known.as_str())?;
            (rest.is_empty() || rest.starts_with(['.', '['])).then(|| format!("{name}{rest}"))
        });
        found.unwrap_or_else(|| path.to_owned())
    }
}

/// Replaces hyphens by underscores in all keys of a value, because GuideLLM accepts both.
pub(super) fn underscored(value: &Value, path: &str, depth: usize, findings: &Findings) -> Option<Value> {
    if depth > MAX_DEPTH {
        findings.problem(path, format!("is nested more than {MAX_DEPTH} levels deep; take levels out"));
        return None;
    }
    match value {
        Value::Object(entries) => {
            let mut result = Map::new();
            for (key, value) in entries {
                let plain = key.replace('-', "_");
                let path = child(path, key);
                let value = match FREE.contains(&plain.as_str()) {
                    true => value.clone(),
                    false => underscored(value, &path, depth + 1, findings)?,
                };
                if result.insert(plain.clone(), value).is_some() {
                    findings.problem(
                        path,
                        format!(
                            "is the same key as {plain}, because hyphens and underscores are alike; keep one of them"
                        ),
                    );
                    return None;
                }
            }
            Some(Value::Object(result))
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(at, it)| underscored(it, &format!("{path}[{at}]"), depth + 1, findings)).collect()
        }
        other => Some(other.clone()),
    }
}
