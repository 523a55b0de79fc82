use super::*;
use crate::workload::{Arrivals, Load, Margin, RampUpStrategy, Rate, RateShape};

fn load(flags: &str) -> Load {
    workload(flags).stages.pop().unwrap().load
}

#[test]
fn an_infinite_rate_is_a_burst_or_a_closed_loop() {
    for rate in ["", "request-rate: inf\n", "request-rate: Infinity\n"] {
        assert_eq!(load(&format!("{rate}num-prompts: 9")), Load::Burst { count: 9, max_concurrency: None });
        assert_eq!(load(&format!("{rate}num-prompts: 9\nmax-concurrency: 2")), Load::closed(2, 9));
    }
    assert_eq!(load("dataset-name: random").count(), Some(1_000));
}

#[test]
fn a_rate_has_rescaled_gaps() {
    for (burstiness, arrivals) in [
        ("", Arrivals::ConditionedGamma { burstiness: 1.0 }),
        ("burstiness: 0.25", Arrivals::ConditionedGamma { burstiness: 0.25 }),
        ("burstiness: inf", Arrivals::ConstantAfterGap),
    ] {
        let Load::Open { arrivals: found, rate: Rate::Steady(rate), duration: None, count: Some(9), max_concurrency } =
            load(&format!("num-prompts: 9\nrequest-rate: 2.5\n{burstiness}"))
        else {
            panic!("it is open")
        };
        assert_eq!((found, rate.per_second(), max_concurrency), (arrivals, 2.5, None));
    }
    let error = "burstiness: is 0; write a number from 0.001 to 1000000";
    check_error("burstiness: 0\nrequest-rate: 1", error);
    check_error("request-rate: 0", "request-rate: is \"0\"; write a number above 0 and at most 1000000, or inf");
}

/// The tool's clock for a request starts after its wait in the client.
#[test]
fn a_wait_in_the_client_is_in_our_latencies() {
    let notice = "max-concurrency: lets requests wait in the client; vllm bench serve measures from the end of the wait, here latencies count from the time when a request was due";
    check_notice("request-rate: 5\nmax-concurrency: 3", notice);
    assert_eq!(load("request-rate: 5\nmax-concurrency: 3").max_concurrency(), Some(3));
    // In a closed loop, our clock and the tool's clock for a request start at the same time.
    check_silent("max-concurrency: 3", "max-concurrency");
}

#[test]
fn a_ramp_up_gives_the_rate_of_each_request() {
    let flags = "ramp-up-strategy: exponential\nramp-up-start-rps: 1\nramp-up-end-rps: 8\nnum-prompts: 20";
    let Load::Open { arrivals, rate: Rate::Varying(RateShape::RampUp { strategy, from, to }), .. } = load(flags) else {
        panic!("it is a ramp-up")
    };
    // A varying rate has gamma gaps that are not rescaled.
    assert_eq!(arrivals, Arrivals::Gamma { burstiness: 1.0 });
    assert_eq!((strategy, from.per_second(), to.per_second()), (RampUpStrategy::Exponential, 1.0, 8.0));
    check_error(
        &format!("{flags}\nrequest-rate: 5"),
        "request-rate: cannot be combined with ramp-up-strategy, which gives the rate; take one of them out",
    );
    check_error(
        "ramp-up-strategy: linear\nramp-up-start-rps: 9\nramp-up-end-rps: 8",
        "ramp-up-start-rps: is 9, above ramp-up-end-rps, which is 8; swap them",
    );
    check_error(
        "ramp-up-strategy: linear\nramp-up-start-rps: 0",
        "ramp-up-end-rps: is missing; write the rate of the last request, a whole number\n\
         ramp-up-start-rps: is 0; write a whole number from 1 to 1000000",
    );
    check_notice("ramp-up-end-rps: 8", "ramp-up-end-rps: is not used: it needs ramp-up-strategy");
}

/// The tool's warm-up repeats the first prompt. Here the warm-up sends other prompts.
#[test]
fn warm_ups_are_a_stage_that_is_not_measured() {
    let stages = workload("num-warmups: 5\nmax-concurrency: 2\nnum-prompts: 9").stages;
    assert_eq!((stages.len(), stages[0].warm_up, &stages[0].load), (2, Some(Margin::All), &Load::closed(2, 5)));
    assert_eq!(workload("num-warmups: 5").stages[0].load, Load::closed(5, 5));
    assert_eq!(workload("num-warmups: 0").stages.len(), 1);
    check_notice(
        "num-warmups: 5",
        "num-warmups: is 5, and vllm bench serve sends its first prompt 5 times; here the warm-up sends 5 prompts that are not measured, so that a prefix cache holds none of the measured ones",
    );
    check_notice(
        "num-warmups: 5\ndataset-name: sharegpt\ndataset-path: s.json",
        "num-warmups: is 5, and vllm bench serve sends its first prompt 5 times; here the warm-up sends the first 5 rows, so that a prefix cache already holds them when they are measured",
    );
    check_error(
        "dataset-name: timed_trace\ndataset-path: t.jsonl\nnum-warmups: 5",
        "num-warmups: cannot be combined with the trace of dataset-name here; take it out",
    );
}

#[test]
fn probes_are_beside_the_load() {
    let probes = workload("probe-request-rate: 2").probes.unwrap();
    assert_eq!((probes.rate.per_second(), probes.input, probes.output), (2.0, 1, 1));
    assert_eq!(workload("probe-request-rate: 0.0").probes, None);
}

/// The flags are in milliseconds.
#[test]
fn goodput_is_in_milliseconds() {
    for flags in [
        "goodput: 'ttft:500 tpot:20.5 e2el:9000'",
        "vllm bench serve --goodput ttft:500 tpot:20.5 e2el:9000",
        "vllm bench serve --goodput 'ttft:500 tpot:20.5 e2el:9000'",
    ] {
        let goodput = workload(flags).goodput;
        let shown = [goodput.ttft, goodput.tpot, goodput.latency].map(|it| it.unwrap().to_string());
        assert_eq!(shown, ["500ms", "20.5ms", "9s"]);
    }
    check_error("goodput: itl:5", "goodput.itl: is no known key; known are e2el, tpot and ttft");
}

#[test]
fn inferencemax_does_not_rescale_gaps() {
    let load = inferencemax("dataset-name: random\nrequest-rate: 3").stages.pop().unwrap().load;
    assert!(matches!(load, Load::Open { arrivals: Arrivals::Gamma { burstiness: 1.0 }, .. }));
}

#[test]
fn the_requests_are_sent_within_a_week() {
    let takes = "take more than 604800s, the longest stage; raise it, or lower num-prompts";
    check_error(
        "request-rate: 0.0000001\nnum-prompts: 1000",
        &format!("request-rate: lets the 1000 requests of stage r0.0000001 {takes}"),
    );
    check_error(
        "ramp_up_strategy: linear\nramp_up_start_rps: 1\nramp_up_end_rps: 2\nnum-prompts: 10000000",
        &format!("ramp-up-start-rps: lets the 10000000 requests of stage varying {takes}"),
    );
}
