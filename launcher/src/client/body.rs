//! The JSON body of a generation request. Pure.

use std::io::Write as _;

use bytes::Bytes;
use crds::benchmark_run::Api;

/// What all requests of a run have in common, as the text around the prompt.
#[derive(Clone, Debug)]
pub struct BodyTemplate {
    before: Vec<u8>,
    after: Vec<u8>,
    rest: Vec<u8>,
}

impl BodyTemplate {
    /// The output length is asked with `max_tokens`, which every server knows; a stream is asked to tell its usage.
    pub fn new(api: Api, model: &str, streaming: bool, ignore_eos: bool) -> BodyTemplate {
        let mut before = b"{\"model\":".to_vec();
        before.extend(quoted(model));
        let after: &[u8] = match api {
            Api::Completions => {
                before.extend(b",\"prompt\":\"");
                b"\""
            }
            Api::Chat => {
                before.extend(b",\"messages\":[{\"role\":\"user\",\"content\":\"");
                b"\"}]"
            }
        };
        let mut rest = Vec::new();
        if ignore_eos {
            rest.extend(b",\"ignore_eos\":true");
        }
        if streaming {
            rest.extend(b",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
        }
        rest.push(b'}');
        BodyTemplate { before, after: after.to_vec(), rest }
    }

    /// The body for a prompt. `max_tokens` absent: the server decides.
    pub fn body(&self, prompt: &str, max_tokens: Option<u32>) -> Bytes {
        let mut body = Vec::with_capacity(self.before.len() + prompt.len() + self.after.len() + self.rest.len() + 32);
        body.extend_from_slice(&self.before);
        if needs_escapes(prompt) {
            let quoted = quoted(prompt);
            body.extend_from_slice(&quoted[1..quoted.len() - 1]);
        } else {
            body.extend_from_slice(prompt.as_bytes());
        }
        body.extend_from_slice(&self.after);
        if let Some(max_tokens) = max_tokens {
            write!(body, ",\"max_tokens\":{max_tokens}").expect("a Vec takes every write");
        }
        body.extend_from_slice(&self.rest);
        body.into()
    }
}

fn needs_escapes(text: &str) -> bool {
    text.bytes().any(|it| it < b' ' || it == b'"' || it == b'\\')
}

fn quoted(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("every text has a form in JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &BodyTemplate, prompt: &str, max_tokens: Option<u32>, expected: &str) {
        let body = template.body(prompt, max_tokens);
        assert_eq!(std::str::from_utf8(&body).unwrap(), expected);
        let parsed: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let found = parsed.get("prompt").or_else(|| parsed.pointer("/messages/0/content")).unwrap();
        assert_eq!(found, prompt);
    }

    #[test]
    fn a_completion_asks_for_what_was_asked() {
        let template = BodyTemplate::new(Api::Completions, "m", true, true);
        let expected = r#"{"model":"m","prompt":"a b","max_tokens":7,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}"#;
        check(&template, "a b", Some(7), expected);
    }

    #[test]
    fn a_chat_has_one_message_and_leaves_out_what_was_not_asked() {
        let template = BodyTemplate::new(Api::Chat, "org/\"m\"", false, false);
        let expected = r#"{"model":"org/\"m\"","messages":[{"role":"user","content":"a\n\"b\"\\"}]}"#;
        check(&template, "a\n\"b\"\\", None, expected);
    }
}
