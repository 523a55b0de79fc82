//! [I/O] Renders rows with the model's own chat template, and converts them to token ids.

use std::path::Path;

use chat_template::{Chat, ChatTemplate};
use jiff::civil::DateTime;
use serde_json::{Map, Value, json};
use tokenizer::Tokenizer;
use workload_profiles::workload::ChatRendering;

use files::file_digest::FileDigest;
use prompts::model_folder::{self, ModelFolderError};

/// A model's chat template and its tokenizer.
#[derive(Debug)]
pub(super) struct Chats {
    template: ChatTemplate,
    tokenizer: Tokenizer,
    /// Variables for the template: the special tokens by name, and the variables from the profile.
    variables: Map<String, Value>,
    now: DateTime,
}

impl Chats {
    /// Reads the template from the tokenizer's folder. Also returns the digest of the template's file. `now` is the local time, for templates that
    /// print the date. The folder's setting for the BOS token is ignored, because the template itself adds that token.
    ///
    /// # Errors
    /// The tokenizer or the template does not exist, or cannot be used.
    pub(super) fn read(
        rendering: &ChatRendering,
        tokenizer: &Path,
        now: DateTime,
    ) -> Result<(Chats, FileDigest), ModelFolderError> {
        let model = model_folder::read(tokenizer)?;
        let template = model.chat_template(false)?;
        let file = model.template_digest()?;
        let mut variables = model.config.map(|it| it.special_tokens).unwrap_or_default();
        variables.extend(rendering.arguments.clone());
        let chats = Chats { template, tokenizer: model.tokenizer, variables, now };
        Ok((chats, file))
    }

    /// Returns the token ids of a text that is sent as one user message.
    ///
    /// # Errors
    /// See [`Chats::ids_of`].
    pub(super) fn ids_of_text(&self, text: &str) -> Result<Vec<u32>, String> {
        self.ids_of(&json!([{"role": "user", "content": text}]))
    }

    /// Returns the token ids of messages, given as a JSON list.
    ///
    /// # Errors
    /// See [`Chats::ids_of`].
    pub(super) fn ids_of_messages(&self, messages: &str) -> Result<Vec<u32>, String> {
        let messages = serde_json::from_str(messages).map_err(|_| "holds no list of messages".to_owned())?;
        self.ids_of(&messages)
    }

    /// Returns the token ids of messages, including the start of the model's answer. Only the template adds special tokens.
    ///
    /// # Errors
    /// The problem with the row, and the remedy.
    fn ids_of(&self, messages: &Value) -> Result<Vec<u32>, String> {
        let chat = Chat {
            messages,
            tools: None,
            documents: None,
            add_generation_prompt: true,
            variables: &self.variables,
            now: Some(self.now),
        };
        let remedy = "leave the row out, or change the arguments of chatTemplate";
        let text = self.template.render(&chat).map_err(|error| format!("cannot be rendered: {error}; {remedy}"))?;
        let ids = self.tokenizer.ids(&text).map_err(|error| {
            format!("is a chat that the tokenizer cannot encode: the tokenizer {error}; leave the row out")
        })?;
        if ids.is_empty() { Err(format!("is an empty prompt once it is rendered; {remedy}")) } else { Ok(ids) }
    }
}
