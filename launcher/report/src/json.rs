//! `report.json`: everything that a run came to, and everything that is needed to run it again. Ours, versioned by `format`.
//!
//! A figure that was not measured is absent. Times are milliseconds with their fraction, and say so in their names; every key
//! is explained in `docs/metrics.md`. It holds no prompts, outputs, bodies, credentials, nor the content of the token file.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use crds::{
    resolve::{ResolvedRun, RunIdentity},
    summary::{Outcome, RunSummary},
    units::{Seed, Span},
};
use jiff::Timestamp;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::Value;
use workload_profiles::{
    Notice,
    workload::{Load, Margin},
};

use super::{Report, TOOL_VERSION, judgement_json::JudgementJson, redact::redact};
use analysis::{Analysis, Distribution, Figures, GoodputFigures, Labels, StageAnalysis, Throughput};
use engine::{file_digest::FileDigest, record::RequestOutcome, recorder::CauseTally};

/// The version of this format: it changes with every change that a reader must know of.
pub const FORMAT: &str = "benchwright.dev/report/v1";

/// Writes the text of `report.json`.
///
/// # Errors
/// The writer's.
pub fn write(report: &Report<'_>, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let mut to = to;
    serde_json::to_writer_pretty(&mut to, &Document::of(report)?)?;
    to.write_all(b"\n")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    format: &'static str,
    tool_version: &'static str,
    tool_commit: &'a str,
    run: &'a RunIdentity,
    model: &'a str,
    started: Timestamp,
    outcome: Outcome,
    reasons: Vec<ReasonJson<'a>>,
    partial: bool,
    summary: RunSummary,
    figures: FiguresJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probes: Option<FiguresJson<'a>>,
    stages: Vec<StageJson<'a>>,
    self_judgement: JudgementJson<'a>,
    labels: &'a Labels,
    notices: &'a [Notice],
    seeds: Seeds<'a>,
    inputs: InputsJson<'a>,
    resolved_run: &'a ResolvedRun,
    workload: Value,
}

impl<'a> Document<'a> {
    fn of(report: &Report<'a>) -> io::Result<Document<'a>> {
        let analysis: &'a Analysis = report.analysis;
        let mut workload = serde_json::to_value(report.workload)?;
        // A header of the workload may be a credential.
        redact(&mut workload);
        Ok(Document {
            format: FORMAT,
            tool_version: TOOL_VERSION,
            tool_commit: report.commit,
            run: &report.run.run,
            model: &analysis.model,
            started: analysis.started,
            outcome: analysis.verdict.outcome,
            reasons: analysis
                .verdict
                .reasons
                .iter()
                .map(|it| ReasonJson { reason: it.name, message: &it.message })
                .collect(),
            partial: analysis.partial,
            summary: analysis.summary(),
            figures: FiguresJson::of(&analysis.all),
            probes: analysis.probes.as_ref().map(FiguresJson::of),
            stages: analysis.stages.iter().map(StageJson::of).collect(),
            self_judgement: JudgementJson::of(&analysis.judgement),
            labels: &analysis.labels,
            notices: report.notices,
            seeds: Seeds { run: report.run.seed, prompt_salt: &report.run.prompt_salt },
            inputs: InputsJson { profile_sha256: report.profile_sha256(), files: report.files },
            resolved_run: report.run,
            workload,
        })
    }
}

#[derive(Serialize)]
struct ReasonJson<'a> {
    reason: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
}

/// Where the random draws start. Each kind of draw has a seed derived from the run's by its purpose; those of fresh texts
/// have the salt in it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Seeds<'a> {
    run: Seed,
    prompt_salt: &'a str,
}

/// What the load was made of: digests tell whether two runs had the same.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputsJson<'a> {
    profile_sha256: String,
    files: &'a [FileDigest],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StageJson<'a> {
    name: &'a str,
    load: &'a Load,
    pause_after: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    warm_up: Option<Margin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cool_down: Option<Margin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace: Option<Span>,
    clock: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_requests_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    achieved_requests_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_delay_ms: Option<Statistics>,
    labels: Labels,
    figures: FiguresJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probes: Option<FiguresJson<'a>>,
}

impl<'a> StageJson<'a> {
    fn of(stage: &'a StageAnalysis) -> Self {
        StageJson {
            name: &stage.stage.name,
            load: &stage.stage.load,
            pause_after: stage.stage.pause_after,
            warm_up: stage.stage.warm_up,
            cool_down: stage.stage.cool_down,
            grace: stage.stage.grace,
            clock: stage.clock.name(),
            asked_requests_per_second: stage.asked_rate,
            achieved_requests_per_second: stage.achieved_rate,
            receive_delay_ms: times(&stage.receive_delay),
            labels: Labels::of_stage(stage),
            figures: FiguresJson::of(&stage.figures),
            probes: stage.probes.as_ref().map(FiguresJson::of),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FiguresJson<'a> {
    requests: u64,
    succeeded: u64,
    failed: u64,
    cancelled: u64,
    abandoned: u64,
    incomplete: u64,
    outcomes: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    timeouts: BTreeMap<&'static str, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    causes: BTreeMap<&'static str, CauseJson<'a>>,
    retried: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    aside: BTreeMap<&'static str, BTreeMap<String, u64>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    error_samples: BTreeMap<String, &'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_due_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_end_ms: Option<f64>,
    duration_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttft_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttft_scheduled_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttft_sent_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_scheduled_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_sent_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    itl_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_gap_ms: Option<Statistics>,
    content_events: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_per_event: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tpot_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ntpot_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    send_lag_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_ms: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    isl_tokens: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    osl_tokens: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    throughput: Option<ThroughputJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goodput: Option<GoodputJson>,
    without_usage: u64,
    usage_set_aside: u64,
    in_one_piece: u64,
    input_length_misses: u64,
    output_length_misses: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_length_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_length_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_share: Option<f64>,
    reads: u64,
    coalesced_reads: u64,
    late_reads: u64,
}

impl<'a> FiguresJson<'a> {
    fn of(of: &'a Figures) -> Self {
        FiguresJson {
            requests: of.requests,
            succeeded: of.succeeded,
            failed: of.failed,
            cancelled: of.cancelled,
            abandoned: of.abandoned,
            incomplete: of.incomplete,
            outcomes: counts(&of.outcomes),
            timeouts: of.timeouts.iter().map(|(limit, count)| (limit.name(), *count)).collect(),
            causes: of.causes.iter().map(|(cause, it)| (cause.name(), CauseJson::of(it))).collect(),
            retried: of.retried,
            aside: of.aside.iter().map(|(part, outcomes)| (part.name(), counts(outcomes))).collect(),
            error_samples: of.error_samples.iter().map(|(outcome, text)| (outcome.name(), text.as_str())).collect(),
            first_due_ms: of.first_due.map(millis),
            last_end_ms: of.last_end.map(millis),
            duration_ms: millis(of.duration),
            ttft_ms: times(&of.ttft),
            ttft_scheduled_ms: times(&of.ttft_scheduled),
            ttft_sent_ms: times(&of.ttft_sent),
            latency_ms: times(&of.latency),
            latency_scheduled_ms: times(&of.latency_scheduled),
            latency_sent_ms: times(&of.latency_sent),
            itl_ms: times(&of.itl),
            event_gap_ms: times(&of.event_gap),
            content_events: of.content_events,
            tokens_per_event: of.tokens_per_event,
            tpot_ms: times(&of.tpot),
            ntpot_ms: times(&of.ntpot),
            send_lag_ms: times(&of.send_lag),
            queue_ms: times(&of.queue),
            isl_tokens: of.isl.map(Statistics),
            osl_tokens: of.osl.map(Statistics),
            input_tokens: of.input_tokens,
            output_tokens: of.output_tokens,
            throughput: of.throughput.map(ThroughputJson::of),
            goodput: of.goodput.map(GoodputJson::of),
            without_usage: of.without_usage,
            usage_set_aside: of.usage_set_aside,
            in_one_piece: of.in_one_piece,
            input_length_misses: of.input_length_misses,
            output_length_misses: of.output_length_misses,
            input_length_ratio: of.input_length_ratio,
            output_length_ratio: of.output_length_ratio,
            cached_tokens: of.cached.map(|it| it.tokens),
            cached_share: of.cached.map(|it| it.share),
            reads: of.reads,
            coalesced_reads: of.coalesced_reads,
            late_reads: of.late_reads,
        }
    }
}

#[derive(Serialize)]
struct CauseJson<'a> {
    count: u64,
    sample: &'a str,
}

impl<'a> CauseJson<'a> {
    fn of(of: &'a CauseTally) -> Self {
        CauseJson { count: of.count, sample: &of.sample }
    }
}

pub(super) fn times(of: &Option<Distribution<Duration>>) -> Option<Statistics> {
    of.map(|it| Statistics(it.map(millis)))
}

fn counts(of: &BTreeMap<RequestOutcome, u64>) -> BTreeMap<String, u64> {
    of.iter().map(|(outcome, count)| (outcome.name(), *count)).collect()
}

/// A distribution in the unit that the name of its field tells.
pub(super) struct Statistics(Distribution<f64>);

impl Serialize for Statistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.0.entries();
        let mut map = serializer.serialize_map(Some(entries.len() + 1))?;
        map.serialize_entry("count", &self.0.count)?;
        for (name, value) in entries {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThroughputJson {
    requests_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens_per_second: Option<f64>,
    output_tokens_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_tokens_per_second: Option<f64>,
}

impl ThroughputJson {
    fn of(of: Throughput) -> Self {
        ThroughputJson {
            requests_per_second: of.requests,
            input_tokens_per_second: of.input_tokens,
            output_tokens_per_second: of.output_tokens,
            total_tokens_per_second: of.total_tokens,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GoodputJson {
    good_requests: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    good_requests_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    good_share: Option<f64>,
}

impl GoodputJson {
    fn of(of: GoodputFigures) -> Self {
        GoodputJson { good_requests: of.requests, good_requests_per_second: of.per_second, good_share: of.share }
    }
}

/// From whole nanoseconds, so that 81.234567 ms is written as that.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
