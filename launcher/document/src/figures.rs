//! Counts, times and rates in `report.json`.

use std::collections::BTreeMap;

use analysis::{Figures, GoodputFigures, Interactivity, RateWindow, StepTimes, Throughput};
use measurement::recorder::CauseTally;
use serde::{Deserialize, Serialize};

use super::{
    interactivity::InteractivityDocument,
    values::{Statistics, counts, millis, times},
};

/// The figures of a run or a stage, or of its probe requests.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FiguresDocument {
    pub requests: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub abandoned: u64,
    pub incomplete: u64,
    pub outcomes: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timeouts: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<String, CauseDocument>,
    pub retried: u64,
    pub own_connections: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aside: BTreeMap<String, BTreeMap<String, u64>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub error_samples: BTreeMap<String, String>,
    pub first_due_ms: Option<f64>,
    pub last_end_ms: Option<f64>,
    pub duration_ms: f64,
    pub ttft_ms: Option<Statistics>,
    pub ttft_scheduled_ms: Option<Statistics>,
    pub ttft_sent_ms: Option<Statistics>,
    pub latency_ms: Option<Statistics>,
    pub latency_scheduled_ms: Option<Statistics>,
    pub latency_sent_ms: Option<Statistics>,
    pub itl_ms: Option<Statistics>,
    pub event_gap_ms: Option<Statistics>,
    pub content_events: u64,
    pub tokens_per_event: Option<f64>,
    pub tpot_ms: Option<Statistics>,
    pub ntpot_ms: Option<Statistics>,
    pub ntpot_of_llmd_ms: Option<Statistics>,
    pub interactivity: Option<InteractivityDocument>,
    pub send_lag_ms: Option<Statistics>,
    #[serde(alias = "queueMs")]
    pub permit_wait_ms: Option<Statistics>,
    pub steps: Option<StepsDocument>,
    pub isl_tokens: Option<Statistics>,
    pub osl_tokens: Option<Statistics>,
    pub input_tokens: Option<u64>,
    pub output_tokens: u64,
    pub throughput: Option<ThroughputDocument>,
    /// The time window of the rates; absent if the rates cover the whole duration.
    pub rate_window: Option<RateWindowDocument>,
    /// Absent in reports of earlier releases.
    pub whole_throughput: Option<ThroughputDocument>,
    pub goodput: Option<GoodputDocument>,
    pub without_usage: u64,
    pub usage_set_aside: u64,
    pub in_one_piece: u64,
    pub input_length_misses: u64,
    pub output_length_misses: u64,
    pub input_length_ratio: Option<f64>,
    pub output_length_ratio: Option<f64>,
    pub cached_tokens: Option<u64>,
    pub cached_share: Option<f64>,
    pub reads: u64,
    pub coalesced_reads: u64,
    pub late_reads: u64,
}

impl FiguresDocument {
    pub(super) fn new(figures: &Figures) -> Self {
        FiguresDocument {
            requests: figures.requests,
            succeeded: figures.succeeded,
            failed: figures.failed,
            cancelled: figures.cancelled,
            abandoned: figures.abandoned,
            incomplete: figures.incomplete,
            outcomes: counts(&figures.outcomes),
            timeouts: figures.timeouts.iter().map(|(limit, count)| (limit.name().to_owned(), *count)).collect(),
            causes: figures
                .causes
                .iter()
                .map(|(cause, it)| (cause.name().to_owned(), CauseDocument::new(it)))
                .collect(),
            retried: figures.retried,
            own_connections: Some(figures.own_connections).filter(|it| *it > 0),
            aside: figures.excluded.iter().map(|(part, outcomes)| (part.name().to_owned(), counts(outcomes))).collect(),
            error_samples: figures.error_samples.iter().map(|(outcome, text)| (outcome.name(), text.clone())).collect(),
            first_due_ms: figures.first_due.map(millis),
            last_end_ms: figures.last_end.map(millis),
            duration_ms: millis(figures.duration),
            ttft_ms: times(&figures.ttft),
            ttft_scheduled_ms: times(&figures.ttft_scheduled),
            ttft_sent_ms: times(&figures.ttft_sent),
            latency_ms: times(&figures.latency),
            latency_scheduled_ms: times(&figures.latency_scheduled),
            latency_sent_ms: times(&figures.latency_sent),
            itl_ms: times(&figures.itl),
            event_gap_ms: times(&figures.event_gap),
            content_events: figures.content_events,
            tokens_per_event: figures.tokens_per_event,
            tpot_ms: times(&figures.tpot),
            ntpot_ms: times(&figures.ntpot),
            ntpot_of_llmd_ms: times(&figures.ntpot_of_llmd),
            interactivity: Interactivity::new(figures).map(InteractivityDocument::from),
            send_lag_ms: times(&figures.send_lag),
            permit_wait_ms: times(&figures.permit_wait),
            steps: figures.steps.as_ref().and_then(StepsDocument::new),
            isl_tokens: figures.isl.map(Statistics::from),
            osl_tokens: figures.osl.map(Statistics::from),
            input_tokens: figures.input_tokens,
            output_tokens: figures.output_tokens,
            throughput: figures.throughput.map(ThroughputDocument::new),
            rate_window: figures.rate_window.map(RateWindowDocument::new),
            whole_throughput: figures.whole_throughput.map(ThroughputDocument::new),
            goodput: figures.goodput.map(GoodputDocument::new),
            without_usage: figures.without_usage,
            usage_set_aside: figures.usage_set_aside,
            in_one_piece: figures.in_one_piece,
            input_length_misses: figures.input_length_misses,
            output_length_misses: figures.output_length_misses,
            input_length_ratio: figures.input_length_ratio,
            output_length_ratio: figures.output_length_ratio,
            cached_tokens: figures.cached.map(|it| it.tokens),
            cached_share: figures.cached.map(|it| it.share),
            reads: figures.reads,
            coalesced_reads: figures.coalesced_reads,
            late_reads: figures.late_reads,
        }
    }

    /// Requests that succeeded or failed.
    pub fn decided(&self) -> u64 {
        self.succeeded.saturating_add(self.failed)
    }

    /// Failed / (succeeded + failed); `None` if there are no such requests.
    pub fn failed_share(&self) -> Option<f64> {
        (self.decided() > 0).then(|| self.failed as f64 / self.decided() as f64)
    }
}

/// The time that requests spent in each step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepsDocument {
    pub queue_ms: Statistics,
    pub build_ms: Statistics,
    pub send_ms: Statistics,
    pub first_byte_ms: Statistics,
    /// Absent in reports of earlier releases; there, `tokensMs` includes this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<Statistics>,
    pub tokens_ms: Statistics,
    pub parse_ms: Statistics,
}

impl StepsDocument {
    fn new(steps: &StepTimes) -> Option<Self> {
        let of = |it| times(&Some(it));
        Some(StepsDocument {
            queue_ms: of(steps.queue)?,
            build_ms: of(steps.build)?,
            send_ms: of(steps.send)?,
            first_byte_ms: of(steps.first_byte)?,
            first_token_ms: of(steps.first_token),
            tokens_ms: of(steps.tokens)?,
            parse_ms: of(steps.parse)?,
        })
    }

    /// The steps in order, each with its name and whether it is part of the latency (true) or overlaps with other steps (false).
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Statistics, bool)> {
        [
            ("queue", Some(&self.queue_ms), true),
            ("build", Some(&self.build_ms), false),
            ("send", Some(&self.send_ms), true),
            ("first byte", Some(&self.first_byte_ms), true),
            ("first token", self.first_token_ms.as_ref(), true),
            ("tokens", Some(&self.tokens_ms), true),
            ("parse", Some(&self.parse_ms), false),
        ]
        .into_iter()
        .filter_map(|(name, times, is_part)| Some((name, times?, is_part)))
    }
}

/// Failures with one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseDocument {
    pub count: u64,
    pub sample: String,
}

impl CauseDocument {
    fn new(figures: &CauseTally) -> Self {
        CauseDocument { count: figures.count, sample: figures.sample().to_owned() }
    }
}

/// Rates of a run or stage.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThroughputDocument {
    pub requests_per_second: f64,
    pub input_tokens_per_second: Option<f64>,
    pub output_tokens_per_second: f64,
    pub total_tokens_per_second: Option<f64>,
}

impl ThroughputDocument {
    fn new(figures: Throughput) -> Self {
        ThroughputDocument {
            requests_per_second: figures.requests,
            input_tokens_per_second: figures.input_tokens,
            output_tokens_per_second: figures.output_tokens,
            total_tokens_per_second: figures.total_tokens,
        }
    }
}

/// The time between fill and drain of a stage, from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateWindowDocument {
    pub from_ms: f64,
    pub to_ms: f64,
}

impl RateWindowDocument {
    fn new(window: RateWindow) -> Self {
        RateWindowDocument { from_ms: millis(window.from), to_ms: millis(window.to) }
    }
}

/// Requests that met every goodput bound.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GoodputDocument {
    #[serde(alias = "goodRequests")]
    pub goodput_requests: u64,
    #[serde(alias = "goodRequestsPerSecond")]
    pub goodput_requests_per_second: Option<f64>,
    /// Absent in reports of earlier releases.
    #[serde(alias = "wholeGoodRequestsPerSecond")]
    pub whole_goodput_requests_per_second: Option<f64>,
    #[serde(alias = "goodShare")]
    pub goodput_share: Option<f64>,
}

impl GoodputDocument {
    fn new(figures: GoodputFigures) -> Self {
        GoodputDocument {
            goodput_requests: figures.requests,
            goodput_requests_per_second: figures.per_second,
            whole_goodput_requests_per_second: figures.whole_per_second,
            goodput_share: figures.share,
        }
    }
}
