//! Profiles, constraints, warm-up and cool-down.

use std::time::Duration;

use crds::units::Span;

use super::*;
use crate::workload::{
    Arrivals, HitLimit, Load, Margin, MeasuredRate, Rate, RateBound, RateShape, Spacing, Stage, StopScope, Window,
};

fn secs(seconds: f64) -> Span {
    Span(Duration::from_secs_f64(seconds))
}

fn stages(spec: &str) -> Vec<Stage> {
    workload(spec).stages
}

fn closed(concurrency: u32, count: Option<u64>, seconds: Option<f64>, ramp_up: f64) -> Load {
    Load::Closed { concurrency, count, duration: seconds.map(secs), ramp_up: secs(ramp_up), start_rate: None }
}

fn open(arrivals: Arrivals, rate: Rate, max: u32) -> Load {
    Load::Open { arrivals, rate, duration: Some(secs(30.0)), count: None, max_concurrency: Some(max) }
}

fn steady(rate: f64) -> Rate {
    Rate::Steady(rate.try_into().unwrap())
}

#[test]
fn a_rate_is_evenly_paced_and_its_first_request_is_due_after_a_gap() {
    for kind in ["constant", "async"] {
        let stages = stages(&format!("profile: {{kind: {kind}, rate: [1, 2.5]}}"));
        let loads: Vec<Load> = stages.iter().map(|it| it.load.clone()).collect();
        assert_eq!(loads, [1.0, 2.5].map(|it| open(Arrivals::ConstantAfterGap, steady(it), 10_240)));
        assert_eq!(stages.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["r1", "r2.5"]);
    }
    let load = &stages("profile: {kind: constant, rate: '[4]', max_concurrency: 9}")[0].load;
    assert_eq!(*load, open(Arrivals::ConstantAfterGap, steady(4.0), 9));
}

/// In GuideLLM, request k is due at sqrt(2 k R / rate), where R is the length of the ramp-up. The first request is due at 0.
#[test]
fn a_ramp_up_of_a_rate_is_a_line_from_the_second_request_on() {
    let check = |rate: f64, seconds: f64, expected: &[(f64, f64)]| {
        let load =
            stages(&format!("profile: {{kind: constant, rate: {rate}, rampup_duration: {seconds}}}")).remove(0).load;
        let Load::Open { arrivals, rate, .. } = load else { panic!("it is open") };
        // Request k, counted from 1, is due when the area below the rate is k - 1.
        assert_eq!(arrivals, Arrivals::Constant);
        for (at, area) in expected {
            let found = rate.requests_until(*at).unwrap();
            assert!((found - area).abs() < 1e-6, "{found} at {at} s and not {area}");
        }
    };
    // These are the times of requests 1, 2, 5 and 20. One second after the ramp-up, four more requests have been sent.
    check(4.0, 10.0, &[(0.0, 0.0), (10.0_f64.sqrt(), 1.0), (5.0, 4.0), (10.0, 19.0), (11.0, 23.0)]);
    // The ramp-up ends before the second request. Up to its end the area is 1, so the second request is due 1 s later, when the area is 2.
    check(1.0, 2.0, &[(0.0, 0.0), (3.0, 1.0), (4.0, 2.0)]);
}

#[test]
fn gaps_of_poisson_do_not_repeat_here_and_a_notice_says_it() {
    let load = &stages("profile: {kind: poisson, rate: 2}")[0].load;
    assert_eq!(*load, open(Arrivals::Poisson, steady(2.0), 10_240));
    check_notice(
        "profile: {kind: poisson, rate: 2}",
        "spec.profile.kind: draws one sequence of exponential gaps; GuideLLM draws the same gaps in each of its processes",
    );
    assert!(notices("profile: {kind: constant, rate: 2}").is_empty());
    let found = notices("profile: {kind: poisson, rate: 2, rampup_duration: 5}");
    assert!(found[0].starts_with("spec.profile.rampup_duration: has no effect, in GuideLLM too"), "{found:?}");
}

#[test]
fn closed_loops_have_streams() {
    let loads = |spec: &str| stages(spec).into_iter().map(|it| it.load).collect::<Vec<_>>();
    assert_eq!(loads("profile: {kind: synchronous}"), [closed(1, None, Some(30.0), 0.0)]);
    let streams = loads("profile: {kind: concurrent, streams: [1, 8], rampup_duration: 4}");
    assert_eq!(streams, [closed(1, None, Some(30.0), 4.0), closed(8, None, Some(30.0), 4.0)]);
    assert_eq!(loads("profile: {kind: throughput, max_concurrency: null}"), [closed(10_240, None, Some(30.0), 0.0)]);
    assert_eq!(loads("profile: {kind: throughput, max_concurrency: 5}"), [closed(5, None, Some(30.0), 0.0)]);
    let counted = loads("profile: {kind: throughput}\nconstraints: [{kind: max_requests, count: 50}]");
    assert_eq!(counted, [closed(50, Some(50), None, 0.0)]);
}

#[test]
fn a_sweep_measures_both_ends_and_goes_evenly_from_one_to_the_other() {
    let stages = stages("profile: {kind: sweep, sweep_size: 6, strategy_type: poisson}");
    let names: Vec<&str> = stages.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["c1", "c512", "sweep1", "sweep2", "sweep3", "sweep4"]);
    assert_eq!(stages[0].load, closed(1, None, Some(30.0), 0.0));
    assert_eq!(stages[1].load, closed(512, None, Some(30.0), 0.0));
    for (at, position) in [0.25, 0.5, 0.75, 1.0].into_iter().enumerate() {
        let (from, to) = (RateBound::Throughput(0), RateBound::Throughput(1));
        let rate = MeasuredRate { from, to, position, spacing: Spacing::Linear };
        assert_eq!(stages[2 + at].load, open(Arrivals::Poisson, Rate::Varying(RateShape::Measured(rate)), 512));
    }
    assert_eq!(workload("profile: {kind: sweep}").stages.len(), 10);
    assert_eq!(workload("profile: {kind: sweep, sweep_size: 2}").stages.len(), 2);
}

#[test]
fn searches_are_refused_with_a_reason() {
    for kind in ["goodput", "knee"] {
        check_error(
            &format!("profile: {{kind: {kind}, max_streams: 5}}"),
            &format!(
                "spec.profile.kind: is {kind}, a search, which GuideLLM supports and this engine does not; write a profile of kind concurrent with a list of streams, and read the knee or the goodput from its report"
            ),
        );
    }
}

#[test]
fn a_duration_cuts_what_is_under_way() {
    let workload = workload("");
    assert_eq!((workload.window, workload.stages[0].grace), (Window::Cut, Some(Span::default())));
    let counted = self::workload("constraints: [{kind: max_requests, count: 8}]");
    assert_eq!((counted.window, counted.stages[0].grace), (Window::All, None));
    assert_eq!(counted.stages[0].load, closed(4, Some(8), None, 0.0));
}

#[test]
fn bounds_may_have_a_value_for_each_strategy_and_the_last_one_holds_on() {
    let spec = "profile: {kind: concurrent, streams: [1, 2, 3]}\nconstraints: [{kind: max_requests, count: [5, 6]}]";
    assert_eq!(stages(spec).iter().map(|it| it.load.count()).collect::<Vec<_>>(), [Some(5), Some(6), Some(6)]);
}

#[test]
fn failures_end_a_strategy_or_the_run() {
    let spec = "constraints: [{kind: max_duration, seconds: 30}, {kind: max_errors, count: 3, stopping_scope: all}, \
                {kind: max_error_rate, rate: 0.5, window: 10}, {kind: max_global_error_rate, rate: [0.1]}]";
    let rules = workload(spec).stop_rules;
    let found: Vec<_> = rules.iter().map(|it| (it.name.as_str(), it.limit, it.scope)).collect();
    assert_eq!(
        found,
        [
            ("max_errors", HitLimit::Count(3), StopScope::Load),
            ("max_error_rate", HitLimit::ShareOfLast { share: 0.5, of: 10 }, StopScope::Stage),
            ("max_global_error_rate", HitLimit::ShareOfAll { share: 0.1, least: 30 }, StopScope::Stage),
        ]
    );
}

#[test]
fn constraints_that_cannot_be_kept_are_refused_or_named() {
    check_error(
        "constraints: [{kind: over_saturation}]",
        "spec.constraints[0].kind: is over_saturation with mode enforce, which GuideLLM supports and this engine does not; take it out, or bound the strategies by max_duration",
    );
    let monitored = "constraints: [{kind: max_duration, seconds: 9}, {kind: over_saturation, mode: monitor}]";
    check_notice(monitored, "spec.constraints[1].kind: is not used");
    check_notice("constraints: [{kind: min_requests, count: 9}]", "spec.constraints[0].kind: is read as max_requests");
    check_error(
        "profile: {kind: concurrent, streams: [1, 2]}\nconstraints: [{kind: max_duration, seconds: 9, stopping_scope: all}]",
        "spec.constraints[0].stopping_scope: is all: GuideLLM then sends no further strategy after the first that reaches this bound; write current, or one strategy",
    );
    check_error(
        "profile: {kind: concurrent, streams: [1, 2]}\nconstraints: [{kind: max_errors, count: [1, 2]}]",
        "spec.constraints[0].count: differs between strategies, which this engine does not support; write one value",
    );
    check_error(
        "constraints: [{kind: max_duration, seconds: 9}, {kind: max_duration, seconds: 10}]",
        "spec.constraints[1].kind: is the kind of an earlier constraint; keep one of them",
    );
}

#[test]
fn without_a_bound_a_strategy_takes_a_minute_and_a_notice_says_it() {
    assert_eq!(stages("constraints: []")[0].load, closed(4, None, Some(60.0), 0.0));
    check_notice(
        "constraints: []",
        "spec.constraints: do not bound a strategy, so GuideLLM would never end the first one",
    );
}

#[test]
fn samples_bound_each_strategy() {
    let load = &stages("data_loader: {samples: 12}\nconstraints: []")[0].load;
    assert_eq!(*load, closed(4, Some(12), None, 0.0));
}

fn margins(profile: &str, constraints: &str) -> (Option<Margin>, Option<Margin>) {
    let spec = format!("profile: {{kind: concurrent, streams: 4, {profile}}}\nconstraints: [{constraints}]");
    let stage = stages(&spec).remove(0);
    (stage.warm_up, stage.cool_down)
}

#[test]
fn a_bare_number_below_1_is_a_share() {
    let (time, count) = ("{kind: max_duration, seconds: 100}", "{kind: max_requests, count: 50}");
    let both = format!("{time}, {count}");
    let duration = |seconds| Some(Margin::Duration(secs(seconds)));
    let requests = |count| Some(Margin::Count(count));
    assert_eq!(margins("warmup: 0.5, cooldown: 1", time), (duration(50.0), duration(1.0)));
    assert_eq!(margins("warmup: 0.1, cooldown: 5", count), (requests(5), requests(5)));
    assert_eq!(margins("warmup: 0, cooldown: null", time), (None, None));
    assert_eq!(
        margins("warmup: 0.1, cooldown: {percent: 0.1, mode: prefer_requests}", &both),
        (duration(10.0), requests(5))
    );
    assert_eq!(margins("warmup: '{\"value\": 3, \"mode\": \"requests\"}'", &both), (requests(3), None));
    assert_eq!(margins("warmup: {value: 3, mode: duration}", &both).0, duration(3.0));
    assert_eq!(margins("warmup: {percent: null, value: null, mode: prefer_duration}", time).0, None);
    // The share takes precedence. The value is used only if the share is absent.
    assert_eq!(margins("warmup: {percent: 0.2, value: 3, mode: both}", time).0, duration(20.0));
}

#[test]
fn margins_that_cannot_be_kept_are_refused_or_named() {
    check_error(
        "profile: {kind: synchronous, warmup: 20, cooldown: 10}",
        "spec.profile.warmup: leaves nothing of strategy 0 together with the cool-down; shorten one of them",
    );
    check_error(
        "profile: {kind: synchronous, warmup: 0.1, cooldown: 40}",
        "spec.profile.cooldown: leaves nothing of strategy 0; shorten it",
    );
    check_error(
        "profile: {kind: synchronous, warmup: 40}",
        "spec.profile.warmup: leaves nothing of strategy 0; shorten it",
    );
    check_notice(
        "profile: {kind: synchronous, warmup: {value: 5, mode: requests}}",
        "spec.profile.warmup: has no effect, in GuideLLM too, because a strategy has no constraint max_requests",
    );
    check_error(
        "profile: {kind: synchronous, warmup: -1}",
        "spec.profile.warmup: is -1; write a share below 1, a number of seconds or requests from 1, or {percent, value, mode}",
    );
    check_error(
        "profile: {kind: synchronous, warmup: {percent: 2.0}}",
        "spec.profile.warmup.percent: is 2.0; write a number from 0 to 1",
    );
    let both = "constraints: [{kind: max_duration, seconds: 9}, {kind: max_requests, count: 9}]";
    check_error(
        &format!("profile: {{kind: synchronous, warmup: {{value: 5, mode: both}}}}\n{both}"),
        "spec.profile.warmup: has the mode both, and the strategy has both bounds, which this engine does not support; write duration or requests",
    );
}

#[test]
fn benchmarks_are_merged_into_one_run() {
    let text = "benchmarks: [{profile.streams: 30, 'constraints[0].count': 300}, {profile.streams: 20}, {profile-streams: 1}]\n";
    let spec = nested("profile: {kind: concurrent}\nconstraints: [{kind: max-requests}]")
        .replace("max-requests", "max_requests");
    let error = read(&format!("{text}{spec}")).unwrap_err().to_string();
    assert_eq!(
        error,
        "benchmarks[2].profile-streams: differs from the first benchmark; only profile.rate, profile.streams, and seconds, count and rate of a constraint may differ, in GuideLLM too, so run the benchmarks one after the other"
    );
    let text = "benchmarks: [{profile.streams: 30, 'constraints[0].count': 300}, {profile.streams: 20}, {profile.streams: 1, 'constraints[0].count': 10}]\n";
    let stages = read(&format!("{text}{spec}")).unwrap().0.stages;
    let loads: Vec<Load> = stages.into_iter().map(|it| it.load).collect();
    assert_eq!(loads, [(30, 300), (20, 300), (1, 10)].map(|it| closed(it.0, Some(it.1), None, 0.0)));
    let wrong = text.replace("{profile.streams: 20}", "{profile.streams: many}");
    let error = read(&format!("{wrong}{spec}")).unwrap_err().to_string();
    assert_eq!(error, "benchmarks[1].profile.streams: is \"many\"; write a whole number from 1 to 10240");
}

#[test]
fn a_wrong_value_names_the_benchmark_that_sets_it() {
    let check = |benchmarks: &str, expected: &str| {
        let text = format!("{}benchmarks: {benchmarks}\n", nested("profile: {kind: concurrent}"));
        assert_eq!(read(&text).unwrap_err().to_string(), expected);
    };
    let wanted = "is \"x\"; write a whole number from 1 to";
    check("[{profile.streams: x}]", &format!("benchmarks[0].profile.streams: {wanted} 10240"));
    let both = "[{profile.streams: 1, 'data[0].prompt_tokens': x}, {profile.streams: [2, x]}]";
    check(
        both,
        &format!(
            "benchmarks[1].profile.streams: {wanted} 10240\nbenchmarks[0].data[0].prompt_tokens: {wanted} 2000000"
        ),
    );
}

#[test]
fn the_first_benchmark_may_complete_the_scenario() {
    let spec = nested("profile: {kind: constant}");
    let load = read(&format!("{spec}benchmarks: [{{profile.rate: 3, 'data[0].prompt_tokens': 9}}]\n"))
        .unwrap()
        .0
        .stages
        .remove(0)
        .load;
    assert_eq!(load, open(Arrivals::ConstantAfterGap, steady(3.0), 10_240));
    let null = read(&format!("{}benchmarks: [null]\n", nested(""))).unwrap().0;
    assert_eq!(null, workload(""));
}

#[test]
fn hyphens_are_underscores_and_unknown_keys_are_refused() {
    let spec = "profile: {kind: concurrent, streams: 4, rampup-duration: 2}";
    assert_eq!(stages(spec)[0].load, closed(4, None, Some(30.0), 2.0));
    check_error(
        "profile: {kind: concurrent, streams: 4, rate: 2}",
        "spec.profile.rate: is no known key; known are cooldown, kind, rampup_duration, streams and warmup",
    );
    check_error("constraint: []", "spec.constraint: is no known key; did you mean constraints?");
    check_error(
        "profile: {kind: concurrent, stream: 4}",
        "spec.profile.streams: is missing; write how many requests are in flight, such as 8 or [1, 8, 64]",
    );
    check_error(
        "data: [{kind: synthetic_text, prompt_tokens: 5, prompt-tokens: 6, output_tokens: 5}]",
        "spec.data[0].prompt-tokens: is the same key as prompt_tokens, because hyphens and underscores are alike; keep one of them",
    );
    let with_metadata = format!("metadata: {{labels: {{name: x}}, anything: [1]}}\n{}", nested(""));
    assert_eq!(read(&with_metadata).unwrap().0, workload(""));
}

#[test]
fn a_strategy_ends_within_a_week_and_after_its_ramp_up() {
    let counted = "constraints: [{kind: max_requests, count: 1000}]";
    check_error(
        &format!("profile: {{kind: constant, rate: [1, 0.001]}}\n{counted}"),
        "spec.profile.rate: lets the 1000 requests of stage r0.001 take more than 604800s, the longest stage; raise it, or lower max_requests",
    );
    let flat =
        "target: http://x\nprofile: poisson\nrate: 0.001\nmax_requests: 1000\ndata: prompt_tokens=5,output_tokens=5";
    assert!(read(flat).unwrap_err().to_string().starts_with("rate: lets the 1000 requests of stage r0.001 take"));
    check_error(
        "profile: {kind: sweep, rampup_duration: 40}",
        "spec.profile.rampup_duration: is 40s, longer than stage c512, which takes 30s; shorten it",
    );
    // A strategy without limits ends after the maximum stage length, one week.
    let rows = "data: [{kind: csv_file, path: a.csv}]\nconstraints: []";
    assert_eq!(stages(&format!("profile: {{kind: constant, rate: 0.1}}\n{rows}"))[0].load.count(), Some(60_480));
}
