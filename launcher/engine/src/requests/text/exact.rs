//! Texts with exactly the requested number of tokens.
//!
//! Most tokenizers of language models never form a token that spans a space between two words. The number of tokens in a text is then the sum over
//! its words, so each word needs to be encoded only once, before the load. A sample of texts shows whether a tokenizer has this property. With any
//! other tokenizer, each text is encoded and adjusted until it fits (`fit`).

use std::collections::HashMap;

use crds::units::Seed;
use rand::{Rng, RngExt as _};
use tokenizer::{Tokenizer, TokenizerError};

use super::{
    fit,
    passage::Passage,
    words::{WORDS, push_word},
};
use crate::requests::draws;

/// A fixed word put before another word, to count the tokens that the other word has after a space.
const ANCHOR: &str = "the";
/// If fewer common words than this are a single token, words of the tokenizer's vocabulary are added.
const ENOUGH_WORDS: usize = 256;
/// Maximum number of vocabulary words to try.
const MAX_VOCABULARY: usize = 20_000;
/// Minimum number of usable words. With fewer, each text is encoded.
const MIN_WORDS: usize = 16;
/// Maximum number of tokens in a word at the start of a text.
const MAX_FIRST: u32 = 4;
/// If at least this many words are a single token at the start of a text, texts begin only with such words.
const ENOUGH_FIRST: usize = 32;
/// Number of generated texts whose token counts are compared with the sums over their words.
const SAMPLES: u64 = 48;
/// Maximum length of such a text, in tokens.
const LONGEST_SAMPLE: u64 = 400;
/// Number of words in the passage that are checked together: the sum of their tokens must be right.
const BLOCK: usize = 512;

/// Generates texts with a requested number of tokens.
#[derive(Debug)]
pub(super) struct Exact {
    tokenizer: Tokenizer,
    /// Words whose tokens can be summed; `None` means that each text of words is encoded.
    words: Option<WordTable>,
    /// The passage with tokens that can be summed; `None` means that each text of prose is encoded.
    passage: Option<PassageTable>,
}

/// Words whose number of tokens does not depend on their neighbours.
#[derive(Debug)]
struct WordTable {
    /// Words that are a single token after a space.
    behind: Vec<Box<str>>,
    /// Words at the start of a text, with their number of tokens, smallest number first.
    first: Vec<(Box<str>, u32)>,
}

/// The passage as a list of words. A punctuation mark belongs to the word that it touches.
#[derive(Debug)]
struct PassageTable {
    /// The byte offset of each word.
    begins: Vec<u32>,
    /// For each word, the number of tokens before it. The last entry is the total. A word counts with the tokens that it has after a space.
    sums: Vec<u64>,
    /// The indices of the words that a text can begin with, and the number of tokens of each at the start of a text.
    starts: Vec<(u32, u32)>,
}

impl Exact {
    pub(super) fn new(tokenizer: Tokenizer, passage: &Passage) -> Result<Exact, TokenizerError> {
        let mut exact = Exact { tokenizer, words: None, passage: None };
        exact.words = WordTable::new(&exact.tokenizer)?;
        if exact.words.is_some() {
            exact.passage = PassageTable::new(&exact.tokenizer, passage)?;
        }
        if !exact.adds_up(passage)? {
            (exact.words, exact.passage) = (None, None);
        }
        Ok(exact)
    }

    /// Whether no text needs to be encoded.
    pub(super) fn is_additive(&self) -> bool {
        self.words.is_some() && self.passage.is_some()
    }

    /// Checks whether texts of several lengths have the expected number of tokens.
    fn adds_up(&self, passage: &Passage) -> Result<bool, TokenizerError> {
        if self.words.is_none() {
            return Ok(false);
        }
        for sample in 0..SAMPLES {
            let mut rng = draws(Seed(sample), 0);
            let tokens = u32::try_from(1 + sample * LONGEST_SAMPLE / SAMPLES).unwrap_or(1);
            let mut text = String::new();
            // One text follows another, as a question follows its prefix.
            let parts = if sample % 2 == 0 {
                [self.words(tokens, &mut rng, &mut text), self.prose(passage, tokens, &mut rng, &mut text)]
            } else {
                [self.prose(passage, tokens, &mut rng, &mut text), self.words(tokens, &mut rng, &mut text)]
            };
            if parts != [true; 2] || self.tokenizer.count(&text)? != 2 * tokens as usize {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends random words, see [`super::Texts::words`].
    pub(super) fn words(&self, tokens: u32, rng: &mut impl Rng, text: &mut String) -> bool {
        match &self.words {
            Some(table) => table.write(tokens, rng, text),
            None => fit::append(&self.tokenizer, tokens, text, || WORDS[rng.random_range(0..WORDS.len())]),
        }
    }

    /// Appends a part of the passage, see [`super::Texts::prose`].
    pub(super) fn prose(&self, passage: &Passage, tokens: u32, rng: &mut impl Rng, text: &mut String) -> bool {
        match (&self.passage, &self.words) {
            (Some(table), Some(words)) => {
                let left = table.write(passage, tokens, rng, text);
                words.write(left, rng, text)
            }
            _ => {
                let mut chunks = passage.words_from_random_place(rng);
                fit::append(&self.tokenizer, tokens, text, || chunks.next().unwrap_or(ANCHOR))
            }
        }
    }
}

impl WordTable {
    /// Builds the table; `None` if too few words are a single token.
    fn new(tokenizer: &Tokenizer) -> Result<Option<WordTable>, TokenizerError> {
        let mut behind: Vec<Box<str>> = Vec::new();
        for word in WORDS.iter() {
            if tokens_behind(tokenizer, word)? == 1 {
                behind.push((*word).into());
            }
        }
        let own = tokenizer.words().into_iter().filter(|it| it.bytes().all(|it| it.is_ascii_lowercase()));
        for word in own.filter(|it| !WORDS.contains(&it.as_str())).take(MAX_VOCABULARY) {
            if behind.len() >= ENOUGH_WORDS {
                break;
            }
            if tokens_behind(tokenizer, &word)? == 1 {
                behind.push(word.into());
            }
        }
        behind.sort_unstable();
        behind.dedup();
        let mut first = Vec::new();
        for word in &behind {
            let tokens = saturated(tokenizer.count(word)?);
            if (1..=MAX_FIRST).contains(&tokens) {
                first.push((word.clone(), tokens));
            }
        }
        if !first.iter().any(|(_, tokens)| *tokens == 1) {
            for letter in 'a'..='z' {
                let letter: Box<str> = letter.to_string().into();
                if tokenizer.count(&letter)? == 1 {
                    first.push((letter, 1));
                }
            }
        }
        // These words also have the same number of tokens alone and after a space. This matters because messages can be joined.
        if first.iter().filter(|(_, tokens)| *tokens == 1).count() >= ENOUGH_FIRST {
            first.retain(|(_, tokens)| *tokens == 1);
        }
        first.sort_by(|(word, tokens), (other, others)| (tokens, word).cmp(&(others, other)));
        let is_enough = behind.len() >= MIN_WORDS && first.first().is_some_and(|(_, tokens)| *tokens == 1);
        Ok(is_enough.then_some(WordTable { behind, first }))
    }

    /// Appends random words with `tokens` tokens in total. The number is always exact.
    fn write(&self, tokens: u32, rng: &mut impl Rng, text: &mut String) -> bool {
        let mut left = tokens;
        if left > 0 && text.is_empty() {
            let fitting = self.first.partition_point(|(_, tokens)| *tokens <= left);
            let (word, tokens) = &self.first[rng.random_range(0..fitting)];
            text.push_str(word);
            left -= tokens;
        }
        for _ in 0..left {
            text.push(' ');
            text.push_str(&self.behind[rng.random_range(0..self.behind.len())]);
        }
        true
    }
}

impl PassageTable {
    /// Builds the table; `None` if the tokens of the words do not add up to the tokens of the passage.
    fn new(tokenizer: &Tokenizer, passage: &Passage) -> Result<Option<PassageTable>, TokenizerError> {
        let text = passage.text();
        let mut known: HashMap<&str, (u32, u32)> = HashMap::new();
        let (mut begins, mut sums, mut starts) = (Vec::new(), vec![0], Vec::new());
        let mut at = 0;
        for word in text.split(' ') {
            let (behind, alone) = match known.get(word) {
                Some(found) => *found,
                None => {
                    let counted = (tokens_behind(tokenizer, word)?, saturated(tokenizer.count(word)?));
                    known.insert(word, counted);
                    counted
                }
            };
            if word.starts_with(char::is_alphanumeric) {
                starts.push((saturated(begins.len()), alone));
            }
            begins.push(saturated(at));
            sums.push(sums[sums.len() - 1] + u64::from(behind));
            at += word.len() + 1;
        }
        let table = PassageTable { begins, sums, starts };
        for block in (0..table.begins.len()).step_by(BLOCK) {
            let end = (block + BLOCK).min(table.begins.len());
            let text = format!("{ANCHOR} {}", table.slice(passage, block, end));
            let expected = table.sums[end] - table.sums[block] + tokenizer.count(ANCHOR)? as u64;
            if tokenizer.count(&text)? as u64 != expected {
                return Ok(None);
            }
        }
        Ok((!table.starts.is_empty()).then_some(table))
    }

    /// Appends words of the passage with at most `tokens` tokens. Returns how many tokens are missing.
    fn write(&self, passage: &Passage, tokens: u32, rng: &mut impl Rng, text: &mut String) -> u32 {
        let mut left = u64::from(tokens);
        let (start, alone) = self.starts[rng.random_range(0..self.starts.len())];
        let mut place = start as usize;
        if text.is_empty() {
            if u64::from(alone) > left {
                return tokens;
            }
            text.push_str(self.slice(passage, place, place + 1));
            left -= u64::from(alone);
            place = (place + 1) % self.begins.len();
        }
        loop {
            let until = self.sums[place] + left;
            let end = self.sums.partition_point(|it| *it <= until) - 1;
            if end > place {
                push_word(self.slice(passage, place, end), text);
                left -= self.sums[end] - self.sums[place];
            }
            if end < self.begins.len() || self.sums[end] == 0 {
                return u32::try_from(left).unwrap_or(0);
            }
            place = 0;
        }
    }

    /// Returns the words `from..to`, without the space after the last one.
    fn slice<'a>(&self, passage: &'a Passage, from: usize, to: usize) -> &'a str {
        let end = self.begins.get(to).map_or(passage.text().len(), |it| *it as usize - 1);
        &passage.text()[self.begins[from] as usize..end]
    }
}

/// Returns the number of tokens in a word that follows another word and a space.
fn tokens_behind(tokenizer: &Tokenizer, word: &str) -> Result<u32, TokenizerError> {
    let both = tokenizer.count(&format!("{ANCHOR} {word}"))?;
    Ok(saturated(both.saturating_sub(tokenizer.count(ANCHOR)?)))
}

fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
