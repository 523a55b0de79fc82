//! The blocks of the KV cache: which sequences hold them, and which prefixes they cache. Pure.
//!
//! As in vLLM, a sequence holds one block per `block_size` tokens, and its last block is partly filled. A full block gets the digest of its prefix.
//! It is then called sealed, and sequences with the same prefix share it. A sealed block that no sequence holds remains until its space is needed.
//! The block that was released longest ago is evicted first. Among blocks of one sequence, the last block is evicted first. Unlike in vLLM, if two
//! sequences compute the same block in the same step, it is stored only once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The index that means "no block".
const NONE: u32 = u32::MAX;

/// The blocks that one sequence holds.
#[derive(Debug, Default)]
pub(crate) struct HeldBlocks {
    /// The indexes of the sealed blocks, from the first block on.
    sealed: Vec<u32>,
    /// Number of blocks after the sealed ones.
    unsealed: u32,
}

impl HeldBlocks {
    fn len(&self) -> u32 {
        self.sealed.len() as u32 + self.unsealed
    }
}

/// A sealed block. Blocks that no sequence holds form a list. At its head is the block to evict next.
#[derive(Debug)]
struct Block {
    hash: u64,
    holders: u32,
    before: u32,
    after: u32,
}

/// All blocks of the cache. Memory: at most 24 bytes and one index entry per block of the capacity.
#[derive(Debug)]
pub(crate) struct KvCache {
    block_size: u32,
    /// Number of blocks that can be used.
    capacity: u32,
    /// Whether prefixes are cached.
    caching: bool,
    sealed: Vec<Block>,
    /// Indexes in `sealed` that contain no block.
    vacant: Vec<u32>,
    index: HashMap<u64, u32, BuildHasherDefault<AsItIs>>,
    /// Number of blocks in use that are not sealed.
    unsealed: u32,
    /// Number of sealed blocks that no sequence holds.
    idle: u32,
    head: u32,
    tail: u32,
}

impl KvCache {
    /// An empty cache of `blocks` blocks, including one reserved block as in vLLM.
    pub(crate) fn new(block_size: u32, blocks: u32, caching: bool) -> Self {
        KvCache {
            block_size,
            capacity: blocks.saturating_sub(1),
            caching,
            sealed: Vec::new(),
            vacant: Vec::new(),
            index: HashMap::default(),
            unsealed: 0,
            idle: 0,
            head: NONE,
            tail: NONE,
        }
    }

    /// Tokens per block.
    pub(crate) fn block_size(&self) -> u32 {
        self.block_size
    }

    /// Whether prefixes are cached.
    pub(crate) fn is_caching(&self) -> bool {
        self.caching
    }

    /// Number of blocks that sequences hold.
    pub(crate) fn used(&self) -> u32 {
        self.unsealed + self.index.len() as u32 - self.idle
    }

    /// The number of leading blocks that are in the cache.
    pub(crate) fn lookup(&self, hashes: &[u64]) -> u32 {
        if !self.caching {
            return 0;
        }
        hashes.iter().take_while(|hash| self.index.contains_key(hash)).count() as u32
    }

    /// Assigns the blocks of a cached prefix to a sequence that holds no blocks. Returns `false` if the cache has no room for all `tokens` tokens of
    /// the sequence. The sequence then still holds no blocks.
    pub(crate) fn admit(&mut self, held: &mut HeldBlocks, prefix: &[u64], tokens: u32) -> bool {
        let found: Vec<u32> = prefix.iter().filter_map(|hash| self.index.get(hash).copied()).collect();
        let woken = found.iter().filter(|block| self.sealed[**block as usize].holders == 0).count() as u32;
        let fresh = tokens.div_ceil(self.block_size).saturating_sub(found.len() as u32);
        if fresh + woken > self.capacity - self.used() {
            return false;
        }
        for block in found {
            self.hold(block);
            held.sealed.push(block);
        }
        true
    }

    /// Makes room for `tokens` tokens of a sequence. Returns `false`, and changes nothing, if there is no room.
    pub(crate) fn grow(&mut self, held: &mut HeldBlocks, tokens: u32) -> bool {
        let missing = tokens.div_ceil(self.block_size).saturating_sub(held.len());
        if missing == 0 {
            return true;
        }
        if missing > self.capacity - self.used() {
            return false;
        }
        held.unsealed += missing;
        self.unsealed += missing;
        while self.unsealed + self.index.len() as u32 > self.capacity {
            self.evict();
        }
        true
    }

    /// Seals the first blocks of a sequence. `hashes` are the digests of these blocks.
    pub(crate) fn seal(&mut self, held: &mut HeldBlocks, hashes: &[u64]) {
        if !self.caching {
            return;
        }
        for hash in hashes.iter().skip(held.sealed.len()) {
            if held.unsealed == 0 {
                return;
            }
            held.unsealed -= 1;
            self.unsealed -= 1;
            let block = match self.index.get(hash) {
                Some(block) => {
                    let block = *block;
                    self.hold(block);
                    block
                }
                None => self.insert(*hash),
            };
            held.sealed.push(block);
        }
    }

    /// Releases all blocks of a sequence.
    pub(crate) fn release(&mut self, held: &mut HeldBlocks) {
        self.unsealed -= std::mem::take(&mut held.unsealed);
        for block in held.sealed.drain(..).rev() {
            let holders = &mut self.sealed[block as usize].holders;
            *holders -= 1;
            if *holders == 0 {
                self.append(block);
            }
        }
    }

    /// Removes every block that no sequence holds.
    pub(crate) fn forget(&mut self) {
        while self.idle > 0 {
            self.evict();
        }
    }

    fn insert(&mut self, hash: u64) -> u32 {
        let block = Block { hash, holders: 1, before: NONE, after: NONE };
        let place = match self.vacant.pop() {
            Some(place) => {
                self.sealed[place as usize] = block;
                place
            }
            None => {
                self.sealed.push(block);
                self.sealed.len() as u32 - 1
            }
        };
        self.index.insert(hash, place);
        place
    }

    fn hold(&mut self, block: u32) {
        self.sealed[block as usize].holders += 1;
        if self.sealed[block as usize].holders == 1 {
            self.unlink(block);
        }
    }

    /// Removes the block that was released longest ago.
    fn evict(&mut self) {
        let block = self.head;
        self.unlink(block);
        self.index.remove(&self.sealed[block as usize].hash);
        self.vacant.push(block);
    }

    fn append(&mut self, block: u32) {
        let before = std::mem::replace(&mut self.tail, block);
        let entry = &mut self.sealed[block as usize];
        (entry.before, entry.after) = (before, NONE);
        match before {
            NONE => self.head = block,
            before => self.sealed[before as usize].after = block,
        }
        self.idle += 1;
    }

    fn unlink(&mut self, block: u32) {
        let Block { before, after, .. } = self.sealed[block as usize];
        match before {
            NONE => self.head = after,
            before => self.sealed[before as usize].after = after,
        }
        match after {
            NONE => self.tail = before,
            after => self.sealed[after as usize].before = before,
        }
        self.idle -= 1;
    }
}

/// A hasher that returns keys unchanged, because they are already digests.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::blocks::BlockHashes;

    fn hashes(row: u64, blocks: u32) -> Vec<u64> {
        let mut hashes = BlockHashes::new(4, row);
        (0..blocks * 4).for_each(|id| hashes.push(id));
        hashes.full().to_vec()
    }

    /// Runs a sequence of full blocks. Returns the number of cached blocks, and the held blocks. `None` if it does not fit.
    fn run(cache: &mut KvCache, hashes: &[u64]) -> Option<(u32, HeldBlocks)> {
        let (mut held, found) = (HeldBlocks::default(), cache.lookup(hashes));
        let tokens = hashes.len() as u32 * 4;
        if !cache.admit(&mut held, &hashes[..found as usize], tokens) {
            return None;
        }
        assert!(cache.grow(&mut held, tokens));
        cache.seal(&mut held, hashes);
        Some((found, held))
    }

    #[test]
    fn a_prefix_is_found_while_it_is_held_and_after() {
        let mut cache = KvCache::new(4, 11, true);
        let (found, mut first) = run(&mut cache, &hashes(1, 3)).unwrap();
        assert_eq!((found, cache.used()), (0, 3));
        let (found, mut second) = run(&mut cache, &hashes(1, 5)).unwrap();
        assert_eq!((found, cache.used()), (3, 5));
        cache.release(&mut first);
        assert_eq!(cache.used(), 5);
        cache.release(&mut second);
        assert_eq!((cache.used(), cache.lookup(&hashes(1, 5))), (0, 5));
        assert_eq!(cache.lookup(&hashes(2, 5)), 0);
    }

    #[test]
    fn what_was_released_longest_ago_goes_first_and_from_its_end() {
        let mut cache = KvCache::new(4, 11, true);
        for row in [1, 2, 1] {
            let (_, mut held) = run(&mut cache, &hashes(row, 5)).unwrap();
            cache.release(&mut held);
        }
        let (_, mut held) = run(&mut cache, &hashes(3, 2)).unwrap();
        assert_eq!((cache.lookup(&hashes(2, 5)), cache.lookup(&hashes(1, 5))), (3, 5));
        // Held blocks are not evicted, so a sequence of nine blocks does not fit into the rest.
        assert!(run(&mut cache, &hashes(4, 9)).is_none());
        assert_eq!((cache.lookup(&hashes(3, 2)), cache.used()), (2, 2));
        cache.release(&mut held);
        assert!(run(&mut cache, &hashes(4, 9)).is_some());
    }

    #[test]
    fn without_caching_blocks_are_counted_and_nothing_is_kept() {
        let mut cache = KvCache::new(4, 4, false);
        let (_, mut held) = run(&mut cache, &hashes(1, 3)).unwrap();
        assert_eq!(cache.used(), 3);
        assert!(!cache.grow(&mut held, 13));
        cache.release(&mut held);
        assert_eq!((cache.used(), cache.lookup(&hashes(1, 3))), (0, 0));
    }

    proptest! {
        #[test]
        fn the_capacity_is_never_exceeded_and_all_comes_back(
            rows in prop::collection::vec((0_u64..6, 1_u32..7, any::<bool>()), 1..80),
        ) {
            let mut cache = KvCache::new(4, 13, true);
            let mut running = std::collections::VecDeque::new();
            for (row, blocks, stays) in rows {
                if let Some((found, mut held)) = run(&mut cache, &hashes(row, blocks)) {
                    prop_assert!(found <= blocks);
                    if stays { running.push_back(held) } else { cache.release(&mut held) }
                } else if let Some(mut held) = running.pop_front() {
                    cache.release(&mut held);
                }
                prop_assert!(cache.unsealed + cache.index.len() as u32 <= 12 && cache.used() <= 12);
                prop_assert_eq!(cache.sealed.len(), cache.index.len() + cache.vacant.len());
            }
            running.iter_mut().for_each(|held| cache.release(held));
            prop_assert_eq!(cache.used(), 0);
        }
    }
}
