//! What looks like a secret in the words of a program that is not ours, such as the log of a model server. Pure.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

use crate::resolve::REDACTED;

/// Tokens that are known by their form, credentials of a URL, and values behind the name of a secret. The value is the last group.
static SECRETS: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        // Hugging Face, OpenAI and the like, GitHub, GitLab, NVIDIA, AWS, and JSON web tokens.
        r"()((?-u:\bhf_[A-Za-z0-9]{16,}|\bsk-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}|\bnvapi-[A-Za-z0-9_-]{16,}|\bAKIA[A-Z0-9]{16}\b|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?))",
        r"(?i-u:(\b(?:bearer|basic)\s+))([A-Za-z0-9._~+/=-]{8,})",
        r"((?-u:\b)[a-z][a-z0-9+.-]*://)([^/\s@]+:[^/\s@]+)@",
        r#"(?i-u:(\b(?:[a-z0-9]+[_-])*(?:api[_-]?key|access[_-]?key|secret[_-]?key|hf[_-]?token|hub[_-]?token|auth[_-]?token|access[_-]?token|password|passwd|secret)["']?\s*[:=]\s*["']?))([^\s"',;)\]}]{4,})"#,
    ];
    Regex::new(&forms.join("|")).expect("the pattern is a regular expression")
});

/// A text without what looks like a secret.
pub fn redact(text: &str) -> Cow<'_, str> {
    SECRETS.replace_all(text, |found: &regex::Captures<'_>| {
        let groups: Vec<_> = found.iter().skip(1).flatten().collect();
        let [before, secret] = groups.as_slice() else { return REDACTED.to_owned() };
        // What a program prints for an absent value is no secret.
        if ["None", "null", "True", "False", "true", "false", REDACTED].contains(&secret.as_str()) {
            return found[0].to_owned();
        }
        let after = &found[0][secret.end() - found.get(0).map_or(0, |it| it.start())..];
        format!("{}{REDACTED}{after}", before.as_str())
    })
}

#[cfg(test)]
mod tests {
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
    }

    #[test]
    fn what_an_engine_writes_of_tokens_and_keys_stays() {
        for line in [
            "Maximum concurrency for 8,192 tokens per request: 3.5x",
            "api_key=None, max_tokens=16, bos_token='<s>', tokenizer='org/model'",
            "Loading safetensors checkpoint shards: 100% Completed | 4/4",
            "Started server process [1234] on http://0.0.0.0:8000/v1",
            "key_cache block_size: 16",
        ] {
            assert_eq!(redact(line), line);
        }
    }
}
