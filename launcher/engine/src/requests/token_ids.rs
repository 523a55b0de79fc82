//! Prompts that consist of token ids. Their exact length needs no tokenizer.

use std::fmt::Write as _;

use rand::{Rng, RngExt as _};
use workload_profiles::workload::TokenIdRange;

/// Appends `tokens` random ids to a JSON list that is not closed yet.
pub(super) fn append(tokens: u32, ids: TokenIdRange, rng: &mut impl Rng, text: &mut String) {
    for _ in 0..tokens {
        let comma = if text.ends_with('[') { "" } else { "," };
        write!(text, "{comma}{}", rng.random_range(ids.min()..=ids.max())).expect("a String takes everything");
    }
}
