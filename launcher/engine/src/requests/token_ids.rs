//! Prompts as token ids, whose length needs no tokenizer.

use std::fmt::Write as _;

use rand::{Rng, RngExt as _};
use workload_profiles::workload::TokenIdRange;

/// Appends a JSON list of `tokens` random ids.
pub(super) fn write(tokens: u32, ids: TokenIdRange, rng: &mut impl Rng, text: &mut String) {
    text.push('[');
    for place in 0..tokens {
        let comma = if place == 0 { "" } else { "," };
        write!(text, "{comma}{}", rng.random_range(ids.min()..=ids.max())).expect("a String takes everything");
    }
    text.push(']');
}
