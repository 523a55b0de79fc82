//! Texts at the beginning of the prompts of several requests.

use crate::{
    formats::common::bounds::{MAX_PROMPTS, MAX_TOKENS},
    reader::Section,
    workload::{PrefixBucket, PrefixChoice, PrefixPlace, Prefixes},
};

/// Maximum number of buckets.
const MAX_BUCKETS: usize = 1_000;
/// Maximum weight of a bucket.
pub(super) const MAX_WEIGHT: f64 = 1e9;

/// Reads the section `prefixes`. Returns no prefixes if it is absent. Returns `None` if at least one problem was reported.
pub(super) fn read(parent: &Section) -> Option<Prefixes> {
    if parent.value("prefixes").is_none() {
        return Some(Prefixes::default());
    }
    let section = parent.section("prefixes")?;
    section.require("buckets", "write prefixes of one length, such as [{tokens: 1024}]");
    let buckets = buckets(&section);
    let choices = [("random", PrefixChoice::Random), ("equalShares", PrefixChoice::EqualShares)];
    let choice = section.or_default("choice", PrefixChoice::default(), |it, key| it.choice(key, &choices));
    let places = [("prompt", PrefixPlace::Prompt), ("system", PrefixPlace::System)];
    let place = section.or_default("place", PrefixPlace::default(), |it, key| it.choice(key, &places));
    section.finish();
    Some(Prefixes { buckets: buckets?, choice: choice?, place: place? })
}

fn buckets(section: &Section) -> Option<Vec<PrefixBucket>> {
    let items = section.list("buckets")?;
    let wanted = items.len();
    if wanted == 0 || wanted > MAX_BUCKETS {
        section.problem("buckets", format!("holds {wanted} buckets; write 1 to {MAX_BUCKETS}, or leave prefixes out"));
        return None;
    }
    let mut buckets = Vec::with_capacity(wanted);
    for (path, value) in items {
        let Some(item) = section.element(value, path) else { continue };
        item.require("tokens", "write the length of each prefix in tokens");
        let weight = item.or_default("weight", 1.0, |it, key| it.positive_number(key, MAX_WEIGHT));
        let count = item.or_default("count", 1, |it, key| it.count_u32(key, 1..=MAX_PROMPTS));
        let tokens = item.count_u32("tokens", 1..=MAX_TOKENS);
        item.finish();
        if let (Some(weight), Some(count), Some(tokens)) = (weight, count, tokens) {
            buckets.push(PrefixBucket { weight, count, tokens });
        }
    }
    let prefixes: u64 = buckets.iter().map(|it| u64::from(it.count)).sum();
    if prefixes > MAX_PROMPTS {
        section
            .problem("buckets", format!("ask for {prefixes} prefixes; at most {MAX_PROMPTS} are kept, lower a count"));
    }
    (buckets.len() == wanted).then_some(buckets)
}
