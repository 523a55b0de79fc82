//! Sample sets: which samples of the data set are loaded before a phase, and in which order.

use workload_profiles::loadgen::{Effective, Qsl, Scenario, Settings};

use crate::queries::random::Mt19937;

/// The samples that a phase issues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleSet {
    /// Samples of the data set, in the order in which they are loaded. In MultiStream, the first samples are repeated at the end as
    /// padding, for queries that begin near the end.
    pub indices: Vec<u32>,
    /// Number of samples without the padding.
    pub end: usize,
}

impl SampleSet {
    /// Returns the samples to load, without the padding.
    pub fn loaded(&self) -> &[u32] {
        self.indices.get(..self.end).unwrap_or(&self.indices)
    }

    /// Creates a set with padding. Padding entry k is a copy of entry k of the set. If the set is short, that entry may itself be padding.
    fn new(samples: &[u32], padding: usize) -> Self {
        let mut indices = Vec::with_capacity(samples.len() + padding);
        indices.extend_from_slice(samples);
        if !samples.is_empty() {
            for k in 0..padding {
                indices.push(indices[k]);
            }
        }
        SampleSet { indices, end: samples.len() }
    }
}

/// Returns the set of a performance phase or trial; there is only one set then. The query generator checks that the counts fit into memory.
pub(crate) fn performance_set(settings: &Settings, effective: &Effective, qsl: &Qsl) -> SampleSet {
    let order = order(settings, effective.performance_sample_count, qsl);
    SampleSet::new(&order, padding(settings, effective))
}

/// The sets of the accuracy phases, in order.
#[derive(Clone, Debug)]
pub(crate) struct AccuracySets {
    order: Vec<u32>,
    size: usize,
    padding: usize,
}

/// Divides all samples of an accuracy test into sets, each of which can be loaded at once.
pub(crate) fn accuracy_sets(settings: &Settings, effective: &Effective, qsl: &Qsl) -> AccuracySets {
    AccuracySets {
        order: order(settings, effective.accuracy_sample_count, qsl),
        size: usize::try_from(effective.performance_sample_count.max(1)).unwrap_or(usize::MAX),
        padding: padding(settings, effective),
    }
}

impl AccuracySets {
    /// Returns a set by its number; `None` beyond the last one.
    pub fn get(&self, place: u64) -> Option<SampleSet> {
        let samples = self.order.chunks(self.size).nth(usize::try_from(place).ok()?)?;
        Some(SampleSet::new(samples, self.padding))
    }

    /// Returns the number of sets.
    pub fn len(&self) -> usize {
        self.order.len().div_ceil(self.size)
    }
}

/// Returns the first `count` samples of the data set, shuffled.
fn order(settings: &Settings, count: u64, qsl: &Qsl) -> Vec<u32> {
    let count = u32::try_from(count.min(qsl.total_sample_count)).unwrap_or(u32::MAX);
    let mut order: Vec<u32> = (0..count).collect();
    Mt19937::new(settings.qsl_rng_seed).shuffle(&mut order);
    order
}

fn padding(settings: &Settings, effective: &Effective) -> usize {
    match settings.scenario {
        Scenario::MultiStream => usize::try_from(effective.samples_per_query.saturating_sub(1)).unwrap_or(usize::MAX),
        Scenario::SingleStream | Scenario::Server | Scenario::Offline => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_shorter_than_its_padding_wraps_over_itself() {
        let set = SampleSet::new(&[7, 9], 5);
        assert_eq!(set, SampleSet { indices: vec![7, 9, 7, 9, 7, 9, 7], end: 2 });
        assert_eq!(set.loaded(), [7, 9]);
    }

    #[test]
    fn accuracy_goes_through_every_sample_once() {
        let qsl = Qsl { name: String::new(), total_sample_count: 23, performance_sample_count: 10 };
        let settings = Settings::default();
        let sets = accuracy_sets(&settings, &Effective::new(&settings, &qsl), &qsl);
        let sizes: Vec<usize> = (0..4).filter_map(|it| sets.get(it)).map(|it| it.end).collect();
        assert_eq!((sets.len(), sizes), (3, vec![10, 10, 3]));
        let mut all: Vec<u32> = (0..3).flat_map(|it| sets.get(it).unwrap().indices).collect();
        all.sort_unstable();
        assert_eq!(all, (0..23).collect::<Vec<_>>());
    }
}
