//! Tokens of the simulated model: how a prompt is counted, and the words and length of an answer.
//!
//! A token is a word (a run of letters, digits and non-ASCII characters) or one punctuation mark. White space does not count. An answer is a sequence
//! of words with one token each. Only the server's seed, the prompt and the request's `seed` determine the words and the length: the same request
//! always gets the same answer.
//!
//! There is no tokenizer and no vocabulary. The id of a token is synthetic: a digest of its word, independent of its position, and below the size of
//! Llama 3's vocabulary. Equal words have equal ids, so ids can be compared. The ids of words in answers are converted back to the same words. Any
//! other id, such as 5, becomes a word such as `t5`, which again has the id 5.

use std::sync::LazyLock;

use super::blocks::BlockHashes;

/// Token ids are below this number, as in Llama 3.
pub const VOCABULARY: u64 = 128_256;

/// Ids from here on have no text, as in Llama 3.
const TEXT_IDS: u64 = 128_000;

/// The properties of a prompt that the simulation needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The length of the prompt in tokens.
    pub tokens: u32,
    /// Digests of its tokens.
    pub blocks: BlockHashes,
    /// The ids of its tokens, if requested.
    pub ids: Option<Vec<u32>>,
    /// Number of texts in the prompt.
    texts: u64,
    /// Whether the last text requests one of four choices: it ends with `Answer:`, as MMLU's questions do.
    pub asks_for_letter: bool,
}

impl Prompt {
    /// Creates an empty prompt, with digests for blocks of `block_size` tokens. It keeps its ids only if `with_ids` is set.
    pub fn new(block_size: u32, salt: u64, with_ids: bool) -> Self {
        let blocks = BlockHashes::new(block_size, salt);
        Prompt { tokens: 0, blocks, ids: with_ids.then(Vec::new), texts: 0, asks_for_letter: false }
    }

    /// Adds a piece of text.
    pub fn add_text(&mut self, text: &str) {
        self.texts += 1;
        self.asks_for_letter = text.ends_with("Answer:");
        for_each_token(text, |id| self.add_token(id));
    }

    /// Adds a token by its id.
    pub fn add_token(&mut self, id: u32) {
        self.tokens = self.tokens.saturating_add(1);
        self.blocks.push(id);
        if let Some(ids) = &mut self.ids {
            ids.push(id);
        }
    }

    /// A digest of all tokens.
    pub fn digest(&self) -> u64 {
        mix(self.blocks.digest(), self.texts)
    }
}

/// The class of a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Space,
    Mark,
    Word,
}

/// Calls `token` with the id of each token of a text.
fn for_each_token(text: &str, mut token: impl FnMut(u32)) {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    let mut word = START;
    let mut in_word = false;
    let mut begin = 0;
    let word_id = |word: &str, digest: u64| numbered(word).unwrap_or_else(|| id(digest));
    for (at, byte) in text.bytes().enumerate() {
        match BYTE_CLASSES[usize::from(byte)] {
            ByteClass::Word => {
                // FNV-1a is the cheapest digest of single bytes.
                word = (word ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                if !std::mem::replace(&mut in_word, true) {
                    begin = at;
                }
            }
            kind => {
                if std::mem::take(&mut in_word) {
                    token(word_id(&text[begin..at], std::mem::replace(&mut word, START)));
                }
                if kind == ByteClass::Mark {
                    token(id(u64::from(byte)));
                }
            }
        }
    }
    if in_word {
        token(word_id(&text[begin..], word));
    }
}

/// Returns the id in a word such as `t5`.
fn numbered(word: &str) -> Option<u32> {
    let digits = word.strip_prefix('t').filter(|it| it.len() <= 6 && it.bytes().all(|byte| byte.is_ascii_digit()))?;
    let canonical = !digits.starts_with('0') || digits == "0";
    digits.parse().ok().filter(|id| canonical && u64::from(*id) < TEXT_IDS)
}

/// Converts token ids to text: the words of answers, and words such as `t5` for all other ids. Ids without text, such as the marks of a chat
/// template, are omitted.
pub fn from_ids(ids: &[u32]) -> Vec<String> {
    let word = |id: &u32| match WORDS.iter().zip(word_ids()).find(|(_, known)| *known == id) {
        Some((word, _)) => (*word).to_owned(),
        None if u64::from(*id) < TEXT_IDS => format!(" t{id}"),
        None => String::new(),
    };
    ids.iter().map(word).collect()
}

fn id(digest: u64) -> u32 {
    (mix(digest, 0x1d) % TEXT_IDS) as u32
}

/// The class of each byte. A word consists of letters, digits and non-ASCII characters.
const BYTE_CLASSES: [ByteClass; 256] = {
    let mut kinds = [ByteClass::Word; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        if byte.is_ascii_whitespace() || byte.is_ascii_control() {
            kinds[byte as usize] = ByteClass::Space;
        } else if !byte.is_ascii_alphanumeric() {
            kinds[byte as usize] = ByteClass::Mark;
        }
        byte += 1;
    }
    kinds
};

/// The token ids of a text.
pub fn ids(text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    for_each_token(text, |id| ids.push(id));
    ids
}

/// Mixes two numbers into one that looks random: a round of SplitMix64.
#[inline]
pub fn mix(left: u64, right: u64) -> u64 {
    let mut mixed = (left.rotate_left(23) ^ right).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A digest of all bytes of a text.
pub fn digest(text: &str) -> u64 {
    text.bytes().fold(0, |digest, byte| mix(digest, u64::from(byte)))
}

/// The length at which the model itself ends the answer, in tokens: geometric with this mean, and at least 1.
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

/// The upper bits in the seed of an answer that begins with a letter. Other seeds have other bits there.
const LETTER_MARK: u64 = 0xa5bc << 48;
/// The bits of a seed that are compared with [`LETTER_MARK`].
const MARK_BITS: u64 = 0xffff << 48;

/// Returns the seed of an answer. If, and only if, the prompt requests one of four choices, the seed has the bits of `LETTER_MARK`.
pub fn answer_seed(seed: u64, asks_for_letter: bool) -> u64 {
    match (asks_for_letter, begins_with_letter(seed)) {
        (true, _) => seed & !MARK_BITS | LETTER_MARK,
        (false, true) => seed ^ MARK_BITS,
        (false, false) => seed,
    }
}

fn begins_with_letter(seed: u64) -> bool {
    seed & MARK_BITS == LETTER_MARK
}

/// Returns the token at this position of an answer. Every token except the first begins with a space. No token needs escaping in JSON.
pub fn word(seed: u64, position: u32) -> &'static str {
    if position == 0 {
        return if begins_with_letter(seed) { &LETTERS[letter(seed)][1..] } else { &WORDS[choice(seed, 0)][1..] };
    }
    WORDS[choice(seed, position)]
}

/// Returns the id of the token at this position of an answer.
pub fn word_id(seed: u64, position: u32) -> u32 {
    if position == 0 && begins_with_letter(seed) {
        return ids(LETTERS[letter(seed)]).first().copied().unwrap_or_default();
    }
    word_ids()[choice(seed, position)]
}

/// Returns the ids of all words that occur in answers.
fn word_ids() -> &'static [u32] {
    static IDS: LazyLock<Vec<u32>> = LazyLock::new(|| WORDS.iter().flat_map(|word| ids(word)).collect());
    &IDS
}

/// Returns alternatives to the word at this position, the likeliest first. For a letter, the alternatives are the other letters.
pub fn others(seed: u64, position: u32) -> impl Iterator<Item = &'static str> {
    let (chosen, chosen_letter) = (choice(seed, position), letter(seed));
    let letters = if position == 0 && begins_with_letter(seed) { 1..LETTERS.len() } else { 0..0 };
    let letters = letters.map(move |step| LETTERS[(chosen_letter + step) % LETTERS.len()]);
    letters.chain((1..WORDS.len()).map(move |step| WORDS[(chosen + step) % WORDS.len()]))
}

/// Returns the index of the letter with which an answer begins.
fn letter(seed: u64) -> usize {
    (mix(seed, 0x1f) % LETTERS.len() as u64) as usize
}

fn choice(seed: u64, position: u32) -> usize {
    (mix(seed, u64::from(position)) % WORDS.len() as u64) as usize
}

/// Returns the whole text of an answer of `tokens` tokens.
#[cfg(test)]
pub fn answer(seed: u64, tokens: u32) -> String {
    (0..tokens).map(|position| word(seed, position)).collect()
}

/// The letters for the four choices.
const LETTERS: [&str; 4] = [" A", " B", " C", " D"];

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
        assert_eq!(ids(&answer(7, 30)), (0..30).flat_map(|position| ids(word(7, position))).collect::<Vec<_>>());
        assert_eq!(ids(&answer(7, 30)), (0..30).map(|position| word_id(7, position)).collect::<Vec<_>>());
    }

    #[test]
    fn a_text_made_from_ids_has_those_ids() {
        let known: Vec<u32> = ids("the sea is wide").into_iter().chain([0, 5, 99, 127_999]).collect();
        let text = from_ids(&known).concat();
        assert_eq!(text, " the sea is wide t0 t5 t99 t127999");
        assert_eq!(ids(&text), known);
        assert_eq!(from_ids(&[128_006]), [""]);
        // A word that only looks like `t5` is an ordinary word.
        assert!(ids("t05 t128000 t tea").iter().all(|id| u64::from(*id) < TEXT_IDS && *id != 5));
    }

    #[test]
    fn digests_tell_prompts_apart() {
        let digest = |texts: &[&str]| {
            let mut prompt = Prompt::default();
            texts.iter().for_each(|text| prompt.add_text(text));
            prompt.digest()
        };
        assert_eq!(digest(&["abc", "d"]), digest(&["abc", "d"]));
        assert_ne!(digest(&["abc", "d"]), digest(&["ab", "cd"]));
        assert_ne!(digest(&["12345678"]), digest(&["12345678", ""]));
    }

    #[test]
    fn a_question_with_choices_is_answered_by_a_letter() {
        let mut letters = std::collections::HashSet::new();
        for seed in 0..64 {
            let seed = answer_seed(mix(seed, 1), true);
            let first = word(seed, 0);
            assert!(["A", "B", "C", "D"].contains(&first), "{first}");
            assert_eq!(ids(first), [word_id(seed, 0)]);
            let others: Vec<&str> = others(seed, 0).take(4).collect();
            assert!(others[..3].iter().all(|it| LETTERS.contains(it) && !it.ends_with(first)), "{others:?}");
            assert!(!LETTERS.contains(&others[3]) && !LETTERS.contains(&word(seed, 1)));
            letters.insert(first);
        }
        assert_eq!(letters.len(), 4);
        for seed in [0, 7, LETTER_MARK, LETTER_MARK | 5] {
            assert!(!begins_with_letter(answer_seed(seed, false)));
        }
    }

    #[test]
    fn only_a_prompt_that_ends_with_the_question_asks_for_a_letter() {
        for (texts, expected) in [
            (&["D. x\nAnswer:"][..], true),
            (&["Answer:", "Tell me"], false),
            (&["Tell me", "Answer:"], true),
            (&["Answer: A"], false),
            (&[], false),
        ] {
            let mut prompt = Prompt::default();
            texts.iter().for_each(|it| prompt.add_text(it));
            prompt.add_token(5);
            assert_eq!(prompt.asks_for_letter, expected, "{texts:?}");
        }
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
