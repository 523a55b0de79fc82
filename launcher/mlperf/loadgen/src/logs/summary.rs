//! Writes the summary, mlperf_log_summary.txt. It equals LoadGen's byte for byte, with one exception: faults that only this launcher checks for make
//! the result INVALID, and appear among the recommendations.

use std::io::{self, Write};

use workload_profiles::loadgen::Scenario;

use crate::{
    logs::{
        number::{fixed, general, label},
        test_log::TestLog,
    },
    results::{
        PERCENTILES, Results, Series,
        early_stopping_outcome::EarlyStoppingOutcome,
        validity::{EXITED_EARLY, Validity},
    },
};

const RULE: &str = "================================================";

/// Writes the summary of a test. Accuracy phases do not appear in it.
///
/// # Errors
/// Writing to `out` fails.
pub fn write(log: &TestLog, mut out: impl Write) -> io::Result<()> {
    if let Some(written) = log.judged(|results, validity| body(log, results, validity, &mut out)) {
        written?;
    }
    let (warnings, errors) = (log.warnings(), log.errors());
    match warnings {
        0 => writeln!(out, "\nNo warnings encountered during test.")?,
        1 => writeln!(out, "\n1 warning encountered. See detailed log.")?,
        _ => writeln!(out, "\n{warnings} warnings encountered. See detailed log.")?,
    }
    match errors {
        0 => writeln!(out, "\nNo errors encountered during test."),
        1 => writeln!(out, "\n1 ERROR encountered. See detailed log."),
        _ => writeln!(out, "\n{errors} ERRORS encountered. See detailed log."),
    }
}

fn body(log: &TestLog, results: &Results, validity: &Validity, out: &mut impl Write) -> io::Result<()> {
    head(log, results, out)?;
    verdict(results, validity, out)?;
    statistics(results, out)?;
    parameters(results, out)
}

fn title(out: &mut impl Write, title: &str) -> io::Result<()> {
    writeln!(out, "{RULE}\n{title}\n{RULE}")
}

fn head(log: &TestLog, results: &Results, out: &mut impl Write) -> io::Result<()> {
    let settings = results.settings;
    title(out, "MLPerf Results Summary")?;
    writeln!(out, "SUT name : {}", log.sut_name)?;
    writeln!(out, "Scenario : {}", settings.scenario.name())?;
    writeln!(out, "Mode     : {}", settings.mode.name())?;
    let percentile = results.target_percentile();
    let named = label(percentile, 1);
    let (tokens, inferred) = (settings.use_token_latencies, settings.infer_token_latencies);
    match settings.scenario {
        Scenario::SingleStream | Scenario::MultiStream => {
            let latency = results.main_latencies().percentile(percentile);
            writeln!(out, "{named}th percentile latency (ns) : {latency}")?;
            if tokens {
                let first = results.first_tokens.percentile(percentile);
                writeln!(out, "{named}th first token percentile latency (ns) : {first}")?;
            }
        }
        Scenario::Server => {
            writeln!(out, "Completed samples per second    : {}", fixed(results.completed_per_second(), 2))?;
            if tokens {
                writeln!(out, "Completed tokens per second: {}", fixed(results.completed_tokens_per_second(), 2))?;
            }
            if inferred {
                let rate = fixed(results.inferred_tokens_per_second(), 2);
                writeln!(out, "Completed tokens per second (inferred): {rate}")?;
            }
        }
        Scenario::Offline => {
            writeln!(out, "Samples per second: {}", general(results.offline_per_second()))?;
            if tokens {
                writeln!(out, "Tokens per second: {}", general(results.offline_tokens_per_second()))?;
            }
            if inferred {
                let rate = general(results.inferred_offline_tokens_per_second());
                writeln!(out, "Tokens per second (inferred): {rate}")?;
            }
        }
    }
    Ok(())
}

fn verdict(results: &Results, validity: &Validity, out: &mut impl Write) -> io::Result<()> {
    let yes = |met: bool| if met { "Yes" } else { "NO" };
    let settings = results.settings;
    writeln!(out, "Result is : {}", validity.word())?;
    if settings.scenario == Scenario::Server {
        writeln!(out, "  Performance constraints satisfied : {}", yes(validity.perf_constraints_met))?;
    }
    writeln!(out, "  Min duration satisfied : {}", yes(validity.min_duration_met))?;
    writeln!(out, "  Min queries satisfied : {}", yes(validity.min_queries_met))?;
    writeln!(out, "  Early stopping satisfied: {}", yes(validity.early_stopping.met))?;
    if !validity.valid() {
        writeln!(out, "Recommendations:")?;
        if !validity.perf_constraints_met {
            writeln!(out, " * {}", validity.perf_advice)?;
        }
        if !validity.min_duration_met {
            writeln!(out, " * {}", validity.duration_advice)?;
        }
        if !validity.min_queries_met {
            writeln!(out, " * {EXITED_EARLY}\n   See the detailed log for why this may have occurred.")?;
        }
        for fault in &validity.faults {
            writeln!(out, " * {}", fault.replace('\n', " "))?;
        }
    }
    if settings.scenario == Scenario::Offline {
        return Ok(());
    }
    let text = |it: &Option<EarlyStoppingOutcome>| it.as_ref().map(|it| it.text.clone()).unwrap_or_default();
    let stops = &validity.early_stopping;
    if settings.use_token_latencies {
        writeln!(out, "TTFT Early Stopping Result:\n{}", text(&stops.ttft))?;
        writeln!(out, "TPOT Early Stopping Result:\n{}", text(&stops.tpot))
    } else {
        writeln!(out, "Early Stopping Result:\n{}", text(&stops.latency))
    }
}

fn statistics(results: &Results, out: &mut impl Write) -> io::Result<()> {
    let settings = results.settings;
    writeln!(out)?;
    title(out, "Additional Stats")?;
    match settings.scenario {
        Scenario::SingleStream => {
            writeln!(out, "QPS w/ loadgen overhead         : {}", fixed(results.qps_with_overhead(), 2))?;
            writeln!(out, "QPS w/o loadgen overhead        : {}\n", fixed(results.qps_without_overhead(), 2))?;
        }
        Scenario::Server => {
            writeln!(out, "Scheduled samples per second : {}", fixed(results.scheduled_per_second(), 2))?;
        }
        Scenario::MultiStream => writeln!(out, "Per-query latency:  ")?,
        Scenario::Offline => {}
    }
    series(out, results.main_latencies(), "latency (ns)   ", "percentile latency (ns)   ")?;
    if !settings.use_token_latencies {
        return Ok(());
    }
    writeln!(out)?;
    match settings.scenario {
        Scenario::SingleStream => {
            writeln!(out, "TPS w/ loadgen overhead         : {}", fixed(results.tokens_with_overhead(), 2))?;
            writeln!(out, "TPS w/o loadgen overhead        : {}", fixed(results.tokens_without_overhead(), 2))?;
        }
        Scenario::Server => {
            let rate = fixed(results.completed_tokens_per_second(), 2);
            writeln!(out, "Completed tokens per second                 : {rate}")?;
        }
        Scenario::MultiStream => {}
        Scenario::Offline => return Ok(()),
    }
    series(out, &results.first_tokens, "First Token latency (ns)   ", "percentile first token latency (ns)   ")?;
    writeln!(out)?;
    series(out, &results.per_token, "Time per Output Token (ns)   ", "percentile time to output token (ns)   ")
}

fn series(out: &mut impl Write, series: &Series, name: &str, of_percentile: &str) -> io::Result<()> {
    for (figure, value) in [("Min", series.min()), ("Max", series.max()), ("Mean", series.mean())] {
        // Aligns the colons.
        let pad = if figure == "Mean" { "" } else { " " };
        writeln!(out, "{figure} {name}{pad}            : {value}")?;
    }
    for percentile in PERCENTILES {
        writeln!(out, "{} {of_percentile}: {}", label(percentile, 2), series.percentile(percentile))?;
    }
    Ok(())
}

fn parameters(results: &Results, out: &mut impl Write) -> io::Result<()> {
    let (settings, effective) = (results.settings, results.effective);
    writeln!(out)?;
    title(out, "Test Parameters Used")?;
    writeln!(out, "samples_per_query : {}", effective.samples_per_query)?;
    writeln!(out, "target_qps : {}", general(effective.target_qps))?;
    if settings.use_token_latencies {
        writeln!(out, "ttft_latency (ns): {}", settings.server_ttft_latency)?;
        writeln!(out, "tpot_latency (ns): {}", settings.server_tpot_latency)?;
    } else {
        writeln!(out, "target_latency (ns): {}", effective.target_latency_ns)?;
    }
    writeln!(out, "max_async_queries : {}", effective.max_async_queries)?;
    writeln!(out, "min_duration (ms): {}", effective.min_duration_ms)?;
    writeln!(out, "max_duration (ms): {}", effective.max_duration_ms)?;
    let flag = |it: bool| u64::from(it).to_string();
    for (name, value) in [
        ("min_query_count", effective.min_query_count.to_string()),
        ("max_query_count", effective.max_query_count.to_string()),
        ("qsl_rng_seed", settings.qsl_rng_seed.to_string()),
        ("sample_index_rng_seed", settings.sample_index_rng_seed.to_string()),
        ("schedule_rng_seed", settings.schedule_rng_seed.to_string()),
        ("accuracy_log_rng_seed", settings.accuracy_log_rng_seed.to_string()),
        ("accuracy_log_probability", general(settings.accuracy_log_probability)),
        ("accuracy_log_sampling_target", settings.accuracy_log_sampling_target.to_string()),
        ("print_timestamps", flag(settings.print_timestamps)),
        ("performance_issue_unique", flag(settings.performance_issue_unique)),
        ("performance_issue_same", flag(settings.performance_issue_same)),
        ("performance_issue_same_index", settings.performance_issue_same_index.to_string()),
        ("performance_sample_count", effective.performance_sample_count.to_string()),
        ("accuracy_sample_count", effective.accuracy_sample_count.to_string()),
    ] {
        writeln!(out, "{name} : {value}")?;
    }
    if effective.sample_concatenate_permutation {
        // LoadGen also writes a blank at the end of the first line.
        writeln!(out, "WARNING: sample_concatenate_permutation was set to true. ")?;
        writeln!(out, "Generated samples per query might be different as the one in the setting.")?;
        writeln!(out, "Check the generated_samples_per_query line in the detailed log for the real")?;
        writeln!(out, "samples_per_query value")?;
    }
    Ok(())
}
