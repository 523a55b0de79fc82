//! Whether a load fits, by how much, and what to do where it does not. Pure.

use std::time::Duration;

use crds::{summary::rate_text, units::Span};

use super::demand::Demand;
use crate::analysis::remarks::BUSY_SHARE;

/// Below this share of the asked rate the load was another one.
const RATE_SHARE: f64 = 0.99;

/// What a trial came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// What the whole load asks.
    pub(super) demand: Demand,
    /// Requests of the trial that succeeded: one at least, where none failed.
    pub(super) requests: u64,
    /// Requests that failed.
    pub(super) failed: u64,
    /// CPU time of the launcher's process alone.
    pub(super) cpu: Duration,
    /// The largest resident set of that process.
    pub(super) memory_bytes: u64,
    /// Cores that the launcher may use, by its threads and by the limit of its pod.
    pub(super) cores: f64,
    /// Cores that the server used beside it: in a run there is none.
    pub(super) server_cores: f64,
    /// 99th percentile of sent - scheduled.
    pub(super) lag: Duration,
    /// The bound of the run on it.
    pub(super) lag_bound: Duration,
    /// Share of the asked rate at which requests arrived; absent for closed-loop load.
    pub(super) achieved: Option<f64>,
}

/// The answer to "is this big enough?".
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Answer {
    /// Cores that the load needs.
    pub(super) needed: f64,
    /// How many times this load the usable part of the cores holds.
    pub(super) times: f64,
    /// Whether the cores were enough for load and server together, so that lateness is the load's own.
    pub(super) alone: bool,
    /// What speaks against it.
    pub(super) fault: Option<Fault>,
}

/// Why a load does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Requests failed on a server that fails none.
    Failed,
    /// It takes more than the usable part of the cores.
    Cpu,
    /// Requests left too late.
    Lag,
    /// The rate was not kept.
    Rate,
}

impl Answer {
    /// From what a trial came to.
    pub(super) fn of(it: &Measured) -> Answer {
        // What a request cost, times how many there will be: a trial has a begin and an end that are not full.
        let needed = it.cpu.as_secs_f64() / it.requests.max(1) as f64 * it.demand.requests_per_second;
        let times = it.cores * BUSY_SHARE / needed.max(f64::MIN_POSITIVE);
        let alone = needed + it.server_cores <= it.cores;
        let fault = match () {
            () if it.failed > 0 => Some(Fault::Failed),
            () if times < 1.0 => Some(Fault::Cpu),
            () if alone && it.lag > it.lag_bound => Some(Fault::Lag),
            () if alone && it.achieved.is_some_and(|it| it < RATE_SHARE) => Some(Fault::Rate),
            () => None,
        };
        Answer { needed, times, alone, fault }
    }

    /// Cores with which it would fit.
    fn cores(&self, it: &Measured) -> f64 {
        let by_cpu = (self.needed / BUSY_SHARE).ceil();
        // Lateness with CPU to spare comes from what shares the cores.
        if self.fault == Some(Fault::Cpu) { by_cpu } else { by_cpu.max(it.cores.ceil() + 1.0) }
    }

    /// The first line: yes or no, and by how much.
    pub(super) fn headline(&self, it: &Measured) -> String {
        let cores = cores(it.cores);
        let used = format!("{:.2} of {cores}", self.needed);
        let help = || {
            let wanted = self.cores(it);
            let shards = (wanted / it.cores).ceil().max(2.0);
            format!("give it {wanted:.0} cores, or share the load out to {shards:.0} launchers like this one")
        };
        match self.fault {
            None => format!("yes: {used}, {:.1} times this load would still fit", (self.times * 10.0).floor() / 10.0),
            Some(Fault::Cpu) => {
                let usable = it.cores * BUSY_SHARE;
                format!("no: it needs {:.2} cores, and of {cores} {usable:.2} can be used; {}", self.needed, help())
            }
            Some(Fault::Lag) => {
                let (lag, bound) = (Span(it.lag).rounded(), Span(it.lag_bound));
                format!("no: requests left {lag} late (p99), and the run's bound is {bound}, at {used}; {}", help())
            }
            Some(Fault::Rate) => {
                let achieved = it.achieved.unwrap_or_default() * 100.0;
                format!("no: {achieved:.1} % of the rate was kept, at {used}; {}", help())
            }
            Some(Fault::Failed) => {
                format!("no: {} requests failed on a server that fails none; see the message above", it.failed)
            }
        }
    }

    /// What was done, a line each.
    pub(super) fn details(&self, it: &Measured) -> Vec<String> {
        let Demand { requests_per_second, tokens_per_second, streams } = it.demand;
        let mut lines = vec![format!(
            "the hardest stage: {} requests/s, {} events/s, {} requests under way at once",
            rate_text(requests_per_second),
            rate_text(tokens_per_second),
            rate_text(streams)
        )];
        let kept = it.achieved.map_or_else(String::new, |it| format!(", {:.2} % of the rate kept", it * 100.0));
        let lag = Span(it.lag).rounded();
        let memory = rate_text(it.memory_bytes as f64 / f64::from(1 << 20));
        lines.push(format!("send lag p99 {lag}, bound {}{kept}; memory {memory} MiB", Span(it.lag_bound)));
        lines.push(format!(
            "{:.2} cores of the server are not counted: it is a process of its own, and in a run it is elsewhere",
            it.server_cores
        ));
        if !self.alone {
            lines.push(
                "these cores were too few for load and server together: lateness is not judged, CPU time alone is"
                    .into(),
            );
        }
        lines
    }
}

fn cores(cores: f64) -> String {
    if cores == 1.0 { "1 core".into() } else { format!("{} cores", rate_text(cores)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMAND: Demand = Demand { requests_per_second: 100.0, tokens_per_second: 12_800.0, streams: 68.5 };

    /// 500 requests of 2.1 ms each.
    fn measured() -> Measured {
        Measured {
            demand: DEMAND,
            requests: 500,
            failed: 0,
            cpu: Duration::from_millis(1_050),
            memory_bytes: 25 << 20,
            cores: 2.0,
            server_cores: 0.3,
            lag: Duration::from_micros(80),
            lag_bound: Duration::from_millis(10),
            achieved: Some(0.999),
        }
    }

    fn check(measured: &Measured, fault: Option<Fault>, headline: &str) {
        let answer = Answer::of(measured);
        assert_eq!(answer.fault, fault);
        assert_eq!(answer.headline(measured), headline);
    }

    #[test]
    fn a_load_that_fits_tells_its_margin() {
        // 100 requests a second of 2.1 ms are 0.21 cores; 1.6 / 0.21 is 7.62.
        check(&measured(), None, "yes: 0.21 of 2 cores, 7.6 times this load would still fit");
    }

    #[test]
    fn a_load_that_needs_more_cores_tells_how_many() {
        let heavy = Measured { cpu: Duration::from_millis(17_000), ..measured() };
        let text = "no: it needs 3.40 cores, and of 2 cores 1.60 can be used; give it 5 cores, or share the load out to 3 \
                    launchers like this one";
        check(&heavy, Some(Fault::Cpu), text);
        let edge = Measured { cpu: Duration::from_millis(8_000), ..measured() };
        check(&edge, None, "yes: 1.60 of 2 cores, 1.0 times this load would still fit");
    }

    #[test]
    fn lateness_counts_only_where_the_server_took_no_time_of_the_load() {
        let late = Measured { lag: Duration::from_millis(25), ..measured() };
        let text = "no: requests left 25ms late (p99), and the run's bound is 10ms, at 0.21 of 2 cores; give it 3 cores, or \
                    share the load out to 2 launchers like this one";
        check(&late, Some(Fault::Lag), text);
        let crowded = Measured { cores: 0.4, ..late };
        check(&crowded, None, "yes: 0.21 of 0.4 cores, 1.5 times this load would still fit");
        let lines = Answer::of(&crowded).details(&crowded).join("\n");
        assert!(lines.contains("send lag p99 25ms, bound 10ms, 99.90 % of the rate kept; memory 25 MiB"), "{lines}");
        assert!(lines.contains("lateness is not judged") && lines.contains("0.30 cores of the server"), "{lines}");
        assert!(!Answer::of(&late).details(&late).join("\n").contains("not judged"));
    }

    #[test]
    fn a_rate_that_is_not_kept_and_requests_that_fail_do_not_fit() {
        let slow = Measured { achieved: Some(0.9), ..measured() };
        assert_eq!(Answer::of(&slow).fault, Some(Fault::Rate));
        assert_eq!(Answer::of(&Measured { achieved: None, ..measured() }).fault, None);
        let failed = Measured { failed: 3, ..measured() };
        check(&failed, Some(Fault::Failed), "no: 3 requests failed on a server that fails none; see the message above");
    }
}
