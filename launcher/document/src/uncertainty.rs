//! The uncertainty of a stage's figures, in `report.json`.

use analysis::uncertainty::{
    Absent, Estimate, Figure, JudgedFigure, LEVEL, Latencies, Measure, PERCENTILES, Rate, State, SteadyState,
    Uncertainty, Window, enough,
};
use serde::{Deserialize, Serialize};

/// Intervals, steady state and Little's law of a stage; or why there are none.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UncertaintyDocument {
    pub absent: Option<String>,
    /// The confidence level of the intervals.
    pub level: Option<f64>,
    pub ttft_ms: Option<LatenciesDocument>,
    pub tpot_ms: Option<LatenciesDocument>,
    pub ntpot_ms: Option<LatenciesDocument>,
    pub latency_ms: Option<LatenciesDocument>,
    pub itl_ms: Option<LatenciesDocument>,
    pub requests_per_second: Option<EstimateDocument>,
    pub output_tokens_per_second: Option<EstimateDocument>,
    #[serde(alias = "goodRequestsPerSecond")]
    pub goodput_requests_per_second: Option<EstimateDocument>,
    pub goodput_share: Option<EstimateDocument>,
    pub error_ratio: Option<EstimateDocument>,
    pub littles_law: Option<LittlesLawDocument>,
    pub steady_state: Option<SteadyStateDocument>,
}

impl UncertaintyDocument {
    pub(super) fn new(uncertainty: &Result<Uncertainty, Absent>) -> UncertaintyDocument {
        let it = match uncertainty {
            Err(absent) => return UncertaintyDocument { absent: Some(absent.reason().to_owned()), ..Self::default() },
            Ok(it) => it,
        };
        let latencies = |it: &Option<Latencies>| it.as_ref().map(LatenciesDocument::new);
        UncertaintyDocument {
            absent: None,
            level: Some(LEVEL),
            ttft_ms: latencies(&it.ttft),
            tpot_ms: latencies(&it.tpot),
            ntpot_ms: latencies(&it.ntpot),
            latency_ms: latencies(&it.latency),
            itl_ms: it.itl.as_ref().map(LatenciesDocument::of_bins),
            requests_per_second: it.rates.requests.as_ref().map(EstimateDocument::of_mean),
            output_tokens_per_second: it.rates.output_tokens.as_ref().map(EstimateDocument::of_mean),
            goodput_requests_per_second: it.outcomes.good_requests.as_ref().map(EstimateDocument::of_mean),
            goodput_share: it.outcomes.good_share.as_ref().map(EstimateDocument::of_share),
            error_ratio: it.outcomes.error_ratio.as_ref().map(EstimateDocument::of_share),
            littles_law: it.littles_law.map(|it| LittlesLawDocument {
                mean_concurrency: it.concurrency,
                ended_per_second: it.throughput,
                mean_time_ms: it.latency * 1e3,
                residual: it.residual,
            }),
            steady_state: Some(SteadyStateDocument::new(&it.steady_state)),
        }
    }
}

/// Estimates of one latency.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LatenciesDocument {
    pub withheld: Option<String>,
    pub count: Option<u64>,
    pub mean: Option<EstimateDocument>,
    pub p50: Option<EstimateDocument>,
    pub p90: Option<EstimateDocument>,
    pub p99: Option<EstimateDocument>,
}

impl LatenciesDocument {
    fn new(it: &Latencies) -> LatenciesDocument {
        LatenciesDocument::with_reasons(it, |name, p| {
            format!(
                "too few values for an interval of {name}: it needs {} effective values of the percentile's own series, and {} of the series of the mean",
                enough::for_ranks(p),
                enough::for_quantile_interval(p)
            )
        })
    }

    /// Estimates for which each time bin counts as one independent value.
    fn of_bins(it: &Latencies) -> LatenciesDocument {
        LatenciesDocument::with_reasons(it, |name, _| format!("the stage is too short for an interval of {name}"))
    }

    /// Converts estimates. `why` gets the name and the share of a percentile, and returns why the percentile has no interval.
    fn with_reasons(it: &Latencies, why: impl Fn(&str, f64) -> String) -> LatenciesDocument {
        let quantile = |place: usize| {
            let (name, p) = PERCENTILES[place];
            let why = match it.percentiles[place].value {
                None => format!("too few values for {name}: it would be the largest value"),
                Some(_) => why(name, p),
            };
            Some(EstimateDocument::new(&it.percentiles[place], why))
        };
        LatenciesDocument {
            withheld: None,
            count: Some(it.count),
            mean: Some(EstimateDocument::of_mean(&it.mean)),
            p50: quantile(0),
            p90: quantile(1),
            p99: quantile(2),
        }
    }

    fn of_window(it: &Result<Latencies, State>) -> LatenciesDocument {
        match it {
            Ok(it) => LatenciesDocument::new(it),
            Err(state) => LatenciesDocument { withheld: Some(state.name().to_owned()), ..Self::default() },
        }
    }
}

/// A figure with its interval.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EstimateDocument {
    /// The reason why the figure was left out: its state if it was not on a plateau.
    pub withheld: Option<String>,
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub effective_values: Option<f64>,
    /// The reason why there is no interval: too few values; absent if there is one.
    pub too_few: Option<String>,
}

impl EstimateDocument {
    fn of_mean(it: &Estimate) -> EstimateDocument {
        let why = format!("too few values for an interval of the mean: it needs {}", enough::VALUES_FOR_A_MEAN);
        EstimateDocument::new(it, why)
    }

    fn of_share(it: &Estimate) -> EstimateDocument {
        EstimateDocument::new(it, "too few requests for an interval of the share".to_owned())
    }

    /// Converts an estimate. `too_few` is the reason to report if there is no interval.
    fn new(it: &Estimate, too_few: String) -> EstimateDocument {
        EstimateDocument {
            withheld: None,
            value: it.value,
            low: it.interval.map(|it| it.low),
            high: it.interval.map(|it| it.high),
            effective_values: Some(it.effective_values),
            too_few: it.interval.is_none().then_some(too_few),
        }
    }

    fn of_window(it: &Result<Estimate, State>) -> EstimateDocument {
        match it {
            Ok(it) => EstimateDocument::of_mean(it),
            Err(state) => EstimateDocument { withheld: Some(state.name().to_owned()), ..Self::default() },
        }
    }
}

/// Both sides of Little's law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LittlesLawDocument {
    pub mean_concurrency: f64,
    pub ended_per_second: f64,
    pub mean_time_ms: f64,
    pub residual: f64,
}

/// Whether the stage was in a steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SteadyStateDocument {
    pub status: String,
    pub verdict: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<JudgedDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowDocument>,
}

impl SteadyStateDocument {
    fn new(it: &SteadyState) -> SteadyStateDocument {
        SteadyStateDocument {
            status: it.status.name().to_owned(),
            verdict: it.verdict.name().to_owned(),
            judged: it.judged.iter().map(JudgedDocument::new).collect(),
            window: it.window.as_ref().map(WindowDocument::new),
        }
    }
}

/// The trend of a figure in the window.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgedDocument {
    pub figure: String,
    /// The percentile; absent for a rate.
    pub percentile: Option<String>,
    pub decides: bool,
    pub state: String,
    pub slope_per_second: Option<f64>,
    pub change: Option<f64>,
    pub change_low: Option<f64>,
    pub change_high: Option<f64>,
}

impl JudgedDocument {
    fn new(it: &JudgedFigure) -> JudgedDocument {
        let (figure, percentile) = key(it.measure);
        let trend = it.judged.trend;
        let interval = trend.and_then(|it| it.interval);
        JudgedDocument {
            figure: figure.to_owned(),
            percentile: percentile.map(str::to_owned),
            decides: it.decides,
            state: it.judged.state.name().to_owned(),
            slope_per_second: trend.map(|it| it.slope),
            change: trend.map(|it| it.change),
            change_low: interval.map(|it| it.low),
            change_high: interval.map(|it| it.high),
        }
    }
}

/// The key of the judged figure, and its percentile.
fn key(measure: Measure) -> (&'static str, Option<&'static str>) {
    let key = |figure| match figure {
        Figure::Ttft => "ttftMs",
        Figure::Tpot => "tpotMs",
        Figure::Ntpot => "ntpotMs",
        Figure::Latency => "latencyMs",
    };
    match measure {
        Measure::P50(figure) => (key(figure), Some("p50")),
        Measure::P90(figure) => (key(figure), Some("p90")),
        Measure::Rate(Rate::Requests) => ("requestsPerSecond", None),
        Measure::Rate(Rate::OutputTokens) => ("outputTokensPerSecond", None),
    }
}

/// The figures within the window.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowDocument {
    pub from_ms: f64,
    pub to_ms: f64,
    pub succeeded: u64,
    pub ttft_ms: Option<LatenciesDocument>,
    pub tpot_ms: Option<LatenciesDocument>,
    pub latency_ms: Option<LatenciesDocument>,
    pub requests_per_second: Option<EstimateDocument>,
    pub output_tokens_per_second: Option<EstimateDocument>,
}

impl WindowDocument {
    fn new(it: &Window) -> WindowDocument {
        WindowDocument {
            from_ms: it.from * 1e3,
            to_ms: it.to * 1e3,
            succeeded: it.requests,
            ttft_ms: it.ttft.as_ref().map(LatenciesDocument::of_window),
            tpot_ms: it.tpot.as_ref().map(LatenciesDocument::of_window),
            latency_ms: it.latency.as_ref().map(LatenciesDocument::of_window),
            requests_per_second: it.requests_per_second.as_ref().map(EstimateDocument::of_window),
            output_tokens_per_second: it.output_tokens_per_second.as_ref().map(EstimateDocument::of_window),
        }
    }
}
