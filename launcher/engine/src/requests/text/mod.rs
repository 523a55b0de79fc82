//! Prompt texts with a requested number of tokens.
//!
//! Words are common English words. Each word, with the space before it, is one token in the vocabularies of GPT-2, Llama, Qwen and related
//! models. Prose is cut from a passage, in which a punctuation mark is also one token. Without a tokenizer, a text has as many words and
//! marks as tokens were requested. The server's usage then shows the real length, and the report counts the differences. With the model's
//! tokenizer, a text has exactly the requested length (`exact`).

mod exact;
mod fit;
mod passage;
#[cfg(test)]
mod tests;
mod words;

use std::sync::{Arc, LazyLock};

use rand::Rng;
use tokenizer::{Tokenizer, TokenizerError};

use exact::Exact;
use passage::Passage;
pub(super) use words::words;

/// The built-in prose, in paragraphs.
const PROSE_FILE: &str = include_str!("../prose.txt");

static PROSE: LazyLock<Arc<Passage>> = LazyLock::new(|| Arc::new(Passage::new(PROSE_FILE)));

/// Number of random words before prose. About 10^12 different beginnings are possible, so even ten million requests rarely share one.
const BEGINNING: u32 = 4;

/// The reason why texts cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextsError {
    /// The corpus contains no word that a text can begin with.
    #[error("the corpus has no word; give a file of running text")]
    NoWords,
    /// The tokenizer fails.
    #[error("the tokenizer {0}")]
    Tokenizer(#[from] TokenizerError),
}

/// Generates texts. All workers share one instance.
#[derive(Clone, Debug)]
pub struct Texts {
    passage: Arc<Passage>,
    exact: Option<Arc<Exact>>,
}

/// Uses the built-in passage, and counts lengths in words.
impl Default for Texts {
    fn default() -> Self {
        Texts { passage: Arc::clone(&PROSE), exact: None }
    }
}

impl Texts {
    /// Takes prose from the corpus, or from the built-in passage if there is none. Counts lengths with the tokenizer, or in words if there
    /// is none. With a tokenizer, the whole corpus is encoded here, which takes a second for a few megabytes.
    ///
    /// # Errors
    /// The corpus has no words, or the tokenizer cannot encode.
    pub fn new(corpus: Option<&str>, tokenizer: Option<Tokenizer>) -> Result<Texts, TextsError> {
        let passage = corpus.map_or_else(|| Arc::clone(&PROSE), |it| Arc::new(Passage::new(it)));
        if passage.is_empty() {
            return Err(TextsError::NoWords);
        }
        let exact = tokenizer.map(|it| Exact::new(it, &passage)).transpose()?.map(Arc::new);
        Ok(Texts { passage, exact })
    }

    /// Whether the length of every text must be found by encoding it, because the tokens of words depend on their neighbours. This takes
    /// about a hundred times as long.
    pub fn encodes_every_text(&self) -> bool {
        self.exact.as_ref().is_some_and(|it| !it.is_additive())
    }

    /// Appends random words with `tokens` tokens in total. A space precedes them unless `text` is empty. Returns whether the text has
    /// exactly that many tokens more than before.
    pub(super) fn words(&self, tokens: u32, rng: &mut impl Rng, text: &mut String) -> bool {
        match &self.exact {
            Some(exact) => exact.words(tokens, rng, text),
            None => {
                words(tokens, rng, text);
                false
            }
        }
    }

    /// Appends `tokens` tokens of the passage, from a random position. After its end, the passage starts again. A space precedes them
    /// unless `text` is empty. Returns whether the text has exactly that many tokens more than before.
    pub(super) fn prose(&self, tokens: u32, rng: &mut impl Rng, text: &mut String) -> bool {
        match &self.exact {
            Some(exact) => exact.prose(&self.passage, tokens, rng, text),
            None => {
                self.passage.write(tokens, rng, text);
                false
            }
        }
    }

    /// Appends a few random words and then prose. Without the random words there would be only a few thousand beginnings, which many
    /// requests would share.
    pub(super) fn fresh_prose(&self, tokens: u32, rng: &mut impl Rng, text: &mut String) -> bool {
        let first = tokens.min(BEGINNING);
        self.words(first, rng, text) & self.prose(tokens - first, rng, text)
    }
}
