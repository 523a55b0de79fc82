//! Sessions, sweeps and LoRA adapters.

use super::*;
use crate::workload::{AfterFailure, Assignment, Margin, MeasuredRate, RateBound, RateShape, Spacing, Stage, Unit};

const OTEL: &str = "api: {type: chat, streaming: true}\n\
                    data: {type: otel_trace_replay, otel_trace_replay: {trace_directory: /d, use_static_model: true, static_model_name: m}}";

fn sessions(stages: &str) -> Result<Vec<Stage>, ProfileError> {
    let text = format!("load: {{type: trace_session_replay, stages: {stages}}}\n{OTEL}");
    read(&text).map(|it| it.0.stages)
}

fn closed(stage: &Stage) -> (u32, Option<u64>, Option<String>, Option<f64>) {
    match &stage.load {
        Load::Closed { concurrency, count, duration, start_rate, .. } => {
            (*concurrency, *count, duration.map(|it| it.to_string()), start_rate.map(f64::from))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stage_of_sessions_is_a_closed_loop_of_sessions() {
    let stages = sessions(
        "[{concurrent_sessions: 4}, {concurrent_sessions: 8, num_sessions: 20, session_rate: 2, timeout: 300}, \
         {concurrent_sessions: 0, num_sessions: 16}, {concurrent_sessions: 0}]",
    )
    .unwrap();
    assert_eq!(closed(&stages[0]), (4, None, None, None));
    assert_eq!(closed(&stages[1]), (8, Some(20), Some("300s".to_owned()), Some(2.0)));
    // At its timeout a stage ends and cancels its requests in flight.
    assert_eq!((stages[0].grace, stages[1].grace), (None, Some(Span::default())));
    assert_eq!(closed(&stages[2]), (16, Some(16), None, None));
    assert_eq!(closed(&stages[3]), (60_000, None, None, None));
    let workload =
        workload(&format!("load: {{type: trace_session_replay, stages: [{{concurrent_sessions: 4}}]}}\n{OTEL}"));
    assert_eq!((workload.sessions.unit, workload.sessions.after_failure), (Unit::Session, AfterFailure::End));
}

#[test]
fn workers_do_not_bound_the_requests_of_sessions() {
    // inference-perf deadlocks if its workers have fewer slots than their sessions have requests.
    let text = "load: {type: trace_session_replay, worker_max_concurrency: 1, num_workers: 1, stages: [{concurrent_sessions: 4}]}";
    let (workload, notices) = read(&format!("{text}\n{OTEL}")).unwrap();
    assert_eq!((closed(&workload.stages[0]).0, notices.len()), (4, 0));
}

#[test]
fn sessions_and_their_load_belong_together() {
    check_error(
        "load: {type: trace_session_replay, stages: [{concurrent_sessions: 4}]}",
        "load.type: is trace_session_replay, which needs data of type otel_trace_replay or weka_trace_replay; change one of them",
    );
    check_error(
        &format!("load: {{stages: [{{rate: 1, duration: 1}}]}}\n{OTEL}"),
        "load.type: is not trace_session_replay, which recorded sessions need; write it, and stages such as {concurrent_sessions: 4}",
    );
    assert_eq!(
        sessions("[{concurrent_sessions: 4, session_rate: 5}, {rate: 1, duration: 2}]").unwrap_err().to_string(),
        "load.stages[0].session_rate: is 5, above concurrent_sessions, which is 4; lower it\n\
         load.stages[1].concurrent_sessions: is missing; write how many sessions are active, or 0 for all\n\
         load.stages[1].rate: belongs to a load of type constant, poisson or trace_replay; take it out, or change load.type\n\
         load.stages[1].duration: belongs to a load of type constant, poisson or trace_replay; take it out, or change load.type"
    );
}

fn measured(position: f64, spacing: Spacing) -> Rate {
    Rate::Varying(RateShape::Measured(MeasuredRate {
        from: RateBound::Rate(1.0.try_into().unwrap()),
        to: RateBound::Drain { stage: 0, percentile: 95.0 },
        position,
        spacing,
    }))
}

#[test]
fn a_sweep_is_a_burst_and_the_stages_up_to_its_rate() {
    let stages = workload("load: {type: poisson, interval: 2, sweep: {type: linear}}").stages;
    assert_eq!(
        stages.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
        ["saturation", "sweep", "sweep-2", "sweep-3", "sweep-4", "sweep-5"]
    );
    let burst = Load::Open {
        arrivals: Arrivals::PoissonPerSecond,
        rate: Rate::Steady(400.0.try_into().unwrap()),
        duration: Some(Span(Duration::from_secs(5))),
        count: Some(2000),
        max_concurrency: None,
    };
    assert_eq!(stages[0].load, burst);
    // The requests of the burst are not in the figures. The burst ends after 60 s: 5 s of sending and 55 s of grace.
    assert_eq!((stages[0].warm_up, stages[0].grace), (Some(Margin::All), Some(Span(Duration::from_secs(55)))));
    for (stage, position) in stages[1..].iter().zip([0.0, 0.25, 0.5, 0.75, 1.0]) {
        let Load::Open { rate, duration, count: None, .. } = &stage.load else { panic!("{stage:?}") };
        assert_eq!((rate, duration), (&measured(position, Spacing::Linear), &Some(Span(Duration::from_secs(180)))));
    }
    assert_eq!(
        stages.iter().map(|it| it.pause_after.to_string()).collect::<Vec<_>>(),
        ["2s", "2s", "2s", "2s", "2s", "0s"]
    );
    let text = "load: {sweep: {type: geometric, num_requests: 50, timeout: 3, num_stages: 1, stage_duration: 10, saturation_percentile: 50}}";
    let stages = workload(text).stages;
    assert_eq!((stages.len(), stages[0].grace), (2, Some(Span::default())));
    let Load::Open { rate: Rate::Varying(RateShape::Measured(rate)), .. } = &stages[1].load else {
        panic!("it is a sweep")
    };
    assert_eq!((rate.position, rate.spacing), (0.0, Spacing::TowardsEnd));
}

#[test]
fn a_sweep_that_cannot_be_says_why() {
    check_error(
        "load: {type: concurrent, sweep: {type: linear}}",
        "load.sweep: needs a load of type constant or poisson; take it out, or change load.type",
    );
    check_error(
        "load: {sweep: {num_stages: 0}}",
        "load.sweep.type: is missing; write linear or geometric\n\
         load.sweep.num_stages: is 0; write a whole number from 1 to 999",
    );
    check_notice(
        "load: {stages: [{rate: 1, duration: 1}], sweep: {type: linear}}",
        "load.stages: is not used: load.sweep makes the stages",
    );
    check_notice(
        "load: {sweep: {type: linear}}\ndata: {type: random, input_distribution: {total_count: 50}, output_distribution: {}}",
        "data.output_distribution.total_count: is missing; without it inference-perf sends only the first request of a sweep, here every request is sent",
    );
}

#[test]
fn adapters_are_classes_of_requests() {
    let split = |split: &str| format!("load: {{stages: [{{rate: 1, duration: 1}}], lora_traffic_split: {split}}}");
    let classes = workload(&split("[{name: movie, split: 0.25}, {name: consumer, split: 0.75}]")).classes;
    assert_eq!(classes.assignment, Assignment::Random);
    let found: Vec<_> = classes.classes.iter().map(|it| (it.name.as_str(), it.model.as_deref(), it.weight)).collect();
    assert_eq!(found, [("movie", Some("movie"), 0.25), ("consumer", Some("consumer"), 0.75)]);
    check_error(
        &split("[{name: a, split: 0.5}, {name: b, split: 0.4}]"),
        "load.lora_traffic_split: adds up to 0.9; change a split so that the sum is 1",
    );
    check_notice(
        &split("[{name: a, split: 0.3}, {name: b, split: 0.6}, {name: c, split: 0.1}]"),
        "load.lora_traffic_split: adds up to 0.9999999999999999 in floating point, which inference-perf refuses; it is read as 1",
    );
    check_error(
        &split("[{name: a, split: 0.5}, {name: a, split: 0.5}]"),
        "load.lora_traffic_split[1].name: is \"a\", the name of an entry above; keep one of them",
    );
}

#[test]
fn keys_of_the_newest_version_are_known() {
    check_fine(
        "load: {stages: [{rate: 1, duration: 30}], request_retries: 0, request_retry_backoff_sec: 0.5, stage_teardown_grace_seconds: 120}\n\
         report: {request_lifecycle: {per_request_fields: [ttft]}}\ntokenizer: {load_timeout: 300}",
    );
    check_notice(
        "load: {stages: [{rate: 1, duration: 30}], request_retries: 2}",
        "load.request_retries: is not used: a request whose connection fails is not sent again, and is reported as failed",
    );
    let goodput = workload("api: {streaming: true, slo_unit: us, headers: {x-slo-ttft-us: 250000}}").goodput;
    assert_eq!(goodput.ttft.map(|it| it.to_string()).as_deref(), Some("250ms"));
}
