//! Paths into a scenario, such as `constraints[0].count`, and texts with arguments, such as `kind=concurrent,streams=8`.

use serde_json::{Map, Value};

use crate::{problem::quoted, yaml};

/// Maximum parts per path. The scenario's own keys need 6.
const MAX_PARTS: usize = 16;
/// Maximum list index in a path. It is bounded, because setting an element creates all elements before it.
const MAX_INDEX: usize = 63;
/// Maximum number of `key=value` pairs in a text.
const MAX_PAIRS: usize = 256;

/// A part of a path: a key, and the index if the key's value is a list.
pub(super) type Part = (String, Option<usize>);

/// Splits a path into its parts.
pub(super) fn parse(path: &str) -> Result<Vec<Part>, String> {
    let parts: Vec<&str> = path.split('.').collect();
    if parts.len() > MAX_PARTS {
        return Err(format!("has {} parts; a path has at most {MAX_PARTS}", parts.len()));
    }
    parts.into_iter().map(|part| part_of(part.trim())).collect()
}

fn part_of(part: &str) -> Result<Part, String> {
    let wrong = || format!("has the part {}; write a key, or a key with an index, constraints[0]", quoted(part));
    let (name, index) = match part.split_once('[') {
        None => (part, None),
        Some((name, rest)) => {
            let digits = rest.strip_suffix(']').ok_or_else(wrong)?;
            let index = digits.parse::<usize>().ok().filter(|it| *it <= MAX_INDEX);
            (name, Some(index.ok_or_else(wrong)?))
        }
    };
    if name.is_empty() || name.contains([']', '[']) {
        return Err(wrong());
    }
    Ok((name.replace('-', "_"), index))
}

/// Returns the value at a path.
pub(super) fn get<'a>(root: &'a Value, path: &[Part]) -> Option<&'a Value> {
    path.iter().try_fold(root, |value, (name, index)| {
        let value = value.get(name)?;
        match index {
            Some(index) => value.get(index),
            None => Some(value),
        }
    })
}

/// Sets a value. As in GuideLLM, missing mappings and lists along the path are created.
pub(super) fn set(root: &mut Value, path: &[Part], value: Value) {
    let mut place = root;
    for (name, index) in path {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(entries) = place else { return };
        place = entries.entry(name.clone()).or_insert(Value::Null);
        if let Some(index) = index {
            if !place.is_array() {
                *place = Value::Array(Vec::new());
            }
            let Value::Array(items) = place else { return };
            if items.len() <= *index {
                items.resize(index + 1, Value::Null);
            }
            place = &mut items[*index];
        }
    }
    *place = value;
}

/// Reads `kind=constant,rate=5` or a mapping in JSON or YAML.
pub(super) fn arguments(text: &str) -> Result<Value, String> {
    let text = text.trim();
    if text.starts_with('{') {
        return yaml::read(text).map_err(|problem| format!("is {}, which {}", quoted(text), problem.message));
    }
    let mut arguments = Value::Object(Map::new());
    let count = text.split(',').count();
    if count > MAX_PAIRS {
        return Err(format!("holds {count} pairs; write at most {MAX_PAIRS}"));
    }
    for pair in text.split(',').map(str::trim) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(format!("holds {}; write key=value, with commas between, or a mapping {{...}}", quoted(pair)));
        };
        set(&mut arguments, &parse(key)?, typed(value)?);
    }
    Ok(arguments)
}

/// Parses a value like GuideLLM's command line. An empty text is null.
pub(super) fn typed(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() { Ok(Value::Null) } else { yaml::typed(text) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: Result<Value, &str>) {
        assert_eq!(arguments(text), expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn arguments_are_pairs_or_a_mapping() {
        check("kind=constant, rate=5", Ok(json!({"kind": "constant", "rate": 5})));
        check("a.b[1].c=x,a.d=0.5", Ok(json!({"a": {"b": [null, {"c": "x"}], "d": 0.5}})));
        check(r#"{"kind": "poisson", "rate": [1, 2]}"#, Ok(json!({"kind": "poisson", "rate": [1, 2]})));
        check("prompt-tokens=5,x=", Ok(json!({"prompt_tokens": 5, "x": null})));
        check("a", Err("holds \"a\"; write key=value, with commas between, or a mapping {...}"));
        let part = "write a key, or a key with an index, constraints[0]";
        check("a[64]=1", Err(&format!("has the part \"a[64]\"; {part}")));
        check("=1", Err(&format!("has the part \"\"; {part}")));
        assert!(arguments(&format!("{}=1", ["a"; 17].join("."))).is_err());
    }

    #[test]
    fn what_was_set_is_found() {
        let mut value = json!({"constraints": [{"count": 5}], "a": 1});
        for (path, new) in [("constraints[0].count", json!(6)), ("constraints[2].count", json!(7)), ("a.b", json!(8))] {
            let path = parse(path).unwrap();
            set(&mut value, &path, new.clone());
            assert_eq!(get(&value, &path), Some(&new));
        }
        assert_eq!(value, json!({"constraints": [{"count": 6}, null, {"count": 7}], "a": {"b": 8}}));
    }
}
