mod docs;
mod margins;
mod parts;
mod round_trip;
mod strategies;
mod workloads;

use std::time::Duration;

use crds::{
    benchmark_run::{Api, Harness},
    units::{RequestRate, Span},
};

use super::*;
use crate::{
    parse_text,
    workload::{
        Arrivals, LengthDistribution, Load, PromptText, RampUpStrategy, Rate, RatePoint, RateShape, RequestSource,
        Stage, Trace, TraceFormat, TraceTime,
    },
};

/// A valid profile. Required keys that are not in `keys` have default values.
fn profile(keys: &str) -> String {
    let mut text = keys.to_owned();
    for (key, default) in [
        ("requests", "requests: {random: {input: 100, output: 10}}"),
        ("stages", "stages: [{load: {open: {rate: 1, duration: 30s}}}]"),
    ] {
        if !keys.lines().any(|it| it.starts_with(key)) {
            text.push_str(&format!("\n{default}"));
        }
    }
    text
}

fn read(keys: &str) -> Result<(Workload, Vec<String>), String> {
    let read = parse_text(Harness::Benchwright, Target::default(), &profile(keys)).map_err(|it| it.to_string())?;
    Ok((read.0, read.1.iter().map(ToString::to_string).collect()))
}

fn workload(keys: &str) -> Workload {
    read(keys).unwrap_or_else(|error| panic!("{keys}\n{error}")).0
}

fn check_error(keys: &str, expected: &str) {
    assert_eq!(read(keys).map(|it| it.1).unwrap_err(), expected, "{keys}");
}

fn stage(keys: &str) -> Stage {
    workload(&format!("stages: [{{{keys}}}]")).stages.remove(0)
}

fn load(keys: &str) -> Load {
    stage(&format!("load: {{{keys}}}")).load
}

fn check_load_error(keys: &str, expected: &str) {
    check_error(&format!("stages: [{{load: {{{keys}}}}}]"), &format!("stages[0].load.{expected}"));
}

fn span(seconds: f64) -> Span {
    Span(Duration::from_secs_f64(seconds))
}

fn rate_of(keys: &str) -> Rate {
    match load(&format!("open: {{rate: {keys}, duration: 100s}}")) {
        Load::Open { rate, .. } => rate,
        other => panic!("{other:?}"),
    }
}

fn points(points: &[(f64, f64)]) -> Rate {
    Rate::Varying(RateShape::Points(points.iter().map(|(at, rate)| RatePoint { at: span(*at), rate: *rate }).collect()))
}

#[test]
fn every_default_is_filled() {
    let workload = workload("");
    let load = Load::Open {
        arrivals: Arrivals::Poisson,
        rate: Rate::Steady(RequestRate::try_from(1.0).unwrap()),
        duration: Some(span(30.0)),
        count: None,
        max_concurrency: None,
    };
    let requests =
        RequestSource::random(LengthDistribution::fixed(100), LengthDistribution::fixed(10), PromptText::Words);
    let sampling = Sampling { ignore_eos: true, ..Sampling::default() };
    let expected = Workload { sampling, ..Workload::new(Api::Completions, requests, vec![Stage::new("r1", load)]) };
    assert_eq!(workload, expected);
    assert_eq!(crate::workload::Probes { ..self::workload("probes: {rate: 2}").probes.unwrap() }.input, 8);
}

#[test]
fn every_shape_of_a_rate_is_read() {
    assert_eq!(rate_of("{ramp: {from: 1, to: 9}}"), points(&[(0.0, 1.0), (100.0, 9.0)]));
    assert_eq!(rate_of("{ramp: {from: 0, to: 9, within: 20s}}"), points(&[(0.0, 0.0), (20.0, 9.0)]));
    assert_eq!(rate_of("{step: {from: 1, to: 9, at: 20s}}"), points(&[(20.0, 1.0), (20.0, 9.0)]));
    assert_eq!(
        rate_of("{spike: {base: 1, peak: 9, at: 20s, length: 5s}}"),
        points(&[(20.0, 1.0), (20.0, 9.0), (25.0, 9.0), (25.0, 1.0)])
    );
    assert_eq!(rate_of("{points: [{at: 0s, rate: 2}, {at: 5s, rate: 0.5}]}"), points(&[(0.0, 2.0), (5.0, 0.5)]));
    let mean = RequestRate::try_from(4.0).unwrap();
    assert_eq!(
        rate_of("{sinusoid: {mean: 4, period: 60s}}"),
        Rate::Varying(RateShape::Sinusoid { mean, amplitude: 0.5, period: span(60.0), phase: span(0.0) })
    );
    let ramp_up = load("open: {rate: {rampUp: {from: 4, to: 4}}, count: 9, arrivals: constantAfterGap}");
    let shape = RateShape::RampUp { strategy: RampUpStrategy::Linear, from: mean, to: mean };
    assert!(matches!(ramp_up, Load::Open { rate: Rate::Varying(it), .. } if it == shape));
}

#[test]
fn every_load_is_read() {
    assert_eq!(load("burst: {count: 9, maxConcurrency: 3}"), Load::Burst { count: 9, max_concurrency: Some(3) });
    assert_eq!(
        load("closed: {concurrency: 4, duration: 60s, rampUp: 10s}"),
        Load::Closed { concurrency: 4, count: None, duration: Some(span(60.0)), ramp_up: span(10.0), start_rate: None }
    );
    let arrivals = |keys: &str| match load(&format!("open: {{rate: 2, count: 5, arrivals: {keys}}}")) {
        Load::Open { arrivals, duration: None, count: Some(5), .. } => arrivals,
        other => panic!("{other:?}"),
    };
    assert_eq!(arrivals("constant"), Arrivals::Constant);
    assert_eq!(arrivals("{gamma: {burstiness: 0.5}}"), Arrivals::Gamma { burstiness: 0.5 });
    assert_eq!(arrivals("{conditionedGamma: {burstiness: 2}}"), Arrivals::ConditionedGamma { burstiness: 2.0 });
    let Load::Trace { trace: Trace::File(file), speed, lengths, .. } = load("trace: {trace: {file: {path: /t.jsonl}}}")
    else {
        panic!("it is a trace")
    };
    assert_eq!(
        (file.format, file.time, file.at_column.as_str()),
        (TraceFormat::Jsonl, TraceTime::Milliseconds, "timestamp")
    );
    assert_eq!((speed, lengths), (1.0, true));
}

#[test]
fn a_slow_replay_longer_than_a_stage_is_refused() {
    check_load_error(
        "trace: {trace: {inline: [{at: 0s}, {at: 61s}]}, speed: 0.0001}",
        "trace.speed: lets the stage take more than the maximum of 604800s; raise it, or shorten the trace",
    );
    load("trace: {trace: {inline: [{at: 0s}, {at: 60s}]}, speed: 0.0001}");
}

#[test]
fn what_belongs_to_a_stage_is_sent_there_from_its_load() {
    for (key, value) in
        [("warmUp", "{count: 1}"), ("coolDown", "{count: 1}"), ("grace", "5s"), ("pauseAfter", "5s"), ("name", "a")]
    {
        check_load_error(
            &format!("open: {{rate: 1, duration: 30s, {key}: {value}}}"),
            &format!("open.{key}: is not a key of stages[0].load.open, but of stages[0]; move it there, beside load"),
        );
    }
    check_load_error(
        "open: {rate: 1, duration: 30s, window: cut}",
        "open.window: is not a key of stages[0].load.open, but of the root of the profile; remove its indentation",
    );
}

#[test]
fn too_many_headers_are_a_matter_of_all_of_them() {
    let fields: Vec<String> = (0..65).map(|it| format!("x-{it}: a")).collect();
    check_error(
        &format!("headers: {{{}}}", fields.join(", ")),
        "headers: holds 65 fields; at most 64 are sent, take some out",
    );
}

#[test]
fn the_name_of_a_stage_can_be_that_of_a_file() {
    for name in ["a/b", "a b", "ä", "a:b", ""] {
        let wanted = "write 1 to 64 letters a-z and A-Z, digits, dots, dashes and underscores";
        check_error(
            &format!("stages: [{{name: '{name}', load: {{burst: {{count: 1}}}}}}]"),
            &format!("stages[0].name: is {name:?}; {wanted}"),
        );
    }
    assert_eq!(stage("name: B-0.25_x, load: {burst: {count: 1}}").name, "B-0.25_x");
}

#[test]
fn a_mean_outside_of_its_bounds_is_refused() {
    let requests = |input: &str| format!("requests: {{random: {{input: {{{input}}}, output: 5}}}}");
    let check = |input: &str, expected: &str| {
        check_error(&requests(input), &format!("requests.random.input.mean: {expected}; change one of them"));
    };
    check("shape: fixed, mean: 128, max: 64", "is 128, which is not between min and max, 64 and 64");
    check("shape: fixed, mean: 3, min: 5, max: 9", "is 3, which is not between min and max, 5 and 9");
    check("mean: 100, min: 1, max: 64", "is 100, which is not between min and max, 1 and 64");
    check("shape: normal, mean: 4, min: 5", "is 4, which is not between min and max, 5 and 2000000");
    for input in ["shape: fixed, mean: 12.4", "mean: 64, max: 64", "shape: lognormal, mean: 100, max: 64"] {
        workload(&requests(input));
    }
    workload(
        "requests: {sharedPrefix: {groups: 1, promptsPerGroup: 1, systemPromptLen: {mean: 9, max: 5}, questionLen: 1, outputLen: 1}}",
    );
}

#[test]
fn bounds_of_streams_need_streaming() {
    let off = "is measured in streams only, and streaming is off; take it out, or set streaming to true";
    for (section, keys) in [("timeouts", ["firstToken", "tokenGap"].as_slice()), ("goodput", &["ttft", "tpot", "itl"])]
    {
        for key in keys {
            let bound = format!("{section}: {{{key}: 1s}}");
            check_error(&format!("streaming: false\n{bound}"), &format!("{section}.{key}: {off}"));
            workload(&bound);
        }
    }
    workload("streaming: false\ntimeouts: {connect: 1s, request: 9s}\ngoodput: {ntpot: 1s, latency: 1s}");
}

#[test]
fn a_rate_that_sends_nothing_is_refused() {
    for rate in ["{points: [{at: 0s, rate: 0}]}", "{step: {from: 0, to: 9, at: 60s}}"] {
        check_load_error(
            &format!("open: {{rate: {rate}, duration: 30s}}"),
            "open.rate: gives less than one request in the duration; raise one of them",
        );
    }
}

#[test]
fn a_load_that_says_too_little_or_too_much_is_refused() {
    check_load_error("open: {rate: 1}", "open.duration: is missing; write how long requests are sent, or their count");
    check_load_error(
        "open: {rate: 0.1, duration: 5s}",
        "open.rate: gives less than one request in the duration; raise one of them",
    );
    check_load_error(
        "open: {rate: {rampUp: {from: 1, to: 2}}, duration: 5s}",
        "open.count: is missing; a rampUp changes the rate from its first to its last request, so write how many there are",
    );
    check_load_error(
        "open: {rate: {rampUp: {from: 1, to: 2}}, count: 5, arrivals: conditionedPoisson}",
        "open.arrivals: cannot be combined with a rampUp; choose constantAfterGap, poisson or gamma",
    );
    check_load_error(
        "open: {rate: {ramp: {from: 1, to: 2}}, duration: 5s, arrivals: poissonPerSecond}",
        "open.arrivals: is poissonPerSecond, which needs a rate that does not vary; choose poisson",
    );
    check_load_error(
        "open: {rate: {points: [{at: 5s, rate: 1}, {at: 4s, rate: 1}]}, duration: 5s}",
        "open.rate.points[1].at: is 4s, before the point above it, at 5s; sort the points by time",
    );
    check_load_error(
        "trace: {trace: {inline: [{at: 5s}, {at: 4s}]}}",
        "trace.trace.inline[1].at: is 4s, before the entry above it, at 5s; sort the entries by time",
    );
    check_load_error(
        "closed: {concurrency: 2, duration: 5s, rampUp: 6s}",
        "closed.rampUp: is 6s, longer than the duration, which is 5s; shorten it",
    );
    check_load_error(
        "open: {rate: 1, duration: 5s, arivals: constant}",
        "open.arivals: is no known key; did you mean arrivals?",
    );
    check_load_error("opn: {rate: 1}", "opn: is no known key; did you mean open?");
    check_error("stages: [{load: open}]", "stages[0].load: is only the word open; write a mapping, load: {open: ...}");
    check_error(
        "stages: [{load: {open: {rate: 1000000, duration: 1000s}}}]",
        "stages: ask for 1000000000 requests in all; a run sends at most 10000000, so lower a rate or shorten a stage",
    );
    check_error(
        "stages: [{name: a, load: {burst: {count: 1}}}, {name: a, load: {burst: {count: 1}}}]",
        "stages[1].name: is a, the name of an earlier stage; choose another one",
    );
}

#[test]
fn a_count_that_no_stage_comes_to_is_refused() {
    let check = |keys: &str, count: u64| {
        let takes = "takes more than 604800s, the longest stage, at this rate";
        let remedy = "lower it, raise the rate, or set a duration";
        check_load_error(&format!("open: {{{keys}}}"), &format!("open.count: is {count}, which {takes}; {remedy}"));
    };
    check("rate: 0.000001, count: 10000000, arrivals: poissonPerSecond", 10_000_000);
    check("rate: 1, count: 604801", 604_801);
    check("rate: {points: [{at: 0s, rate: 1}, {at: 5s, rate: 0}]}, count: 3", 3);
    check("rate: {rampUp: {from: 0.001, to: 0.002}}, count: 900", 900);
    check("rate: {rampUp: {from: 0.001, to: 0.001}}, count: 606", 606);
    load("open: {rate: 1, count: 604800}");
    load("open: {rate: {rampUp: {from: 0.001, to: 0.001}}, count: 604}");
    // While the rate rises from 0.001 to 1, the mean gap is 6.9 s with a linear ramp, and 144.6 s with steps of a constant factor.
    load("open: {rate: {rampUp: {from: 0.001, to: 1}}, count: 80000}");
    check("rate: {rampUp: {from: 0.001, to: 1, strategy: exponential}}, count: 80000", 80_000);
    load("open: {rate: {rampUp: {from: 0.001, to: 1, strategy: exponential}}, count: 4000}");
    for (kind, keys) in [("users", "users: 2, rate: 0.001, turns: 3"), ("closed", "concurrency: 2, startRate: 0.001")] {
        let message = "count: is 605, which takes more than 604800s, the longest stage, at this rate; \
                       lower it, raise the rate, or set a duration";
        check_load_error(&format!("{kind}: {{{keys}, count: 605}}"), &format!("{kind}.{message}"));
        load(&format!("{kind}: {{{keys}, count: 604}}"));
    }
}

#[test]
fn every_mistake_of_a_profile_is_reported_at_once() {
    let text = include_str!("../../../../tests/fixtures/benchwright_all_wrong.yaml");
    let error = parse_text(Harness::Benchwright, Target::default(), text).unwrap_err();
    insta::assert_snapshot!(error);
}

#[test]
fn recorded_prompt_lengths_need_random_prompts() {
    let trace = "stages: [{load: {trace: {trace: {inline: [{at: 0s, input: 5}]}}}}]";
    let (_, notices) = read(&format!("requests: mock\n{trace}")).unwrap();
    assert_eq!(
        notices,
        [
            "stages[0].load.trace.lengths: is on, but only random prompts can have the recorded lengths; here only the answers have them"
        ]
    );
    assert_eq!(read(trace).unwrap().1, [""; 0]);
}
