//! Detects addresses that lead to the same server, such as a name and its address, or two names. Pure.
//!
//! Two addresses lead to the same server under three conditions: the same process responds at both, both have the same counters, and no counter at
//! one address is smaller than it was earlier at the other. This can be decided only if `process_start_time_seconds` is reported.

use std::collections::HashMap;

use super::{Scrape, Series, Store};
use crate::families::{Part, Role};

impl Store {
    /// Pairs of addresses that lead to the same server: (first address, later address).
    pub fn twins(&self) -> Vec<(usize, usize)> {
        let mut by_start = HashMap::<u64, Vec<usize>>::new();
        let mut found = Vec::new();
        for (index, address) in self.addresses.iter().enumerate() {
            let Some(start) = address.processes.only() else { continue };
            let others = by_start.entry(start.to_bits()).or_default();
            match others.iter().find(|it| self.are_one(**it, index)) {
                Some(first) => found.push((*first, index)),
                None => others.push(index),
            }
        }
        found
    }

    /// Removes all responses of an address.
    pub fn forget(&mut self, address: usize) {
        if let Some(of) = self.addresses.get_mut(address) {
            of.scrapes.clear();
        }
        self.series.iter_mut().filter(|it| it.address == address).for_each(Series::clear);
    }

    fn are_one(&self, one: usize, other: usize) -> bool {
        let counters = |address: usize| {
            let series = self.series.iter().filter(move |it| it.address == address && it.role != Role::Kept);
            series.filter(|it| matches!(it.part, Part::Counter | Part::Count))
        };
        let of_one: HashMap<_, _> = counters(one).map(|it| ((&it.metric, &it.labels), it)).collect();
        let mut pairs = counters(other).map(|it| (of_one.get(&(&it.metric, &it.labels)).copied(), it)).peekable();
        pairs.peek().is_some()
            && pairs.all(|(one, other)| {
                one.is_some_and(|one| {
                    let (one, other) = (self.timed(one), self.timed(other));
                    goes_on(&one, &other) && goes_on(&other, &one)
                })
            })
    }

    /// The samples of a series, each with its scrape.
    fn timed(&self, series: &Series) -> Vec<(Scrape, f64)> {
        let scrapes = self.addresses.get(series.address).map_or(&[][..], |it| it.scrapes());
        let scrape = |number: u32| scrapes.binary_search_by_key(&number, |it| it.number).ok().map(|it| scrapes[it]);
        series.samples().filter_map(|(number, value)| Some((scrape(number)?, value))).collect()
    }
}

/// Whether every sample of `later` is at least as large as the samples of `earlier` from scrapes that had ended before it.
fn goes_on(earlier: &[(Scrape, f64)], later: &[(Scrape, f64)]) -> bool {
    let mut before = earlier.iter().peekable();
    let mut most = f64::NEG_INFINITY;
    later.iter().all(|(scrape, value)| {
        while let Some((_, had)) = before.next_if(|(it, _)| it.at + it.took <= scrape.at) {
            most = most.max(*had);
        }
        *value >= most
    })
}
