//! Counts the requests that each server finished within a time window, if the count can be safely compared with a client's requests. Pure.

use std::time::Duration;

use super::{
    Address, Series, Store,
    figures::{Bracket, REACH, bracket},
};
use crate::families::{Part, Role};

/// Labels of requests that did not run to their end. If a gateway resends a request, the server counts the first attempt with such a label.
const UNFINISHED: [&str; 2] = [r#"finished_reason="abort""#, r#"finished_reason="error""#];

/// The requests of one server in a time window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinishedRequests {
    /// The index of the server's address.
    pub address: usize,
    /// Number of requests that ran to their end between the scrape before the window and the scrape after it, from the server's counter.
    pub finished: f64,
    /// Number of requests that were running or waiting at the scrape before the window.
    pub earlier: f64,
}

impl Store {
    /// Returns one entry per server that counts its requests. `None` if the count of any server cannot be compared safely:
    ///
    /// - a scrape before or after the window is missing or too far away, or a counter restarted;
    /// - `process_start_time_seconds` is missing or changed. Without it, a Service that leads first to one pod and then to another looks like a
    ///   single server whose counters jump; or
    /// - the number of requests in flight before the window is unknown. They may come from any client, such as an earlier run.
    pub fn finished(&self, from: Duration, to: Duration, interval: Duration) -> Option<Vec<FinishedRequests>> {
        let mut found = Vec::new();
        for (index, address) in self.addresses.iter().enumerate() {
            let counters = self.of_address(index, Role::Succeeded).filter(|it| it.part == Part::Counter);
            let counters: Vec<&Series> = counters.collect();
            if counters.is_empty() {
                continue;
            }
            let bracket = bracket(address.scrapes(), (from, to), interval * REACH)?;
            let begin = bracket.begin.filter(|_| bracket.whole && !bracket.is_far)?;
            if !self.is_one_process(index, address, bracket) {
                return None;
            }
            let increases = counters.iter().filter(|it| !is_unfinished(it));
            let finished = increases.filter_map(|it| it.increase(Some(begin.number), bracket.end.number)).sum();
            let earlier =
                self.level(index, Role::Running, begin.number)? + self.level(index, Role::Waiting, begin.number)?;
            found.push(FinishedRequests { address: index, finished, earlier });
        }
        Some(found)
    }

    fn of_address(&self, address: usize, role: Role) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(move |it| it.address == address && it.role == role && !it.is_empty())
    }

    fn is_one_process(&self, index: usize, address: &Address, bracket: Bracket) -> bool {
        let begin = bracket.begin.map_or(0, |it| it.number);
        let fell = |it: &Series| it.resets(begin, bracket.end.number).next().is_some();
        let mut counters = self.series.iter().filter(|it| it.address == index && it.shows_restarts());
        address.processes.only().is_some() && !address.is_several_servers() && !counters.any(fell)
    }

    /// The value of a gauge in one scrape, summed over the engines of an address. `None` if it is unknown.
    fn level(&self, address: usize, role: Role, number: u32) -> Option<f64> {
        let values = self.of_address(address, role).map(|it| it.value_in(number));
        values.reduce(|sum, it| Some(sum? + it?)).flatten()
    }
}

fn is_unfinished(series: &Series) -> bool {
    UNFINISHED.iter().any(|it| series.labels.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::{Answer, Keep};

    /// The metrics of a process that started at time 100. They contain its finished, aborted and in-flight requests.
    fn page(finished: u64, aborted: u64, under_way: u64) -> String {
        format!(
            "process_start_time_seconds 100\n\
             vllm:request_success_total{{finished_reason=\"stop\"}} {finished}\n\
             vllm:request_success_total{{finished_reason=\"abort\"}} {aborted}\n\
             vllm:num_requests_running {under_way}\nvllm:num_requests_waiting 1\n"
        )
    }

    /// Checks the requests in the window from 0.5 s to 1.5 s. Each server has one page of metrics per second.
    fn check(servers: &[[String; 3]], expected: Option<&[(f64, f64)]>) {
        let mut store = Store::default();
        for (index, pages) in servers.iter().enumerate() {
            store.add_address(None);
            for (at, text) in (0..).zip(pages) {
                let (at, took) = (Duration::from_secs(at), Duration::from_millis(10));
                store.record(index, Answer { at, took, text: Some(text.as_bytes()), edge: false }, Keep::Known);
            }
        }
        let (from, to) = (Duration::from_millis(500), Duration::from_millis(1_500));
        let found = store.finished(from, to, Duration::from_secs(1));
        let found: Option<Vec<_>> = found.map(|it| it.iter().map(|it| (it.finished, it.earlier)).collect());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn requests_that_ran_to_their_end_count_and_aborted_ones_do_not() {
        let server = [page(10, 0, 3), page(15, 4, 2), page(30, 9, 0)];
        check(std::slice::from_ref(&server), Some(&[(20.0, 4.0)]));
        check(&[server.clone(), server], Some(&[(20.0, 4.0), (20.0, 4.0)]));
        // A GPU exporter does not count requests.
        let gpus = || "DCGM_FI_DEV_POWER_USAGE 1\n".to_owned();
        check(&[[gpus(), gpus(), gpus()]], Some(&[]));
    }

    #[test]
    fn a_server_that_cannot_be_followed_makes_the_count_unknown() {
        let restarted = [page(10, 0, 0), page(2, 0, 0), page(30, 0, 0)];
        let without_start = restarted.each_ref().map(|it| it.replace("process_start_time_seconds 100\n", ""));
        let other_process = [page(10, 0, 0), page(15, 0, 0), page(30, 0, 0).replace("seconds 100", "seconds 200")];
        let without_gauges =
            [page(10, 0, 0), page(15, 0, 0), page(30, 0, 0)].map(|it| it.replace("num_requests_", "x_"));
        for server in [restarted, without_start, other_process, without_gauges] {
            check(&[[page(0, 0, 0), page(1, 0, 0), page(2, 0, 0)], server], None);
        }
    }

    #[test]
    fn a_window_without_a_scrape_on_both_sides_has_no_count() {
        let mut store = Store::default();
        store.add_address(None);
        for (at, text) in [(1, page(10, 0, 0)), (2, page(20, 0, 0))] {
            let (at, took) = (Duration::from_secs(at), Duration::from_millis(10));
            store.record(0, Answer { at, took, text: Some(text.as_bytes()), edge: false }, Keep::Known);
        }
        let count = |from: u64, to: u64| {
            let found = store.finished(Duration::from_millis(from), Duration::from_millis(to), Duration::from_secs(1));
            found.map(|it| it[0].finished)
        };
        assert_eq!((count(1_500, 1_900), count(500, 1_900), count(1_500, 2_500)), (Some(10.0), None, None));
    }
}
