//! Texts of an exact length with any tokenizer. Words are added and the text is encoded, until the length is right.

use tokenizer::Tokenizer;

use super::words::push_word;

/// Short texts that fill up the last tokens if no further word fits. Each is a single token in most vocabularies.
const FILLERS: [&str; 12] = [" a", " x", "a", "x", ".", ",", "1", "!", " I", " q", "z", "-"];
/// Maximum number of fillers tried before the text is left too short.
const MAX_TRIES: usize = 200;

/// Appends words until `text` has `tokens` tokens more than before. A space precedes each word unless `text` is empty. Returns whether the
/// number is exact. If the text cannot be encoded, it is unchanged.
pub(super) fn append<'a>(
    tokenizer: &Tokenizer,
    tokens: u32,
    text: &mut String,
    mut next_word: impl FnMut() -> &'a str,
) -> bool {
    let Ok(before) = tokenizer.count(text) else { return false };
    let target = before + tokens as usize;
    let start = text.len();
    // The offsets at which words end, so that words can be removed again.
    let mut ends = vec![start];
    let mut count = before;
    while count < target {
        // Words can have several tokens, so only a part of the missing number is added per round. A few rounds that approach the target take less
        // time than one round that overshoots it.
        for _ in 0..(target - count).div_ceil(4) {
            push_word(next_word(), text);
            ends.push(text.len());
        }
        match tokenizer.count(text) {
            Ok(found) if found > count => count = found,
            _ => break,
        }
    }
    // Find the largest number of words that fits.
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
