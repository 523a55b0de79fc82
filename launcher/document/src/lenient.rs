//! Reads a document whose writer may know more keys than this release.
//!
//! The types of a document accept unknown keys, but the run and the load in it are input types, which refuse them: a misspelt key of a
//! BenchmarkRun is an error. So a key that such a type refuses is removed, and the document is read again.

use crds::json::{FieldError, read as read_strictly};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Different keys that are removed before the reader gives up.
const MOST_UNKNOWN: usize = 100;

/// Reads a document from its JSON, without the keys that its types do not know.
///
/// # Errors
/// The text is not JSON, a field is missing or has a wrong type, or more than 100 different keys are unknown.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, FieldError> {
    let mut error = match read_strictly(text) {
        Ok(document) => return Ok(document),
        Err(error) => error,
    };
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return Err(error) };
    for _ in 0..MOST_UNKNOWN {
        let Some(key) = unknown_key(&error) else { break };
        if !remove(&mut value, &steps(&error.path), key) {
            break;
        }
        error = match read_strictly(&value.to_string()) {
            Ok(document) => return Ok(document),
            Err(error) => error,
        };
    }
    Err(error)
}

/// The key that a type refused; `None`: the problem is another one.
fn unknown_key(error: &FieldError) -> Option<&str> {
    error.problem.strip_prefix("unknown field `")?.split_once('`').map(|(key, _)| key)
}

/// A part of a path such as `stages[0].load`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step<'a> {
    Key(&'a str),
    /// Any item of a list: what one of them has, its neighbours may have as well.
    AnyItem,
}

fn steps(path: &str) -> Vec<Step<'_>> {
    let keys = path.split('.').filter(|it| !it.is_empty());
    keys.flat_map(|it| {
        let (key, items) = it.split_once('[').map_or((it, 0), |(key, rest)| (key, 1 + rest.matches('[').count()));
        std::iter::once(Step::Key(key)).filter(|_| !key.is_empty()).chain(std::iter::repeat_n(Step::AnyItem, items))
    })
    .collect()
}

/// Removes a key where the path leads, or anywhere below the place where the path ends early, as it does within an untagged type.
/// Returns whether anything was removed.
fn remove(value: &mut Value, path: &[Step<'_>], key: &str) -> bool {
    match (path, value) {
        ([Step::Key(name), rest @ ..], Value::Object(entries)) if *name != key && entries.contains_key(*name) => {
            entries.get_mut(*name).is_some_and(|inner| remove(inner, rest, key))
        }
        ([Step::AnyItem, rest @ ..], Value::Array(items)) => any(items.iter_mut().map(|it| remove(it, rest, key))),
        (_, Value::Object(entries)) => {
            entries.remove(key).is_some() || any(entries.values_mut().map(|it| remove(it, &[], key)))
        }
        (_, Value::Array(items)) => any(items.iter_mut().map(|it| remove(it, &[], key))),
        _ => false,
    }
}

/// Every item is visited.
fn any(found: impl Iterator<Item = bool>) -> bool {
    found.fold(false, |any, it| any | it)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        items: Vec<Inner>,
        other: Option<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        value: u32,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Tagged {
        kind: Kind,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "type", deny_unknown_fields)]
    enum Kind {
        A { inner: Inner },
    }

    #[test]
    fn keys_of_a_later_release_are_ignored_wherever_they_are() {
        let text = json!({
            "items": [{"value": 1}, {"value": 2, "new": [1, 2]}, {"value": 3, "new": {"value": 4}, "newer": null}],
            "other": {"value": 5, "a.b[0]": 1},
            "newest": {"deep": {}},
        });
        let expected = Outer { items: (1..=3).map(|value| Inner { value }).collect(), other: Some(Inner { value: 5 }) };
        assert_eq!(read::<Outer>(&text.to_string()).unwrap(), expected);
    }

    #[test]
    fn a_key_within_a_tagged_type_is_ignored_although_no_path_leads_there() {
        let text = json!({"kind": {"type": "A", "inner": {"value": 1, "new": 2}}});
        assert_eq!(read::<Tagged>(&text.to_string()).unwrap().kind, Kind::A { inner: Inner { value: 1 } });
    }

    #[test]
    fn what_is_wrong_stays_an_error_and_so_does_a_flood_of_keys() {
        let wrong = json!({"items": [{"value": "x", "new": 1}]}).to_string();
        assert_eq!(read::<Outer>(&wrong).unwrap_err().path, "items[0].value");
        assert!(read::<Outer>("{\"items\": [{}]}").unwrap_err().problem.contains("missing field"));
        assert!(read::<Outer>("{").is_err());
        let many: serde_json::Map<String, Value> =
            (0..1_000).map(|it| (format!("k{it}"), Value::Null)).chain([("items".into(), json!([]))]).collect();
        assert!(read::<Outer>(&Value::Object(many).to_string()).unwrap_err().problem.contains("unknown field"));
    }
}
