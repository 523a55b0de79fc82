//! Decodes token ids to text like the Python library transformers. Pure.

use std::sync::atomic::{AtomicU64, Ordering};

use accuracy::clean_up;
use tokenizer::Tokenizer;

/// Decodes token ids to text. Several threads can use it.
#[derive(Debug)]
pub struct Decoder<'a> {
    tokenizer: &'a Tokenizer,
    cleans: bool,
    /// The first token id that the tokenizer does not have. All higher ids are unknown, too.
    bound: u32,
    /// Number of answers that contain ids unknown to the tokenizer.
    foreign: AtomicU64,
}

impl Decoder<'_> {
    /// Creates a decoder. `cleans` states whether to remove spaces before punctuation, like `clean_up_tokenization_spaces`.
    pub fn new(tokenizer: &Tokenizer, cleans: bool) -> Decoder<'_> {
        Decoder { tokenizer, cleans, bound: tokenizer.id_bound(), foreign: AtomicU64::new(0) }
    }

    /// Decodes token ids to text.
    ///
    /// # Errors
    /// The tokenizer cannot decode the ids.
    pub fn decode(&self, ids: &[u32], keeps_special: bool) -> Result<String, String> {
        if ids.iter().any(|it| *it >= self.bound) {
            self.foreign.fetch_add(1, Ordering::Relaxed);
        }
        let text = if keeps_special { self.tokenizer.decode_all(ids) } else { self.tokenizer.decode(ids) };
        let text = text.map_err(|error| error.to_string())?;
        Ok(if self.cleans { clean_up(&text) } else { text })
    }

    /// The reason why the decoded texts can differ from the model's texts. `None` if the tokenizer knew every id.
    pub fn doubt(&self) -> Option<String> {
        let foreign = self.foreign.load(Ordering::Relaxed);
        let bound = self.bound;
        (foreign > 0).then(|| {
            format!(
                "{foreign} answers have token ids of {bound} or more, which the tokenizer lacks; give the model's tokenizer"
            )
        })
    }
}
