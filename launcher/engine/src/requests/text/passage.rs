//! The passage, on one line, that prose is cut from.

use rand::{Rng, RngExt as _};

use super::words::push_word;

/// Words and punctuation marks, with one space instead of any white space of the source.
#[derive(Debug)]
pub(super) struct Passage {
    text: String,
    /// The byte offset of each word and each punctuation mark.
    pieces: Vec<u32>,
    /// Indices of the pieces that a text can begin with: the words.
    starts: Vec<u32>,
}

impl Passage {
    /// Creates a passage. `source` must be smaller than 4 GiB.
    pub(super) fn new(source: &str) -> Passage {
        let mut text = String::with_capacity(source.len());
        source.split_whitespace().for_each(|it| push_word(it, &mut text));
        let (mut pieces, mut starts) = (Vec::new(), Vec::new());
        let mut in_word = false;
        for (at, letter) in text.char_indices() {
            let is_letter = letter.is_alphanumeric();
            if is_letter && !in_word {
                starts.push(small(pieces.len()));
            }
            if (is_letter && !in_word) || !(is_letter || letter == ' ') {
                pieces.push(small(at));
            }
            in_word = is_letter;
        }
        Passage { text, pieces, starts }
    }

    /// Whether the passage has no word.
    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Appends `tokens` words and punctuation marks, from a random position.
    pub(super) fn write(&self, tokens: u32, rng: &mut impl Rng, text: &mut String) {
        let mut left = tokens as usize;
        let mut place = self.starts[rng.random_range(0..self.starts.len())] as usize;
        while left > 0 {
            let end = (place + left).min(self.pieces.len());
            push_word(self.slice(place, end), text);
            left -= end - place;
            place = 0;
        }
    }

    /// Returns the words from a random position on, with the marks that touch them. After the end of the passage, it starts again.
    pub(super) fn words_from_random_place(&self, rng: &mut impl Rng) -> impl Iterator<Item = &str> {
        let start = self.starts[rng.random_range(0..self.starts.len())] as usize;
        let first = self.text[self.pieces[start] as usize..].split(' ');
        first.chain(std::iter::repeat_with(|| self.text.split(' ')).flatten())
    }

    /// Returns the pieces `from..to`, without the space after the last one.
    fn slice(&self, from: usize, to: usize) -> &str {
        let end = self.pieces.get(to).map_or(self.text.len(), |it| *it as usize);
        self.text[self.pieces[from] as usize..end].trim_end()
    }
}

/// Converts an index. It always fits, because the size of the source is limited.
fn small(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
