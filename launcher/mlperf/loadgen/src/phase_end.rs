//! Decides when a phase stops issuing queries, and provides the log texts for its end. Pure.
//!
//! The rules are evaluated after each issued query, in LoadGen's order. So every phase has at least one query.

use std::time::Duration;

use workload_profiles::loadgen::{Effective, Scenario};

use super::logs::messages::Event;
use measurement::phase::{PhaseEnd, StopReason};

/// Returns the log message for the end of a phase; `None` if LoadGen logs none.
pub fn event(end: PhaseEnd, scenario: Scenario) -> Option<Event> {
    let thread = 0;
    Some(match end {
        PhaseEnd::Natural if scenario == Scenario::Server => return None,
        PhaseEnd::Natural => Event::EndingNaturally,
        PhaseEnd::RanOut => Event::RanOut,
        PhaseEnd::MaxQueryCount { issued } => Event::MaxQueryCount { thread, issued },
        PhaseEnd::MaxDuration { elapsed } => Event::MaxDuration { thread, duration: elapsed },
        PhaseEnd::TooManyOutstanding { issued, outstanding } => {
            Event::TooManyOutstanding { thread, issued, outstanding }
        }
        PhaseEnd::Stopped(_) => return None,
    })
}

/// Returns why the run stopped a phase early; `None` if it did not. LoadGen itself never stops a phase like this, so it has no text for it.
pub fn stopped_early(end: PhaseEnd) -> Option<&'static str> {
    match end {
        PhaseEnd::Stopped(StopReason::Signal) => Some("it was stopped on request"),
        PhaseEnd::Stopped(StopReason::Deadline) => Some("the deadline of the run came"),
        PhaseEnd::Stopped(StopReason::TargetLost) => Some("the target stopped answering"),
        PhaseEnd::Stopped(StopReason::StopRule) => Some("a stop rule ended the load"),
        _ => None,
    }
}

/// The rules that end a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseEndRules {
    scenario: Scenario,
    min_query_count: u64,
    target_duration: Duration,
    max_query_count: Option<u64>,
    max_duration: Option<Duration>,
    max_async_queries: Option<u64>,
}

impl PhaseEndRules {
    /// Creates the rules of a performance phase. An accuracy phase has no rules, and issues all its queries.
    pub fn new(scenario: Scenario, effective: &Effective) -> PhaseEndRules {
        let limit = |value: u64| (value != 0).then_some(value);
        PhaseEndRules {
            scenario,
            min_query_count: effective.min_query_count,
            target_duration: Duration::from_millis(effective.target_duration_ms),
            max_query_count: limit(effective.max_query_count),
            max_duration: limit(effective.max_duration_ms).map(Duration::from_millis),
            max_async_queries: limit(effective.max_async_queries).filter(|_| scenario == Scenario::Server),
        }
    }

    /// Returns how the phase ends if the query just issued is its last one; `None` if the phase continues. `issued` is the number of queries issued
    /// so far. `elapsed` is the time since the start of the phase. `outstanding` returns the number of incomplete queries.
    pub fn after(&self, issued: u64, elapsed: Duration, outstanding: impl FnOnce() -> u64) -> Option<PhaseEnd> {
        if self.scenario == Scenario::Server {
            let too_many = self.max_async_queries.and_then(|most| Some(outstanding()).filter(|it| *it > most));
            if let Some(outstanding) = too_many {
                return Some(PhaseEnd::TooManyOutstanding { issued, outstanding });
            }
        } else if issued >= self.min_query_count && elapsed >= self.target_duration {
            return Some(PhaseEnd::Natural);
        }
        if self.max_query_count.is_some_and(|most| issued >= most) {
            return Some(PhaseEnd::MaxQueryCount { issued });
        }
        self.max_duration.is_some_and(|most| elapsed > most).then_some(PhaseEnd::MaxDuration { elapsed })
    }

    /// Returns how the phase ends if all generated queries were issued before any rule ended it.
    pub fn at_the_end(&self) -> PhaseEnd {
        match self.scenario {
            Scenario::SingleStream | Scenario::MultiStream => PhaseEnd::RanOut,
            // In Server, the last query of the schedule is due when the phase has lasted long enough. In Offline, the only query is the whole phase.
            Scenario::Server | Scenario::Offline => PhaseEnd::Natural,
        }
    }
}

#[cfg(test)]
mod tests {
    use workload_profiles::loadgen::{Qsl, Settings};

    use super::*;

    fn rules(scenario: Scenario, change: impl FnOnce(&mut Settings)) -> PhaseEndRules {
        let mut settings = Settings { scenario, min_query_count: 3, min_duration_ms: 1_000, ..Settings::default() };
        change(&mut settings);
        let qsl = Qsl { name: String::new(), total_sample_count: 8, performance_sample_count: 8 };
        PhaseEndRules::new(scenario, &Effective::new(&settings, &qsl))
    }

    /// Returns how a phase ends after this number of issued queries and milliseconds, with this number of outstanding queries.
    fn check(rules: &PhaseEndRules, issued: u64, millis: u64, outstanding: u64) -> Option<PhaseEnd> {
        rules.after(issued, Duration::from_millis(millis), || outstanding)
    }

    #[test]
    fn a_single_stream_ends_when_count_and_duration_are_reached() {
        let rules = rules(Scenario::SingleStream, |_| {});
        assert_eq!(check(&rules, 3, 999, 0), None);
        assert_eq!(check(&rules, 2, 5_000, 0), None);
        assert_eq!(check(&rules, 3, 1_000, 0), Some(PhaseEnd::Natural));
        assert_eq!(rules.at_the_end(), PhaseEnd::RanOut);
    }

    #[test]
    fn an_offline_phase_ends_with_its_only_query() {
        assert_eq!(check(&rules(Scenario::Offline, |_| {}), 1, 0, 0), Some(PhaseEnd::Natural));
    }

    #[test]
    fn a_server_ends_with_its_schedule_or_by_a_limit() {
        let limited = rules(Scenario::Server, |it| {
            it.max_query_count = 9;
            it.max_duration_ms = 2_000;
            it.server_max_async_queries = 4;
        });
        assert_eq!(check(&limited, 5, 1_500, 4), None);
        let outstanding = PhaseEnd::TooManyOutstanding { issued: 9, outstanding: 5 };
        assert_eq!(check(&limited, 9, 2_001, 5), Some(outstanding));
        assert_eq!(check(&limited, 9, 2_001, 0), Some(PhaseEnd::MaxQueryCount { issued: 9 }));
        let late = Duration::from_millis(2_001);
        assert_eq!(check(&limited, 8, 2_001, 0), Some(PhaseEnd::MaxDuration { elapsed: late }));
        assert_eq!(check(&limited, 8, 2_000, 0), None);
        assert_eq!(limited.at_the_end(), PhaseEnd::Natural);
    }

    #[test]
    fn only_a_stream_or_a_burst_tells_that_it_ended_naturally() {
        assert_eq!(event(PhaseEnd::Natural, Scenario::Server), None);
        assert_eq!(event(PhaseEnd::Natural, Scenario::Offline), Some(Event::EndingNaturally));
        let stopped = PhaseEnd::Stopped(StopReason::Deadline);
        assert_eq!(
            (event(stopped, Scenario::Offline), stopped_early(stopped)),
            (None, Some("the deadline of the run came"))
        );
    }
}
