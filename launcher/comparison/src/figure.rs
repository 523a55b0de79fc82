//! The figures that are compared, and where each stands in a report.

use analysis::objectives::basis;
use crds::benchmark_run::{Metric, Stat};
use serde::Serialize;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Way {
    Up,
    Down,
}

/// Interactivity by its three names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interactivity {
    InverseOfTpotP90,
    MedianOfInverseTpot,
    InverseOfNtpotP90,
}

/// A group of figures that depend on each other. A slower server changes all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Ttft,
    /// TPOT, ITL and interactivity.
    Decode,
    /// The whole request: E2E and NTPOT.
    Request,
    /// Rates and costs.
    Rates,
    Errors,
}

impl Family {
    pub(crate) const ALL: [Family; 5] = [Family::Ttft, Family::Decode, Family::Request, Family::Rates, Family::Errors];

    /// Whether its figures are times.
    pub(crate) fn is_time(self) -> bool {
        matches!(self, Family::Ttft | Family::Decode | Family::Request)
    }
}

/// A figure of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// One that an objective may bound as well.
    OfMetric(Metric, Option<Stat>),
    Interactivity(Interactivity),
    /// Cost per million output tokens.
    Cost,
}

/// The times, each of which has [`STATS`].
const TIMES: [Metric; 5] = [Metric::Ttft, Metric::Tpot, Metric::Itl, Metric::Ntpot, Metric::E2e];
const STATS: [Stat; 4] = [Stat::Mean, Stat::P50, Stat::P90, Stat::P99];

impl Figure {
    /// All figures, in the order in which they are shown.
    pub fn all() -> Vec<Figure> {
        let rates = [Metric::GoodputRequestsPerSecond, Metric::RequestsPerSecond, Metric::OutputTokensPerSecond];
        let times = TIMES.into_iter().flat_map(|time| STATS.map(|stat| Figure::OfMetric(time, Some(stat))));
        let ways =
            [Interactivity::InverseOfTpotP90, Interactivity::MedianOfInverseTpot, Interactivity::InverseOfNtpotP90];
        rates
            .into_iter()
            .map(|it| Figure::OfMetric(it, None))
            .chain(times)
            .chain([Figure::OfMetric(Metric::ErrorRatio, None)])
            .chain(ways.map(Figure::Interactivity))
            .chain([Figure::Cost])
            .collect()
    }

    /// The name that a user writes and that stands in JSON: `ttft.p99`, `requestsPerSecond`.
    pub fn name(self) -> String {
        match self {
            Figure::OfMetric(metric, None) => metric.name().to_owned(),
            Figure::OfMetric(metric, Some(stat)) => format!("{}.{}", metric.name(), stat.name()),
            Figure::Interactivity(Interactivity::InverseOfTpotP90) => "interactivity.inverseOfTpotP90".to_owned(),
            Figure::Interactivity(Interactivity::MedianOfInverseTpot) => "interactivity.medianOfInverseTpot".to_owned(),
            Figure::Interactivity(Interactivity::InverseOfNtpotP90) => "interactivity.inverseOfNtpotP90".to_owned(),
            Figure::Cost => "costPerMillionOutputTokens".to_owned(),
        }
    }

    /// What a table calls it.
    pub fn title(self) -> String {
        let metric = match self {
            Figure::OfMetric(metric, _) => metric,
            Figure::Interactivity(Interactivity::InverseOfTpotP90) => return "interactivity 1/TPOT p90".to_owned(),
            Figure::Interactivity(Interactivity::MedianOfInverseTpot) => return "interactivity 1/TPOT p50".to_owned(),
            Figure::Interactivity(Interactivity::InverseOfNtpotP90) => return "interactivity 1/NTPOT p90".to_owned(),
            Figure::Cost => return "cost of a million output tokens".to_owned(),
        };
        let name = match metric {
            Metric::Ttft => "TTFT",
            Metric::Tpot => "TPOT",
            Metric::Itl => "ITL",
            Metric::Ntpot => "NTPOT",
            Metric::E2e => "E2E",
            Metric::GoodputRequestsPerSecond => "goodput",
            Metric::RequestsPerSecond => "requests",
            Metric::OutputTokensPerSecond => "output tokens",
            Metric::ErrorRatio => "errors",
            Metric::SendLag | Metric::TotalTokensPerSecond | Metric::GoodputShare => metric.name(),
        };
        match self {
            Figure::OfMetric(_, Some(stat)) => format!("{name} {}", stat.name()),
            _ => name.to_owned(),
        }
    }

    /// The unit of its values; empty for a share of one, and for money.
    pub fn unit(self) -> &'static str {
        match self {
            Figure::OfMetric(_, Some(_)) => "ms",
            Figure::OfMetric(Metric::ErrorRatio, None) | Figure::Cost => "",
            Figure::OfMetric(_, None) => "/s",
            Figure::Interactivity(_) => "tok/s",
        }
    }

    /// Which way is better.
    pub fn way(self) -> Way {
        match self {
            Figure::OfMetric(_, Some(_)) | Figure::OfMetric(Metric::ErrorRatio, None) | Figure::Cost => Way::Down,
            Figure::OfMetric(_, None) | Figure::Interactivity(_) => Way::Up,
        }
    }

    /// The metric that it is, or that it is derived from.
    pub(crate) fn metric(self) -> Metric {
        match self {
            Figure::OfMetric(metric, _) => metric,
            Figure::Interactivity(Interactivity::InverseOfNtpotP90) => Metric::Ntpot,
            Figure::Interactivity(_) => Metric::Tpot,
            Figure::Cost => Metric::OutputTokensPerSecond,
        }
    }

    /// Its family.
    pub(crate) fn family(self) -> Family {
        match self.metric() {
            Metric::Ttft => Family::Ttft,
            Metric::Tpot | Metric::Itl => Family::Decode,
            Metric::Ntpot | Metric::E2e => Family::Request,
            Metric::ErrorRatio => Family::Errors,
            _ => Family::Rates,
        }
    }

    /// Whether it means something else where this comparability label differs.
    pub(crate) fn depends_on(self, label: &str) -> bool {
        // A goal on TTFT counts by the clock as well.
        let is_goodput = self.metric() == Metric::GoodputRequestsPerSecond && label == "clock";
        is_goodput || basis(self.metric(), "clock", "itl", "tokens") == label
    }
}
