//! Reads a figure of the catalogue from an analysis.

use std::time::Duration;

use ::figures::Figure;
use statistics::Estimate;

use crate::{Distribution, Figures, Uncertainty, uncertainty::Latencies};

impl Figures {
    /// Returns the distribution of a figure; `None` if the figure is not a distribution of times, or was not measured.
    pub fn times(&self, figure: Figure) -> Option<Distribution<Duration>> {
        match figure {
            Figure::Ttft => self.ttft,
            Figure::TtftSent => self.ttft_sent,
            Figure::Tpot => self.tpot,
            Figure::Itl => self.itl,
            Figure::EventGap => self.event_gap,
            Figure::Ntpot => self.ntpot,
            Figure::NtpotOfLlmd => self.ntpot_of_llmd,
            Figure::Latency => self.latency,
            Figure::LatencySent => self.latency_sent,
            Figure::SendLag => self.send_lag,
            Figure::PermitWait => self.permit_wait,
            Figure::GoodputRequestsPerSecond
            | Figure::RequestsPerSecond
            | Figure::InputTokensPerSecond
            | Figure::OutputTokensPerSecond
            | Figure::TotalTokensPerSecond
            | Figure::Isl
            | Figure::Osl
            | Figure::GoodputShare
            | Figure::ErrorRatio
            | Figure::CachedShare
            | Figure::InverseOfTpotP90
            | Figure::MedianOfInverseTpot
            | Figure::InverseOfNtpotP90
            | Figure::CostPerMillionOutputTokens => None,
        }
    }

    /// Returns the value of a figure that has only one value; `None` for any other figure, and if it was not measured.
    pub fn number(&self, figure: Figure) -> Option<f64> {
        let (rates, goodput) = (self.throughput, self.goodput);
        match figure {
            Figure::GoodputRequestsPerSecond => goodput?.per_second,
            Figure::RequestsPerSecond => Some(rates?.requests),
            Figure::InputTokensPerSecond => rates?.input_tokens,
            Figure::OutputTokensPerSecond => Some(rates?.output_tokens),
            Figure::TotalTokensPerSecond => rates?.total_tokens,
            Figure::GoodputShare => goodput?.share,
            Figure::ErrorRatio => self.failed_share(),
            Figure::CachedShare => self.cached.map(|it| it.share),
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
            | Figure::InverseOfTpotP90
            | Figure::MedianOfInverseTpot
            | Figure::InverseOfNtpotP90
            | Figure::CostPerMillionOutputTokens => None,
        }
    }
}

impl Uncertainty {
    /// Returns the estimates for a figure of times; `None` if the figure has no intervals.
    pub fn latencies(&self, figure: Figure) -> Option<Latencies> {
        match figure {
            Figure::Ttft => self.ttft,
            Figure::Tpot => self.tpot,
            Figure::Ntpot => self.ntpot,
            Figure::Latency => self.latency,
            Figure::Itl => self.itl,
            _ => None,
        }
    }

    /// Returns the estimate of a rate or a share; `None` if the figure has no interval.
    pub fn rate(&self, figure: Figure) -> Option<Estimate> {
        match figure {
            Figure::RequestsPerSecond => self.rates.requests,
            Figure::OutputTokensPerSecond => self.rates.output_tokens,
            Figure::GoodputRequestsPerSecond => self.outcomes.good_requests,
            Figure::GoodputShare => self.outcomes.good_share,
            Figure::ErrorRatio => self.outcomes.error_ratio,
            _ => None,
        }
    }
}
