//! Blacks out credentials in a profile before it goes into a file: header fields and keys whose names tell that their values
//! are secret.

use std::borrow::Cow;

use serde_json::Value;
use serde_saphyr::NonFiniteFloatPolicy;

/// What stands in place of a secret.
const REDACTED: &str = "<redacted>";

/// The text as it is when it holds no credential, else written anew without them. A text that is no YAML stays away as a
/// whole: nothing in it can be found.
pub(super) fn profile(text: &str) -> Cow<'_, str> {
    match read(text) {
        Some((_, false)) => Cow::Borrowed(text),
        Some((value, true)) => Cow::Owned(serde_saphyr::to_string(&value).unwrap_or_default()),
        None => Cow::Borrowed(""),
    }
}

/// The profile as a tree of values without credentials; `None` for a text that is no YAML.
pub(super) fn profile_value(text: &str) -> Option<Value> {
    read(text).map(|(value, _)| value)
}

fn read(text: &str) -> Option<(Value, bool)> {
    // A profile may say `.inf`, for which JSON has no number.
    let options = serde_saphyr::options! { non_finite_float_policy: NonFiniteFloatPolicy::AsString };
    let mut value = serde_saphyr::from_str_with_options(text, options).ok()?;
    let found = redact(&mut value);
    Some((value, found))
}

/// Blacks out every secret in a tree of values; true when there was one.
pub(super) fn redact(value: &mut Value) -> bool {
    let mut found = false;
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let filled = match &*value {
                    Value::String(it) => !it.is_empty() && it != REDACTED,
                    Value::Number(_) => true,
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
                };
                if let Value::String(text) = value
                    && let (Some(scheme), Some(at)) = (text.find("://"), text.rfind('@'))
                    && at > scheme
                {
                    text.replace_range(scheme + 3..at, REDACTED);
                    return true;
                }
                if is_secret(key) && filled {
                    *value = Value::String(REDACTED.into());
                    found = true;
                } else {
                    found |= redact(value);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                found |= redact(item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}

/// Whether a key or header of this name holds a credential.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let whole = ["authorization", "proxy_authorization", "cookie", "token", "apikey", "password", "secret", "key"];
    let ends = ["_token", "_key", "_secret", "_password", "_apikey", "_authorization"];
    let within = ["auth", "credential", "session"].iter().any(|it| name.contains(it));
    within || whole.contains(&name.as_str()) || ends.iter().any(|end| name.ends_with(end))
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
