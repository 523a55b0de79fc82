//! Counts the length of texts in tokens.

use std::sync::Arc;

use tokenizer::Tokenizer;

/// How the tokens of a text are counted.
#[derive(Clone, Debug, Default)]
pub enum TokenCount {
    /// Each word counts as one token.
    #[default]
    Words,
    Tokenizer(Arc<Tokenizer>),
}

impl TokenCount {
    /// Number of tokens in a text. Text that the tokenizer cannot encode is counted in words.
    pub fn count(&self, text: &str) -> u32 {
        let words = || text.split_whitespace().count();
        let tokens = match self {
            TokenCount::Words => words(),
            TokenCount::Tokenizer(tokenizer) => tokenizer.count(text).unwrap_or_else(|_| words()),
        };
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &[u8] = include_bytes!("../../tokenizer/tests/fixtures/metaspace.json");

    #[test]
    fn a_text_has_words_or_the_tokens_of_the_model() {
        let tokenizer = Arc::new(Tokenizer::parse(JSON).unwrap());
        let text = "unbelievable  seas";
        assert_eq!(TokenCount::Words.count(text), 2);
        assert_eq!(TokenCount::Tokenizer(Arc::clone(&tokenizer)).count(text) as usize, tokenizer.count(text).unwrap());
    }
}
