//! The mean of the headline figures of several runs.

use crds::{
    figure::{Microseconds, Milli},
    summary::{Quantiles, RunSummary, StageSummary},
};

/// The mean of each figure; `None` without runs. Counts are rounded up, so that a single failure is not lost. A figure is absent if any run lacks it.
pub fn mean_of_summaries(runs: &[RunSummary]) -> Option<RunSummary> {
    if runs.is_empty() {
        return None;
    }
    let of = |figure: fn(&RunSummary) -> Option<Quantiles>| quantiles(runs, figure);
    Some(RunSummary {
        requests: count(runs, |it| it.requests),
        failed: count(runs, |it| it.failed),
        cancelled: count(runs, |it| it.cancelled),
        duration_microseconds: nearest(runs, |it| it.duration_microseconds.into()).into(),
        send_lag_p99_microseconds: time(runs, |it| it.send_lag_p99_microseconds),
        receive_delay_p99_microseconds: time(runs, |it| it.receive_delay_p99_microseconds),
        cpu_share_milli: milli(runs, |it| it.cpu_share_milli),
        ttft: of(|it| it.ttft),
        itl: of(|it| it.itl),
        tpot: of(|it| it.tpot),
        latency: of(|it| it.latency),
        requests_per_second_milli: milli(runs, |it| it.requests_per_second_milli),
        output_tokens_per_second_milli: milli(runs, |it| it.output_tokens_per_second_milli),
        total_tokens_per_second_milli: milli(runs, |it| it.total_tokens_per_second_milli),
        mean_of_runs: u32::try_from(runs.len()).ok(),
    })
}

/// The mean of each stage over several runs, in the order of the first run. A stage is left out if any run lacks it.
pub fn mean_of_stages(runs: &[Vec<StageSummary>]) -> Vec<StageSummary> {
    let of_all = |name: &String| -> Option<Vec<StageSummary>> {
        runs.iter().map(|stages| stages.iter().find(|it| it.name == *name).cloned()).collect()
    };
    let mean = |first: &StageSummary| {
        let all = of_all(&first.name)?;
        Some(StageSummary {
            name: first.name.clone(),
            requests: count(&all, |it| it.requests),
            failed: count(&all, |it| it.failed),
            cancelled: count(&all, |it| it.cancelled),
            ttft_p99_microseconds: time(&all, |it| it.ttft_p99_microseconds),
            itl_p99_microseconds: time(&all, |it| it.itl_p99_microseconds),
            output_tokens_per_second_milli: milli(&all, |it| it.output_tokens_per_second_milli),
        })
    };
    runs.first().into_iter().flatten().filter_map(mean).collect()
}

fn quantiles(runs: &[RunSummary], of: fn(&RunSummary) -> Option<Quantiles>) -> Option<Quantiles> {
    let all: Vec<Quantiles> = runs.iter().map(of).collect::<Option<_>>()?;
    Some(Quantiles {
        p50_microseconds: nearest(&all, |it| it.p50_microseconds.into()).into(),
        p90_microseconds: nearest(&all, |it| it.p90_microseconds.into()).into(),
        p99_microseconds: nearest(&all, |it| it.p99_microseconds.into()).into(),
    })
}

fn time<T>(runs: &[T], of: fn(&T) -> Option<Microseconds>) -> Option<Microseconds> {
    let all: Vec<Microseconds> = runs.iter().map(of).collect::<Option<_>>()?;
    Some(nearest(&all, |it| (*it).into()).into())
}

fn milli<T>(runs: &[T], of: fn(&T) -> Option<Milli>) -> Option<Milli> {
    let all: Vec<Milli> = runs.iter().map(of).collect::<Option<_>>()?;
    Some(nearest(&all, |it| (*it).into()).into())
}

/// The mean of a count over the runs, rounded up.
fn count<T>(runs: &[T], of: impl Fn(&T) -> u64) -> u64 {
    whole(sum(runs, of).div_ceil(runs.len().max(1) as u128))
}

/// The mean of a count over the runs, rounded to the nearest whole number.
fn nearest<T>(runs: &[T], of: impl Fn(&T) -> u64) -> u64 {
    let number = runs.len().max(1) as u128;
    whole((sum(runs, of) + number / 2) / number)
}

fn sum<T>(runs: &[T], of: impl Fn(&T) -> u64) -> u128 {
    runs.iter().map(|it| u128::from(of(it))).sum()
}

fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
