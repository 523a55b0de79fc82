//! Converts an analysis to the headline figures of a status.

use std::time::Duration;

use crds::summary::{Quantiles, RunSummary, StageSummary};

use super::{Analysis, distribution::Distribution, stage::StageAnalysis};

pub(super) fn of_run(analysis: &Analysis) -> RunSummary {
    let all = &analysis.all;
    let rates = all.throughput;
    RunSummary {
        requests: all.requests,
        failed: all.failed,
        cancelled: all.cancelled,
        duration_microseconds: all.duration.into(),
        send_lag_p99_microseconds: all.send_lag.map(|it| it.p99.into()),
        receive_delay_p99_microseconds: analysis.judgement.receive_delay.map(|it| it.p99.into()),
        cpu_share_milli: analysis.judgement.busiest.as_ref().map(|it| it.share.into()),
        ttft: all.ttft.as_ref().map(quantiles),
        itl: all.itl.as_ref().map(quantiles),
        tpot: all.tpot.as_ref().map(quantiles),
        latency: all.latency.as_ref().map(quantiles),
        requests_per_second_milli: rates.map(|it| it.requests.into()),
        output_tokens_per_second_milli: rates.map(|it| it.output_tokens.into()),
        total_tokens_per_second_milli: rates.and_then(|it| it.total_tokens).map(Into::into),
        mean_of_runs: None,
    }
}

pub(super) fn of_stage(stage: &StageAnalysis) -> StageSummary {
    let figures = &stage.figures;
    StageSummary {
        name: stage.stage.name.clone(),
        requests: figures.requests,
        failed: figures.failed,
        cancelled: figures.cancelled,
        ttft_p99_microseconds: figures.ttft.map(|it| it.p99.into()),
        itl_p99_microseconds: figures.itl.map(|it| it.p99.into()),
        output_tokens_per_second_milli: figures.throughput.map(|it| it.output_tokens.into()),
    }
}

fn quantiles(of: &Distribution<Duration>) -> Quantiles {
    Quantiles { p50_microseconds: of.p50.into(), p90_microseconds: of.p90.into(), p99_microseconds: of.p99.into() }
}
