//! The content that a request source writes for one request.

use std::sync::Arc;

use workload_profiles::workload::PromptForm;

use crate::{
    client::body::{Content, Prompt},
    image::Image,
};

/// The content of one request. Its buffers are reused for the next request.
#[derive(Debug, Default)]
pub struct Draft {
    /// The form of [`Draft::prompt`].
    pub form: PromptForm,
    /// A text, or a JSON list of token ids or of messages.
    pub prompt: String,
    /// Text of a system message before the prompt; empty: none.
    pub system: String,
    /// Images in the user message.
    pub images: Vec<Arc<Image>>,
    /// Whether the images follow the text of the message.
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

    /// Returns the content of a request body. `max_tokens` is the maximum output tokens; `None` means that the server decides.
    pub fn content(&self, max_tokens: Option<u32>) -> Content<'_> {
        Content {
            system: &self.system,
            images: &self.images,
            images_last: self.images_last,
            ..Content::new(Prompt::new(self.form, &self.prompt), max_tokens)
        }
    }
}
