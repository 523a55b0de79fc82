//! Prompts as token ids, so that no tokenizer comes between the asked length and the server's.

use std::fmt::Write as _;

use rand::{Rng, RngExt as _};
use workload_profiles::workload::TokenIdRange;

/// Adds a list of `tokens` ids, drawn at random, as JSON.
pub(super) fn write(tokens: u32, ids: TokenIdRange, rng: &mut impl Rng, text: &mut String) {
    text.push('[');
    for place in 0..tokens {
        let comma = if place == 0 { "" } else { "," };
        write!(text, "{comma}{}", rng.random_range(ids.min()..=ids.max())).expect("a String takes everything");
    }
    text.push(']');
}
