//! The keys of a request. They appear in three places: in the profile's `request`, beside the keys of a class, and in a class's `request`. Later
//! places override earlier ones, key by key.

use super::prompts::Prompt;
use crate::{formats::common::bounds::MAX_TOKENS, reader::Section};

/// Default output length, as in llm-d-benchmark.
const MAX_ANSWER: u32 = 32;

/// The keys of a request from one place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request<'a> {
    /// The values of `promptTemplate` and `prompt_template`.
    templates: [Option<&'a str>; 2],
    prompt: Option<&'a str>,
    repeat: Option<u32>,
    max_tokens: Option<u32>,
    stream: Option<bool>,
}

impl<'a> Request<'a> {
    /// Reads a section `request`.
    pub fn read(section: Section<'a>) -> Request<'a> {
        let stream = section.bool("stream");
        let request = Request { stream, ..Request::of_class(&section) };
        section.finish();
        request
    }

    /// Reads the keys that can appear beside the keys of a class.
    pub fn of_class(section: &Section<'a>) -> Request<'a> {
        Request {
            templates: [section.text("promptTemplate"), section.text("prompt_template")],
            prompt: section.text("prompt"),
            repeat: section.count_u32("promptRepeat", 1..=MAX_TOKENS),
            max_tokens: section.count_u32("max_tokens", 1..=MAX_TOKENS),
            stream: None,
        }
    }

    /// Returns these keys of a request. A key that is absent here comes from `other`.
    pub fn or(self, other: Request<'a>) -> Request<'a> {
        let [camel, snake] = self.templates;
        let [other_camel, other_snake] = other.templates;
        Request {
            templates: [camel.or(other_camel), snake.or(other_snake)],
            prompt: self.prompt.or(other.prompt),
            repeat: self.repeat.or(other.repeat),
            max_tokens: self.max_tokens.or(other.max_tokens),
            stream: self.stream.or(other.stream),
        }
    }

    /// Returns the prompt. A template takes precedence over a prompt, wherever both appear. `None` if the prompt has no words or too many.
    pub fn prompt(&self) -> Option<Prompt<'a>> {
        let repeat = self.repeat.unwrap_or(1);
        let template = self.templates.into_iter().flatten().find(|it| !it.is_empty());
        match (template, self.prompt) {
            (Some(template), _) => Prompt::template(template, repeat),
            (None, Some(prompt)) => Prompt::text(prompt, repeat),
            (None, None) => Prompt::default(repeat),
        }
    }

    pub fn max_tokens(&self) -> u32 {
        self.max_tokens.unwrap_or(MAX_ANSWER)
    }

    pub fn streams(&self) -> bool {
        self.stream.unwrap_or(false)
    }
}
