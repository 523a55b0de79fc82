//! Tests the rules on the launcher, each below, at and above its default bound.

use crds::objective::Met;
use workload_profiles::{loadgen::Scenario, workload::Phase};

use super::*;
use measurement::{
    histogram::TimeHistogram,
    vitals::{Throttling, clocks::ClockSteps, stalls::Stalls, worker::StageVitals},
};

fn two_stages() -> Case {
    case(vec![open("r2", 2.0), open("r9", 9.0)])
}

/// `count` requests of a stage, each sent `lag` ms late.
fn requests(stage: u32, count: u64, lag: u64) -> impl Iterator<Item = (RequestRecord, WireTally)> {
    (0..count).map(move |number| request(stage, 10 * number, lag, 2))
}

/// The verdict's reasons that concern the launcher, and the remarks as one text, for a case in which all requests succeed.
fn judged(case: &Case, requests: impl IntoIterator<Item = (RequestRecord, WireTally)>) -> (Vec<&'static str>, String) {
    let analysis = check(case, requests);
    let of_run = analysis.verdict.reasons.iter().filter(|it| it.name != LauncherReason::RunSucceeded);
    let of_stages = analysis.stages.iter().flat_map(|it| &it.invalid);
    let of_stages = of_stages.filter(|it| !analysis.verdict.has(it.name));
    let own: Vec<&Reason> = of_run.chain(of_stages).collect();
    for message in own.iter().map(|it| &it.message) {
        assert!(message.chars().count() <= 300, "a status cuts it: {message}");
        assert!(message.contains("validity.max") || message.contains("none may be lost"), "no bound: {message}");
        assert!(message.contains("; "), "no remedy: {message}");
    }
    (own.iter().map(|it| it.name.name()).collect(), analysis.judgement.remarks.join("\n"))
}

fn well(case: &Case) -> (Vec<&'static str>, String) {
    judged(case, requests(0, 3, 0))
}

fn times(values: impl IntoIterator<Item = Duration>) -> TimeHistogram {
    let mut times = TimeHistogram::default();
    values.into_iter().for_each(|it| times.record(it));
    times
}

#[test]
fn a_late_stage_does_not_hide_in_a_long_run() {
    let with = |late: u64, lag: u64| judged(&two_stages(), requests(0, 20_000, 0).chain(requests(1, late, lag)));
    // The bound is 10 ms. In each case, only the first stage has values that reach the run's 99th percentile.
    assert_eq!([with(100, 9).0, with(100, 10).0], [vec![], Vec::<&str>::new()]);
    assert_eq!(with(100, 11).0, ["SendLagTooLarge"]);
    assert_eq!(with(100, 11).1.matches("99th").count(), 1, "said twice");
    // A stage with fewer than 100 values is not judged separately; it only gets a remark.
    let (own, remarks) = with(99, 11);
    assert!(own.is_empty() && remarks.contains("stage r9: the 99th percentile of the send lag"), "{remarks}");
    let late = check(&two_stages(), requests(0, 20_000, 0).chain(requests(1, 100, 11)));
    // The second stage is valid, so the run is valid.
    assert_eq!((late.verdict.outcome, late.stages[0].invalid.len()), (Outcome::Passed, 0));
    assert!(late.stages[1].invalid[0].message.contains(" in stage r9,"), "{:?}", late.stages[1].invalid);
    let both = check(&two_stages(), requests(0, 200, 11).chain(requests(1, 200, 11)));
    assert_eq!((both.verdict.outcome, reasons(&both)), (Outcome::Invalid, vec!["SendLagTooLarge"]));
}

#[test]
fn an_objective_on_a_stage_that_does_not_count_is_undecided_and_shows_its_value() {
    let mut case = two_stages();
    let objective = |name: &str, stage: Option<&str>| json!({"name": name, "metric": "ttft", "stat": "p50", "stage": stage, "bound": {"max": "500ms"}});
    let slo = json!({"enforcement": "Fail", "objectives": [objective("a", Some("r2")), objective("b", Some("r9")), objective("c", None)]});
    case.run.slo = Some(serde_json::from_value(slo).unwrap());
    let late = check(&case, requests(0, 200, 0).chain(requests(1, 200, 11)));
    let found: Vec<_> = late
        .objectives
        .as_ref()
        .unwrap()
        .results
        .iter()
        .map(|it| (it.met, it.observed.is_some(), it.reason.as_str()))
        .collect();
    let why = "stage r9 is not valid (SendLagTooLarge)";
    let of_run = format!("{why}, and is included in the figures of the run");
    assert_eq!(
        found,
        [(Met::True, true, ""), (Met::Inconclusive, true, why), (Met::Inconclusive, true, of_run.as_str())]
    );
    assert_eq!(late.verdict.outcome, Outcome::Inconclusive);
}

#[test]
fn a_stage_that_read_late_does_not_hide_either() {
    let with = |reads: u64, delay: u64| {
        let of = |count: u64, delay: u64| StageVitals {
            receive_delay: Some(times((0..count).map(|_| ms(delay)))),
            ..StageVitals::default()
        };
        let worker = || WorkerVitals { stages: vec![of(20_000, 0), of(reads / 2, delay)], ..WorkerVitals::default() };
        let case = Case { workers: vec![worker(), worker()], ..two_stages() };
        well(&case).0
    };
    assert_eq!([with(100, 9), with(100, 10)], [vec![], Vec::<&str>::new()]);
    assert_eq!(with(100, 11), ["ReceiveDelayTooLarge"]);
    assert_eq!(with(98, 11), Vec::<&str>::new());
    // The value of the whole run exceeds the bound, so the finding is about the run.
    assert_eq!(with(40_000, 11), ["ReceiveDelayTooLarge"]);
    // Values that are unknown give no reason.
    assert_eq!(well(&two_stages()).0, Vec::<&str>::new());
}

#[test]
fn only_reads_that_came_late_are_held_against_the_launcher() {
    let with = |coalesced_reads: u64, late_reads: u64| {
        let (record, wire) = request(0, 0, 0, 100);
        judged(&two_stages(), [(record, WireTally { coalesced_reads, late_reads, ..wire })])
    };
    for late in [0, 4, 5] {
        let (reasons, remarks) = with(90, late);
        assert!(reasons.is_empty(), "{late}");
        assert!(
            remarks.contains("90.0 % of the reads")
                && remarks.contains(&format!("{late}.0 % of the reads were late because")),
            "{remarks}"
        );
    }
    let (reasons, remarks) = with(90, 6);
    assert_eq!((reasons, remarks.contains("reads")), (vec!["ReadsCoalesced"], false));
    assert_eq!(with(1, 0).1, "");
}

#[test]
fn the_busiest_thread_in_its_busiest_stage_counts() {
    let with = |wall: u64, cpu: u64, waited: Option<u64>| {
        let stage = |wall: u64, cpu: u64, waited: Option<u64>| StageVitals {
            cpu: ms(cpu),
            waited: waited.map(ms),
            wall: ms(wall),
            receive_delay: None,
        };
        let idle = || stage(60_000, 0, Some(0));
        let busy = WorkerVitals { stages: vec![idle(), stage(wall, cpu, waited)], ..WorkerVitals::default() };
        let workers = vec![WorkerVitals { stages: vec![idle(), idle()], ..WorkerVitals::default() }, busy];
        let case = Case { workers, ..two_stages() };
        (well(&case).0, check(&case, requests(0, 3, 0)))
    };
    for (cpu, waited) in [(1_700, None), (1_800, None), (1_000, Some(800))] {
        assert_eq!(with(2_000, cpu, waited).0, Vec::<&str>::new());
    }
    for (cpu, waited) in [(1_801, None), (1_000, Some(801))] {
        assert_eq!(with(2_000, cpu, waited).0, ["CpuSaturated"]);
    }
    let (_, analysis) = with(2_000, 1_000, Some(900));
    let expected = Busiest { share: 0.95, waited_share: Some(0.45), stage: Some("r9".into()) };
    assert_eq!(analysis.judgement.busiest, Some(expected));
    assert!(analysis.verdict.headline().message.contains("in stage r9, including 0.4500 waiting"));
    assert!(!analysis.judgement.remarks.join("").contains("busy"));
    // A run of less than a second is not judged by this rule.
    assert_eq!(with(999, 999, None).0, Vec::<&str>::new());
}

#[test]
fn stages_that_are_short_count_together() {
    let stage = || StageVitals { cpu: ms(570), waited: Some(ms(0)), wall: ms(600), receive_delay: None };
    let workers = vec![WorkerVitals { stages: vec![stage(), stage()], ..WorkerVitals::default() }];
    let case = Case { workers, ..two_stages() };
    assert_eq!(well(&case).0, ["CpuSaturated"]);
    assert_eq!(check(&case, requests(0, 3, 0)).judgement.busiest.unwrap().stage, None);
}

#[test]
fn a_cpu_limit_that_is_reached_is_a_remark_and_then_a_reason() {
    let with = |throttled: u64| {
        let throttling = Some(Throttling { periods: 100, throttled, time: ms(7) });
        well(&Case { vitals: Vitals { throttling, ..Vitals::default() }, ..two_stages() })
    };
    assert_eq!(with(0), (vec![], String::new()));
    assert!(with(5).0.is_empty() && with(5).1.contains("CPU limit in 5.0 % of the periods"), "{}", with(5).1);
    assert_eq!(with(6), (vec!["CpuThrottled"], String::new()));
}

#[test]
fn time_that_the_hypervisor_takes_is_a_remark_and_then_a_reason() {
    let with =
        |share: f64| well(&Case { vitals: Vitals { steal_share: Some(share), ..Vitals::default() }, ..two_stages() });
    assert_eq!(with(0.01), (vec![], String::new()));
    assert!(with(0.1).0.is_empty() && with(0.1).1.contains("10.0 %"), "{}", with(0.1).1);
    assert_eq!(with(0.11), (vec!["CpuStolen"], String::new()));
}

#[test]
fn stalls_are_a_remark_and_then_a_reason() {
    let with = |wall: u64, late: u64, beats: u64| {
        let mut stalls = Stalls::default();
        (1..=beats).for_each(|beat| stalls.beat(ms(100 * beat), ms(late)));
        well(&Case { wall: ms(wall), vitals: Vitals { stalls: Some(stalls), ..Vitals::default() }, ..two_stages() })
    };
    assert_eq!(with(10_000, 10, 10), (vec![], String::new()));
    assert!(
        with(10_000, 10, 11).1.contains("could not run 11 times, 1.1 % of the time, the longest for 10ms, 100ms after")
    );
    assert!(with(20_000, 101, 1).1.contains("the longest for 101ms"));
    assert!(with(10_000, 10, 50).0.is_empty());
    assert_eq!(with(10_000, 10, 51), (vec!["SchedulerStalled"], String::new()));
    // In a run of less than a second, the share is not judged.
    assert!(with(999, 90, 10).0.is_empty());
}

#[test]
fn a_step_of_the_clock_is_a_remark_and_then_a_reason() {
    let with = |wall: u64, boot: u64| {
        let mut steps = ClockSteps::default();
        steps.add(Duration::from_millis(wall), Duration::from_millis(boot));
        well(&Case { vitals: Vitals { clock_steps: Some(steps), ..Vitals::default() }, ..two_stages() })
    };
    assert_eq!(with(0, 0), (vec![], String::new()));
    assert!(with(1_000, 0).0.is_empty() && with(1_000, 0).1.contains("the clock stepped by 1s"));
    assert_eq!(with(1_001, 0), (vec!["ClockStepped"], String::new()));
    assert_eq!(with(0, 1_001), (vec!["ClockStepped"], String::new()));
}

#[test]
fn nothing_may_be_dropped() {
    let late = |seconds: u64| {
        let (record, wire) = request(0, 0, 0, 2);
        let mut case = two_stages();
        case.run.validity.max_send_lag_p99 = Span(Duration::from_secs(10_000));
        judged(&case, [(RequestRecord { sent: Some(Duration::from_secs(seconds)), ..record }, wire)]).0
    };
    assert_eq!(late(3_600), Vec::<&str>::new());
    assert_eq!(late(3_601), ["EventsDropped"]);
}

#[test]
fn both_clocks_are_told_apart_when_they_differ() {
    // First tokens come 100 ms after sending.
    let with = |stage: Stage, lag: u64| judged(&case(vec![stage]), requests(0, 3, lag)).1;
    assert_eq!(with(open("r2", 2.0), 6), "");
    let remark = with(open("r2", 2.0), 7);
    assert!(remark.contains("p99 of TTFT is 107") && remark.contains("from the schedule and 100"), "{remark}");
    // A closed loop has no schedule, so latencies count from sending.
    assert_eq!(with(closed("c1", 1), 7), "");
}

#[test]
fn a_coarse_timer_is_told() {
    let workers = vec![WorkerVitals { coarse_timer: true, ..WorkerVitals::default() }];
    assert!(well(&Case { workers, ..two_stages() }).1.contains("whole milliseconds"));
}

#[test]
fn a_launcher_that_was_late_changes_no_answer() {
    let judged = |phase: Phase| {
        let load = Load::LoadGen { test: 0, scenario: Scenario::Offline, phase };
        let mut stalls = Stalls::default();
        (1..=90).for_each(|beat| stalls.beat(ms(100 * beat), ms(50)));
        let vitals = Vitals { stalls: Some(stalls), ..Vitals::default() };
        let case = Case { wall: ms(10_000), vitals, ..case(vec![Stage::new("t", load)]) };
        check(&case, requests(0, 200, 50)).verdict.outcome
    };
    assert_eq!(judged(Phase::Performance), Outcome::Invalid);
    assert_eq!(judged(Phase::Accuracy { set: 0 }), Outcome::Passed);
}
