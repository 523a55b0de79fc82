//! Tokens of the simulated model: how a prompt is counted, and the words and length of an answer.
//!
//! A token is a word (a run of letters, digits and anything beyond ASCII) or one mark of punctuation; white space is
//! free. An answer is a row of words, one token each. Words and length of an answer follow from the seed of the server,
//! the prompt and the `seed` of the request alone: the same request gets the same answer whenever it comes.
//!
//! There is no tokenizer and no vocabulary. The id of a token is made up: a digest of its word, the same wherever the word
//! stands, below the size of Llama 3's vocabulary. It tells words apart and can be compared; nothing turns it back.

/// Token ids are below; that of Llama 3.
pub const VOCABULARY: u64 = 128_256;

/// A prompt, as much as the simulation needs of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Its length in tokens.
    pub tokens: u32,
    /// A digest of its text.
    pub digest: u64,
}

impl Prompt {
    /// Adds a piece of text.
    pub fn add_text(&mut self, text: &str) {
        let mut in_word = false;
        let mut tokens = 0_u32;
        for byte in text.bytes() {
            let (word, mark) = kind(byte);
            tokens += u32::from(mark || (word && !in_word));
            in_word = word;
        }
        self.tokens = self.tokens.saturating_add(tokens);
        let mut words = text.as_bytes().chunks_exact(8);
        for word in &mut words {
            let word = word.iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
            self.digest = mix(self.digest, word);
        }
        let rest = words.remainder().iter().fold(1_u64, |word, byte| word << 8 | u64::from(*byte));
        self.digest = mix(self.digest, rest);
    }

    /// Adds a token by its id.
    pub fn add_token(&mut self, id: u32) {
        self.tokens = self.tokens.saturating_add(1);
        self.digest = mix(self.digest, u64::from(id));
    }

    /// Adds the tokens of a chat template, which have no text.
    pub fn add_template(&mut self, tokens: u32) {
        self.tokens = self.tokens.saturating_add(tokens);
    }
}

/// Whether a byte belongs to a word, or is a mark by itself.
fn kind(byte: u8) -> (bool, bool) {
    let word = byte.is_ascii_alphanumeric() || !byte.is_ascii();
    (word, !word && !byte.is_ascii_whitespace() && !byte.is_ascii_control())
}

/// The ids of the tokens of a text, as many as are counted.
pub fn ids(text: &str) -> Vec<u32> {
    let mut digests = Vec::new();
    let mut in_word = false;
    for byte in text.bytes() {
        let (word, mark) = kind(byte);
        if mark || (word && !in_word) {
            digests.push(0);
        }
        if let Some(digest) = digests.last_mut().filter(|_| word || mark) {
            *digest = mix(*digest, u64::from(byte));
        }
        in_word = word;
    }
    digests.into_iter().map(|it| (it % VOCABULARY) as u32).collect()
}

/// Two numbers into one that looks random: a round of SplitMix64.
pub fn mix(left: u64, right: u64) -> u64 {
    let mut mixed = (left.rotate_left(23) ^ right).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The length at which the model itself would end, in tokens: geometric with this mean, and at least 1.
pub fn natural_length(seed: u64, mean: u32) -> u32 {
    // Inverse of the geometric distribution function, from a draw in (0, 1].
    let draw = ((mix(seed, 0x1e) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    let goes_on = 1.0 - 1.0 / f64::from(mean);
    if goes_on <= 0.0 {
        return 1;
    }
    // The cast saturates; a draw of 1 gives 0, and so a length of 1.
    ((draw.ln() / goes_on.ln()) as u32).saturating_add(1)
}

/// The token at this place of an answer. All but the first begin with a space; none needs escaping in JSON.
pub fn word(seed: u64, place: u32) -> &'static str {
    let word = WORDS[(mix(seed, u64::from(place)) % WORDS.len() as u64) as usize];
    if place == 0 { &word[1..] } else { word }
}

/// The whole text of an answer of so many tokens.
pub fn answer(seed: u64, tokens: u32) -> String {
    (0..tokens).map(|place| word(seed, place)).collect()
}

#[rustfmt::skip]
const WORDS: [&str; 64] = [
    " the", " sea", " is", " wide", " and", " blue", " under", " a", " quiet", " sky", " where", " small", " boats",
    " follow", " wind", " from", " one", " harbour", " to", " another", " carrying", " salt", " paper", " letters",
    " of", " people", " who", " count", " days", " by", " tides", " while", " gulls", " turn", " above", " old",
    " stones", " that", " remember", " every", " storm", " or", " summer", " with", " light", " on", " water",
    " then", " night", " comes", " slowly", " over", " hills", " as", " stars", " appear", " in", " long", " rows",
    " like", " lamps", " along", " some", " road",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: u32) {
        let mut prompt = Prompt::default();
        prompt.add_text(text);
        assert_eq!(prompt.tokens, expected, "{text:?}");
    }

    #[test]
    fn words_and_marks_are_tokens() {
        check("", 0);
        check(" \n\t ", 0);
        check("Tell me about the sea.", 6);
        check("it's 3.14, she said", 9);
        check("größe", 1);
    }

    #[test]
    fn an_answer_counts_as_many_tokens_as_it_has() {
        for tokens in [0, 1, 2, 57] {
            check(&answer(99, tokens), tokens);
        }
    }

    #[test]
    fn each_counted_token_has_an_id_of_its_own_word() {
        for text in ["", " \n", "Tell me about the sea.", "it's 3.14, she said", "größe"] {
            check(text, ids(text).len() as u32);
        }
        assert_eq!(ids("the sea, the"), [ids(" the"), ids("sea"), ids(","), ids("the")].concat());
        let mut all: Vec<_> = WORDS.iter().flat_map(|it| ids(it)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), WORDS.len());
        assert!(all.iter().all(|it| u64::from(*it) < VOCABULARY));
        assert_eq!(ids(&answer(7, 30)), (0..30).flat_map(|place| ids(word(7, place))).collect::<Vec<_>>());
    }

    #[test]
    fn digests_tell_prompts_apart() {
        let digest = |texts: &[&str]| {
            let mut prompt = Prompt::default();
            texts.iter().for_each(|text| prompt.add_text(text));
            prompt.digest
        };
        assert_eq!(digest(&["abc", "d"]), digest(&["abc", "d"]));
        assert_ne!(digest(&["abc", "d"]), digest(&["ab", "cd"]));
        assert_ne!(digest(&["12345678"]), digest(&["12345678", ""]));
    }

    #[test]
    fn natural_lengths_have_their_mean() {
        let lengths: Vec<_> = (0..20_000).map(|seed| natural_length(seed, 100)).collect();
        let mean = lengths.iter().map(|it| u64::from(*it)).sum::<u64>() as f64 / 20_000.0;
        assert!((97.0..103.0).contains(&mean), "{mean}");
        assert!(lengths.iter().all(|it| *it >= 1));
        assert_eq!(natural_length(5, 1), 1);
    }
}
