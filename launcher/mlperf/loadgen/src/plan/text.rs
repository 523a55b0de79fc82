//! Prints a plan as text.

use std::{fmt, time::Duration};

use crds::{
    units::Span,
    wording::{one_line, percent},
};
use workload_profiles::{
    loadgen::{Mode, Scenario, Settings},
    workload::{AutoQps, Phase},
};

use super::{Basis, Expected, FirstQueries, Needed, PhasePlan, Plan, TestPlan};

/// Maximum number of samples printed per query. The JSON form of the plan contains all of them.
const MAX_SAMPLES: usize = 16;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (benchmark, round) = (one_line(&self.benchmark), one_line(&self.round));
        writeln!(
            f,
            "{benchmark}, round {round}, {} samples; SUT {}",
            self.qsl.total_sample_count,
            one_line(&self.sut_name)
        )?;
        if let Some(most) = self.max_concurrency {
            writeln!(
                f,
                "At most {most} requests of a Server or Offline test are in flight; others wait in the client."
            )?;
        }
        if let Some(size) = self.batch_size {
            writeln!(f, "Each request of an Offline test holds {size} samples: static batches.")?;
        }
        if let Some(auto) = &self.auto_qps {
            writeln!(f, "{}", found(auto))?;
        }
        for (place, test) in self.tests.iter().enumerate() {
            let settings = &test.requested;
            let (scenario, mode) = (settings.scenario.name(), settings.mode.name());
            writeln!(f, "\nTest {}, {}: {scenario}, {mode}", place + 1, test.folder)?;
            for (name, value) in settings_of(test) {
                row(f, 2, &name, &value)?;
            }
            for phase in &test.phases {
                phase_text(f, settings, phase)?;
            }
        }
        Ok(())
    }
}

fn row(f: &mut fmt::Formatter<'_>, indent: usize, name: &str, value: &str) -> fmt::Result {
    let width = 36 - indent;
    writeln!(f, "{:indent$}{name:<width$} {value}", "")
}

fn found(auto: &AutoQps) -> String {
    let how = match auto {
        AutoQps::LastOffline { share } => {
            format!("is {} of the last Offline run's rate, or is searched if there is no such run", percent(*share))
        }
        AutoQps::Search => "is searched before the tests".into(),
    };
    format!("The target rate {how}; the plan below is for the rate in the settings.")
}

/// Returns the settings that matter in the scenario, by LoadGen's names, with the requested value. If the effective value differs, it is added.
fn settings_of(test: &TestPlan) -> Vec<(String, String)> {
    let (of, it) = (&test.requested, &test.effective);
    let mut rows = Vec::new();
    let mut add = |name: &str, value: String| rows.push((name.to_owned(), value));
    match of.scenario {
        Scenario::SingleStream => {
            let latency = nanos(of.single_stream_expected_latency_ns);
            add("single_stream_expected_latency_ns", comes_to(latency, rate(it.target_qps)));
        }
        Scenario::MultiStream => {
            let latency = nanos(of.multi_stream_expected_latency_ns);
            add("multi_stream_expected_latency_ns", comes_to(latency, rate(it.target_qps)));
            add("multi_stream_samples_per_query", of.multi_stream_samples_per_query.to_string());
        }
        Scenario::Server => {
            add("server_target_qps", changed(of.server_target_qps, it.target_qps));
            if !of.use_token_latencies {
                add("server_target_latency_ns", span(of.server_target_latency_ns));
            }
            if it.max_async_queries > 0 {
                add("server_max_async_queries", it.max_async_queries.to_string());
            }
            if of.server_coalesce_queries {
                add("server_coalesce_queries", "true".into());
            }
        }
        Scenario::Offline => {
            add("offline_expected_qps", changed(of.offline_expected_qps, it.target_qps));
            add("samples_per_query", it.samples_per_query.to_string());
        }
    }
    if of.use_token_latencies {
        add("use_token_latencies", "true".into());
        if of.scenario == Scenario::Server {
            add("server_ttft_latency", span(of.server_ttft_latency));
            add("server_tpot_latency", span(of.server_tpot_latency));
        }
    }
    if of.scenario != Scenario::Offline {
        add("target_latency_percentile", percent(it.target_latency_percentile));
    }
    add("min_duration_ms", span_ms(it.min_duration_ms));
    add("min_query_count", changed(of.min_query_count, it.min_query_count));
    if it.max_duration_ms > 0 {
        add("max_duration_ms", span_ms(it.max_duration_ms));
    }
    if it.max_query_count > 0 {
        add("max_query_count", it.max_query_count.to_string());
    }
    add("performance_sample_count", it.performance_sample_count.to_string());
    if matches!(of.mode, Mode::AccuracyOnly | Mode::SubmissionRun) {
        add("accuracy_sample_count", it.accuracy_sample_count.to_string());
    }
    let order = if of.performance_issue_unique {
        "every sample at most once (performance_issue_unique)".into()
    } else if of.performance_issue_same {
        format!("always sample {} of the set (performance_issue_same)", of.performance_issue_same_index)
    } else if of.sample_concatenate_permutation && of.scenario != Scenario::MultiStream {
        "whole passes, each in its own order (sample_concatenate_permutation)".into()
    } else if of.scenario == Scenario::Offline {
        "passes in the order of the set".into()
    } else {
        "drawn, each sample alike".to_owned()
    };
    add("order of issue", order);
    for (name, seed) in [
        ("qsl_rng_seed", of.qsl_rng_seed),
        ("sample_index_rng_seed", of.sample_index_rng_seed),
        ("schedule_rng_seed", of.schedule_rng_seed),
    ] {
        add(name, seed.to_string());
    }
    if of.accuracy_log_sampling_target > 0 {
        add("accuracy_log_sampling_target", of.accuracy_log_sampling_target.to_string());
    } else if of.accuracy_log_probability != 0.0 {
        add("accuracy_log_probability", of.accuracy_log_probability.to_string());
    }
    if test.audited {
        add("audit.config", "applied".into());
    }
    rows
}

fn phase_text(f: &mut fmt::Formatter<'_>, settings: &Settings, phase: &PhasePlan) -> fmt::Result {
    match phase.phase {
        Phase::Accuracy { set } => writeln!(f, "  Accuracy phase, set {set}")?,
        Phase::Performance if settings.mode == Mode::FindPeakPerformance => {
            writeln!(f, "  First trial of the search; more follow at other rates")?;
        }
        Phase::Performance => writeln!(f, "  Performance phase")?,
    }
    let last = (phase.first_query + phase.queries as u64).saturating_sub(1);
    let queries =
        format!("{} ({} to {last}), samples each: {}", phase.queries, phase.first_query, phase.samples_per_query);
    row(f, 4, "queries", &queries)?;
    let passes = format!("{:.4}", phase.passes);
    let passes = passes.trim_end_matches('0').trim_end_matches('.');
    row(f, 4, "samples", &format!("{}: {passes} x the {} that are loaded", phase.samples, phase.loaded_samples))?;
    row(f, 4, "expected", &expected(settings, phase.queries, &phase.expected))?;
    if phase.phase == Phase::Performance {
        let text = phase.early_stopping.map_or("always met".into(), |it| needed(settings, &phase.expected, &it));
        row(f, 4, "early stopping", &text)?;
    }
    row(f, 4, "responses in the accuracy log", &format!("{} of {}", phase.logged_responses, phase.samples))?;
    phase.first_queries.as_ref().map_or(Ok(()), |it| first_queries(f, settings.scenario, it))
}

fn expected(settings: &Settings, made: usize, it: &Expected) -> String {
    let time = seconds(it.seconds);
    match (it.basis, settings.scenario) {
        (Basis::Schedule, _) if it.queries == made => format!("the last query is due at {time}"),
        (Basis::Schedule, _) => format!("a maximum ends the phase after {} queries, at {time}", it.queries),
        (Basis::TargetQps, _) => format!("{time}, if the system reaches the target rate"),
        (Basis::ExpectedLatency, _) => {
            format!("{} queries, the last issued at {time}, if each takes the expected latency", it.queries)
        }
    }
}

fn needed(settings: &Settings, expected: &Expected, it: &Needed) -> String {
    let least = format!("a VALID result needs at least {} queries", it.least_queries);
    let queries = expected.queries;
    match (it.budget, settings.scenario) {
        (None, _) => format!("{least}; {queries} are too few"),
        (Some(budget), Scenario::Server) => {
            let share = percent(budget as f64 / queries as f64);
            let limit = if settings.use_token_latencies { "either limit" } else { "the limit" };
            format!("{least}; of {queries}, {budget} ({share}) may be above {limit}")
        }
        (Some(budget), _) => format!("{least}; of {queries}, the estimate leaves the slowest {budget} out"),
    }
}

fn first_queries(f: &mut fmt::Formatter<'_>, scenario: Scenario, queries: &FirstQueries) -> fmt::Result {
    writeln!(f, "    {:>10} {:>18}  samples", "query", "due")?;
    for query in queries.iter() {
        let due = match scenario {
            Scenario::Server | Scenario::Offline => {
                format!("{}.{:09}s", query.due_ns / 1_000_000_000, query.due_ns % 1_000_000_000)
            }
            Scenario::SingleStream | Scenario::MultiStream => "after the last".into(),
        };
        write!(f, "    {:>10} {due:>18} ", query.seq)?;
        for sample in query.samples.iter().take(MAX_SAMPLES) {
            write!(f, " {sample}")?;
        }
        match query.samples.len().saturating_sub(MAX_SAMPLES) {
            0 => writeln!(f)?,
            more => writeln!(f, " and {more} more, which --json prints")?,
        }
    }
    Ok(())
}

fn changed<T: fmt::Display + PartialEq>(requested: T, effective: T) -> String {
    if requested == effective { requested.to_string() } else { comes_to(requested.to_string(), effective.to_string()) }
}

fn comes_to(requested: String, effective: String) -> String {
    format!("{requested}, in effect {effective}")
}

fn rate(target_qps: f64) -> String {
    format!("{target_qps} queries/s")
}

fn span(nanos: u64) -> String {
    Span(Duration::from_nanos(nanos)).to_string()
}

fn span_ms(millis: u64) -> String {
    Span(Duration::from_millis(millis)).to_string()
}

fn nanos(nanos: f64) -> String {
    seconds(nanos / 1e9)
}

/// Formats a duration with four digits.
fn seconds(seconds: f64) -> String {
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) => Span(time).rounded().to_string(),
        Err(_) => format!("{seconds:e}s"),
    }
}
