//! Texts of an exact length with any tokenizer: words are added, and the text is encoded, until the length is right.

use tokenizer::Tokenizer;

use super::words::push_word;

/// Texts that fill the last tokens if no further word fits. Each short text is a token in most vocabularies.
const FILLERS: [&str; 12] = [" a", " x", "a", "x", ".", ",", "1", "!", " I", " q", "z", "-"];
/// Number of fillers that are tried before a text stays too short.
const MAX_TRIES: usize = 200;

/// Appends words until `text` has `tokens` tokens more than before, with a space before each word unless `text` is empty. Returns whether the
/// number is exact. A text that cannot be encoded is unchanged.
pub(super) fn append<'a>(
    tokenizer: &Tokenizer,
    tokens: u32,
    text: &mut String,
    mut next_word: impl FnMut() -> &'a str,
) -> bool {
    let Ok(before) = tokenizer.count(text) else { return false };
    let target = before + tokens as usize;
    let start = text.len();
    // The ends of the words, so that words can be removed again.
    let mut ends = vec![start];
    let mut count = before;
    while count < target {
        // Words have several tokens here: a few rounds that come close take less time than one round that overshoots far.
        for _ in 0..(target - count).div_ceil(4) {
            push_word(next_word(), text);
            ends.push(text.len());
        }
        match tokenizer.count(text) {
            Ok(found) if found > count => count = found,
            _ => break,
        }
    }
    // The maximum number of words that fit.
    let fitting = ends.partition_point(|end| tokenizer.count(&text[..*end]).is_ok_and(|it| it <= target));
    text.truncate(ends[fitting.saturating_sub(1)]);
    fill(tokenizer, target, text)
}

/// Appends fillers until the text has `target` tokens.
fn fill(tokenizer: &Tokenizer, target: usize, text: &mut String) -> bool {
    let Ok(mut count) = tokenizer.count(text) else { return false };
    for filler in FILLERS.iter().cycle().take(MAX_TRIES) {
        if count >= target {
            break;
        }
        let end = text.len();
        text.push_str(if text.is_empty() { filler.trim_start() } else { filler });
        match tokenizer.count(text) {
            Ok(found) if found > count && found <= target => count = found,
            _ => text.truncate(end),
        }
    }
    count == target
}
