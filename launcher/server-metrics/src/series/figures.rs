//! Computes the figures of a time window from the samples. Pure.
//!
//! Gauges are read within the window. Increases of counters and histograms cover a little more: from the last scrape that ended before the window to
//! the first scrape that began after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    Address, Scrape, Series, Store,
    histogram::{Increases, Latency},
    levels::{self, HOLD, Levels},
};
use crate::families::{Part, Role};

/// Maximum distance of these two scrapes from the window, in scrape intervals. If they are farther away, the increase would include too much from
/// outside the window.
pub(super) const REACH: u32 = 2;

/// The metrics of all servers together in a time window. A value is `None` if no server reported it. Increases, distributions and sums are also
/// `None` if a server that has the metric cannot provide it: see [`WindowFigures::is_gap`] and [`Address::is_several_servers`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowFigures {
    /// The span of the increases: from the time at which the first scrape was sent to the time at which the last one was sent, over all addresses. On
    /// the machine's monotonic clock. `None` if no scrape succeeded.
    pub bracket: Option<(Duration, Duration)>,
    /// Whether every address was scraped right before and right after the window, and no counter restarted in between.
    pub whole: bool,
    /// Whether the scrapes of an address are too far from the window. Its counters then have no increases.
    pub is_gap: bool,
    /// Number of scrapes that show a restart: a counter was smaller than before, or another process responded.
    pub resets: u64,
    /// The fraction of the window in which the metrics of all servers that ever responded were known. Sums are computed from this part only.
    pub answered_share: Option<f64>,
    /// Number of requests over all servers.
    pub running: Option<Levels>,
    pub waiting: Option<Levels>,
    /// Mean number of requests running and waiting, by Little's law: total latency of the finished requests / time. Unlike gauges, it does not depend
    /// on the moments of the scrapes.
    pub by_littles_law: Option<f64>,
    /// KV cache usage as a fraction. The mean covers all servers; minimum and maximum are the extremes of single servers.
    pub kv_cache_usage: Option<Levels>,
    pub preemptions: Option<f64>,
    pub prompt_tokens: Option<f64>,
    pub generation_tokens: Option<f64>,
    pub succeeded: Option<f64>,
    /// Number of tokens that were looked up in the prefix cache.
    pub prefix_queries: Option<f64>,
    pub prefix_hits: Option<f64>,
    pub ttft: Option<Latency>,
    pub itl: Option<Latency>,
    pub e2e: Option<Latency>,
    pub queue: Option<Latency>,
    pub prefill: Option<Latency>,
    pub decode: Option<Latency>,
    pub pool_ready_pods: Option<Levels>,
    pub pool_queue: Option<Levels>,
    pub pool_kv_cache_usage: Option<Levels>,
    /// GPU utilization as a fraction of time. The mean covers all GPUs; minimum and maximum are the extremes of single GPUs.
    pub gpu_utilization: Option<Levels>,
    /// Power in watts, summed over all GPUs.
    pub gpu_power: Option<Levels>,
    /// Energy in joules, summed over all GPUs.
    pub gpu_energy: Option<f64>,
    /// Used memory in MiB, summed over all GPUs.
    pub gpu_memory: Option<Levels>,
}

impl WindowFigures {
    /// Tokens found in the prefix cache / tokens looked up there. SGLang does not report looked-up tokens, so its prompt tokens are used.
    pub fn prefix_hit_share(&self) -> Option<f64> {
        let queries = self.prefix_queries.or(self.prompt_tokens).filter(|it| *it > 0.0)?;
        self.prefix_hits.map(|it| it / queries).filter(|it| it.is_finite())
    }
}

/// The two scrapes of an address between which increases count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bracket {
    /// The last scrape before the window; `None` if no scrape succeeded before it.
    pub(super) begin: Option<Scrape>,
    /// The scrape from which increases count: the one before the window, or the first successful one.
    first: Scrape,
    pub(super) end: Scrape,
    pub(super) whole: bool,
    /// Whether one of the two scrapes is too far from the window.
    pub(super) is_far: bool,
}

impl Store {
    /// Computes the figures of the window from `from` to `to`, on the machine's monotonic clock. `interval` is the time between two scrapes.
    pub fn figures(&self, from: Duration, to: Duration, interval: Duration) -> WindowFigures {
        let brackets: Vec<Option<Bracket>> = {
            let bracket = |it: &Address| bracket(it.scrapes(), (from, to), interval * REACH);
            self.addresses.iter().map(bracket).collect()
        };
        let known: Vec<Bracket> = brackets.iter().flatten().copied().collect();
        let span = known.iter().map(|it| it.first.at).min().zip(known.iter().map(|it| it.end.at).max());
        let (view, hold) = (View { store: self, brackets: &brackets }, interval * HOLD);
        let resets = view.resets();
        let is_gap = view.is_gap();
        let mixed = self.addresses.iter().any(Address::is_several_servers);
        let sum = |role: Role| levels::in_sequence(self.sums(role, (from, to), hold));
        let each = |role: Role| levels::each(&self.gauges(role, (from, to), hold));
        // Addresses that never responded do not contribute to any figure.
        let answered = self.addresses.iter().filter(|it| it.scrapes().iter().any(|it| it.ok)).count();
        let answers = answered > 0 && known.len() == answered;
        let e2e = view.latency(Role::E2e);
        let length = span.map(|(first, last)| last.saturating_sub(first).as_secs_f64()).filter(|it| *it > 0.0);
        WindowFigures {
            by_littles_law: e2e.as_ref().zip(length).map(|(it, length)| it.mean * it.count / length),
            bracket: span,
            whole: answers && known.iter().all(|it| it.whole && !it.is_far) && resets == 0 && !mixed,
            is_gap,
            resets,
            answered_share: self.answered_share((from, to), hold).filter(|_| answered > 0),
            running: sum(Role::Running),
            waiting: sum(Role::Waiting),
            kv_cache_usage: each(Role::KvCacheUsage),
            preemptions: view.increase(Role::Preemptions),
            prompt_tokens: view.increase(Role::PromptTokens),
            generation_tokens: view.increase(Role::GenerationTokens),
            succeeded: view.increase(Role::Succeeded),
            prefix_queries: view.increase(Role::PrefixQueries),
            prefix_hits: view.increase(Role::PrefixHits),
            ttft: view.latency(Role::Ttft),
            itl: view.latency(Role::Itl),
            e2e,
            queue: view.latency(Role::Queue),
            prefill: view.latency(Role::Prefill),
            decode: view.latency(Role::Decode),
            pool_ready_pods: sum(Role::PoolReadyPods),
            pool_queue: each(Role::PoolQueue),
            pool_kv_cache_usage: each(Role::PoolKvCacheUsage),
            gpu_utilization: each(Role::GpuUtilization).map(|it| it.scaled(0.01)),
            gpu_power: sum(Role::GpuPower),
            gpu_energy: view.increase(Role::GpuEnergy).map(|millijoules| millijoules / 1e3),
            gpu_memory: sum(Role::GpuMemory),
        }
    }
}

pub(super) fn bracket(scrapes: &[Scrape], (from, to): (Duration, Duration), reach: Duration) -> Option<Bracket> {
    let good = || scrapes.iter().filter(|it| it.ok).copied();
    let begin = good().take_while(|it| it.at + it.took <= from).last();
    let after = good().find(|it| it.at >= to);
    let end = after.or_else(|| good().last().filter(|it| it.at >= from))?;
    // A slow scrape delays the next scrape, so its duration is added to the allowed distance.
    let reach = reach + begin.map_or(end.took, |it| it.took.max(end.took));
    let first = begin.or_else(|| good().next())?;
    // If there is no scrape before the window, the time from the start of the window to the first scrape is not covered.
    let before = begin.map_or(first.at.saturating_sub(from), |it| from.saturating_sub(it.at + it.took));
    // An increase needs two scrapes.
    let is_single = begin.is_none() && first.number == end.number;
    let is_far = is_single || before > reach || end.at.saturating_sub(to) > reach;
    Some(Bracket { begin, first, end, whole: begin.is_some() && after.is_some(), is_far })
}

/// The store, with the scrapes of each address around one window.
struct View<'a> {
    store: &'a Store,
    brackets: &'a [Option<Bracket>],
}

impl View<'_> {
    /// The series with this role. `None` if increases are not available at an address that has such series.
    fn of_role(&self, role: Role) -> Option<impl Iterator<Item = (&Series, Bracket)>> {
        let series = || self.store.named(role).filter_map(|it| Some((it, (*self.brackets.get(it.address)?)?)));
        let is_known = !self.store.is_mixed(role) && !series().any(|(_, bracket)| bracket.is_far);
        is_known.then(series)
    }

    /// The increase summed over all series; `None` if there are no series.
    fn increase(&self, role: Role) -> Option<f64> {
        let of_counter = |(series, bracket): (&Series, Bracket)| {
            (series.part == Part::Counter).then(|| increase(series, bracket)).flatten()
        };
        self.of_role(role)?
            .filter_map(of_counter)
            .fold(None, |sum, it| Some(sum.unwrap_or(0.0) + it))
            .filter(|it: &f64| it.is_finite())
    }

    fn latency(&self, role: Role) -> Option<Latency> {
        let mut all = Increases::default();
        for (series, bracket) in self.of_role(role)? {
            let Some(increase) = increase(series, bracket) else { continue };
            match series.part {
                Part::Bucket => all.buckets.push((series.bound, increase)),
                Part::Sum => all.sum += increase,
                Part::Count => all.count += increase,
                Part::Gauge | Part::Counter | Part::Info => {}
            }
        }
        all.latency()
    }

    /// Whether an address has a counter without an available increase.
    fn is_gap(&self) -> bool {
        let is_far = |address: usize| self.brackets.get(address).copied().flatten().is_some_and(|it| it.is_far);
        self.store.series.iter().any(|it| it.role != Role::Kept && it.is_counter() && is_far(it.address))
    }

    /// Number of scrapes in which a counter of an address restarted.
    fn resets(&self) -> u64 {
        let mut found: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        for series in self.store.series.iter().filter(|it| it.shows_restarts()) {
            if let Some(bracket) = self.brackets.get(series.address).copied().flatten() {
                let begin = bracket.begin.map_or(0, |it| it.number);
                let resets = series.resets(begin, bracket.end.number);
                found.entry(series.address).or_default().extend(resets);
            }
        }
        found.values().map(|it| it.len() as u64).sum()
    }
}

fn increase(series: &Series, bracket: Bracket) -> Option<f64> {
    series.increase(bracket.begin.map(|it| it.number), bracket.end.number)
}
