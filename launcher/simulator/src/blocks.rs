//! Digests of the full blocks of a token sequence, for the prefix cache. Pure.
//!
//! As in vLLM, a digest covers its block and all tokens before it. Two sequences therefore share exactly the leading blocks with equal digests. A
//! digest has 64 bits: two different prefixes collide in about one of 10^13 pairs of a full cache.

use super::text::mix;

/// The digests of the full blocks so far, and the state of the incomplete block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockHashes {
    /// Tokens per block. 0: no digests are kept.
    size: u32,
    /// Number of tokens in the incomplete block.
    filled: u32,
    state: u64,
    full: Vec<u64>,
}

impl BlockHashes {
    /// Creates digests for blocks of `size` tokens. With size 0, no digests are kept. Sequences with different `salt` share no block.
    pub(crate) fn new(size: u32, salt: u64) -> Self {
        BlockHashes { size, filled: 0, state: salt, full: Vec::new() }
    }

    /// Adds a token.
    pub(crate) fn push(&mut self, id: u32) {
        self.state = mix(self.state, u64::from(id));
        if self.size > 0 {
            self.filled += 1;
            if self.filled == self.size {
                self.filled = 0;
                self.full.push(self.state);
            }
        }
    }

    /// Returns a digest of all tokens.
    pub(crate) fn digest(&self) -> u64 {
        self.state
    }

    /// The digests of the full blocks.
    pub(crate) fn full(&self) -> &[u64] {
        &self.full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(size: u32, salt: u64, tokens: impl IntoIterator<Item = u32>) -> BlockHashes {
        let mut hashes = BlockHashes::new(size, salt);
        tokens.into_iter().for_each(|id| hashes.push(id));
        hashes
    }

    #[test]
    fn rows_share_their_leading_full_blocks() {
        let (long, short) = (hashes(4, 0, 0..11), hashes(4, 0, 0..8));
        assert_eq!((long.full().len(), short.full().len()), (2, 2));
        assert_eq!(long.full(), short.full());
        // Another first token changes all blocks. Another last token changes only its own block.
        let first = hashes(4, 0, (0..8).map(|id| if id == 0 { 9 } else { id }));
        assert!(first.full().iter().zip(short.full()).all(|(left, right)| left != right));
        let last = hashes(4, 0, (0..8).map(|id| if id == 7 { 9 } else { id }));
        assert_eq!(last.full()[0], short.full()[0]);
        assert_ne!(last.full()[1], short.full()[1]);
        assert_ne!(hashes(4, 1, 0..8).full()[0], short.full()[0]);
        assert!(hashes(0, 0, 0..8).full().is_empty());
    }
}
