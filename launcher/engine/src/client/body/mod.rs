//! The JSON body of a generation request. Pure.
//!
//! [`BodyTemplate`] holds the fields that all requests of a traffic class share. `message` writes the prompt in the format of each API.

mod message;
#[cfg(test)]
mod tests;

use std::{io::Write as _, sync::Arc};

use bytes::Bytes;
use crds::benchmark_run::Api;
use workload_profiles::workload::{Departure, LengthField, PromptForm, Sampling, TrafficClass, Workload};

use crate::image::Image;

/// The vLLM request field that requests token ids in the response.
const RETURN_TOKEN_IDS: &str = "return_token_ids";

/// The prompt of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt<'a> {
    /// A text. In a chat it is the message of the user.
    Text(&'a str),
    /// A JSON list of token ids. Completions only: see [`BodyTemplate::can_hold`].
    TokenIds(&'a str),
    /// A JSON list of chat messages, each with `role` and `content`. In a completion, their texts are joined with spaces.
    Messages(&'a str),
}

impl<'a> Prompt<'a> {
    /// Creates a prompt of the given form from its text.
    pub fn new(form: PromptForm, text: &'a str) -> Prompt<'a> {
        match form {
            PromptForm::Text => Prompt::Text(text),
            PromptForm::TokenIds => Prompt::TokenIds(text),
            PromptForm::Messages => Prompt::Messages(text),
        }
    }

    fn written(self) -> &'a str {
        match self {
            Prompt::Text(text) | Prompt::TokenIds(text) | Prompt::Messages(text) => text,
        }
    }
}

/// The part of one request's body that is not in the template.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    pub prompt: Prompt<'a>,
    /// Text of a system message before the prompt; empty: none. In a completion it is put before the prompt, separated by a space.
    pub system: &'a str,
    /// Images in the user message. They are omitted in a completion, and if the prompt is not [`Prompt::Text`].
    pub images: &'a [Arc<Image>],
    /// Whether the images follow the text of the message.
    pub images_last: bool,
    /// Additional fields of this request, as the members of a JSON object without its braces; empty: none. They must not repeat fields that
    /// the launcher or the template sets.
    pub fields: &'a str,
    /// Maximum output tokens; `None` means that the server decides.
    pub max_tokens: Option<u32>,
    /// Whether the request requires vLLM to return the token ids of its output.
    pub token_ids: bool,
    /// Whether the model can end the answer early, even if the template forbids it. Must not be combined with `token_ids`.
    pub may_end: bool,
}

impl<'a> Content<'a> {
    /// Content with a prompt only.
    pub fn new(prompt: Prompt<'a>, max_tokens: Option<u32>) -> Content<'a> {
        Content {
            prompt,
            system: "",
            images: &[],
            images_last: false,
            fields: "",
            max_tokens,
            token_ids: false,
            may_end: false,
        }
    }
}

/// The response format that a request selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streaming {
    /// One JSON document.
    Off,
    /// A stream of events. The last event contains the usage.
    On,
    /// A stream of events that each contain the usage so far. The request sets the option `continuous_usage_stats`.
    WithRunningUsage,
}

impl Streaming {
    /// Returns the format for a workload. Clients that disconnect after a number of tokens need the running usage, because one event can contain
    /// several tokens.
    pub fn from_workload(workload: &Workload) -> Streaming {
        let counts_tokens = workload.abandonment.is_some_and(|it| matches!(it.after, Departure::Tokens(_)));
        match (workload.streaming, counts_tokens) {
            (false, _) => Streaming::Off,
            (true, false) => Streaming::On,
            (true, true) => Streaming::WithRunningUsage,
        }
    }
}

/// The part of a body that all requests of a run, or of a traffic class, share.
#[derive(Clone, Debug)]
pub struct BodyTemplate {
    api: Api,
    /// The start of the body, up to the prompt.
    start: Vec<u8>,
    /// The field for the maximum output length, up to its value: a comma, the name and a colon.
    length: &'static [u8],
    min_tokens: Option<u32>,
    rest: Vec<u8>,
    /// The rest of the body if token ids are requested.
    rest_with_ids: Vec<u8>,
    /// The rest of the body if the answer can end early.
    rest_that_may_end: Vec<u8>,
}

impl BodyTemplate {
    /// Creates the template of a workload. The output length is requested with `max_tokens`, which every server knows, unless the chat API
    /// is configured to use the newer name. A streamed request also requests the usage.
    pub fn new(api: Api, model: &str, streaming: Streaming, sampling: &Sampling) -> BodyTemplate {
        BodyTemplate::with_fields(api, model, streaming, sampling, None)
    }

    /// The template of a traffic class. The class's model and fields override the workload's.
    pub fn of_class(
        api: Api,
        model: &str,
        streaming: Streaming,
        sampling: &Sampling,
        class: &TrafficClass,
    ) -> BodyTemplate {
        let model = class.model.as_deref().unwrap_or(model);
        BodyTemplate::with_fields(api, model, streaming, sampling, Some(class))
    }

    fn with_fields(
        api: Api,
        model: &str,
        streaming: Streaming,
        sampling: &Sampling,
        class: Option<&TrafficClass>,
    ) -> BodyTemplate {
        let mut start = b"{\"model\":".to_vec();
        push_quoted(&mut start, model);
        let length: &[u8] = match (api, sampling.length_field) {
            (Api::Responses, _) => b",\"max_output_tokens\":",
            (Api::Chat, LengthField::MaxCompletionTokens) => b",\"max_completion_tokens\":",
            _ => b",\"max_tokens\":",
        };
        let may_end = Sampling { ignore_eos: false, ..sampling.clone() };
        let rest = |token_ids| rest(api, sampling, class, streaming, token_ids);
        BodyTemplate {
            api,
            start,
            length,
            min_tokens: sampling.min_tokens,
            rest: rest(false),
            rest_with_ids: rest(true),
            rest_that_may_end: self::rest(api, &may_end, class, streaming, false),
        }
    }

    /// Whether a request of this API can hold a prompt of this form.
    pub fn can_hold(api: Api, form: PromptForm) -> bool {
        !(api.has_messages() && form == PromptForm::TokenIds)
    }

    /// Returns the body of a request.
    pub fn body(&self, content: &Content<'_>) -> Bytes {
        self.with_prompt(content, |body| message::push(self.api, content, body))
    }

    /// Appends the prompt of a completion to `prompts`, a JSON list without the closing bracket.
    pub fn push_prompt(content: &Content<'_>, prompts: &mut Vec<u8>) {
        prompts.push(if prompts.is_empty() { b'[' } else { b',' });
        let name = prompts.len();
        message::push(Api::Completions, content, prompts);
        prompts.drain(name..name + message::PROMPT.len());
    }

    /// Returns the body of a completion request with several prompts, which [`BodyTemplate::push_prompt`] has written. It requests token
    /// ids, because only they show the length of each answer.
    pub fn batch_body(&self, prompts: &[u8], max_tokens: Option<u32>) -> Bytes {
        let content = Content { token_ids: true, ..Content::new(Prompt::Text(""), max_tokens) };
        self.with_prompt(&content, |body| {
            body.reserve(prompts.len());
            body.extend_from_slice(message::PROMPT);
            body.extend_from_slice(if prompts.is_empty() { b"[" } else { prompts });
            body.push(b']');
        })
    }

    fn with_prompt(&self, content: &Content<'_>, push: impl FnOnce(&mut Vec<u8>)) -> Bytes {
        let rest = match (content.token_ids, content.may_end) {
            (true, _) => &self.rest_with_ids,
            (false, true) => &self.rest_that_may_end,
            (false, false) => &self.rest,
        };
        let images: usize = content.images.iter().map(|it| it.base64.len() + 128).sum();
        let texts = content.prompt.written().len() + content.system.len() + content.fields.len();
        let mut body = Vec::with_capacity(self.start.len() + texts + images + rest.len() + 256);
        body.extend_from_slice(&self.start);
        push(&mut body);
        if let Some(max_tokens) = content.max_tokens {
            body.extend_from_slice(self.length);
            write!(body, "{max_tokens}").expect("a Vec takes every write");
        }
        if let Some(least) = self.min_tokens {
            // Servers reject a minimum length above the maximum.
            let least = content.max_tokens.map_or(least, |most| least.min(most));
            write!(body, ",\"min_tokens\":{least}").expect("a Vec takes every write");
        }
        if !content.fields.is_empty() {
            body.push(b',');
            body.extend_from_slice(content.fields.as_bytes());
        }
        body.extend_from_slice(rest);
        body.into()
    }
}

/// Returns the part of the body after the length fields.
fn rest(api: Api, sampling: &Sampling, class: Option<&TrafficClass>, streaming: Streaming, token_ids: bool) -> Vec<u8> {
    let mut rest = Vec::new();
    if sampling.ignore_eos {
        rest.extend(b",\"ignore_eos\":true");
    }
    let of_class = |name: &str| class.is_some_and(|it| it.extra.iter().any(|(other, _)| other == name));
    let of_workload = sampling.extra.iter().filter(|(name, _)| !of_class(name));
    let fields = of_workload.chain(class.iter().flat_map(|it| it.extra.iter()));
    // These fields come last, because a server uses the last value of a repeated field.
    for (name, value) in fields.filter(|(name, _)| !(token_ids && *name == RETURN_TOKEN_IDS)) {
        rest.push(b',');
        push_quoted(&mut rest, name);
        rest.push(b':');
        rest.extend(value.to_string().bytes());
    }
    if token_ids {
        rest.extend(format!(",\"{RETURN_TOKEN_IDS}\":true").bytes());
    }
    if streaming != Streaming::Off {
        rest.extend(b",\"stream\":true");
        // The other APIs always report the usage at the end of a stream.
        if matches!(api, Api::Completions | Api::Chat) {
            let running =
                if streaming == Streaming::WithRunningUsage { ",\"continuous_usage_stats\":true" } else { "" };
            rest.extend(format!(",\"stream_options\":{{\"include_usage\":true{running}}}").bytes());
        }
    }
    rest.push(b'}');
    rest
}

/// Appends a JSON string with its quotes.
fn push_quoted(body: &mut Vec<u8>, text: &str) {
    body.push(b'"');
    push_text(body, text);
    body.push(b'"');
}

/// Appends the escaped content of a JSON string, without quotes.
fn push_text(body: &mut Vec<u8>, text: &str) {
    if text.bytes().any(|it| it < b' ' || it == b'"' || it == b'\\') {
        let quoted = serde_json::to_vec(text).expect("every text has a form in JSON");
        body.extend_from_slice(&quoted[1..quoted.len() - 1]);
    } else {
        body.extend_from_slice(text.as_bytes());
    }
}
