//! Judges whether a load fits the machine, by how much, and what to do if it does not. Pure.

use crds::{figure::rate_text, units::Span};

use crate::{demand::Demand, trial_result::TrialResult};
use analysis::BUSY_SHARE;

/// Minimum fraction of the requested rate. Below it, the requested load was not sent.
const KEPT_SHARE: f64 = 0.99;

/// What cannot be judged by a trial of a few seconds.
const NOT_JUDGED: &str = "not judged: whether memory is enough for all records of the run, answers that take longer than the \
                          trial, and the run's bounds on coalesced reads, throttling, stalls, stolen time and clock steps";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Verdict {
    /// Number of cores that the load needs.
    pub(super) needed: f64,
    /// How many times the load would fit into the usable part of the cores.
    pub(super) times: f64,
    /// Whether there were enough cores for load and server together. If not, the server might have made the client late.
    pub(super) alone: bool,
    /// The reason why the load does not fit; `None` if it fits.
    pub(super) fault: Option<Fault>,
}

/// The reason why a load does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Requests failed, although the server never rejects any.
    Failed,
    /// The load needs more than the usable part of the cores.
    Cpu,
    /// Requests were sent too late.
    Lag,
    /// Answers were read too late.
    Receive,
    /// A thread needed a CPU for too much of the time.
    Busy,
    /// The load was not sent at the requested rate.
    Rate,
}

impl Verdict {
    pub(super) fn new(it: &TrialResult) -> Verdict {
        // CPU time per request times the request rate. The total CPU time would be too low, because fewer requests are in flight at the start and the
        // end of a trial.
        let needed = it.cpu.as_secs_f64() / it.requests.max(1) as f64 * it.demand.requests_per_second;
        let times = it.cores * BUSY_SHARE / needed.max(f64::MIN_POSITIVE);
        let alone = needed + it.server_cores <= it.cores;
        let bounds = &it.bounds;
        let fault = match () {
            () if it.failed > 0 => Some(Fault::Failed),
            () if times < 1.0 => Some(Fault::Cpu),
            () if !alone => None,
            () if it.lag > bounds.max_send_lag_p99.0 => Some(Fault::Lag),
            () if it.receive_delay.is_some_and(|it| it > bounds.max_receive_delay_p99.0) => Some(Fault::Receive),
            () if it.busiest.is_some_and(|it| it > bounds.max_cpu_share) => Some(Fault::Busy),
            () if it.achieved.is_some_and(|it| it < KEPT_SHARE) => Some(Fault::Rate),
            () => None,
        };
        Verdict { needed, times, alone, fault }
    }

    /// Whether the load certainly fits: there is no fault, and the server cannot have made the client late.
    pub(super) fn fits(&self) -> bool {
        self.fault.is_none() && self.alone
    }

    /// Returns the number of cores with which the load would fit.
    fn cores(&self, it: &TrialResult) -> f64 {
        let by_cpu = (self.needed / BUSY_SHARE).ceil();
        // If there is enough CPU time, other threads on the same cores cause the lateness. So at least one more core is needed.
        if self.fault == Some(Fault::Cpu) { by_cpu } else { by_cpu.max(it.cores.ceil() + 1.0) }
    }

    /// Returns how many cores other processes used if they might have caused lateness, because they filled the machine together with the load.
    fn busy_with_others(&self, it: &TrialResult) -> Option<f64> {
        let late = matches!(self.fault, Some(Fault::Lag | Fault::Receive | Fault::Busy | Fault::Rate));
        let (used, machine) = it.others.filter(|_| late)?;
        (used + self.needed + it.server_cores > machine * BUSY_SHARE).then_some(used)
    }

    /// Returns the first line of the text: yes, no or unknown, and by how much the load fits.
    pub(super) fn headline(&self, it: &TrialResult) -> String {
        let cores = cores(it.cores);
        let used = format!("{:.2} of {cores}", self.needed);
        let bounds = &it.bounds;
        let no = |what: String| match self.busy_with_others(it) {
            Some(others) => format!(
                "not known: {what}; but other processes used {others:.2} cores during the trial; try again while the machine is at rest"
            ),
            None => format!("no: {what}; lower the rate, or give it {:.0} cores", self.cores(it)),
        };
        let margin =
            || format!("it uses {used}; {:.1} times this load would still fit", (self.times * 10.0).floor() / 10.0);
        match self.fault {
            None if self.alone => format!("yes: {}", margin()),
            None => format!(
                "yes by CPU time: {}; lateness could not be judged here, because load and server together need {:.2} \
                 cores: run this command on a machine with that many",
                margin(),
                self.needed + it.server_cores
            ),
            Some(Fault::Cpu) => {
                let usable = it.cores * BUSY_SHARE;
                no(format!("it needs {:.2} cores, but only {usable:.2} of {cores} can be used", self.needed))
            }
            Some(Fault::Lag) => {
                let (lag, bound) = (Span(it.lag).rounded(), bounds.max_send_lag_p99);
                no(format!("requests were sent {lag} late (p99), but the run allows {bound}; CPU use was {used}"))
            }
            Some(Fault::Receive) => {
                let (delay, bound) =
                    (Span(it.receive_delay.unwrap_or_default()).rounded(), bounds.max_receive_delay_p99);
                no(format!(
                    "bytes waited {delay} before they were read (p99), but the run allows {bound}; CPU use was {used}"
                ))
            }
            Some(Fault::Busy) => {
                let (busiest, bound) = (it.busiest.unwrap_or_default(), bounds.max_cpu_share);
                no(format!(
                    "a thread needed a CPU for {busiest:.2} of the time, but the run allows {bound}; CPU use was {used}"
                ))
            }
            Some(Fault::Rate) => {
                let achieved = it.achieved.unwrap_or_default() * 100.0;
                no(format!("only {achieved:.1} % of the rate was sent; CPU use was {used}"))
            }
            Some(Fault::Failed) => {
                format!(
                    "no: {} requests failed, although the trial server rejects none; see the message above",
                    it.failed
                )
            }
        }
    }

    /// Returns the measured values, one line per subject.
    pub(super) fn details(&self, it: &TrialResult) -> Vec<String> {
        let Demand { requests_per_second, tokens_per_second, streams } = it.demand;
        let bounds = &it.bounds;
        let kept = it.achieved.map(|it| format!("{:.2} % of the rate sent", it * 100.0));
        let lag = format!("send lag p99 {}, bound {}", Span(it.lag).rounded(), bounds.max_send_lag_p99);
        let delay = it
            .receive_delay
            .map(|it| format!("receive delay p99 {}, bound {}", Span(it).rounded(), bounds.max_receive_delay_p99));
        let busiest =
            it.busiest.map(|it| format!("busiest thread {it:.2} of the time, bound {}", bounds.max_cpu_share));
        let memory = format!("memory {} MiB", rate_text(it.memory_bytes as f64 / f64::from(1 << 20)));
        let found = [Some(lag), kept, delay, busiest, Some(memory)];
        let mut lines = vec![
            format!(
                "the hardest stage: {} requests/s, {} events/s, {} requests in flight",
                rate_text(requests_per_second),
                rate_text(tokens_per_second),
                rate_text(streams)
            ),
            format!(
                "assumed: a server that takes {} to the first token and {} to each further token (--ttft, --itl); with a \
                 slower server more requests are in flight",
                Span(it.pace.ttft),
                Span(it.pace.itl)
            ),
            found.into_iter().flatten().collect::<Vec<_>>().join("; "),
            format!(
                "{:.2} cores of the trial server are not counted, because in a run the server is on another machine",
                it.server_cores
            ),
        ];
        if !self.alone {
            lines.push(
                "there were too few cores for load and server together: only CPU time is judged, not lateness".into(),
            );
        }
        lines.push(NOT_JUDGED.into());
        lines
    }
}

fn cores(cores: f64) -> String {
    if cores == 1.0 { "1 core".into() } else { format!("{} cores", rate_text(cores)) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crds::resolve::ValidityBounds;

    use super::*;
    use crate::server::Pace;

    const DEMAND: Demand = Demand { requests_per_second: 100.0, tokens_per_second: 12_800.0, streams: 68.5 };

    fn bounds(lag: u64, delay: u64) -> ValidityBounds {
        let millis = |it| Span(Duration::from_millis(it));
        let (max_send_lag_p99, max_receive_delay_p99) = (millis(lag), millis(delay));
        ValidityBounds { max_send_lag_p99, max_receive_delay_p99, ..ValidityBounds::default() }
    }

    /// A trial with 500 requests that took 2.1 ms of CPU time each.
    fn measured() -> TrialResult {
        TrialResult {
            demand: DEMAND,
            pace: Pace { ttft: Duration::from_millis(50), itl: Duration::from_millis(5) },
            requests: 500,
            failed: 0,
            cpu: Duration::from_millis(1_050),
            memory_bytes: 25 << 20,
            cores: 2.0,
            server_cores: 0.3,
            others: Some((0.1, 2.0)),
            lag: Duration::from_micros(80),
            busiest: Some(0.2),
            receive_delay: Some(Duration::from_micros(900)),
            bounds: ValidityBounds { max_cpu_share: 0.9, ..bounds(10, 20) },
            achieved: Some(0.999),
        }
    }

    fn check(measured: &TrialResult, fault: Option<Fault>, headline: &str) {
        let answer = Verdict::new(measured);
        assert_eq!(answer.fault, fault);
        assert_eq!(answer.headline(measured), headline);
    }

    #[test]
    fn a_load_that_fits_tells_its_margin() {
        // 100 requests per second with 2.1 ms each need 0.21 cores, and 1.6 / 0.21 is 7.62.
        check(&measured(), None, "yes: it uses 0.21 of 2 cores; 7.6 times this load would still fit");
    }

    #[test]
    fn a_load_that_needs_more_cores_tells_how_many() {
        let heavy = TrialResult { cpu: Duration::from_millis(17_000), ..measured() };
        let text = "no: it needs 3.40 cores, but only 1.60 of 2 cores can be used; lower the rate, or give it 5 cores";
        check(&heavy, Some(Fault::Cpu), text);
        let edge = TrialResult { cpu: Duration::from_millis(8_000), ..measured() };
        check(&edge, None, "yes: it uses 1.60 of 2 cores; 1.0 times this load would still fit");
    }

    #[test]
    fn lateness_counts_only_where_the_server_took_no_time_of_the_load() {
        let late = TrialResult { lag: Duration::from_millis(25), ..measured() };
        let text = "no: requests were sent 25ms late (p99), but the run allows 10ms; CPU use was 0.21 of 2 cores; lower the rate, or \
                    give it 3 cores";
        check(&late, Some(Fault::Lag), text);
        let crowded = TrialResult { cores: 0.4, ..late };
        let text = "yes by CPU time: it uses 0.21 of 0.4 cores; 1.5 times this load would still fit; lateness could not \
                    be judged here, because load and server together need 0.51 cores: run this command on a machine with \
                    that many";
        check(&crowded, None, text);
        assert!(!Verdict::new(&crowded).fits() && !Verdict::new(&late).fits() && Verdict::new(&measured()).fits());
        let lines = Verdict::new(&crowded).details(&crowded).join("\n");
        let found = "send lag p99 25ms, bound 10ms; 99.90 % of the rate sent; receive delay p99 900us, bound 20ms; busiest \
                     thread 0.20 of the time, bound 0.9; memory 25 MiB";
        assert!(lines.contains(found), "{lines}");
        assert!(
            lines.contains("takes 50ms to the first token and 5ms to each further token (--ttft, --itl)"),
            "{lines}"
        );
        assert!(lines.contains("not judged: whether memory is enough"), "{lines}");
        assert!(
            lines.contains("only CPU time is judged") && lines.contains("0.30 cores of the trial server"),
            "{lines}"
        );
        assert!(!Verdict::new(&late).details(&late).join("\n").contains("only CPU time is judged"));
    }

    #[test]
    fn lateness_on_a_machine_that_others_fill_is_no_matter_of_cores() {
        let late = TrialResult { lag: Duration::from_millis(25), others: Some((1.7, 2.0)), ..measured() };
        let text = "not known: requests were sent 25ms late (p99), but the run allows 10ms; CPU use was 0.21 of 2 cores; but other \
                    processes used 1.70 cores during the trial; try again while the machine is at rest";
        check(&late, Some(Fault::Lag), text);
        assert!(!Verdict::new(&late).fits());
        // On a machine with 64 cores, the other processes cannot cause lateness.
        let large = TrialResult { others: Some((1.7, 64.0)), ..late };
        assert!(Verdict::new(&large).headline(&large).starts_with("no: "));
        let heavy = TrialResult { cpu: Duration::from_millis(17_000), ..late };
        assert!(Verdict::new(&heavy).headline(&heavy).contains("give it 5 cores"));
    }

    #[test]
    fn a_rate_that_is_not_kept_and_requests_that_fail_do_not_fit() {
        let slow = TrialResult { achieved: Some(0.9), ..measured() };
        assert_eq!(Verdict::new(&slow).fault, Some(Fault::Rate));
        assert_eq!(Verdict::new(&TrialResult { achieved: None, ..measured() }).fault, None);
        let failed = TrialResult { failed: 3, ..measured() };
        check(
            &failed,
            Some(Fault::Failed),
            "no: 3 requests failed, although the trial server rejects none; see the message above",
        );
    }

    #[test]
    fn what_is_at_a_bound_is_within_it() {
        let check = |change: fn(&mut TrialResult), fault| {
            let mut measured = measured();
            change(&mut measured);
            assert_eq!(Verdict::new(&measured).fault, fault);
        };
        check(|it| it.lag = Duration::from_millis(10), None);
        check(|it| it.lag = Duration::from_nanos(10_000_001), Some(Fault::Lag));
        check(|it| it.receive_delay = Some(Duration::from_millis(20)), None);
        check(|it| it.receive_delay = Some(Duration::from_nanos(20_000_001)), Some(Fault::Receive));
        check(|it| it.receive_delay = None, None);
        check(|it| it.busiest = Some(0.9), None);
        check(|it| it.busiest = Some(0.901), Some(Fault::Busy));
        check(|it| it.busiest = None, None);
        check(|it| it.achieved = Some(0.99), None);
        check(|it| it.achieved = Some(0.989_9), Some(Fault::Rate));
    }

    #[test]
    fn a_remedy_says_how_many_cores() {
        let wait = TrialResult { receive_delay: Some(Duration::from_millis(31)), ..measured() };
        let text = "no: bytes waited 31ms before they were read (p99), but the run allows 20ms; CPU use was 0.21 of 2 cores; lower \
                    the rate, or give it 3 cores";
        check(&wait, Some(Fault::Receive), text);
        let busy = TrialResult { busiest: Some(0.97), ..measured() };
        let text = "no: a thread needed a CPU for 0.97 of the time, but the run allows 0.9; CPU use was 0.21 of 2 cores; lower the \
                    rate, or give it 3 cores";
        check(&busy, Some(Fault::Busy), text);
    }
}
