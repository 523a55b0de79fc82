//! Blacks out secrets in what is quoted of a log.

use std::borrow::Cow;

use crds::{
    resolve::{REDACTED, is_secret_name, without_credentials},
    wording::one_line,
};
use serde_json::{Map, Value};

/// Bytes of a line that are quoted.
pub(crate) const MAX_QUOTE: usize = 400;

/// How tokens of well-known services begin, and how many characters follow at least.
const TOKENS: [(&str, usize); 9] = [
    ("hf_", 16),
    ("sk-", 16),
    ("ghp_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("nvapi-", 16),
    ("xoxb-", 16),
    ("AKIA", 16),
    ("eyJ", 20),
];

/// A line of a log as it is shown: on one line, without secrets, and of at most [`MAX_QUOTE`] bytes.
pub(crate) fn quote(line: &str) -> String {
    let clean = one_line(&text(line));
    crate::line::cut(clean.trim(), MAX_QUOTE).to_owned()
}

/// A text without secrets: values behind the name of a secret, tokens of well-known forms, and credentials in URLs.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    let mut found = false;
    // Words, with what stands between them.
    while let Some(from) = rest.find(is_word) {
        clean.push_str(&rest[..from]);
        rest = &rest[from..];
        let end = rest.find(|it| !is_word(it)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        if is_token(word) {
            clean.push_str(REDACTED);
            found = true;
        } else if word.eq_ignore_ascii_case("bearer") {
            clean.push_str(word);
            if let Some(value) = rest.strip_prefix(' ').filter(|it| it.starts_with(is_word)) {
                (clean, rest, found) = (clean + " " + REDACTED, &value[value_end(value)..], true);
            }
        } else {
            clean.push_str(word);
            if is_secret_name(word.trim_start_matches('-'))
                && !is_class(word)
                && let Some(value) = value_behind(rest, word.starts_with("--"))
            {
                let taken = value_end(&rest[value..]);
                if taken > 0 {
                    clean.push_str(&rest[..value]);
                    clean.push_str(REDACTED);
                    (rest, found) = (&rest[value + taken..], true);
                }
            }
        }
    }
    clean.push_str(rest);
    let has_url = clean.contains("://") && clean.contains('@');
    if has_url {
        let urls: Vec<Cow<'_, str>> = clean.split(' ').map(without_credentials).collect();
        let joined = urls.join(" ");
        found |= joined != clean;
        clean = joined;
    }
    if found { Cow::Owned(clean) } else { Cow::Borrowed(text) }
}

/// Blacks out the secrets in arguments of an engine.
pub(crate) fn map(map: &mut Map<String, Value>) {
    for (key, value) in map {
        if is_secret_name(key) { cover(value) } else { redact(value) }
    }
}

fn redact(value: &mut Value) {
    match value {
        Value::Object(entries) => map(entries),
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::String(it) => {
            if let Cow::Owned(clean) = text(it) {
                *it = clean;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Covers what stands under the name of a secret. A switch is none, and what is empty has nothing to hide.
fn cover(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::String(text) if text.is_empty() => {}
        Value::Array(items) if items.is_empty() => {}
        other => *other = Value::String(REDACTED.into()),
    }
}

fn is_word(it: char) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, '_' | '-')
}

/// `AuthenticationError` names no secret.
fn is_class(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["error", "exception", "warning"].iter().any(|it| word.ends_with(it))
}

fn is_token(word: &str) -> bool {
    TOKENS.iter().any(|(begin, least)| word.strip_prefix(begin).is_some_and(|it| it.len() >= *least))
}

/// Where the value begins, behind `=`, `:` or the blank of a flag.
fn value_behind(rest: &str, is_flag: bool) -> Option<usize> {
    let mut at = 0;
    // `'api_key': ['a']`, `api_key=a`, `--api-key a`
    at += usize::from(rest.starts_with(['\'', '"']));
    let blanks = |at: usize| rest[at..].bytes().take_while(|it| *it == b' ').count();
    match rest[at..].chars().next()? {
        '=' | ':' => at += 1,
        ' ' if is_flag => {}
        _ => return None,
    }
    at += blanks(at);
    (at < rest.len()).then_some(at)
}

/// Where a value ends: at its closing quote or bracket, else at the next blank or comma.
fn value_end(value: &str) -> usize {
    let until = |closing: char, from: usize| value[from..].find(closing).map_or(value.len(), |it| from + it + 1);
    match value.chars().next() {
        Some(quote @ ('\'' | '"')) => until(quote, 1),
        Some('[') => until(']', 1),
        Some('{') => until('}', 1),
        _ => {
            // `Authorization: Bearer abc`
            let scheme = ["Bearer ", "Basic "].into_iter().find(|it| value.starts_with(it)).map_or(0, str::len);
            value[scheme..].find([' ', ',', ')', '}', ']', ';']).map_or(value.len(), |it| scheme + it)
        }
    }
}
