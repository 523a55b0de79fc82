//! The analysis as the headline figures of a status.

use std::time::Duration;

use crds::{
    summary::{Quantiles, RunSummary, StageSummary, rate_text},
    units::Span,
};

use super::{Analysis, distribution::Distribution, figures::StageAnalysis};

/// The longest name of a stage in a status.
const MAX_NAME_CHARS: usize = 32;

pub(super) fn of_run(analysis: &Analysis) -> RunSummary {
    let all = &analysis.all;
    let rates = all.throughput;
    RunSummary {
        requests: all.requests,
        errors: all.failed + all.cancelled,
        duration: rounded(all.duration),
        send_lag_p99: all.send_lag.map(|it| rounded(it.p99)),
        receive_delay_p99: analysis.judgement.receive_delay.map(|it| rounded(it.p99)),
        cpu_share: analysis.judgement.busiest.as_ref().map(|it| rate_text(it.share)),
        ttft: all.ttft.as_ref().map(quantiles),
        itl: all.itl.as_ref().map(quantiles),
        tpot: all.tpot.as_ref().map(quantiles),
        e2e: all.latency.as_ref().map(quantiles),
        requests_per_second: rates.map(|it| rate_text(it.requests)),
        output_tokens_per_second: rates.map(|it| rate_text(it.output_tokens)),
        total_tokens_per_second: rates.and_then(|it| it.total_tokens).map(rate_text),
    }
}

pub(super) fn of_stage(stage: &StageAnalysis) -> StageSummary {
    let figures = &stage.figures;
    StageSummary {
        name: stage.stage.name.chars().take(MAX_NAME_CHARS).collect(),
        requests: figures.requests,
        errors: figures.failed + figures.cancelled,
        ttft_p99: figures.ttft.map(|it| rounded(it.p99)),
        itl_p99: figures.itl.map(|it| rounded(it.p99)),
        output_tokens_per_second: figures.throughput.map(|it| rate_text(it.output_tokens)),
    }
}

fn quantiles(of: &Distribution<Duration>) -> Quantiles {
    Quantiles { p50: rounded(of.p50), p90: rounded(of.p90), p99: rounded(of.p99) }
}

fn rounded(time: Duration) -> Span {
    Span(time).rounded()
}
