//! Finds text that looks like a secret in the output of other programs, such as the log of a model server. Pure.
//!
//! The search uses no regular expressions, because it must be fast: a server waits while a line of its log is searched.

use std::{borrow::Cow, ops::Range};

use crate::resolve::{REDACTED, is_secret_name, without_credentials};

/// Prefixes of the tokens of well-known services, and the minimum number of characters that follow: Hugging Face, OpenAI and similar services,
/// GitHub, GitLab, NVIDIA, Slack, AWS.
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
/// Prefix of a JSON web token, and the minimum length of each of its parts.
const WEB_TOKEN: (&str, usize) = ("eyJ", 8);

/// How an escape sequence for a terminal colour begins, before its bracket: the escape byte itself, or one of its printed forms.
const ESCAPES: [&str; 6] = ["\u{1b}", r"\x1b", r"\x1B", r"\u001b", r"\u001B", r"\033"];
const QUOTES: [char; 2] = ['\'', '"'];

/// Returns the text without anything that looks like a secret: values that follow the name of a secret, tokens of well-known forms, and credentials
/// in URLs. If the text contains a secret, its colour sequences are removed as well.
pub fn redact(text: &str) -> Cow<'_, str> {
    // A colour sequence can appear between a name and its value, or directly before a token.
    let Some(plain) = without_colours(text) else { return redact_plain(text) };
    match redact_plain(&plain) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(clean) => Cow::Owned(clean),
    }
}

fn redact_plain(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    // Everything before this position was copied to `clean`.
    let mut kept = 0;
    let mut at = 0;
    while let Some(from) = text[at..].find(is_word).map(|it| at + it) {
        let end = text[from..].find(|it| !is_word(it)).map_or(text.len(), |it| from + it);
        let secret = secret(text, from, end);
        if let Some(secret) = &secret {
            clean.push_str(&text[kept..secret.start]);
            clean.push_str(REDACTED);
            kept = secret.end;
        }
        at = secret.map_or(end, |it| it.end);
    }
    let clean = match kept {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(clean + &text[kept..]),
    };
    without_urls(clean)
}

/// The text without colour sequences. `None` if it has none.
fn without_colours(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut kept = 0;
    for (at, _) in text.match_indices('[') {
        let Some(escape) = ESCAPES.iter().find(|it| text[kept..at].ends_with(**it)) else { continue };
        let code = &text[at + 1..];
        let numbers = code.bytes().take_while(|it| it.is_ascii_digit() || matches!(it, b';' | b':' | b'?')).count();
        if code[numbers..].starts_with(|it: char| it.is_ascii_alphabetic()) {
            plain.push_str(&text[kept..at - escape.len()]);
            kept = at + 1 + numbers + 1;
        }
    }
    (kept > 0).then(|| plain + &text[kept..])
}

/// Removes the credentials from all URLs in the text.
fn without_urls(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains("://") || !text.contains('@') {
        return text;
    }
    let urls: Vec<Cow<'_, str>> = text.split(' ').map(without_credentials).collect();
    let joined = urls.join(" ");
    if joined == text { text } else { Cow::Owned(joined) }
}

/// The range of the secret that belongs to the word at `from..end`: the word is a token, contains one, or is the name of a value that follows it.
fn secret(text: &str, from: usize, end: usize) -> Option<Range<usize>> {
    // Some programs print a line break as `\n`. In this case the letter `n` is not part of the word.
    let is_escaped = text[..from].ends_with('\\') && end - from > 1;
    token(text, from, end, is_escaped)
        .or_else(|| announced(text, from, end))
        .or_else(|| is_escaped.then(|| announced(text, from + 1, end)).flatten())
}

/// The range of the secret value that follows the name at `from..end`.
fn announced(text: &str, from: usize, end: usize) -> Option<Range<usize>> {
    let (word, behind) = (&text[from..end], &text[end..]);
    let scheme = ["bearer", "basic"].into_iter().find(|it| word.eq_ignore_ascii_case(it));
    if let Some(scheme) = scheme {
        let value = &behind[blanks(behind)..];
        let length = open_end(value);
        // "basic" is also an ordinary English word, so its value must be base64-encoded.
        let is_value = value.len() < behind.len()
            && value.starts_with(is_word)
            && (scheme == "bearer" || is_base64(&value[..length]));
        let at = text.len() - value.len();
        return is_value.then_some(at..at + length);
    }
    let value = end + value_behind(behind, word)?;
    let name = word.trim_start_matches('-');
    // A name that is just `key` usually belongs to a map or to a model's weights, and its value is not a secret.
    if !is_secret_name(name) || is_class(name) || name.eq_ignore_ascii_case("key") {
        return None;
    }
    let within = secret_within(&text[value..], name, opening_quote(&text[..from]))?;
    Some(value + within.start..value + within.end)
}

/// Whether a word is base64-encoded credentials rather than an English word.
fn is_base64(word: &str) -> bool {
    let mixes = word.as_bytes().windows(2).any(|it| it[0].is_ascii_lowercase() && it[1].is_ascii_uppercase());
    word.contains(|it: char| it.is_ascii_digit() || it == '=') || (mixes && word.len().is_multiple_of(4))
}

/// The range of a token of a well-known form within the word at `from..end`.
fn token(text: &str, from: usize, end: usize, is_escaped: bool) -> Option<Range<usize>> {
    let word = &text[from..end];
    for (begin, least) in TOKENS {
        // A prefix inside a word only counts if the rest of the word consists of letters and digits, because English words also end in `sk-`.
        let is_token = |at: usize| {
            let behind = &word[at + begin.len()..];
            let is_begin = at == 0 || (at == 1 && is_escaped);
            let plain = behind.bytes().take_while(u8::is_ascii_alphanumeric).count();
            let may_stand_inside = begin != "sk-" || !word.as_bytes()[at.saturating_sub(1)].is_ascii_alphanumeric();
            if is_begin { behind.len() >= least } else { may_stand_inside && plain >= least }
        };
        if let Some((at, _)) = word.match_indices(begin).find(|(at, _)| is_token(*at)) {
            return Some(from + at..end);
        }
    }
    let at = from + usize::from(is_escaped && !word.starts_with(WEB_TOKEN.0));
    web_token(&text[at..end], &text[at..]).map(|length| at..at + length)
}

/// Length of the JSON web token at the beginning of the text. `None` if there is none.
fn web_token(word: &str, text: &str) -> Option<usize> {
    let (begin, least) = WEB_TOKEN;
    let head = word.strip_prefix(begin).filter(|it| it.len() >= least)?;
    // A token has three parts: header, payload and signature.
    let is_part = |it: char| is_word(it) || it == '.';
    let mut length = text.find(|it| !is_part(it)).unwrap_or(text.len());
    // A dot at the end belongs to the sentence, not to the token.
    length -= usize::from(text[..length].ends_with('.'));
    let payload = text[word.len()..length].strip_prefix('.').and_then(|it| it.split('.').next());
    if payload.is_some_and(|it| it.len() >= least) { Some(length) } else { (head.len() >= 20).then_some(word.len()) }
}

fn is_word(it: char) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, '_' | '-')
}

/// Whether a name belongs to an error class, such as `AuthenticationError`. The text after such a name is not a secret.
fn is_class(word: &str) -> bool {
    ["error", "exception", "warning"].into_iter().any(|it| ends_with(word, it))
}

/// Whether the value of a header with this name is the whole rest of the line, because such values can contain blanks.
fn is_header(name: &str) -> bool {
    ends_with(name, "authorization") || ends_with(name, "cookie")
}

fn ends_with(name: &str, end: &str) -> bool {
    name.len().checked_sub(end.len()).and_then(|at| name.get(at..)).is_some_and(|it| it.eq_ignore_ascii_case(end))
}

fn blanks(text: &str) -> usize {
    text.bytes().take_while(|it| matches!(it, b' ' | b'\t')).count()
}

/// A quotation mark, with the number of backslashes before it.
#[derive(Clone, Copy)]
struct Quote {
    mark: char,
    backslashes: usize,
}

impl Quote {
    /// The quote at the beginning of a text.
    fn first(text: &str) -> Option<Quote> {
        let backslashes = text.bytes().take_while(|it| *it == b'\\').count();
        let mark = text[backslashes..].chars().next().filter(|it| QUOTES.contains(it))?;
        Some(Quote { mark, backslashes })
    }

    fn length(self) -> usize {
        self.backslashes + 1
    }

    /// Position in `text` at which the quoted text ends. `text` begins after the opening quote.
    fn end(self, text: &str) -> usize {
        let closes = |at: usize| {
            let backslashes = at - text[..at].trim_end_matches('\\').len();
            let is_own = backslashes <= self.backslashes;
            let is_even = self.backslashes == 0 && backslashes.is_multiple_of(2);
            if is_own { Some(at - backslashes) } else { is_even.then_some(at) }
        };
        text.match_indices(self.mark).find_map(|(at, _)| closes(at)).unwrap_or(text.len())
    }
}

/// The quote at the end of a text.
fn opening_quote(before: &str) -> Option<Quote> {
    let mark = before.chars().next_back().filter(|it| QUOTES.contains(it))?;
    let before = &before[..before.len() - 1];
    Some(Quote { mark, backslashes: before.len() - before.trim_end_matches('\\').len() })
}

/// Start of the value after a name: behind `=`, `:`, or the blank after a flag. In a list of command words, a comma separates flag and value.
fn value_behind(rest: &str, word: &str) -> Option<usize> {
    let is_flag = word.starts_with("--");
    // The forms are `'api_key': ['a']`, `api_key=a`, `--api-key a` and `\"api_key\": \"a\"`.
    let quote = Quote::first(rest).map_or(0, Quote::length);
    let before = blanks(&rest[quote..]);
    let mut at = quote + before;
    let separator = &rest[at..];
    let is_listed = separator.starts_with(',') && quote > 0 && (is_flag || is_header(word));
    if separator.starts_with("::") {
        // A module path such as `auth::session` is not a name with a value.
        return None;
    } else if separator.starts_with(['=', ':']) {
        at += separator.bytes().take_while(|it| matches!(it, b'=' | b':' | b'>')).count();
    } else if is_listed {
        at += 1;
    } else if !is_flag || before == 0 {
        return None;
    }
    at += blanks(&rest[at..]);
    let value = &rest[at..];
    let is_value = !is_listed || quoted(value).is_some_and(|(begin, _)| !value[begin..].starts_with("--"));
    (!value.is_empty() && is_value).then_some(at)
}

/// The start of a quoted text and its quote. A prefix before the quote, such as the `b` of Python's bytes, is skipped.
fn quoted(value: &str) -> Option<(usize, Quote)> {
    let prefix = usize::from(value.starts_with(['b', 'r', 'u', 'f']));
    let at = |from: usize| Quote::first(&value[from..]).map(|it| (from + it.length(), it));
    at(0).or_else(|| at(prefix))
}

/// The range of the secret in the value of a name, without quotes. `None` if the value contains no secret. `around` is the quote before the name.
fn secret_within(value: &str, name: &str, around: Option<Quote>) -> Option<Range<usize>> {
    let until = |closing: char| value.find(closing).map_or(value.len(), |it| it + 1);
    let range = match (quoted(value), value.chars().next()?) {
        (Some((from, quote)), _) => from..from + quote.end(&value[from..]),
        (None, '[') => 0..until(']'),
        (None, '{') => 0..until('}'),
        (None, _) if is_header(name) && !is_absent(&value[..open_end(value)]) => {
            let line = value.find(['\n', '\r']).unwrap_or(value.len());
            0..around.map_or(line, |it| line.min(it.end(value)))
        }
        (None, _) => {
            // A scheme may precede the secret, as in `token: Bearer abc`.
            let is_scheme = |it: &&str| {
                value.get(..it.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(it))
                    && blanks(&value[it.len()..]) > 0
            };
            let scheme = ["bearer", "basic"].into_iter().find(is_scheme).map_or(0, str::len);
            let from = if scheme > 0 { scheme + blanks(&value[scheme..]) } else { 0 };
            from..from + open_end(&value[from..])
        }
    };
    let found = &value[range.clone()];
    // A token of a tokenizer's vocabulary, such as `<s>`, is not a secret.
    let is_vocabulary = ends_with(name, "token") && found.starts_with('<') && found.ends_with('>');
    (!is_absent(found) && !is_vocabulary && !found.starts_with(REDACTED)).then_some(range)
}

/// Whether programs print this text for an absent or boolean value, which is not a secret.
fn is_absent(value: &str) -> bool {
    ["", "None", "null", "True", "False", "true", "false", "[]", "{}"].contains(&value)
}

/// The end of an unquoted value: the next blank, comma or bracket, or the quote that closes the text around the value.
fn open_end(value: &str) -> usize {
    let is_end = |it: char| it.is_whitespace() || matches!(it, ',' | ')' | '}' | ']' | ';');
    let end = value.find(is_end).unwrap_or(value.len());
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
        assert_hidden("got Bearer abc.def-123 x", "abc.def-123", "got Bearer <redacted> x");
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
        // The base64 encodings of user:pass and user:pass1.
        assert_hidden("sent Basic dXNlcjpwYXNz", "dXNl", "sent Basic <redacted>");
        assert_hidden("sent Basic dXNlcjpwYXNzMQ==", "dXNl", "sent Basic <redacted>");
        assert_hidden("token=abc, port=8", "abc", "token=<redacted>, port=8");
        assert_hidden("{'api_key': ['a1', 'b2'], 'port': 1}", "a1", "{'api_key': <redacted>, 'port': 1}");
        assert_hidden("run --api-key abc --port 8", "abc", "run --api-key <redacted> --port 8");
        assert_hidden("HF_TOKEN: \"abc def\" x", "def", "HF_TOKEN: \"<redacted>\" x");
        assert_hidden("secret = abcdef", "abcdef", "secret = <redacted>");
    }

    #[test]
    fn a_header_field_is_hidden_to_the_end_of_its_line_or_quote() {
        for value in ["Bearer abc.def-123", "bearer abc.def-123", "basic dXNlcjpwYXNz", "Token x y", "Bearer  abc, def"]
        {
            assert_hidden(&format!("authorization: {value}"), value, "authorization: <redacted>");
            assert_hidden(&format!("a\nAuthorization: {value}\nb"), value, "a\nAuthorization: <redacted>\nb");
            assert_hidden(&format!("-H 'Authorization: {value}' u"), value, "-H 'Authorization: <redacted>' u");
            assert_hidden(
                &format!("{{\"authorization\": \"{value}\", 1}}"),
                value,
                "{\"authorization\": \"<redacted>\", 1}",
            );
            assert_hidden(&format!("(b'authorization', b'{value}')"), value, "(b'authorization', b'<redacted>')");
        }
        assert_hidden("Cookie: a=1; b=2", "b=2", "Cookie: <redacted>");
        assert_hidden("sent bearer \t abcdefgh x", "abcdefgh", "sent bearer \t <redacted> x");
        assert_hidden("token: bearer  abcdefgh x", "abcdefgh", "token: bearer  <redacted> x");
    }

    #[test]
    fn names_of_secrets_have_many_forms() {
        for name in
            ["passwd", "db_passwd", "accessToken", "secretkey", "SECRET_KEY", "apiKey", "hf-token", "clientSecret"]
        {
            assert_hidden(&format!("{name}=hunter22, a"), "hunter22", &format!("{name}=<redacted>, a"));
            assert_hidden(&format!("'{name}' : 'hunter22'"), "hunter22", &format!("'{name}' : '<redacted>'"));
            assert_hidden(&format!("{name} => hunter22"), "hunter22", &format!("{name} => <redacted>"));
        }
        assert_hidden("password=<s3cr3t", "s3cr3t", "password=<redacted>");
        assert_hidden("password=<s3cr3t>", "s3cr3t", "password=<redacted>");
        assert_hidden("api_key=\"ab\\\"cd\" x", "cd", "api_key=\"<redacted>\" x");
    }

    #[test]
    fn a_secret_is_found_in_what_programs_print_of_texts_and_lists() {
        let token = "hf_abcdefghijklmnopqrstuvwxyz";
        assert_hidden(&format!("'a\\n{token}'"), token, "'a\\n<redacted>'");
        assert_hidden("'a\\npassword=abcd'", "abcd", "'a\\npassword=<redacted>'");
        assert_hidden("'a\\nsk-abcdefghijklmnop1234'", "sk-abc", "'a\\n<redacted>'");
        assert_hidden("{\\\"api_key\\\": \\\"x y\\\", 1}", "x y", "{\\\"api_key\\\": \\\"<redacted>\\\", 1}");
        assert_hidden("['--api-key', 'x y', '--port']", "x y", "['--api-key', '<redacted>', '--port']");
        assert_hidden("[\"--hf-token\", \"x\"]", "\"x\"", "[\"--hf-token\", \"<redacted>\"]");
        assert_hidden(&format!("prefix_{token}"), token, "prefix_<redacted>");
    }

    #[test]
    fn colours_hide_no_secret() {
        let token = "hf_abcdefghijklmnopqrstuvwxyz";
        assert_hidden(&format!("\u{1b}[0;0m{token}\u{1b}[0m."), token, "<redacted>.");
        assert_hidden(&format!("'\\x1b[0;0m{token}'"), token, "'<redacted>'");
        assert_hidden("\u{1b}[36mapi_key\u{1b}[0m=\u{1b}[35mabcd\u{1b}[0m", "abcd", "api_key=<redacted>");
        let clean = "\u{1b}[36mINFO\u{1b}[0m started [1]";
        assert_eq!(redact(clean), clean);
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
            "['--api-key', '--port', '8'] ['api_key', 'model']",
            "a basic FlashAttention, auth::session started task-abcdefgh-ijklmnop-0",
            "load get_hf_text_config_override_values, bos_token=<s>, eos_token='</s>'",
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
