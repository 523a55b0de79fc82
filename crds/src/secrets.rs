//! What looks like a secret in the words of a program that is not ours, such as the log of a model server. Pure.
//!
//! Written by hand, and not as regular expressions: every line of a server's log goes through it, and the server waits meanwhile.

use std::borrow::Cow;

use crate::resolve::{REDACTED, is_secret_name, without_credentials};

/// How tokens of well-known services begin, and how many characters follow at least: Hugging Face, OpenAI and the like, GitHub, GitLab,
/// NVIDIA, Slack, AWS.
const TOKENS: [(&str, usize); 12] = [
    ("hf_", 16),
    ("sk-", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("nvapi-", 16),
    ("xoxb-", 16),
    ("AKIA", 16),
];
/// How a JSON web token begins, and how long its parts are at least.
const WEB_TOKEN: (&str, usize) = ("eyJ", 8);

/// A text without what looks like a secret: values behind the name of a secret, tokens of well-known forms, and credentials in URLs.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    // Up to here the text is in `clean`.
    let mut kept = 0;
    let mut at = 0;
    while let Some(from) = text[at..].find(is_word).map(|it| at + it) {
        let end = text[from..].find(|it| !is_word(it)).map_or(text.len(), |it| from + it);
        let secret = secret(&text[from..end], &text[from..]);
        if let Some(secret) = &secret {
            clean.push_str(&text[kept..from + secret.start]);
            clean.push_str(REDACTED);
            kept = from + secret.end;
        }
        at = secret.map_or(end, |it| from + it.end);
    }
    let clean = match kept {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(clean + &text[kept..]),
    };
    without_urls(clean)
}

/// The text with each URL without its credentials.
fn without_urls(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains("://") || !text.contains('@') {
        return text;
    }
    let urls: Vec<Cow<'_, str>> = text.split(' ').map(without_credentials).collect();
    let joined = urls.join(" ");
    if joined == text { text } else { Cow::Owned(joined) }
}

/// Where the secret is that a word is, or that it announces. `text` begins with the word.
fn secret(word: &str, text: &str) -> Option<std::ops::Range<usize>> {
    if let Some(length) = token(word, text) {
        return Some(0..length);
    }
    let behind = &text[word.len()..];
    let scheme = ["bearer", "basic"].into_iter().find(|it| word.eq_ignore_ascii_case(it));
    if let Some(scheme) = scheme {
        let value = behind.strip_prefix(' ').filter(|it| it.starts_with(is_word))?;
        let length = open_end(value);
        // "basic" is a word of English, too.
        let is_value = scheme == "bearer" || value[..length].contains(|it: char| it.is_ascii_digit() || it == '=');
        return is_value.then_some(word.len() + 1..word.len() + 1 + length);
    }
    let value = word.len() + value_behind(behind, word.starts_with("--"))?;
    let name = word.trim_start_matches('-');
    // A key of a map, or of the weights of a model, is mostly none.
    if !is_secret_name(name) || is_class(name) || name.eq_ignore_ascii_case("key") {
        return None;
    }
    let within = secret_within(&text[value..])?;
    Some(value + within.start..value + within.end)
}

/// The length of a token of a well-known form at the beginning of a text.
fn token(word: &str, text: &str) -> Option<usize> {
    if TOKENS.iter().any(|(begin, least)| word.strip_prefix(begin).is_some_and(|it| it.len() >= *least)) {
        return Some(word.len());
    }
    let (begin, least) = WEB_TOKEN;
    let head = word.strip_prefix(begin).filter(|it| it.len() >= least)?;
    // Header, payload and signature.
    let is_part = |it: char| is_word(it) || it == '.';
    let mut length = text.find(|it| !is_part(it)).unwrap_or(text.len());
    // The dot that ends a sentence.
    length -= usize::from(text[..length].ends_with('.'));
    let payload = text[word.len()..length].strip_prefix('.').and_then(|it| it.split('.').next());
    if payload.is_some_and(|it| it.len() >= least) { Some(length) } else { (head.len() >= 20).then_some(word.len()) }
}

fn is_word(it: char) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, '_' | '-')
}

/// `AuthenticationError` names no secret.
fn is_class(word: &str) -> bool {
    let ends = |end: &str| {
        word.len().checked_sub(end.len()).and_then(|at| word.get(at..)).is_some_and(|it| it.eq_ignore_ascii_case(end))
    };
    ["error", "exception", "warning"].into_iter().any(ends)
}

/// Where the value begins, behind `=`, `:` or the blank of a flag.
fn value_behind(rest: &str, is_flag: bool) -> Option<usize> {
    let mut at = 0;
    // `'api_key': ['a']`, `api_key=a`, `--api-key a`
    at += usize::from(rest.starts_with(['\'', '"']));
    let blanks = |at: usize| rest[at..].bytes().take_while(|it| *it == b' ').count();
    let before = blanks(at);
    match rest[at + before..].chars().next()? {
        '=' | ':' => at += before + 1,
        _ if is_flag && before > 0 => {}
        _ => return None,
    }
    at += blanks(at);
    (at < rest.len()).then_some(at)
}

/// Where the secret is in a value, without its quotes. `None`: the value holds none.
fn secret_within(value: &str) -> Option<std::ops::Range<usize>> {
    let until = |closing: char, from: usize| value[from..].find(closing).map_or(value.len(), |it| from + it);
    let range = match value.chars().next()? {
        quote @ ('\'' | '"') => 1..until(quote, 1),
        '[' => 0..(until(']', 1) + 1).min(value.len()),
        '{' => 0..(until('}', 1) + 1).min(value.len()),
        _ => {
            // `Authorization: Bearer abc`
            let scheme = ["Bearer ", "Basic "].into_iter().find(|it| value.starts_with(it)).map_or(0, str::len);
            scheme..scheme + open_end(&value[scheme..])
        }
    };
    let found = &value[range.clone()];
    // What a program prints for an absent value is no secret, nor is a token of a vocabulary, such as `<s>`.
    let is_absent = ["", "None", "null", "True", "False", "true", "false", "[]", "{}"].contains(&found);
    (!is_absent && !found.starts_with('<')).then_some(range)
}

/// Where a value without quotes ends: at the next blank, comma or bracket, or at the quote that closes what it stands in.
fn open_end(value: &str) -> usize {
    const QUOTES: [char; 2] = ['\'', '"'];
    let end = value.find([' ', ',', ')', '}', ']', ';']).unwrap_or(value.len());
    let inner = value[..end].trim_end_matches(QUOTES);
    if inner.contains(QUOTES) { end } else { inner.len() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_hidden(line: &str, secret: &str, rest: &str) {
        let clean = redact(line);
        assert!(!clean.contains(secret), "{clean}");
        assert_eq!(clean, rest);
    }

    #[test]
    fn a_secret_is_replaced_and_what_stands_around_it_stays() {
        let token = "hf_abcdefghijklmnopqrstuvwxyz";
        assert_hidden(&format!("login with {token} done"), token, "login with <redacted> done");
        assert_hidden(&format!("HF_TOKEN={token}"), token, "HF_TOKEN=<redacted>");
        assert_hidden("Authorization: Bearer abc.def-123 x", "abc.def-123", "Authorization: Bearer <redacted> x");
        assert_hidden("api_key='s3cr3t-value', seed=0", "s3cr3t", "api_key='<redacted>', seed=0");
        assert_hidden("{\"openai_api_key\": \"abcdef\"}", "abcdef", "{\"openai_api_key\": \"<redacted>\"}");
        assert_hidden("get http://me:pw12@host/a", "pw12", "get http://<redacted>@host/a");
        assert_hidden("sk-abcdefghijklmnop1234 is the key", "sk-abc", "<redacted> is the key");
        assert_hidden("password: hunter22", "hunter22", "password: <redacted>");
        for token in [
            "glpat-abcdefghijklmnop",
            "nvapi-abcdefghijklmnop",
            "github_pat_abcdefghijklmnopqrst",
            "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln",
        ] {
            assert_hidden(&format!("got {token}."), token, "got <redacted>.");
        }
        assert_hidden("Authorization: Basic dXNlcjpwYXNz=", "dXNl", "Authorization: Basic <redacted>");
        assert_hidden("token=abc, port=8", "abc", "token=<redacted>, port=8");
        assert_hidden("{'api_key': ['a1', 'b2'], 'port': 1}", "a1", "{'api_key': <redacted>, 'port': 1}");
        assert_hidden("run --api-key abc --port 8", "abc", "run --api-key <redacted> --port 8");
        assert_hidden("HF_TOKEN: \"abc def\" x", "def", "HF_TOKEN: \"<redacted>\" x");
        assert_hidden("secret = abcdef", "abcdef", "secret = <redacted>");
    }

    #[test]
    fn what_an_engine_writes_of_tokens_and_keys_stays() {
        for line in [
            "Maximum concurrency for 8,192 tokens per request: 3.5x",
            "api_key=None, max_tokens=16, bos_token='<s>', tokenizer='org/model'",
            "Loading safetensors checkpoint shards: 100% Completed | 4/4",
            "Started server process [1234] on http://0.0.0.0:8000/v1",
            "key_cache block_size: 16",
            "a basic understanding of a token",
            "unexpected key: model.layers.0",
            "password=<redacted>, api_key='<redacted>', hf_token: \"<redacted>\"",
            "ValueError: AuthenticationError: no such user",
        ] {
            assert_eq!(redact(line), line);
        }
    }

    proptest! {
        #[test]
        fn what_is_clean_stays_as_it_is(text in "\\PC{0,40}", tail in "[-'\"{}()\\[\\]<>:=, a-z0-9_.@/\\\\]{0,60}") {
            let clean = redact(&format!("{text}{tail} api_key={tail}")).into_owned();
            prop_assert_eq!(redact(&clean), clean.as_str());
        }
    }
}
