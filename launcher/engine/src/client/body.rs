//! The JSON body of a generation request. Pure.

use std::io::Write as _;

use bytes::Bytes;
use crds::benchmark_run::Api;
use workload_profiles::workload::{LengthField, PromptForm, Sampling};

/// The field in which vLLM takes the wish for token ids.
const RETURN_TOKEN_IDS: &str = "return_token_ids";

/// The part of a body that all requests of a run share: the text around the prompt.
#[derive(Clone, Debug)]
pub struct BodyTemplate {
    form: PromptForm,
    before: Vec<u8>,
    after: Vec<u8>,
    /// Name of the field of the requested length, with what precedes it.
    length: &'static [u8],
    min_tokens: Option<u32>,
    rest: Vec<u8>,
    /// The rest of the body of a request that asks for token ids.
    rest_with_ids: Vec<u8>,
}

impl BodyTemplate {
    /// The output length is requested with `max_tokens`, which every server knows, unless the chat API is to use its
    /// later name. A streamed request also asks for the usage. A chat cannot hold token ids: see
    /// [`BodyTemplate::can_hold`].
    pub fn new(api: Api, model: &str, streaming: bool, sampling: &Sampling, form: PromptForm) -> BodyTemplate {
        let mut before = b"{\"model\":".to_vec();
        before.extend(quoted(model));
        let (start, after): (&[u8], &[u8]) = match (api, form) {
            (Api::Completions, PromptForm::Text | PromptForm::Messages) => (b",\"prompt\":\"", b"\""),
            (Api::Completions, PromptForm::TokenIds) => (b",\"prompt\":", b""),
            (Api::Responses, _) => (b",\"input\":\"", b"\""),
            (Api::Chat | Api::Messages, _) => (b",\"messages\":[{\"role\":\"user\",\"content\":\"", b"\"}]"),
        };
        before.extend(start);
        let length: &[u8] = match (api, sampling.length_field) {
            (Api::Responses, _) => b",\"max_output_tokens\":",
            (Api::Chat, LengthField::MaxCompletionTokens) => b",\"max_completion_tokens\":",
            _ => b",\"max_tokens\":",
        };
        BodyTemplate {
            form,
            before,
            after: after.to_vec(),
            length,
            min_tokens: sampling.min_tokens,
            rest: rest(sampling, streaming, false),
            rest_with_ids: rest(sampling, streaming, true),
        }
    }

    pub fn can_hold(api: Api, form: PromptForm) -> bool {
        !(api.has_messages() && form == PromptForm::TokenIds)
    }

    /// The body for a prompt, which is a text or a JSON list of token ids. `max_tokens`: `None` lets the server decide.
    /// With `token_ids` the request asks for the token ids of its output, as vLLM allows.
    pub fn body(&self, prompt: &str, max_tokens: Option<u32>, token_ids: bool) -> Bytes {
        let rest = if token_ids { &self.rest_with_ids } else { &self.rest };
        let around = self.before.len() + self.after.len() + rest.len();
        let mut body = Vec::with_capacity(around + prompt.len() + 64);
        body.extend_from_slice(&self.before);
        if self.form == PromptForm::Text && needs_escapes(prompt) {
            let quoted = quoted(prompt);
            body.extend_from_slice(&quoted[1..quoted.len() - 1]);
        } else {
            body.extend_from_slice(prompt.as_bytes());
        }
        body.extend_from_slice(&self.after);
        if let Some(max_tokens) = max_tokens {
            body.extend_from_slice(self.length);
            write!(body, "{max_tokens}").expect("a Vec takes every write");
        }
        if let Some(least) = self.min_tokens {
            // A server refuses a minimum length above the maximum.
            let least = max_tokens.map_or(least, |most| least.min(most));
            write!(body, ",\"min_tokens\":{least}").expect("a Vec takes every write");
        }
        body.extend_from_slice(rest);
        body.into()
    }
}

/// The part of the body after the lengths.
fn rest(sampling: &Sampling, streaming: bool, token_ids: bool) -> Vec<u8> {
    let mut rest = Vec::new();
    if sampling.ignore_eos {
        rest.extend(b",\"ignore_eos\":true");
    }
    // If a field occurs twice, the last one counts.
    for (name, value) in sampling.extra.iter().filter(|(name, _)| !(token_ids && *name == RETURN_TOKEN_IDS)) {
        rest.push(b',');
        rest.extend(quoted(name));
        rest.push(b':');
        rest.extend(value.to_string().bytes());
    }
    if token_ids {
        rest.extend(format!(",\"{RETURN_TOKEN_IDS}\":true").bytes());
    }
    if streaming {
        rest.extend(b",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    }
    rest.push(b'}');
    rest
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
        let body = template.body(prompt, max_tokens, false);
        assert_eq!(std::str::from_utf8(&body).unwrap(), expected);
        let parsed: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let found = parsed.get("prompt").or_else(|| parsed.pointer("/messages/0/content")).unwrap();
        assert_eq!(found, prompt);
    }

    fn template(api: Api, streaming: bool, sampling: &str, form: PromptForm) -> BodyTemplate {
        BodyTemplate::new(api, "m", streaming, &serde_json::from_str(sampling).unwrap(), form)
    }

    #[test]
    fn a_completion_asks_for_what_was_asked() {
        let template = template(Api::Completions, true, r#"{"ignoreEos":true}"#, PromptForm::Text);
        let expected = r#"{"model":"m","prompt":"a b","max_tokens":7,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}"#;
        check(&template, "a b", Some(7), expected);
    }

    #[test]
    fn a_chat_has_one_message_and_leaves_out_what_was_not_asked() {
        let template = BodyTemplate::new(Api::Chat, "org/\"m\"", false, &Sampling::default(), PromptForm::Text);
        let expected = r#"{"model":"org/\"m\"","messages":[{"role":"user","content":"a\n\"b\"\\"}]}"#;
        check(&template, "a\n\"b\"\\", None, expected);
    }

    #[test]
    fn token_ids_are_a_list() {
        let template = template(Api::Completions, false, "{}", PromptForm::TokenIds);
        let body = template.body("[5,6,7]", Some(2), false);
        assert_eq!(body, r#"{"model":"m","prompt":[5,6,7],"max_tokens":2}"#);
        assert!(BodyTemplate::can_hold(Api::Completions, PromptForm::TokenIds));
        assert!(!BodyTemplate::can_hold(Api::Chat, PromptForm::TokenIds));
    }

    #[test]
    fn token_ids_of_the_output_are_asked_for_once_and_only_where_they_are_wanted() {
        let sampling = r#"{"extra":{"return_token_ids":false,"top_k":1}}"#;
        let template = template(Api::Completions, true, sampling, PromptForm::Text);
        let end = r#""stream":true,"stream_options":{"include_usage":true}}"#;
        let body = template.body("a", Some(2), true);
        let expected = format!(r#"{{"model":"m","prompt":"a","max_tokens":2,"top_k":1,"return_token_ids":true,{end}"#);
        assert_eq!(body, expected);
        let body = template.body("a", Some(2), false);
        let expected = format!(r#"{{"model":"m","prompt":"a","max_tokens":2,"return_token_ids":false,"top_k":1,{end}"#);
        assert_eq!(body, expected);
    }

    #[test]
    fn a_chat_may_use_the_later_name_of_the_length() {
        let sampling = r#"{"lengthField":"maxCompletionTokens"}"#;
        let chat = template(Api::Chat, false, sampling, PromptForm::Text);
        let expected = r#"{"model":"m","messages":[{"role":"user","content":"a"}],"max_completion_tokens":7}"#;
        check(&chat, "a", Some(7), expected);
        let completion = template(Api::Completions, false, sampling, PromptForm::Text);
        check(&completion, "a", Some(7), r#"{"model":"m","prompt":"a","max_tokens":7}"#);
    }

    #[test]
    fn further_fields_go_along_as_they_are() {
        let sampling =
            r#"{"minTokens":5,"ignoreEos":true,"extra":{"top_p":0.9,"stop":["a\"b"],"temperature":0,"x \"y\"":null}}"#;
        let template = template(Api::Completions, true, sampling, PromptForm::Text);
        let expected = |min| {
            format!(
                r#""min_tokens":{min},"ignore_eos":true,"stop":["a\"b"],"temperature":0,"top_p":0.9,"x \"y\"":null,"stream":true,"stream_options":{{"include_usage":true}}}}"#
            )
        };
        check(&template, "a", Some(7), &format!(r#"{{"model":"m","prompt":"a","max_tokens":7,{}"#, expected(5)));
        // The minimum is never above the requested length.
        check(&template, "a", Some(3), &format!(r#"{{"model":"m","prompt":"a","max_tokens":3,{}"#, expected(3)));
        check(&template, "a", None, &format!(r#"{{"model":"m","prompt":"a",{}"#, expected(5)));
    }
}
