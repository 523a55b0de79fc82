//! Prompt texts of a requested number of tokens.
//!
//! Words are common English words. Each word, with the space before it, is one token in the vocabularies of GPT-2, Llama, Qwen and related
//! models. Prose is cut from a passage, in which a punctuation mark is also a token. Without a tokenizer, a text has as many words and marks
//! as tokens were requested. The server's usage then shows the real length, and the report counts the differences. With the model's
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

/// Paragraphs with joined lines.
const PROSE_FILE: &str = include_str!("../prose.txt");

static PROSE: LazyLock<Arc<Passage>> = LazyLock::new(|| Arc::new(Passage::new(PROSE_FILE)));

/// Number of random words before prose. There are about 10^12 such beginnings, so that even ten million requests rarely share one.
const BEGINNING: u32 = 4;

/// Why texts cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextsError {
    /// The corpus contains no word with which a text can begin.
    #[error("the corpus has no word; give a file of running text")]
    NoWords,
    /// The tokenizer fails.
    #[error("the tokenizer {0}")]
    Tokenizer(#[from] TokenizerError),
}

/// Makes texts. All workers share one.
#[derive(Clone, Debug)]
pub struct Texts {
    passage: Arc<Passage>,
    exact: Option<Arc<Exact>>,
}

/// The built-in passage, and lengths in words.
impl Default for Texts {
    fn default() -> Self {
        Texts { passage: Arc::clone(&PROSE), exact: None }
    }
}

impl Texts {
    /// Prose comes from the corpus, else from the built-in passage. Lengths are counted by the tokenizer, else in words. With a tokenizer
    /// this encodes the whole corpus, which takes a second for a few megabytes.
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

    /// Whether every text has to be encoded to find its length, because the tokens of words depend on their neighbours. It
    /// takes about a hundred times as long.
    pub fn encodes_every_text(&self) -> bool {
        self.exact.as_ref().is_some_and(|it| !it.is_additive())
    }

    /// Appends random words with `tokens` tokens, with a space before them unless `text` is empty. Returns whether the text has exactly that
    /// many tokens more than before.
    pub(super) fn words(&self, tokens: u32, rng: &mut impl Rng, text: &mut String) -> bool {
        match &self.exact {
            Some(exact) => exact.words(tokens, rng, text),
            None => {
                words(tokens, rng, text);
                false
            }
        }
    }

    /// Appends `tokens` tokens of the passage, beginning at a random position. After its end the passage starts again. A space comes first
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

    /// Prose after a few random words. The passage alone has only a few thousand beginnings, which many requests would share.
    pub(super) fn fresh_prose(&self, tokens: u32, rng: &mut impl Rng, text: &mut String) -> bool {
        let first = tokens.min(BEGINNING);
        self.words(first, rng, text) & self.prose(tokens - first, rng, text)
    }
}
