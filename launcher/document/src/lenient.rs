//! Reads a document that can contain keys which this release does not know.
//!
//! Most types of a document ignore unknown keys. Some types refuse them. For example, a misspelt key of a load must be an error in an input, and a
//! document uses the same type. If a type refuses a key, the reader removes the key and reads the document again.

use crds::json::{FieldError, read as read_strictly};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum number of attempts, each of which removes a key.
const MOST_UNKNOWN: usize = 100;
/// Maximum number of bytes that are read again after removing keys.
const MOST_BYTES: usize = 64 << 20;

/// Reads a document from JSON and ignores keys that its types do not know.
///
/// # Errors
/// The text is not JSON, a field is missing or has a wrong type, or too many keys are unknown.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, FieldError> {
    let mut error = match read_strictly(text) {
        Ok(document) => return Ok(document),
        Err(error) => error,
    };
    let mut value = None;
    for _ in 0..MOST_UNKNOWN.min(1 + MOST_BYTES / text.len().max(1)) {
        let Some(key) = unknown_key(&error) else { break };
        let value = match &mut value {
            Some(value) => value,
            None => match serde_json::from_str::<Value>(text) {
                Ok(read) => value.insert(read),
                Err(_) => break,
            },
        };
        // The path can end with the key itself, which can contain a dot.
        let parent = error.path.strip_suffix(key).filter(|it| it.is_empty() || it.ends_with('.'));
        let leads_there = parent.is_some();
        let mut path = steps(parent.unwrap_or(&error.path));
        path.extend(parent.map(|_| Step::Key(key)));
        if !remove(value, &path, key, leads_there) {
            break;
        }
        error = match read_strictly(&value.to_string()) {
            Ok(document) => return Ok(document),
            Err(error) => error,
        };
    }
    Err(error)
}

/// Returns the key that a type refused; `None` if the error has another cause.
fn unknown_key(error: &FieldError) -> Option<&str> {
    error.problem.strip_prefix("unknown field `")?.split_once('`').map(|(key, _)| key)
}

/// A part of a path such as `stages[0].load`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step<'a> {
    Key(&'a str),
    Item(usize),
}

fn steps(path: &str) -> Vec<Step<'_>> {
    let keys = path.split('.').filter(|it| !it.is_empty());
    keys.flat_map(|it| {
        let (key, items) = it.split_once('[').unwrap_or((it, ""));
        let items = items.split('[').filter_map(|it| it.trim_end_matches(']').parse().ok()).map(Step::Item);
        std::iter::once(Step::Key(key)).filter(|_| !key.is_empty()).chain(items).collect::<Vec<_>>()
    })
    .collect()
}

/// Removes a key. If `leads_there`, the path ends with the key, and the key is removed from all items of the lists on the path. Otherwise the path
/// ends earlier, for example at an untagged type; then the key is removed everywhere below that point. Returns whether anything was removed.
fn remove(value: &mut Value, path: &[Step<'_>], key: &str, leads_there: bool) -> bool {
    match (path, value) {
        ([Step::Key(_)], Value::Object(entries)) if leads_there => entries.remove(key).is_some(),
        ([Step::Key(name), rest @ ..], Value::Object(entries)) => {
            entries.get_mut(*name).is_some_and(|inner| remove(inner, rest, key, leads_there))
        }
        ([Step::Item(_), rest @ ..], Value::Array(items)) if leads_there => {
            any(items.iter_mut().map(|it| remove(it, rest, key, leads_there)))
        }
        ([Step::Item(at), rest @ ..], Value::Array(items)) => {
            items.get_mut(*at).is_some_and(|it| remove(it, rest, key, leads_there))
        }
        ([], Value::Object(entries)) => {
            entries.remove(key).is_some() || any(entries.values_mut().map(|it| remove(it, &[], key, leads_there)))
        }
        ([], Value::Array(items)) => any(items.iter_mut().map(|it| remove(it, &[], key, leads_there))),
        _ => false,
    }
}

/// Returns whether any item is true. Always visits all items.
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
    fn an_unknown_key_with_the_name_of_a_key_above_it_goes_alone() {
        let text = json!({"items": [], "other": {"value": 5, "other": {"value": 6}}}).to_string();
        assert_eq!(read::<Outer>(&text).unwrap().other, Some(Inner { value: 5 }));
        let text = json!({"items": [{"value": 1, "items": [2]}, {"value": 3}]}).to_string();
        assert_eq!(read::<Outer>(&text).unwrap().items, [1, 3].map(|value| Inner { value }));
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
