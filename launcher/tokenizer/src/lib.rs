//! The tokenizer of a model, read from its `tokenizer.json`: counts tokens, encodes and decodes. Pure: the caller reads the file.
//!
//! It uses the crate `tokenizers` without its C parts. Counts exclude the special tokens that a server adds around a prompt. Truncation and padding,
//! which a `tokenizer.json` may request, are turned off, so that a count covers the whole text.

mod config;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use config::{ConfigError, TokenizerConfig};
use tokenizers::processors::template::TemplateProcessing;

/// A text that the tokenizer of every language model can encode.
const SAMPLE: &str = "The sea is wide, and 12 ships are on it.";
/// Maximum length of a message of the library that is included in an error.
const MAX_REASON: usize = 300;

/// The reason why a tokenizer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenizerError {
    /// The bytes are no `tokenizer.json`.
    #[error(
        "is not the tokenizer.json of a model: {reason}; give the file of this name that the model is published with"
    )]
    Format {
        /// The message of the library.
        reason: String,
    },
    /// The tokenizer has no token for a part of a text.
    #[error("cannot encode a text: {reason}; give the tokenizer.json that the model is published with")]
    Encode {
        /// The message of the library.
        reason: String,
    },
    /// The configuration names a token that the tokenizer does not have.
    #[error("has no token {token:?}, which its tokenizer_config.json names; give the two files of one model")]
    NoToken {
        /// The text of the token.
        token: String,
    },
    /// The tokenizer cannot turn token ids into text.
    #[error("cannot decode token ids: {reason}; give the tokenizer.json that the model is published with")]
    Decode {
        /// The message of the library.
        reason: String,
    },
}

/// The tokenizer of a model. It is deterministic: the same text always has the same tokens.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
}

impl Tokenizer {
    /// Parses the bytes of a `tokenizer.json`.
    ///
    /// # Errors
    /// The bytes are not a tokenizer, or the tokenizer cannot encode English text.
    pub fn parse(json: &[u8]) -> Result<Tokenizer, TokenizerError> {
        // For some files with well-formed but inconsistent JSON, the library panics.
        let parsed = caught(|| {
            let mut inner = tokenizers::Tokenizer::from_bytes(json)?;
            inner.with_truncation(None)?;
            inner.with_padding(None);
            Ok(Tokenizer { inner })
        });
        let tokenizer = parsed.map_err(|reason| TokenizerError::Format { reason })?;
        match tokenizer.ids(SAMPLE)?.as_slice() {
            [] => Err(TokenizerError::Encode { reason: format!("{SAMPLE:?} has no token") }),
            ids => tokenizer.decode(ids).map(|_| tokenizer),
        }
    }

    /// Changes the tokens that are put around a text to those of the configuration, as some classes of transformers do.
    ///
    /// # Errors
    /// The tokenizer lacks a token that the configuration names.
    pub fn with_config(mut self, config: &TokenizerConfig) -> Result<Tokenizer, TokenizerError> {
        let Some((bos, eos)) = config.around() else { return Ok(self) };
        let special = |it: Option<&str>| {
            it.map(|token| {
                let id = self.id_of(token).ok_or_else(|| TokenizerError::NoToken { token: token.into() })?;
                Ok((token.to_owned(), id))
            })
            .transpose()
        };
        let (bos, eos) = (special(bos)?, special(eos)?);
        let piece = |it: &Option<(String, u32)>| it.as_ref().map(|(token, _)| format!("{token}:0"));
        let pieces: Vec<String> = [piece(&bos), Some("$A:0".into()), piece(&eos)].into_iter().flatten().collect();
        let template = TemplateProcessing::builder()
            .try_single(pieces)
            .map(|it| it.special_tokens(bos.into_iter().chain(eos).collect::<Vec<_>>()).build());
        let reason = |it: String| TokenizerError::Encode { reason: it };
        let template = template.map_err(|it| reason(it.to_string()))?.map_err(|it| reason(it.to_string()))?;
        self.inner.with_post_processor(Some(template));
        Ok(self)
    }

    /// Number of tokens in a text, without special tokens.
    ///
    /// # Errors
    /// The tokenizer has no token for a part of the text.
    pub fn count(&self, text: &str) -> Result<usize, TokenizerError> {
        self.encoded(text, false).map(|it| it.len())
    }

    /// The token ids of a text, without special tokens.
    ///
    /// # Errors
    /// The tokenizer has no token for a part of the text.
    pub fn ids(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        self.encoded(text, false).map(|it| it.get_ids().to_vec())
    }

    /// The token ids of a text, including the special tokens that the post-processor of `tokenizer.json` puts around it, as transformers does by
    /// default. For the text of a rendered chat, use [`Tokenizer::ids`], because it already contains special tokens.
    ///
    /// # Errors
    /// The tokenizer has no token for a part of the text.
    pub fn ids_with_special(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        self.encoded(text, true).map(|it| it.get_ids().to_vec())
    }

    /// The id of a token, also of a special or added token. `None` if there is no such token.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    fn encoded(&self, text: &str, with_special: bool) -> Result<tokenizers::Encoding, TokenizerError> {
        let encoded = caught(|| self.inner.encode_fast(text, with_special));
        encoded.map_err(|reason| TokenizerError::Encode { reason })
    }

    /// Decodes token ids to text. Ids without a token, and ids of special tokens, are left out.
    ///
    /// # Errors
    /// The tokenizer cannot decode the ids.
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        caught(|| self.inner.decode(ids, true)).map_err(|reason| TokenizerError::Decode { reason })
    }

    /// Decodes token ids to text, including the text of special tokens. Ids without a token are left out.
    ///
    /// # Errors
    /// The tokenizer cannot decode the ids.
    pub fn decode_all(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        caught(|| self.inner.decode(ids, false)).map_err(|reason| TokenizerError::Decode { reason })
    }

    /// The largest id that has a token, plus one. Special and added tokens are included.
    pub fn id_bound(&self) -> u32 {
        self.inner.get_vocab(true).into_values().max().map_or(0, |it| it.saturating_add(1))
    }

    /// The ids of all tokens except special and added tokens, in ascending order.
    pub fn plain_ids(&self) -> Vec<u32> {
        self.plain().into_iter().map(|(id, _)| id).collect()
    }

    /// The words in the vocabulary, in the order of their ids. A word is a token with at least two ASCII letters, with or without the mark for a
    /// preceding space, which is removed.
    pub fn words(&self) -> Vec<String> {
        let word = |token: String| {
            let word = token.trim_start_matches(['\u{120}', '\u{2581}']).to_owned();
            (word.len() >= 2 && word.bytes().all(|it| it.is_ascii_alphabetic())).then_some(word)
        };
        self.plain().into_iter().filter_map(|(_, token)| word(token)).collect()
    }

    fn plain(&self) -> Vec<(u32, String)> {
        let added = self.inner.get_added_tokens_decoder();
        let all = self.inner.get_vocab(false).into_iter().map(|(token, id)| (id, token));
        let mut plain: Vec<(u32, String)> = all.filter(|(id, _)| !added.contains_key(id)).collect();
        plain.sort_unstable();
        plain
    }
}

/// Calls the library. Converts a panic to an error. The reason of a failure is one line.
fn caught<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    let reason = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(result)) => return Ok(result),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "its parts do not fit each other".into(),
    };
    Err(reason.lines().next().unwrap_or_default().chars().take(MAX_REASON).collect())
}
