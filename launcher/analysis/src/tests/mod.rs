//! Hand-made records with hand-computed figures.

mod provenance;
mod rates;
mod rules;

use std::time::Duration;

use crds::{
    LauncherReason, Word as _,
    benchmark_run::{Api, Harness, PerRequestRecords, ReadinessProbe, SimulatorPreset},
    outcome::Outcome,
    resolve::{Endpoint, RunIdentity, ValidityBounds},
    units::{RequestRate, Seed, Span},
};
use workload_profiles::workload::{
    Arrivals, Goodput, Hit, HitLimit, LengthDistribution, Load, MeasuredRate, PrefixPlace, Prefixes, PromptReuse,
    PromptText, Rate, RateBound, RateShape, RequestSource, Spacing, Stage, StopRule, StopScope, TokenIdRange,
    TrafficClass, TrafficClasses,
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crds::resolve::ResolvedRun;
use measurement::{
    load_result::{NotMeasured, RuleEnd, StageResult},
    phase::StopReason,
    record::{Cause, ListIndex, RequestOutcome, RequestRecord},
    recorder::{Keep, Recorder, WireTally},
    vitals::{Vitals, worker::WorkerVitals},
};
use workload_profiles::Workload;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn open(name: &str, rate: f64) -> Stage {
    let rate = RequestRate::try_from(rate).unwrap();
    let load = Load::Open {
        arrivals: Arrivals::ConditionedPoisson,
        rate: Rate::Steady(rate),
        duration: Some(Span(ms(1_000))),
        count: Some(3),
        max_concurrency: None,
    };
    Stage::new(name, load)
}

fn closed(name: &str, concurrency: u32) -> Stage {
    Stage::new(name, Load::closed(concurrency, 2))
}

pub(super) fn workload(stages: Vec<Stage>) -> Workload {
    Workload::new(Api::Completions, RequestSource::Mock, stages)
}

fn run() -> ResolvedRun {
    ResolvedRun {
        run: RunIdentity {
            name: "chat".into(),
            namespace: String::new(),
            uid: "u".into(),
            attempt: 1,
            repeat_number: None,
        },
        endpoint: Endpoint::Simulator(SimulatorPreset::Tiny),
        server_replicas: None,
        server: None,
        metrics: None,
        api: None,
        model: None,
        token_file: None,
        ca_file: None,
        http_version: crds::benchmark_run::HttpVersion::Auto,
        egress: None,
        readiness_probe: ReadinessProbe::Models,
        readiness_timeout: Span(ms(1_000)),
        hardware: None,
        harness: Harness::InferencePerf,
        profile_source: "inline".into(),
        seed: Seed(1),
        fixed_seed: true,
        prompt_salt: "u-a1".into(),
        repeat: 1,
        per_request_records: PerRequestRecords::None,
        store_results: false,
        upload: None,
        retention: None,
        storage_required: false,
        validity: ValidityBounds {
            min_successful_requests: 1,
            max_error_ratio: 0.5,
            max_send_lag_p99: Span(ms(10)),
            ..ValidityBounds::default()
        },
        slo: None,
        profiling: None,
        search: None,
        finished_attempts: Vec::new(),
        collect: None,
        debug: false,
        run_deadline: Span(ms(60_000)),
        grace_period: Span(ms(5_000)),
    }
}

/// A request with ten prompt tokens. It is sent `lag` ms after it was due. Its first event comes 100 ms later, and the other `tokens` - 1 events
/// follow every 10 ms.
pub(super) fn request(stage: u32, due: u64, lag: u64, tokens: u32) -> (RequestRecord, WireTally) {
    let sent = ms(due + lag);
    let first = sent + ms(100);
    let last = first + ms(10) * tokens.saturating_sub(1);
    let record = RequestRecord {
        stage,
        number: 0,
        turn: None,
        scheduled: ms(due),
        sent: Some(sent),
        permit_wait: None,
        first_token: Some(first),
        last_token: Some(last),
        ended: last + ms(1),
        outcome: RequestOutcome::Ok,
        requested_input_tokens: Some(10),
        requested_output_tokens: Some(tokens),
        input_tokens: Some(10),
        cached_tokens: None,
        class: None,
        output_tokens: Some(tokens),
        content_events: tokens,
        replica: None,
    };
    let gaps = (1..tokens).map(|_| ms(10)).collect();
    (record, WireTally { gaps, reads: u64::from(tokens), ..WireTally::default() })
}

fn unsuccessful(outcome: RequestOutcome, stage: u32, due: u64) -> (RequestRecord, WireTally) {
    let (record, _) = request(stage, due, 0, 1);
    let record = RequestRecord {
        first_token: None,
        last_token: None,
        outcome,
        input_tokens: None,
        output_tokens: None,
        content_events: 0,
        ..record
    };
    (record, WireTally { error: Some("a few words".into()), ..WireTally::default() })
}

pub(super) struct Case {
    workload: Workload,
    run: ResolvedRun,
    results: Vec<StageResult>,
    stopped: Option<StopReason>,
    own_cpu: Duration,
    wall: Duration,
    workers: Vec<WorkerVitals>,
    pub(super) vitals: Vitals,
}

pub(super) fn case(stages: Vec<Stage>) -> Case {
    Case {
        workload: workload(stages),
        run: run(),
        results: Vec::new(),
        stopped: None,
        own_cpu: ms(100),
        wall: ms(1_000),
        workers: Vec::new(),
        vitals: Vitals::default(),
    }
}

fn check(case: &Case, requests: impl IntoIterator<Item = (RequestRecord, WireTally)>) -> Analysis {
    check_keeping(Keep::Summary, case, requests)
}

pub(super) fn check_keeping(
    keep: Keep,
    case: &Case,
    requests: impl IntoIterator<Item = (RequestRecord, WireTally)>,
) -> Analysis {
    let mut recorder = Recorder::new(case.workload.stages.len(), case.workload.goodput.clone(), keep)
        .with_classes(case.workload.classes.classes.len());
    for (record, wire) in requests {
        recorder.record(record, &wire);
    }
    let measured = Measured {
        recorder: &recorder,
        zero: Duration::ZERO,
        started: Timestamp::UNIX_EPOCH,
        rows: None,
        stages: &case.results,
        stopped: case.stopped,
        own_cpu: case.own_cpu,
        wall: case.wall,
        threads: 2,
        workers: &case.workers,
        vitals: &case.vitals,
    };
    analyse(&Evidence::new(measured, &case.workload, &case.run, "m"))
}

fn near(found: Option<Duration>, expected: Duration) {
    let found = found.expect("it was measured");
    let error = found.abs_diff(expected);
    assert!(error <= expected / 2_000 + Duration::from_nanos(1), "{found:?} and not {expected:?}");
}

fn reasons(analysis: &Analysis) -> Vec<&'static str> {
    analysis.verdict.reasons.iter().map(|it| it.name.name()).collect()
}

#[test]
fn three_requests_by_hand() {
    // Due at 0, 500 and 1,000 ms; sent 0, 2 and 4 ms late; with 1, 11 and 21 tokens.
    let all = [request(0, 0, 0, 1), request(0, 500, 2, 11), request(0, 1_000, 4, 21)];
    let analysis = check(&case(vec![open("r2", 2.0)]), all);
    let stage = &analysis.stages[0];
    let it = &stage.figures;
    assert_eq!((it.requests, it.succeeded, it.failed, it.cancelled), (3, 3, 0, 0));
    near(it.ttft_scheduled.map(|it| it.max), ms(104));
    near(it.ttft_sent.map(|it| it.max), ms(100));
    near(it.ttft.map(|it| it.mean), ms(102));
    near(it.latency_scheduled.map(|it| it.max), ms(304));
    near(it.latency_sent.map(|it| it.mean), ms(200));
    near(it.tpot.map(|it| it.p50), ms(10));
    assert_eq!((it.tpot.unwrap().count, it.itl.unwrap().count), (2, 30));
    // NTPOT = latency from sending / OSL: 100 / 1, 200 / 11 and 300 / 21 ms.
    near(it.ntpot.map(|it| it.max), ms(100));
    near(it.ntpot.map(|it| it.min), ms(300) / 21);
    near(it.send_lag.map(|it| it.max), ms(4));
    assert_eq!((it.isl.unwrap().mean, it.osl.unwrap().mean), (10.0, 11.0));
    assert_eq!((it.input_tokens, it.output_tokens), (Some(30), 33));
    // From 0 to the end of the last request at 1,000 + 4 + 300 + 1 ms.
    assert_eq!(it.duration, ms(1_305));
    let rates = it.throughput.unwrap();
    assert!((rates.requests - 3.0 / 1.305).abs() < 1e-9);
    assert!((rates.output_tokens - 33.0 / 1.305).abs() < 1e-9);
    assert!((rates.total_tokens.unwrap() - 63.0 / 1.305).abs() < 1e-9);
    // Two gaps between the first send at 0 and the last send at 1,004 ms.
    assert!((stage.achieved_rate.unwrap() - 2.0 / 1.004).abs() < 1e-9);
    assert_eq!(stage.asked_rate, Some(2.0));
    assert_eq!(reasons(&analysis), ["RunSucceeded"]);
    assert_eq!(analysis.verdict.outcome, Outcome::Passed);
    assert!(analysis.judgement.remarks.is_empty(), "{:?}", analysis.judgement.remarks);
    assert_eq!(analysis.judgement.cpu_share, Some(0.05));
}

#[test]
fn the_headline_clock_is_the_stages_and_pools_in_the_run() {
    let stages = vec![open("r2", 2.0), closed("c1", 1)];
    let analysis = check(&case(stages), [request(0, 0, 8, 2), request(1, 2_000, 8, 2)]);
    near(analysis.stages[0].figures.ttft.map(|it| it.max), ms(108));
    near(analysis.stages[1].figures.ttft.map(|it| it.max), ms(100));
    near(analysis.all.ttft.map(|it| it.min), ms(100));
    near(analysis.all.ttft.map(|it| it.max), ms(108));
    assert_eq!(analysis.labels.clock, "scheduled+sent");
    assert_eq!(analysis.labels.arrivals, "conditioned-poisson+closed");
    assert_eq!(analysis.stages[1].achieved_rate, None);
    // The duration of the run includes the pause between the stages.
    assert_eq!(analysis.all.duration, ms(2_119));
}

#[test]
fn what_fails_is_counted_and_in_no_latency() {
    let mut case = case(vec![open("r2", 2.0)]);
    case.workload.goodput = Goodput { ttft: Some(Span(ms(100))), ..Goodput::default() };
    let all = [
        request(0, 0, 0, 2),
        request(0, 0, 1, 2),
        unsuccessful(RequestOutcome::HttpError(503), 0, 0),
        unsuccessful(RequestOutcome::Timeout, 0, 0),
    ];
    let it = check(&case, all).all;
    assert_eq!((it.succeeded, it.failed, it.failed_share()), (2, 2, Some(0.5)));
    assert_eq!(it.ttft.unwrap().count, 2);
    let good = it.goodput.unwrap();
    assert_eq!((good.requests, good.share), (1, Some(0.25)));
}

#[test]
fn without_bounds_there_is_no_goodput() {
    assert_eq!(check(&case(vec![open("r2", 2.0)]), [request(0, 0, 0, 2)]).all.goodput, None);
}

#[test]
fn an_answer_in_one_piece_has_no_ttft() {
    let mut case = case(vec![open("r2", 2.0)]);
    case.workload.streaming = false;
    let it = check(&case, [request(0, 0, 0, 2)]).all;
    assert_eq!((it.ttft, it.ttft_sent, it.itl, it.tpot), (None, None, None, None));
    assert!(it.latency.is_some() && it.ntpot.is_some());
}

#[test]
fn nothing_due_gives_no_figures_and_too_few_successes() {
    let analysis = check(&case(vec![open("r2", 2.0)]), []);
    assert_eq!((analysis.all.ttft, analysis.all.throughput, analysis.all.isl), (None, None, None));
    assert_eq!(reasons(&analysis), ["TooFewSuccesses"]);
    let summary = analysis.summary();
    assert_eq!((summary.requests, summary.ttft, summary.requests_per_second_milli), (0, None, None));
    let stage = &analysis.stage_summaries()[0];
    assert_eq!((summary.send_lag_p99_microseconds, stage.output_tokens_per_second_milli), (None, None));
}

#[test]
fn tokens_that_nobody_told_are_not_in_a_total() {
    let without_usage = |(record, wire): (RequestRecord, WireTally)| {
        (RequestRecord { input_tokens: None, output_tokens: None, ..record }, wire)
    };
    let case = case(vec![open("r2", 2.0)]);
    let none = check(&case, [without_usage(request(0, 0, 0, 3))]);
    assert_eq!(none.all.token_count, Some(TokenCount::Client));
    assert_eq!((none.all.isl, none.all.input_tokens, none.all.output_tokens), (None, None, 3));
    assert_eq!(none.summary().total_tokens_per_second_milli, None);
    assert!(none.summary().output_tokens_per_second_milli.is_some());
    assert!(none.judgement.remarks[0].contains("no usage"), "{:?}", none.judgement.remarks);
    let some = check(&case, [without_usage(request(0, 0, 0, 3)), request(0, 0, 0, 3)]);
    assert_eq!(some.all.token_count, Some(TokenCount::Mixed));
    assert_eq!(some.all.throughput.unwrap().total_tokens, None);
}

#[test]
fn several_tokens_an_event_are_told_and_labelled() {
    // 12 tokens in 3 events that are 10 ms apart. 11 tokens come after the first token.
    let merged =
        |(record, wire): (RequestRecord, WireTally)| (RequestRecord { output_tokens: Some(12), ..record }, wire);
    let analysis = check(&case(vec![open("r2", 2.0)]), [merged(request(0, 0, 0, 3))]);
    let it = &analysis.all;
    assert_eq!((it.tokens_per_event, it.content_events), (Some(4.0), 3));
    near(it.itl.map(|it| it.max), ms(20) / 11);
    near(it.event_gap.map(|it| it.max), ms(10));
    assert_eq!((analysis.labels.itl, analysis.labels.events), ("token", "several"));
    let remarks = analysis.judgement.remarks.join("");
    assert!(remarks.contains("an event held 4.00 tokens on average: each gap"), "{remarks}");
    let analysis = check(&case(vec![open("r2", 2.0)]), [request(0, 0, 0, 3)]);
    assert_eq!((analysis.labels.events, analysis.all.itl), ("one", analysis.all.event_gap));
    assert_eq!(analysis.judgement.remarks, Vec::<String>::new());
}

#[test]
fn what_no_usage_can_tell_is_set_aside_with_a_remark() {
    let (record, wire) = request(0, 0, 0, 4);
    let record = RequestRecord { output_tokens: None, ..record };
    let wire = WireTally { set_aside: Some(99_999_999), ..wire };
    let analysis = check(&case(vec![open("r2", 2.0)]), [(record, wire), request(0, 0, 0, 4)]);
    assert_eq!((analysis.all.usage_set_aside, analysis.all.output_tokens), (1, 8));
    let expected = "1 of 2 answers report an impossible number of output tokens, the first of them 99999999 where 4 were requested, in 4 events";
    assert!(analysis.judgement.remarks[0].starts_with(expected), "{:?}", analysis.judgement.remarks);
    assert_eq!(analysis.judgement.remarks.len(), 1);
}

#[test]
fn answers_in_one_piece_to_a_streaming_request_are_told() {
    let (record, wire) = request(0, 0, 0, 4);
    let record = RequestRecord { first_token: None, content_events: 0, ..record };
    let whole = WireTally { gaps: Default::default(), in_one_piece: true, ..wire };
    let analysis = check(&case(vec![open("r2", 2.0)]), [(record, whole), request(0, 0, 0, 4)]);
    assert_eq!((analysis.all.in_one_piece, analysis.all.ttft.unwrap().count), (1, 1));
    assert!(
        analysis.judgement.remarks[0].contains("1 of 2 answers came in one piece"),
        "{:?}",
        analysis.judgement.remarks
    );
}

#[test]
fn too_many_errors_name_the_commonest() {
    let failed = |_| unsuccessful(RequestOutcome::HttpError(503), 0, 0);
    let analysis = check(&case(vec![open("r2", 2.0)]), (0..3).map(failed).chain([request(0, 0, 0, 2)]));
    assert_eq!(reasons(&analysis), ["TooManyErrors"]);
    assert_eq!(analysis.verdict.outcome, Outcome::Invalid);
    let message = &analysis.verdict.headline().message;
    assert!(
        message.contains("3 of 4") && message.contains("(mostly http_503: 3; the first says: a few words)"),
        "{message}"
    );
}

#[test]
fn an_objective_on_errors_takes_the_place_of_the_bound() {
    let failed = |_| unsuccessful(RequestOutcome::HttpError(503), 0, 0);
    let judged = |enforcement: &str, objective: Value| {
        let mut case = case(vec![open("r2", 2.0)]);
        let slo = json!({"enforcement": enforcement, "objectives": [objective]});
        case.run.slo = Some(serde_json::from_value(slo).unwrap());
        let analysis = check(&case, (0..3).map(failed).chain([request(0, 0, 0, 2)]));
        reasons(&analysis).join(" ")
    };
    let errors = json!({"name": "errors", "metric": "errorRatio", "bound": {"max": 0.01}});
    assert_eq!(judged("Fail", errors.clone()), "SLOViolated");
    assert_eq!(judged("Report", errors), "TooManyErrors");
    let of_stage = json!({"name": "errors", "metric": "errorRatio", "stage": "r2", "bound": {"max": 0.01}});
    assert_eq!(judged("Fail", of_stage), "TooManyErrors");
}

#[test]
fn the_advice_is_that_of_the_commonest_failure() {
    let advice = |outcome: RequestOutcome, failures: usize, successes: usize| {
        let mut case = case(vec![open("r2", 2.0)]);
        case.run.validity.min_successful_requests = 20;
        let failed = (0..failures).map(|_| unsuccessful(outcome, 0, 0));
        let all = failed.chain((0..successes).map(|_| request(0, 0, 0, 2)));
        check(&case, all).verdict.headline().message.clone()
    };
    for (status, words) in [(404, "check target.model and target.url"), (401, "--token-file"), (503, "server's log")] {
        let message = advice(RequestOutcome::HttpError(status), 10, 0);
        assert!(message.contains(words) && !message.contains("send more"), "{message}");
    }
    for (cause, words, other) in [
        (Cause::Ports, "use several machines", "ulimit"),
        (Cause::Files, "ulimit -n", "several machines"),
        (Cause::Refused, "listens at target.url", "ulimit"),
    ] {
        // The other cause occurs more often, but it belongs to another outcome.
        let other_cause = if cause == Cause::Refused { Cause::Files } else { Cause::Refused };
        let failed = |cause: Cause| {
            let (record, wire) = unsuccessful(cause.outcome(), 0, 0);
            (record, WireTally { cause: Some(cause), ..wire })
        };
        let all = [failed(cause), failed(cause), failed(cause), failed(other_cause)];
        let analysis = check(&case(vec![open("r2", 2.0)]), all);
        let message = &analysis.verdict.headline().message;
        let advice = message.rsplit("; ").next().unwrap();
        assert!(advice.contains(words) && !advice.contains(other), "{message}");
    }
    assert!(advice(RequestOutcome::Timeout, 3, 10).ends_with("send more requests"));
    assert!(advice(RequestOutcome::Timeout, 0, 0).ends_with("send more requests"));
}

#[test]
fn resends_are_remarked_when_keep_alive_does_not_explain_them() {
    let with = |resent: usize, all: usize| {
        let requests = (0..all).map(|number| {
            let (record, wire) = request(0, 0, 0, 2);
            (record, WireTally { retried: number < resent, ..wire })
        });
        check(&case(vec![open("r2", 2.0)]), requests).judgement.remarks.join("")
    };
    for (resent, all) in [(1, 60), (3, 60), (3, 200), (4, 400)] {
        assert_eq!(with(resent, all), "");
    }
    assert!(with(4, 200).contains("stage r2: 4 of 200 requests were sent again because"), "{}", with(4, 200));
    assert!(with(5, 400).contains("5 of 400"), "{}", with(5, 400));
}

#[test]
fn connections_that_were_not_used_again_are_remarked() {
    let requests = (0..60).map(|number| {
        let (record, wire) = request(0, 0, 0, 2);
        (record, WireTally { retried: (1..5).contains(&number), own_connection: number >= 5, ..wire })
    });
    let analysis = check(&case(vec![open("r2", 2.0)]), requests);
    assert_eq!(reasons(&analysis), ["RunSucceeded"]);
    let remarks = analysis.judgement.remarks.join("");
    assert!(remarks.contains("stage r2: connections were not used again"), "{remarks}");
    assert!(remarks.contains("4 of 60 requests were sent again, and 55 opened a new connection each"), "{remarks}");
}

#[test]
fn a_share_of_errors_at_the_bound_is_allowed() {
    let all = [unsuccessful(RequestOutcome::Empty, 0, 0), request(0, 0, 0, 2)];
    assert_eq!(reasons(&check(&case(vec![open("r2", 2.0)]), all)), ["RunSucceeded"]);
}

#[test]
fn a_late_launcher_is_invalid_and_names_the_worst_stage() {
    let stages = vec![open("r2", 2.0), open("r9", 9.0)];
    let analysis = check(&case(stages), [request(0, 0, 0, 2), request(1, 2_000, 30, 2)]);
    assert_eq!((reasons(&analysis), analysis.stages[0].invalid.len()), (vec!["RunSucceeded"], 0));
    let message = &analysis.stages[1].invalid[0].message;
    assert!(message.contains("30") && message.contains("stage r9") && message.contains("is 10;"), "{message}");
    // A reason of the verdict already reports this, so no remark repeats it.
    let told = analysis.judgement.remarks.iter().filter(|it| it.contains("99th")).count();
    assert_eq!(told, 1, "{:?}", analysis.judgement.remarks);
}

#[test]
fn every_reason_is_listed() {
    let mut case = case(vec![open("r2", 2.0)]);
    case.run.validity.min_successful_requests = 5;
    let late = (0..3).map(|_| {
        let (record, wire) = unsuccessful(RequestOutcome::ConnectError, 0, 0);
        (RequestRecord { sent: Some(ms(50)), ..record }, wire)
    });
    let analysis = check(&case, late);
    assert_eq!(reasons(&analysis), ["TooFewSuccesses", "TooManyErrors", "SendLagTooLarge"]);
}

#[test]
fn a_stop_that_cut_something_off_comes_first() {
    let cut = || [request(0, 0, 0, 2), unsuccessful(RequestOutcome::Cancelled, 0, 500)];
    for (stopped, outcome, reason) in [
        (StopReason::Signal, Outcome::Cancelled, "Cancelled"),
        (StopReason::Deadline, Outcome::Invalid, "DeadlineExceeded"),
        (StopReason::TargetLost, Outcome::Invalid, "TargetLost"),
    ] {
        let analysis = check(&Case { stopped: Some(stopped), ..case(vec![open("r2", 2.0)]) }, cut());
        assert_eq!((analysis.verdict.outcome, analysis.verdict.headline().name.name()), (outcome, reason));
        assert!(analysis.partial);
        assert!(analysis.verdict.headline().message.contains("2 requests"));
        // Requests that were cut off are no failures of the server.
        assert_eq!(analysis.all.failed_share(), Some(0.0));
        assert_eq!(analysis.stages[0].achieved_rate, None);
    }
}

#[test]
fn a_stop_after_the_last_request_changes_nothing() {
    for stopped in [StopReason::Signal, StopReason::Deadline] {
        let analysis = check(&Case { stopped: Some(stopped), ..case(vec![open("r2", 2.0)]) }, [request(0, 0, 0, 2)]);
        assert_eq!((reasons(&analysis), analysis.partial), (vec!["RunSucceeded"], false));
    }
}

#[test]
fn doubts_are_told_without_making_a_run_invalid() {
    let busy = Case { own_cpu: ms(1_900), ..case(vec![open("r2", 2.0)]) };
    let (record, wire) = request(0, 0, 0, 10);
    let record = RequestRecord { requested_input_tokens: Some(20), requested_output_tokens: Some(12), ..record };
    let analysis = check(&busy, [(record, WireTally { coalesced_reads: 5, ..wire })]);
    assert_eq!(reasons(&analysis), ["RunSucceeded"]);
    let remarks = analysis.judgement.remarks.join("\n");
    for part in ["busy 95 %", "50.0 % of the reads", "1 of 1 requests had a prompt", "an output length other"] {
        assert!(remarks.contains(part), "{part} is not in {remarks}");
    }
}

/// The remarks on two requests with 1,000 prompt tokens each and the given numbers of cached tokens.
fn remarks_of_cache(case: &Case, cached: [Option<u32>; 2]) -> String {
    let told = |cached_tokens| {
        let (record, wire) = request(0, 0, 0, 2);
        (
            RequestRecord { requested_input_tokens: Some(1_000), input_tokens: Some(1_000), cached_tokens, ..record },
            wire,
        )
    };
    check(case, cached.map(told)).judgement.remarks.join("\n")
}

#[test]
fn a_cache_that_knows_fresh_prompts_is_told() {
    let mut case = case(vec![open("r2", 2.0)]);
    case.workload.requests =
        RequestSource::random(LengthDistribution::fixed(1_000), LengthDistribution::fixed(2), PromptText::Words);
    let warm = remarks_of_cache(&case, [None, Some(800)]);
    assert!(warm.contains("40.0 % of the prompt tokens") && warm.contains("another load"), "{warm}");
    // The tolerance is one block, plus 1 % of the prompt tokens.
    assert_eq!(remarks_of_cache(&case, [Some(0), Some(16 + 20)]), "");
    assert!(remarks_of_cache(&case, [None, Some(16 + 21)]).contains("prefix cache"));
    case.run.prompt_salt = "of an earlier run".into();
    assert!(remarks_of_cache(&case, [None, Some(800)]).contains("profile.promptSalt"));
    case.workload.api = Api::Chat;
    assert_eq!(remarks_of_cache(&case, [Some(128), Some(128)]), "");
    case.workload.api = Api::Completions;
    // With few token ids, many prompts begin with the same tokens; with a single id, all do.
    let ids = |min, max| {
        RequestSource::random(
            LengthDistribution::fixed(1_000),
            LengthDistribution::fixed(2),
            PromptText::TokenIds(TokenIdRange::new(min, max).unwrap()),
        )
    };
    case.workload.requests = ids(5, 5);
    assert_eq!(remarks_of_cache(&case, [Some(1_000), Some(1_000)]), "");
    case.workload.requests = ids(5, 6);
    assert_eq!(remarks_of_cache(&case, [Some(0), Some(16 + 1 + 20)]), "");
    assert!(remarks_of_cache(&case, [Some(0), Some(16 + 1 + 21)]).contains("drawn at random"));
    // Each stage sends the same prompts, so an earlier run or the first stage can have filled the cache.
    case.workload.prompts = PromptReuse::Repeated;
    let rerun = remarks_of_cache(&case, [Some(1_000), Some(1_000)]);
    assert!(rerun.contains("100.0 % of the prompt tokens") && rerun.contains("set another spec.seed"), "{rerun}");
    case.workload.stages.push(open("r3", 3.0));
    assert_eq!(remarks_of_cache(&case, [Some(1_000), Some(1_000)]), "");
}

#[test]
fn prompts_of_a_salt_that_was_given_are_labelled_so() {
    let prompts = |requests: RequestSource, salt: &str| {
        let mut case = case(vec![open("r2", 2.0)]);
        (case.workload.requests, case.run.prompt_salt) = (requests, salt.into());
        let analysis = check(&case, [request(0, 0, 0, 1)]);
        assert_eq!(Labels::of_stage(&analysis.stages[0]).prompts, analysis.labels.prompts);
        analysis.labels.prompts
    };
    let length = || LengthDistribution::fixed(10);
    let random = || RequestSource::random(length(), length(), PromptText::Words);
    assert_eq!([prompts(random(), "u-a1"), prompts(random(), "u-a2")], ["fresh", "replayed"]);
    assert_eq!(prompts(RequestSource::Mock, "u-a2"), "mock");
    let with_prefix = || {
        let (input, output) = (length(), length());
        let prefixes = Prefixes::shared(5, PrefixPlace::System);
        RequestSource::Random { input, output, text: PromptText::Words, prefixes }
    };
    assert_eq!(prompts(with_prefix(), "u-a1"), "shared");
}

#[test]
fn the_label_of_the_cache_is_that_of_the_whole_run() {
    let labels = |cached: [Option<u32>; 2]| {
        let requests = [0, 1].map(|stage| {
            let (record, wire) = request(stage as u32, 0, 0, 2);
            (RequestRecord { cached_tokens: cached[stage], ..record }, wire)
        });
        let analysis = check(&case(vec![open("r2", 2.0), open("r3", 3.0)]), requests);
        let stages = analysis.stages.iter().map(|it| Labels::of_stage(it).cache);
        stages.chain([analysis.labels.cache]).collect::<Vec<_>>()
    };
    assert_eq!(labels([None, Some(0)]), ["unknown"; 3]);
    // A server omits a count of 0.
    assert_eq!(labels([None, Some(5)]), ["told"; 3]);
}

#[test]
fn the_share_of_the_cache_is_of_all_prompts_once_an_answer_tells_of_it() {
    let told = |cached_tokens| {
        let (record, wire) = request(0, 0, 0, 2);
        (RequestRecord { cached_tokens, ..record }, wire)
    };
    let case = case(vec![open("r2", 2.0)]);
    let cached = |all: [Option<u32>; 2]| check(&case, all.map(told)).all.cached;
    assert_eq!(cached([None, Some(0)]), None);
    assert_eq!(cached([None, Some(5)]), Some(CachedPrompts { requests: 1, tokens: 5, share: 0.25 }));
    // A count of cached tokens is capped at the number of prompt tokens.
    assert_eq!(cached([Some(11), Some(5)]), Some(CachedPrompts { requests: 2, tokens: 15, share: 0.75 }));
}

#[test]
fn lengths_that_miss_say_by_how_much() {
    let case = case(vec![open("r2", 2.0)]);
    let (record, wire) = request(0, 0, 0, 4);
    let long = RequestRecord { input_tokens: Some(31), requested_output_tokens: Some(5), ..record };
    let analysis = check(&case, [(long, wire), request(0, 0, 0, 5)]);
    assert_eq!((analysis.all.input_length_ratio, analysis.all.output_length_ratio), (Some(2.05), Some(0.9)));
    let remarks = analysis.judgement.remarks.join("\n");
    let told =
        "1 of 2 requests had a prompt length other than requested (2.05 times the requested length, over all requests)";
    assert!(remarks.contains(told) && remarks.contains("(0.90 times"), "{remarks}");
    assert!(!remarks.contains("in words"), "{remarks}");
}

#[test]
fn lengths_in_words_that_miss_name_the_tokenizer() {
    let mut case = case(vec![open("r2", 2.0)]);
    let length = || LengthDistribution::fixed(10);
    case.workload.requests = RequestSource::random(length(), length(), PromptText::Prose);
    let long = || {
        let (record, wire) = request(0, 0, 0, 4);
        (RequestRecord { input_tokens: Some(31), ..record }, wire)
    };
    let remark = "prompt lengths are in words: set tokenizer in the profile for exact ones";
    for (tokenizer, expected) in [(None, true), (Some("tokenizer.json".into()), false)] {
        case.workload.tokenizer = tokenizer;
        let analysis = check(&case, [long()]);
        assert_eq!(analysis.judgement.remarks.join("\n").contains(remark), expected);
    }
    for (api, expected) in [(Api::Completions, false), (Api::Chat, true)] {
        case.workload.api = api;
        let analysis = check(&case, [long()]);
        assert_eq!(analysis.judgement.remarks.join("\n").contains("counts the tokens of its chat template"), expected);
    }
}

#[test]
fn a_stop_rule_is_a_reason_with_its_name_and_time() {
    let mut case = case(vec![open("r2", 2.0), open("r9", 9.0)]);
    let rule = |name: &str| StopRule {
        name: name.into(),
        hit: Hit::Failed,
        limit: HitLimit::Count(2),
        scope: StopScope::Load,
    };
    case.workload.stop_rules = vec![rule("other"), rule("max_errors")];
    let end = RuleEnd { rule: 1, at: ms(12_340) };
    case.results = vec![StageResult { ended_by: Some(end), ..StageResult::default() }, StageResult::default()];
    case.stopped = Some(StopReason::StopRule);
    let requests = || [request(0, 0, 0, 2), request(0, 500, 0, 2), unsuccessful(RequestOutcome::Timeout, 0, 900)];
    let analysis = check(&case, requests());
    assert_eq!(analysis.stages[0].ended_by, Some(EndedBy { rule: "max_errors".into(), at: ms(12_340) }));
    assert_eq!((reasons(&analysis), analysis.verdict.outcome), (vec!["StopRule"], Outcome::Invalid));
    let message = "the stop rule max_errors ended stage r2, and the load, 12.34s after the start of the run (mostly timeout: 1; the \
                   first says: a few words); lower the load, or raise the timeouts of the profile";
    assert_eq!(analysis.verdict.headline().message, message);
    case.stopped = None;
    case.results[1] = case.results[0].clone();
    let message = check(&case, requests()).verdict.headline().message.clone();
    assert!(
        message.contains("ended stage r2 12.34s after the start of the run; rules also ended 1 more stages"),
        "{message}"
    );
}

#[test]
fn each_traffic_class_has_figures_over_all_stages() {
    let mut case = case(vec![open("r2", 2.0), open("r9", 9.0)]);
    let class = |name: &str| TrafficClass {
        name: name.into(),
        weight: 1.0,
        model: None,
        output: None,
        headers: Default::default(),
        extra: Default::default(),
    };
    case.workload.classes = TrafficClasses { classes: vec![class("gold"), class("base")], ..TrafficClasses::default() };
    let of = |class, (record, wire): (RequestRecord, WireTally)| {
        (RequestRecord { class: ListIndex::new(class), ..record }, wire)
    };
    let requests = [
        of(0, request(0, 0, 0, 11)),
        of(1, request(0, 500, 50, 2)),
        of(0, request(1, 1_000, 0, 11)),
        of(1, unsuccessful(RequestOutcome::Timeout, 1, 1_500)),
    ];
    let analysis = check(&case, requests);
    let [gold, base] = &analysis.classes[..] else { panic!("there are two classes") };
    assert_eq!((gold.name.as_str(), gold.latency_origin), ("gold", LatencyOrigin::Scheduled));
    assert_eq!((gold.figures.requests, gold.figures.failed), (2, 0));
    near(gold.figures.latency.map(|it| it.mean), ms(200));
    // The duration is 1,000 + 200 + 1 ms.
    assert!((gold.figures.throughput.unwrap().requests - 2.0 / 1.201).abs() < 1e-9);
    assert_eq!((base.figures.requests, base.figures.succeeded, base.figures.failed), (2, 1, 1));
    near(base.figures.ttft.map(|it| it.mean), ms(150));
    assert_eq!(analysis.all.requests, 4);
}
