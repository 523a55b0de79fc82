//! Reads the figures of the catalogue from a document.

use ::figures::Figure;
use crds::benchmark_run::Stat;

use crate::{EstimateDocument, FiguresDocument, LatenciesDocument, Statistics, UncertaintyDocument, WindowDocument};

impl FiguresDocument {
    /// The distribution of a figure; `None` if the figure has only one value, or was not measured.
    pub fn statistics(&self, figure: Figure) -> Option<&Statistics> {
        match figure {
            Figure::Ttft => self.ttft_ms.as_ref(),
            Figure::TtftSent => self.ttft_sent_ms.as_ref(),
            Figure::Tpot => self.tpot_ms.as_ref(),
            Figure::Itl => self.itl_ms.as_ref(),
            Figure::EventGap => self.event_gap_ms.as_ref(),
            Figure::Ntpot => self.ntpot_ms.as_ref(),
            Figure::NtpotOfLlmd => self.ntpot_of_llmd_ms.as_ref(),
            Figure::Latency => self.latency_ms.as_ref(),
            Figure::LatencySent => self.latency_sent_ms.as_ref(),
            Figure::SendLag => self.send_lag_ms.as_ref(),
            Figure::PermitWait => self.permit_wait_ms.as_ref(),
            Figure::Isl => self.isl_tokens.as_ref(),
            Figure::Osl => self.osl_tokens.as_ref(),
            Figure::GoodputRequestsPerSecond
            | Figure::RequestsPerSecond
            | Figure::InputTokensPerSecond
            | Figure::OutputTokensPerSecond
            | Figure::TotalTokensPerSecond
            | Figure::GoodputShare
            | Figure::ErrorRatio
            | Figure::CachedShare
            | Figure::InverseOfTpotP90
            | Figure::MedianOfInverseTpot
            | Figure::InverseOfNtpotP90
            | Figure::CostPerMillionOutputTokens => None,
        }
    }

    /// The value of a figure with only one value; `None` if the figure is a distribution, or was not measured. Costs are in `hardware`.
    pub fn number(&self, figure: Figure) -> Option<f64> {
        let (throughput, goodput) = (self.throughput.as_ref(), self.goodput.as_ref());
        match figure {
            Figure::GoodputRequestsPerSecond => goodput?.goodput_requests_per_second,
            Figure::RequestsPerSecond => Some(throughput?.requests_per_second),
            Figure::InputTokensPerSecond => throughput?.input_tokens_per_second,
            Figure::OutputTokensPerSecond => Some(throughput?.output_tokens_per_second),
            Figure::TotalTokensPerSecond => throughput?.total_tokens_per_second,
            Figure::GoodputShare => goodput?.goodput_share,
            Figure::ErrorRatio => self.failed_share(),
            Figure::CachedShare => self.cached_share,
            Figure::InverseOfTpotP90 => self.interactivity?.inverse_of_tpot_p90,
            Figure::MedianOfInverseTpot => self.interactivity?.median_of_inverse_tpot,
            Figure::InverseOfNtpotP90 => self.interactivity?.inverse_of_ntpot_p90,
            Figure::Ttft
            | Figure::TtftSent
            | Figure::Tpot
            | Figure::Itl
            | Figure::EventGap
            | Figure::Ntpot
            | Figure::NtpotOfLlmd
            | Figure::Latency
            | Figure::LatencySent
            | Figure::SendLag
            | Figure::PermitWait
            | Figure::Isl
            | Figure::Osl
            | Figure::CostPerMillionOutputTokens => None,
        }
    }
}

impl UncertaintyDocument {
    /// The estimates for a figure that is a distribution; `None` if it has no intervals.
    pub fn latencies(&self, figure: Figure) -> Option<&LatenciesDocument> {
        match figure {
            Figure::Ttft => self.ttft_ms.as_ref(),
            Figure::Tpot => self.tpot_ms.as_ref(),
            Figure::Ntpot => self.ntpot_ms.as_ref(),
            Figure::Latency => self.latency_ms.as_ref(),
            Figure::Itl => self.itl_ms.as_ref(),
            _ => None,
        }
    }

    /// The estimate for a figure with only one value; `None` if it has no interval.
    pub fn estimate(&self, figure: Figure) -> Option<&EstimateDocument> {
        match figure {
            Figure::GoodputRequestsPerSecond => self.goodput_requests_per_second.as_ref(),
            Figure::RequestsPerSecond => self.requests_per_second.as_ref(),
            Figure::OutputTokensPerSecond => self.output_tokens_per_second.as_ref(),
            Figure::GoodputShare => self.goodput_share.as_ref(),
            Figure::ErrorRatio => self.error_ratio.as_ref(),
            _ => None,
        }
    }
}

impl WindowDocument {
    /// The estimates in the window for a figure that is a distribution, as in [`UncertaintyDocument::latencies`]; `None` if it has no intervals.
    pub fn latencies(&self, figure: Figure) -> Option<&LatenciesDocument> {
        match figure {
            Figure::Ttft => self.ttft_ms.as_ref(),
            Figure::Tpot => self.tpot_ms.as_ref(),
            Figure::Latency => self.latency_ms.as_ref(),
            _ => None,
        }
    }

    /// The estimate in the window for a figure with only one value, as in [`UncertaintyDocument::estimate`]; `None` if it has no interval.
    pub fn estimate(&self, figure: Figure) -> Option<&EstimateDocument> {
        match figure {
            Figure::RequestsPerSecond => self.requests_per_second.as_ref(),
            Figure::OutputTokensPerSecond => self.output_tokens_per_second.as_ref(),
            _ => None,
        }
    }
}

impl LatenciesDocument {
    /// The estimate for a statistic; `None` if it has no interval.
    pub fn get(&self, stat: Stat) -> Option<&EstimateDocument> {
        match stat {
            Stat::Mean => self.mean.as_ref(),
            Stat::P50 => self.p50.as_ref(),
            Stat::P90 => self.p90.as_ref(),
            Stat::P99 => self.p99.as_ref(),
            Stat::P95 | Stat::P99P9 | Stat::Max => None,
        }
    }
}
