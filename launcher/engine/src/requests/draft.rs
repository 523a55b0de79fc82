//! The data that a source writes for one request.

use std::sync::Arc;

use workload_profiles::workload::PromptForm;

use crate::{
    client::body::{Content, Prompt},
    image::Image,
};

/// The content of one request. Its buffers are reused for the next request.
#[derive(Debug, Default)]
pub struct Draft {
    /// The form of `prompt`.
    pub form: PromptForm,
    /// A text, or a JSON list of token ids or messages.
    pub prompt: String,
    /// The text of a system message before the prompt; empty: none.
    pub system: String,
    /// Images in the message of the user.
    pub images: Vec<Arc<Image>>,
    /// Whether the images follow its text.
    pub images_last: bool,
}

impl Draft {
    /// Empties all buffers.
    pub fn clear(&mut self) {
        self.form = PromptForm::default();
        self.prompt.clear();
        self.system.clear();
        self.images.clear();
        self.images_last = false;
    }

    /// The content of a body. `max_tokens`: maximum tokens of the answer; `None`: the server decides.
    pub fn content(&self, max_tokens: Option<u32>) -> Content<'_> {
        Content {
            system: &self.system,
            images: &self.images,
            images_last: self.images_last,
            ..Content::new(Prompt::new(self.form, &self.prompt), max_tokens)
        }
    }
}
