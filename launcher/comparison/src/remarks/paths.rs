//! Where two JSON values differ.

use crds::wording::cut;
use serde_json::Value;

/// Maximum number of places that are named.
const MOST: usize = 6;

/// A place in two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// `requests.random.output`.
    pub(super) path: String,
    /// As JSON; `absent` where the value lacks it.
    pub(super) base: String,
    pub(super) other: String,
}

/// The first places at which two values differ. Each is the deepest place that both values have.
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
