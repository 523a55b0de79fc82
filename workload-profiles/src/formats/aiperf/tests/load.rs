use super::*;
use crate::workload::{Abandonment, Arrivals, Departure, Load, Margin, Rate, RateShape, Stage};

fn stages(flags: &str) -> Vec<Stage> {
    workload(flags).stages
}

fn load(flags: &str) -> Load {
    stages(flags).pop().unwrap().load
}

#[test]
fn a_concurrency_is_a_closed_loop() {
    // Without a flag that ends the load, 10 requests are sent at any concurrency.
    assert_eq!(load("model: m"), Load::closed(1, 10));
    assert_eq!(load("concurrency: 20"), Load::closed(20, 10));
    assert_eq!(load("concurrency: 16\nrequest-count: 500"), Load::closed(16, 500));
    let Load::Closed { ramp_up, .. } = load("concurrency: 4\nconcurrency-ramp-duration: 2.5") else {
        panic!("it is closed")
    };
    assert_eq!(ramp_up.to_string(), "2.5s");
}

#[test]
fn a_list_is_a_stage_for_each_value() {
    for flags in ["concurrency: '1,2,4'", "concurrency: [1, 2, 4]", "aiperf profile --concurrency 1,2,4"] {
        let names: Vec<String> = stages(flags).into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["c1", "c2", "c4"], "{flags}");
    }
    let names: Vec<String> =
        stages("request-rate: 1,2\nwarmup-request-count: 3").into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["warm-up", "r1", "warm-up-2", "r2"]);
    check_error(
        "concurrency: 1,2\nrequest-rate: 1,2",
        "concurrency: is a list, which can be combined only with a single request-rate or with none; write a profile for each value",
    );
    check_error(
        "isl: 1,2",
        "isl: is a list, which is supported for concurrency and request-rate only; write a profile for each value",
    );
    check_error("concurrency: 1,x", "concurrency: is \"x\"; write a number from 1 to 60000");
}

#[test]
fn a_rate_begins_after_a_gap() {
    let arrivals = |flags: &str| match load(&format!("request-rate: 5\n{flags}")) {
        Load::Open { arrivals, .. } => arrivals,
        other => panic!("{other:?}"),
    };
    assert_eq!(arrivals(""), Arrivals::Poisson);
    assert_eq!(arrivals("arrival-pattern: constant"), Arrivals::ConstantAfterGap);
    assert_eq!(arrivals("arrival-pattern: gamma"), Arrivals::Gamma { burstiness: 1.0 });
    assert_eq!(arrivals("vllm-burstiness: 0.5"), Arrivals::Gamma { burstiness: 0.5 });
    check_error(
        "request-rate: 5\narrival-pattern: constant\narrival-smoothness: 2",
        "arrival-smoothness: belongs to arrival-pattern gamma; take it out, or set arrival-pattern to gamma",
    );
    let Load::Open { rate: Rate::Varying(RateShape::Points(points)), .. } =
        load("request-rate: 5\nrequest-rate-ramp-duration: 10")
    else {
        panic!("it rises")
    };
    assert_eq!(
        points.iter().map(|it| (it.at.to_string(), it.rate)).collect::<Vec<_>>(),
        [("0s".into(), 0.05), ("10s".into(), 5.0)]
    );
}

/// AIPerf restarts its schedule if it is late; this engine does not. So a profile with a rate gets a notice.
#[test]
fn missed_arrivals_are_noticed() {
    check_notice(
        "request-rate: 5",
        "request-rate: a late request is sent immediately, and its latencies count from the scheduled time; \
         AIPerf begins its schedule anew when it is more than 10 ms late",
    );
    check_notice(
        "request-rate: 5\nconcurrency: 3",
        "concurrency: lets requests wait in the client, and their latency includes this wait; AIPerf measures from the end of the wait",
    );
}

#[test]
fn a_duration_has_a_grace() {
    let stage = stages("benchmark-duration: 60\nconcurrency: 4").pop().unwrap();
    assert_eq!(stage.grace.unwrap().to_string(), "30s");
    assert_eq!(stage.load.count(), None);
    let stage = stages("benchmark-duration: 60\nbenchmark-grace-period: 0\nrequest-count: 5").pop().unwrap();
    assert_eq!((stage.grace.unwrap().to_string(), stage.load.count()), ("0s".into(), Some(5)));
    assert_eq!(stages("benchmark-duration: 60\nbenchmark-grace-period: inf")[0].grace, None);
    check_notice("benchmark-grace-period: 5", "benchmark-grace-period: is not used: it needs benchmark-duration");
}

#[test]
fn a_warm_up_is_a_stage_that_is_not_measured() {
    let warm_up = |flags: &str| stages(&format!("concurrency: 4\nwarmup-request-count: 7\n{flags}")).remove(0);
    assert_eq!((warm_up("").warm_up, warm_up("").load), (Some(Margin::All), Load::closed(4, 7)));
    assert_eq!(warm_up("warmup-concurrency: 2").load, Load::closed(2, 7));
    assert!(matches!(
        warm_up("warmup-request-rate: 2").load,
        Load::Open { arrivals: Arrivals::Poisson, max_concurrency: Some(4), .. }
    ));
    let levels: Vec<Load> = stages("concurrency: 2,8\nwarmup-request-count: 7").into_iter().map(|it| it.load).collect();
    assert_eq!(levels, [Load::closed(2, 7), Load::closed(2, 10), Load::closed(8, 7), Load::closed(8, 10)]);
    let timed = stages("warmup-duration: 5\nwarmup-grace-period: 1").remove(0);
    assert_eq!(timed.grace.unwrap().to_string(), "1s");
    check_notice(
        "warmup-concurrency: 2",
        "warmup-concurrency: is not used: it needs warmup-request-count or warmup-duration",
    );
}

#[test]
fn a_warm_up_of_sessions_counts_sessions_as_the_load_does() {
    let flags = "concurrency: 2\nsession-turns-mean: 5\nrequest-count: 50\nwarmup-request-count: 12";
    let loads: Vec<Load> = stages(flags).into_iter().map(|it| it.load).collect();
    assert_eq!(loads, [Load::closed(2, 3), Load::closed(2, 10)]);
    check_notice(flags, "warmup-request-count: is 12, and whole conversations are sent here: 3 of about 5 turns");
    check_error(
        &format!("{flags}\nwarmup-request-rate: 2"),
        "warmup-request-rate: cannot start sessions of several turns here; take it out, or set warmup-concurrency",
    );
}

#[test]
fn users_have_several_turns() {
    let flags = "user-centric-rate: 2\nnum-users: 15\nsession-turns-mean: 20\nbenchmark-duration: 60";
    let Load::Users { users, rate, turns, duration, count } = load(flags) else { panic!("these are users") };
    assert_eq!((users, rate.per_second(), turns, count), (15, 2.0, 20, None));
    assert_eq!(duration.unwrap().to_string(), "60s");
    check_error(
        "user-centric-rate: 2\nnum-users: 15",
        "conversation-turn-mean: is below 2, and user-centric-rate needs sessions of several turns; raise it, or set request-rate",
    );
    check_error(
        "user-centric-rate: 2\nsession-turns-mean: 3",
        "num-users: is missing; write the number of concurrent users",
    );
}

#[test]
fn some_clients_go_away() {
    let abandonment = workload("request-cancellation-rate: 12.5\nrequest-cancellation-delay: 2").abandonment;
    let after = crds::units::Span(std::time::Duration::from_secs(2));
    assert_eq!(abandonment, Some(Abandonment { share: 0.125, after: Departure::Uniform { min: after, max: after } }));
    assert_eq!(workload("request-cancellation-rate: 0").abandonment, None);
}

#[test]
fn goodput_has_the_original_names() {
    let bounds = "time_to_first_token:100 inter_token_latency:3.4 request_latency:2500";
    let read_as = |profile: String| {
        let goodput = workload(&profile).goodput;
        [goodput.ttft, goodput.tpot, goodput.latency].map(|it| it.unwrap().to_string())
    };
    let shown = read_as(format!("goodput: '{bounds}'"));
    for same in [
        format!("goodput: ['{bounds}']"),
        "goodput: {time_to_first_token: 100, inter_token_latency: 3.4, request_latency: 2500}".to_owned(),
        format!("aiperf profile --goodput {bounds}"),
        format!("aiperf profile --goodput \"{bounds}\""),
    ] {
        assert_eq!(read_as(same.clone()), shown, "{same}");
    }
    assert_eq!(shown, ["100ms", "3.4ms", "2.5s"]);
    let error = read("goodput: output_token_throughput_per_user:600").unwrap_err().to_string();
    assert!(error.starts_with("goodput.output_token_throughput_per_user: is no known key; known are"), "{error}");
}

#[test]
fn a_stage_ends_within_a_week_and_after_its_ramp_up() {
    let takes = "take more than 604800s, the longest stage; raise it, or lower";
    check_error(
        "model: m\nrequest-rate: 0.00001\nrequest-count: 1000",
        &format!("request-rate: lets the 1000 requests of stage r0.00001 {takes} request-count"),
    );
    check_error(
        "model: m\nuser-centric-rate: 0.00001\nnum-users: 2\nconversation-turn-mean: 3\nrequest-count: 1000",
        &format!("user-centric-rate: lets the 1000 requests of stage users2 {takes} request-count"),
    );
    check_error(
        "model: m\nrequest-rate: 1\nrequest-count: 10\nwarmup-request-rate: 0.00001\nwarmup-request-count: 100",
        &format!("warmup-request-rate: lets the 100 requests of stage warm-up {takes} warmup-request-count"),
    );
    check_error(
        "model: m\nconcurrency: 4\nbenchmark-duration: 5\nconcurrency-ramp-duration: 20",
        "concurrency-ramp-duration: is 20s, longer than stage c4, which takes 5s; shorten it",
    );
}
