//! Finds the paths at which two JSON values differ.

use crds::wording::cut;
use serde_json::Value;

/// Maximum number of paths that are reported.
const MOST: usize = 6;

/// A path at which two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The path, such as `requests.random.output`.
    pub(super) path: String,
    /// The value in the base as JSON; `absent` if the base lacks it.
    pub(super) base: String,
    pub(super) other: String,
}

/// Returns the first paths at which two values differ. A path continues as long as both values have the same structure.
pub(super) fn changes(base: &Value, other: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    walk("", Some(base), Some(other), &mut found);
    found
}

fn walk(path: &str, base: Option<&Value>, other: Option<&Value>, found: &mut Vec<Change>) {
    if base == other || found.len() >= MOST {
        return;
    }
    match (base, other) {
        (Some(Value::Object(one)), Some(Value::Object(two))) => {
            let added = two.keys().filter(|it| !one.contains_key(*it));
            for key in one.keys().chain(added) {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(&inner, one.get(key), two.get(key), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(two))) => {
            for index in 0..one.len().max(two.len()) {
                walk(&format!("{path}[{index}]"), one.get(index), two.get(index), found);
            }
        }
        _ => {
            let text = |it: Option<&Value>| it.map_or_else(|| "absent".to_owned(), |it| cut(&it.to_string()));
            let path = if path.is_empty() { "value".to_owned() } else { cut(path) };
            found.push(Change { path, base: text(base), other: text(other) });
        }
    }
}
