//! Sets a field of a run's spec by its path, such as `profile.variables.rate` or `target.server.args[1]`.

use serde_json::{Map, Value};

/// Mappings whose keys users choose. What follows these paths is one key, which may contain dots.
const FREE_KEYS: [&str; 2] = ["profile.variables.", "profile.overrides."];

/// Maximum length of a path in bytes. It bounds the depth of the spec: dropping a value that is nested thousands of levels deep overflows the stack.
const MAX_PATH: usize = 256;

/// Sets the field at `path` in `spec`. Missing mappings are created. A list must have the element, or the index is the length of the list, which
/// appends the value.
///
/// # Errors
/// The path leads through a value that has no fields, or to a missing element. The text says what was found, and what to do.
pub(super) fn set(spec: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let steps = steps(path)?;
    let (last, before) = steps.split_last().ok_or("is empty; write the path of a field")?;
    let mut at = spec;
    for step in before {
        at = enter(at, step)?;
    }
    *enter(at, last)? = value;
    Ok(())
}

/// A step of a path.
#[derive(Debug, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

fn steps(path: &str) -> Result<Vec<Step>, String> {
    if path.len() > MAX_PATH {
        return Err(format!("has {} bytes; write a path of at most {MAX_PATH}", path.len()));
    }
    let (path, free_key) = match FREE_KEYS.iter().find_map(|it| Some((it, path.strip_prefix(it)?))) {
        Some((prefix, key)) => (prefix.trim_end_matches('.'), Some(key)),
        None => (path, None),
    };
    if path == "spec" || path.starts_with("spec.") {
        return Err("begins with spec; write the path below it, such as profile.variables.rate".to_owned());
    }
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, indices) = part.split_once('[').map_or((part, None), |(key, rest)| (key, Some(rest)));
        if key.is_empty() {
            return Err("has an empty part; write names between dots, such as profile.variables.rate".to_owned());
        }
        match key.parse() {
            Ok(index) if !steps.is_empty() => steps.push(Step::Index(index)),
            _ => steps.push(Step::Key(key.to_owned())),
        }
        for index in indices.into_iter().flat_map(|it| it.split('[')) {
            let index = index.strip_suffix(']').and_then(|it| it.parse().ok());
            steps.push(Step::Index(index.ok_or("has a wrong index; write it as in target.server.args[1]")?));
        }
    }
    if let Some(key) = free_key {
        if key.is_empty() {
            return Err("has no name at its end; write it as in profile.variables.rate".to_owned());
        }
        steps.push(Step::Key(key.to_owned()));
    }
    Ok(steps)
}

fn enter<'a>(value: &'a mut Value, step: &Step) -> Result<&'a mut Value, String> {
    if value.is_null() {
        *value = match step {
            Step::Key(_) => Value::Object(Map::new()),
            Step::Index(_) => Value::Array(Vec::new()),
        };
    }
    match (step, value) {
        (Step::Key(key), Value::Object(fields)) => Ok(fields.entry(key.clone()).or_insert(Value::Null)),
        (Step::Index(index), Value::Array(items)) => {
            let length = items.len();
            if *index == length {
                items.push(Value::Null);
            }
            items.get_mut(*index).ok_or_else(|| {
                format!("names element {index} of a list of {length}; write an index from 0 to {length}")
            })
        }
        (Step::Key(key), _) => Err(format!("leads through a value without fields to {key}; write the path of a field")),
        (Step::Index(index), _) => Err(format!("names element {index} of a value that is no list")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(before: Value, path: &str, expected: Result<Value, &str>) {
        let mut spec = before;
        match (set(&mut spec, path, json!(7)), expected) {
            (Ok(()), Ok(after)) => assert_eq!(spec, after, "{path}"),
            (Err(found), Err(part)) => assert!(found.contains(part), "{path}: {found}"),
            (found, expected) => panic!("{path}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn a_path_reaches_fields_elements_and_free_keys() {
        check(json!({}), "profile.variables.rate", Ok(json!({"profile": {"variables": {"rate": 7}}})));
        check(
            json!({}),
            "profile.overrides.load.stages.0.rate",
            Ok(json!({"profile": {"overrides": {"load.stages.0.rate": 7}}})),
        );
        check(json!({"a": [1, 2]}), "a[1]", Ok(json!({"a": [1, 7]})));
        check(json!({"a": [{"b": 1}]}), "a.0.b", Ok(json!({"a": [{"b": 7}]})));
        check(json!({"a": [1]}), "a[1]", Ok(json!({"a": [1, 7]})));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_refused() {
        check(json!({}), "spec.seed", Err("begins with spec"));
        check(json!({}), "profile..name", Err("empty part"));
        check(json!({}), "profile.variables.", Err("no name at its end"));
        check(json!({"a": [1]}), "a[2]", Err("a list of 1"));
        check(json!({}), &"a.".repeat(500_000), Err("has 1000000 bytes"));
        check(json!({}), &format!("a{}", "[0]".repeat(400_000)), Err("has 1200001 bytes"));
        check(json!({"a": [1]}), "a[x]", Err("wrong index"));
        check(json!({"a": 1}), "a.b", Err("without fields"));
        check(json!({"a": {}}), "a[0]", Err("no list"));
    }
}
