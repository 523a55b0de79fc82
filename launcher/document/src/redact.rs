//! Blacks out credentials in a profile before it is written to a file: header fields, and values of keys with names of secrets.

use std::borrow::Cow;

use crds::resolve::{REDACTED, is_secret_name, without_credentials};
use serde_json::Value;
use serde_saphyr::NonFiniteFloatPolicy;

/// Returns the text unchanged if it contains no credentials; otherwise rewrites it without them. A text that is not YAML becomes empty, because
/// credentials cannot be found in it.
pub fn profile(text: &str) -> Cow<'_, str> {
    match read(text) {
        Some((_, false)) => Cow::Borrowed(text),
        Some((value, true)) => Cow::Owned(serde_saphyr::to_string(&value).unwrap_or_default()),
        None => Cow::Borrowed(""),
    }
}

/// The profile as a tree of values without credentials; `None` if the text is not YAML.
pub fn profile_value(text: &str) -> Option<Value> {
    read(text).map(|(value, _)| value)
}

fn read(text: &str) -> Option<(Value, bool)> {
    // JSON has no number for `.inf`, which a profile can contain.
    let options = serde_saphyr::options! { non_finite_float_policy: NonFiniteFloatPolicy::AsString };
    let mut value = serde_saphyr::from_str_with_options(text, options).ok()?;
    let found = redact(&mut value);
    Some((value, found))
}

/// Blacks out every secret in a tree of values. Returns whether there was one.
pub fn redact(value: &mut Value) -> bool {
    match value {
        Value::Object(entries) => {
            let each =
                entries.iter_mut().map(|(key, value)| if is_secret_name(key) { cover(value) } else { redact(value) });
            any(each)
        }
        Value::Array(items) => any(items.iter_mut().map(redact)),
        Value::String(text) => match without_credentials(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(clean) => {
                let found = clean != *text;
                *text = clean;
                found
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Replaces a value whose key is the name of a secret. Booleans are no secrets, and empty values have nothing to hide.
fn cover(value: &mut Value) -> bool {
    let hides = match &*value {
        Value::String(text) => !text.is_empty() && text != REDACTED,
        Value::Number(_) => true,
        Value::Null | Value::Bool(_) => false,
        Value::Array(_) | Value::Object(_) => return redact(value),
    };
    if hides {
        *value = Value::String(REDACTED.into());
    }
    hides
}

/// Returns whether any item is true. Always visits all items.
fn any(found: impl Iterator<Item = bool>) -> bool {
    found.fold(false, |before, it| before | it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_without_secrets_stays_as_it_is() {
        let text = "load: {type: constant}   # as asked\nserver: {model_name: a, max_tokens: 5, api_key: ''}\n";
        assert!(matches!(profile(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn a_profile_with_an_infinite_rate_keeps_it() {
        assert_eq!(profile("load: {rate: .inf}"), "load: {rate: .inf}");
        assert_eq!(profile_value("load: {rate: .inf}").unwrap()["load"]["rate"], ".inf");
        assert_eq!((profile("[1"), profile_value("[1")), (Cow::Borrowed(""), None));
    }

    #[test]
    fn one_secret_does_not_hide_the_next() {
        let clean =
            profile("server: {base_url: 'http://me:pw-1@host', api_key: sk-123, urls: ['https://a:pw-2@b']}\ntoken: 9");
        assert!(["pw-1", "sk-123", "pw-2", "9"].iter().all(|it| !clean.contains(it)), "{clean}");
        assert_eq!(clean.matches(REDACTED).count(), 4, "{clean}");
    }

    #[test]
    fn a_secret_is_blacked_out_wherever_it_stands() {
        for text in [
            "server: {api_key: sk-123}",
            "api: {headers: {Authorization: Bearer sk-123, X-Trace: '1'}}",
            "a: [{x-api-key: sk-123}]",
            "tokenizer: {token: sk-123}",
            "api: {headers: {x-auth: sk-123, x-session-credential: sk-123}}",
            "server: {base_url: 'http://me:sk-123@host/'}",
        ] {
            let clean = profile(text);
            assert!(!clean.contains("sk-123") && clean.contains(REDACTED), "{clean}");
        }
    }
}
