//! Counters of a running phase. The verdict is predicted from them.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use workload_profiles::loadgen::{Scenario, Settings};

use crate::{
    queries::PhaseQueries,
    results::{completion::CompletedSample, forecast::SoFar},
};
use measurement::record::RequestRecord;

/// Counters of a running phase. They are not read at the same instant, so they can be inconsistent by one sample.
#[derive(Debug, Default)]
pub(super) struct PhaseProgress {
    completed: AtomicU64,
    failed: AtomicU64,
    over_latency: AtomicU64,
    over_ttft: AtomicU64,
    over_tpot: AtomicU64,
    elapsed_nanos: AtomicU64,
}

/// The limits for single samples in the Server scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleLimits {
    latency_ns: u64,
    ttft_ns: u64,
    tpot_ns: u64,
}

impl SampleLimits {
    /// Returns `None` for other scenarios.
    pub(super) fn from_settings(settings: &Settings) -> Option<SampleLimits> {
        (settings.scenario == Scenario::Server).then_some(SampleLimits {
            latency_ns: settings.server_target_latency_ns,
            ttft_ns: settings.server_ttft_latency,
            tpot_ns: settings.server_tpot_latency,
        })
    }
}

impl PhaseProgress {
    /// Counts a sample that has ended. `began` is the time when its phase began.
    pub(super) fn ended(&self, record: &RequestRecord, began: Duration, limits: Option<SampleLimits>) {
        let elapsed = u64::try_from(record.ended.saturating_sub(began).as_nanos()).unwrap_or(u64::MAX);
        self.elapsed_nanos.fetch_max(elapsed, Relaxed);
        let Some(sample) = CompletedSample::from_record(record) else {
            self.failed.fetch_add(1, Relaxed);
            return;
        };
        self.completed.fetch_add(1, Relaxed);
        let Some(limits) = limits else { return };
        let over = |counter: &AtomicU64, value: Option<i64>, limit_ns: u64| {
            if value.is_some_and(|it| i128::from(it) > i128::from(limit_ns)) {
                counter.fetch_add(1, Relaxed);
            }
        };
        over(&self.over_latency, Some(sample.latency_ns), limits.latency_ns);
        over(&self.over_ttft, sample.first_token_ns, limits.ttft_ns);
        over(&self.over_tpot, sample.first_token_ns.map(|_| sample.per_token_ns()), limits.tpot_ns);
    }

    /// Returns the progress of the phase with these queries. If the phase is a single query, its samples are counted instead of queries.
    pub(super) fn so_far(&self, queries: &PhaseQueries) -> SoFar {
        let read = |it: &AtomicU64| it.load(Relaxed);
        let (planned, each) = (queries.len() as u64, queries.samples_per_query as u64);
        let one = planned == 1;
        SoFar {
            planned: if one { each } else { planned },
            completed: if one { read(&self.completed) } else { read(&self.completed) / each.max(1) },
            elapsed: Duration::from_nanos(read(&self.elapsed_nanos)),
            over_latency: read(&self.over_latency),
            over_ttft: read(&self.over_ttft),
            over_tpot: read(&self.over_tpot),
            failed: read(&self.failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use workload_profiles::{loadgen::Qsl, workload::Phase};

    use super::*;
    use crate::queries::QueryGenerator;
    use measurement::record::RequestOutcome;

    fn record(first: u64, ended: u64, outcome: RequestOutcome) -> RequestRecord {
        let millis = |it| Duration::from_millis(1_000 + it);
        RequestRecord {
            stage: 0,
            number: 0,
            turn: None,
            scheduled: millis(0),
            sent: Some(millis(0)),
            permit_wait: None,
            first_token: Some(millis(first)),
            last_token: Some(millis(ended)),
            ended: millis(ended),
            outcome,
            requested_input_tokens: None,
            requested_output_tokens: None,
            input_tokens: None,
            cached_tokens: None,
            class: None,
            output_tokens: Some(11),
            content_events: 11,
            replica: None,
        }
    }

    fn queries(settings: &Settings) -> PhaseQueries {
        let qsl = Qsl { name: "q".into(), total_sample_count: 24, performance_sample_count: 24 };
        QueryGenerator::new(settings, &qsl).unwrap().phase(Phase::Performance).unwrap()
    }

    #[test]
    fn samples_over_their_limits_are_counted() {
        let settings = Settings {
            scenario: Scenario::Server,
            min_query_count: 100,
            min_duration_ms: 0,
            server_target_latency_ns: 200_000_000,
            server_ttft_latency: 50_000_000,
            server_tpot_latency: 10_000_000,
            ..Settings::default()
        };
        let (progress, limits) = (PhaseProgress::default(), SampleLimits::from_settings(&settings));
        let began = Duration::from_secs(1);
        for sample in [
            record(50, 150, RequestOutcome::Ok),
            record(51, 151, RequestOutcome::Ok),
            record(50, 201, RequestOutcome::Ok),
            record(90, 900, RequestOutcome::Timeout),
        ] {
            progress.ended(&sample, began, limits);
        }
        let expected = SoFar {
            planned: 100,
            completed: 3,
            elapsed: Duration::from_millis(900),
            over_latency: 1,
            over_ttft: 1,
            over_tpot: 1,
            failed: 1,
        };
        assert_eq!(progress.so_far(&queries(&settings)), expected);
        assert_eq!(SampleLimits::from_settings(&Settings::default()), None);
    }

    #[test]
    fn a_phase_of_one_query_is_counted_in_samples() {
        let settings =
            Settings { scenario: Scenario::Offline, min_query_count: 24, min_duration_ms: 0, ..Settings::default() };
        let queries = queries(&settings);
        let progress = PhaseProgress::default();
        assert_eq!(queries.len(), 1);
        let planned = queries.samples_per_query as u64;
        assert_eq!(progress.so_far(&queries), SoFar { planned, ..SoFar::default() });
        progress.ended(&record(50, 150, RequestOutcome::Ok), Duration::from_secs(1), None);
        assert_eq!(progress.so_far(&queries).completed, 1);
        assert!(planned > 1);
    }
}
