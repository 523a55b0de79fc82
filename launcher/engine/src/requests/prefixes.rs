//! Texts that several prompts begin with.

use std::sync::OnceLock;

use crds::units::Seed;
use rand::{RngExt as _, seq::SliceRandom as _};
use workload_profiles::workload::{PrefixChoice, PrefixPlace, Prefixes, PromptReuse, TokenIdRange};

use super::{RequestsError, Seeds, Texts, draws, text_seed::SharedTextSeed, token_ids};

/// Maximum number of distinct prefixes.
const MAX_PREFIXES: u32 = 1_000_000;
/// Length of the repeated order of prefixes, if there are fewer prefixes than this. Each round of all prefixes is shuffled separately.
const ORDER: usize = 1 << 13;
/// Maximum total size of the prefixes kept in memory, in bytes. Other prefixes are generated again for each request.
const MAX_KEPT: u64 = 64 << 20;
/// Estimated length of a common word and its space.
const BYTES_PER_TOKEN: u64 = 6;

/// The prefixes of a workload, by index.
#[derive(Debug)]
pub(crate) struct PrefixTexts {
    buckets: Vec<Bucket>,
    place: PrefixPlace,
    choice: Choice,
    texts: SharedTextSeed,
    /// The texts of the first prefixes, and whether each has exactly its length. Each text is generated when it is first needed. Empty if
    /// every stage has different texts.
    kept: Vec<OnceLock<(Box<str>, bool)>>,
}

/// Prefixes of one length.
#[derive(Debug)]
struct Bucket {
    /// The index after the last prefix of this bucket.
    end: u32,
    count: u32,
    tokens: u32,
    /// Sum of the weights of this bucket and all buckets before it.
    weights: f64,
}

#[derive(Debug)]
enum Choice {
    /// Each request draws a prefix by weight, with this seed.
    Random(Seed),
    /// The requests use the prefixes in this order, repeatedly.
    EqualShares(Vec<u32>),
}

impl PrefixTexts {
    /// Prepares the prefixes; `None` if there are none.
    ///
    /// # Errors
    /// There are too many prefixes.
    pub(crate) fn new(
        prefixes: &Prefixes,
        seeds: Seeds<'_>,
        prompts: PromptReuse,
    ) -> Result<Option<PrefixTexts>, RequestsError> {
        let (mut end, mut weights) = (0_u32, 0.0);
        let mut buckets = Vec::new();
        for it in prefixes.buckets.iter().filter(|it| it.count > 0) {
            end = end.saturating_add(it.count);
            weights += it.weight;
            buckets.push(Bucket { end, count: it.count, tokens: it.tokens, weights });
        }
        if buckets.is_empty() {
            return Ok(None);
        }
        if end > MAX_PREFIXES {
            return Err(RequestsError::TooManyPrefixes { prefixes: end, most: MAX_PREFIXES });
        }
        let order = seeds.run.derive("requests/prefix-choice");
        let choice = match prefixes.choice {
            PrefixChoice::Random => Choice::Random(order),
            PrefixChoice::EqualShares => {
                let (mut rng, mut all) = (draws(order, 0), Vec::new());
                for _ in 0..(ORDER / end as usize).max(1) {
                    let begin = all.len();
                    all.extend(0..end);
                    all[begin..].shuffle(&mut rng);
                }
                Choice::EqualShares(all)
            }
        };
        let name = "requests/prefix-texts";
        let mut texts = PrefixTexts {
            buckets,
            place: prefixes.place,
            choice,
            texts: SharedTextSeed::new(name, seeds, prompts, false),
            kept: Vec::new(),
        };
        let mut bytes = 0;
        let kept = (0..end).take_while(|it| {
            bytes += u64::from(texts.tokens(*it)) * BYTES_PER_TOKEN;
            bytes <= MAX_KEPT
        });
        let kept = kept.filter(|_| !texts.texts.is_of_stage()).map(|_| OnceLock::new()).collect();
        texts.kept = kept;
        Ok(Some(texts))
    }

    /// Returns where a chat contains the prefix.
    pub(crate) fn place(&self) -> PrefixPlace {
        self.place
    }

    /// Returns the index of the request's prefix or session with this number.
    pub(crate) fn index(&self, number: u64) -> u32 {
        match &self.choice {
            Choice::EqualShares(order) => {
                let place = number % order.len() as u64;
                order.get(usize::try_from(place).unwrap_or(0)).copied().unwrap_or(0)
            }
            Choice::Random(seed) => {
                let mut rng = draws(*seed, number);
                let all = self.buckets.last().map_or(0.0, |it| it.weights);
                let drawn = rng.random::<f64>() * all;
                let bucket = self.buckets.iter().find(|it| drawn < it.weights).or(self.buckets.last());
                bucket.map_or(0, |it| it.end - it.count + rng.random_range(0..it.count))
            }
        }
    }

    /// Returns the length of a prefix, in tokens.
    pub(crate) fn tokens(&self, index: u32) -> u32 {
        self.buckets.iter().find(|it| index < it.end).map_or(0, |it| it.tokens)
    }

    /// Appends the text of a prefix to `text`, which must be empty. Returns whether the text has exactly the prefix's length in tokens.
    pub(crate) fn write(&self, texts: &Texts, stage: usize, index: u32, text: &mut String) -> bool {
        let make = || {
            let tokens = self.tokens(index);
            let mut text = String::with_capacity(tokens as usize * BYTES_PER_TOKEN as usize);
            let exact = texts.words(tokens, &mut self.texts.draws(stage, u64::from(index)), &mut text);
            (text.into_boxed_str(), exact)
        };
        match self.kept.get(index as usize) {
            Some(kept) => {
                let (kept, exact) = kept.get_or_init(make);
                text.push_str(kept);
                *exact
            }
            None => {
                let (made, exact) = make();
                text.push_str(&made);
                exact
            }
        }
    }

    /// Appends the token ids of a prefix to a list in `text`.
    pub(super) fn write_ids(&self, ids: TokenIdRange, stage: usize, index: u32, text: &mut String) {
        token_ids::append(self.tokens(index), ids, &mut self.texts.draws(stage, u64::from(index)), text);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use workload_profiles::workload::PrefixBucket;

    use super::*;

    fn check(buckets: &[(f64, u32, u32)], choice: PrefixChoice) -> Result<Option<PrefixTexts>, RequestsError> {
        let bucket = |&(weight, count, tokens)| PrefixBucket { weight, count, tokens };
        let prefixes = Prefixes { buckets: buckets.iter().map(bucket).collect(), choice, place: PrefixPlace::Prompt };
        PrefixTexts::new(&prefixes, Seed(1).into(), PromptReuse::Fresh)
    }

    /// Returns the number of requests per prefix.
    fn shares(texts: &PrefixTexts, requests: u64) -> BTreeMap<u32, u32> {
        let mut counts = BTreeMap::new();
        (0..requests).for_each(|it| *counts.entry(texts.index(it)).or_insert(0) += 1);
        counts
    }

    #[test]
    fn prefixes_are_drawn_by_the_weight_of_their_bucket() {
        let texts = check(&[(1.0, 2, 10), (3.0, 3, 20)], PrefixChoice::Random).unwrap().unwrap();
        let shares = shares(&texts, 12_000);
        // A quarter of the requests uses two prefixes, and the rest uses three.
        for (index, expected) in [(0, 1_500), (1, 1_500), (2, 3_000), (3, 3_000), (4, 3_000)] {
            assert!(shares[&index].abs_diff(expected) < 200, "{shares:?}");
        }
        assert_eq!([0, 1, 2, 4].map(|it| texts.tokens(it)), [10, 10, 20, 20]);
    }

    #[test]
    fn equal_shares_are_equal_and_in_no_fixed_order() {
        let texts = check(&[(9.0, 3, 10), (1.0, 4, 20)], PrefixChoice::EqualShares).unwrap().unwrap();
        for rounds in [1, 10, 1_000] {
            assert!(shares(&texts, 7 * u64::from(rounds)).values().all(|it| *it == rounds));
        }
        let round = |round: u64| (0..7).map(|it| texts.index(round * 7 + it)).collect::<Vec<_>>();
        assert_ne!(round(0), round(1));
    }

    #[test]
    fn a_prefix_has_its_length_and_always_the_same_text() {
        let prefixes = check(&[(1.0, 2, 10), (1.0, 2, 20)], PrefixChoice::Random).unwrap().unwrap();
        let text = |texts: &PrefixTexts, index| {
            let mut text = String::new();
            texts.write(&Texts::default(), 0, index, &mut text);
            text
        };
        let mut bare = check(&[(1.0, 2, 10), (1.0, 2, 20)], PrefixChoice::Random).unwrap().unwrap();
        bare.kept.clear();
        let all: Vec<String> = (0..4).map(|it| text(&prefixes, it)).collect();
        for (index, expected) in (0..).zip(&all) {
            assert_eq!(text(&prefixes, index), *expected);
            assert_eq!(text(&bare, index), *expected);
            assert_eq!(expected.split(' ').count(), prefixes.tokens(index) as usize);
        }
        assert!(all.windows(2).all(|it| it[0] != it[1]));
    }

    #[test]
    fn no_prefixes_and_too_many_are_told_apart() {
        assert!(check(&[], PrefixChoice::Random).unwrap().is_none());
        assert!(check(&[(1.0, 0, 5)], PrefixChoice::Random).unwrap().is_none());
        let error = check(&[(1.0, 600_000, 5), (1.0, 600_000, 5)], PrefixChoice::Random).unwrap_err();
        assert!(error.to_string().contains("1200000 distinct prefixes"), "{error}");
    }
}
