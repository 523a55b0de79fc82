use crds::{
    benchmark_run::{Api, SimulatorPreset},
    units::Seed,
};
use serde_json::json;
use workload_profiles::workload::{LengthDistribution, Phase};

use super::*;
use analysis::loadgen::verdict::TestVerdict;
use engine::{
    client::Target,
    issue::{Files, LoadOrder, run_order_here},
    stop::{Stop, StopReason},
};
use loadgen::phases::to_issue;
use measurement::recorder::Keep;
use prompts::source::ReadRows;
use simulator::{SimOptions, Simulator, latency::StepCosts};

/// Returns a workload with one Server test.
fn workload(settings: Settings, auto_qps: Option<AutoQps>) -> Workload {
    let scenario = settings.scenario;
    let stage = Stage::new("performance", Load::LoadGen { test: 0, phase: Phase::Performance, scenario });
    serde_json::from_value(json!({
        "api": "OpenAICompletions", "streaming": true, "stages": [stage], "sampling": {"ignoreEos": true},
        "requests": {"random": {"input": LengthDistribution::fixed(5), "output": LengthDistribution::fixed(4), "text": "words"}},
        "loadgen": {
            "benchmark": "b", "round": "v6.1", "sutName": "s", "tests": [{"settings": settings, "audited": true}],
            "qsl": {"name": "q", "total_sample_count": 20, "performance_sample_count": 20}, "autoQps": auto_qps,
        },
    }))
    .unwrap()
}

fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings {
        scenario: Scenario::Server,
        min_duration_ms: 10_000,
        min_query_count: 20,
        server_target_latency_ns: 500_000_000,
        server_target_qps: 4.0,
        ..Settings::default()
    };
    change(&mut settings);
    settings
}

/// Issues the workload against a server that answers one request at a time, each in 40 ms. `stop` returns the time at which a load is stopped, if it
/// is. Loads are counted from 0.
fn run(workload: &Workload, stop: impl Fn(usize) -> Option<Duration>) -> Issued {
    let mut loads = 0..;
    let load = |one: &OneLoad<'_>| {
        let at = loads.next().and_then(&stop);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let costs = StepCosts { base: Duration::from_millis(10), ..StepCosts::default() };
            let preset = SimOptions::preset(SimulatorPreset::Instant);
            let simulator = Simulator::new(SimOptions { costs, max_num_seqs: 1, model: "m".into(), ..preset });
            let target = Target::in_process(Api::Completions, move || {
                let (client, server) = tokio::io::duplex(64 << 10);
                let simulator = Arc::clone(&simulator);
                tokio::spawn(async move { simulator.serve_connection(server).await });
                client
            });
            let stop = Stop::default();
            let stopping = async {
                if let Some(at) = at {
                    tokio::time::sleep(at).await;
                    stop.drain(StopReason::Signal);
                }
            };
            let order = LoadOrder {
                workload: one.workload,
                files: &Files::read(one.workload, ReadRows::default()).unwrap(),
                phases: &to_issue(one.phases),
                model: "m",
                target: &target,
                seeds: Seed(1).into(),
                keep: Keep::Records,
                threads: 1,
                stop: &stop,
                progress: Arc::default(),
                trials: None,
            };
            let (result, ()) = tokio::join!(run_order_here(order), stopping);
            Ok(result.unwrap())
        })
    };
    issue(workload, || None, load).unwrap_or_else(|it| panic!("{}", it.message))
}

fn verdict(issued: &Issued) -> TestVerdict {
    TestVerdict::from_outcome(&issued.tests[0])
}

#[test]
fn a_search_ends_with_a_test_that_is_valid() {
    let issued = run(&workload(settings(|it| it.min_query_count = 500), Some(AutoQps::Search)), |_| None);
    let verdict = verdict(&issued);
    assert_eq!((verdict.valid, verdict.counts()), (Some(true), true), "{:?}", verdict.reasons);
    let last = issued.trials.last().unwrap();
    assert!(last.full && last.met, "{:?}", issued.trials);
    assert_eq!(issued.tests[0].log.settings.server_target_qps, last.rate);
    // 25 per second is the server's maximum.
    assert!((5.0..25.0).contains(&last.rate), "{:?}", issued.trials);
}

#[test]
fn a_trial_that_ends_early_does_not_hold() {
    // The limit is three queries in flight. It is exceeded whenever queries arrive faster than the server answers them.
    let workload = workload(settings(|it| it.server_max_async_queries = 3), Some(AutoQps::Search));
    let trials = run(&workload, |_| None).trials;
    assert!(trials.iter().all(|it| !it.met || it.rate < 25.0), "{trials:?}");
}

#[test]
fn a_trial_of_full_length_holds_when_early_stopping_does() {
    // 20 queries are too few for early stopping, and a lower rate would not help.
    let few = run(&workload(settings(|_| {}), None), |_| None);
    assert!(!few.tests[0].log.judged(|_, validity| validity.early_stopping.met).unwrap());
    assert!(held(&few, true));
    // With 500 queries, early stopping allows no query over the limit. The percentile alone would allow four.
    let mut many = run(&workload(settings(|it| it.min_query_count = 500), None), |_| None);
    assert!(held(&many, true));
    let result = many.tests[0].log.phases[0].result.as_mut().unwrap();
    result.sample_latencies_ns[..4].fill(600_000_000);
    assert!(held(&many, false) && !held(&many, true));
}

#[test]
fn a_search_that_is_stopped_leaves_no_valid_test() {
    let check = |stopped: usize, at: u64, change: fn(&mut Settings)| {
        let workload = workload(settings(change), Some(AutoQps::Search));
        let at = |load| (load == stopped).then_some(Duration::from_secs(at));
        let verdict = verdict(&run(&workload, at));
        assert_eq!(verdict.valid, Some(false));
        assert!(verdict.reasons[0].contains(NO_RATE), "{:?}", verdict.reasons);
    };
    // Each load is stopped while the last answers of a trial arrive, so the trial itself is complete. In the first case, the answers to 256
    // concurrent samples take 10 s.
    check(0, 5, |it| it.scenario = Scenario::Offline);
    // In this case, samples arrive for 15 s at twice the rate of the first short trial, and their answers take longer than 20 s.
    check(2, 20, |it| {
        it.min_duration_ms = 60_000;
        it.min_query_count = 500;
        it.server_target_latency_ns = 60_000_000_000;
    });
}

#[test]
fn an_accuracy_test_alone_has_a_share_of_the_rate_of_a_burst() {
    let mut workload = workload(settings(|it| it.mode = Mode::AccuracyOnly), Some(AutoQps::Search));
    workload.stages[0].load = Load::LoadGen { test: 0, phase: Phase::Accuracy { set: 0 }, scenario: Scenario::Server };
    let issued = run(&workload, |_| None);
    let rate = issued.tests[0].log.effective.target_qps;
    // 25 per second is the server's maximum.
    assert!((19.0..21.0).contains(&rate), "{rate}");
    assert_eq!((issued.tests[0].log.settings.mode, issued.tests[0].answers.len()), (Mode::AccuracyOnly, 20));
}

/// Issues a search for the peak rate, between 4 and 32 queries per second.
fn peak(stop: impl Fn(usize) -> Option<Duration>) -> Issued {
    let settings = settings(|it| {
        it.mode = Mode::FindPeakPerformance;
        it.min_query_count = 500;
        it.server_find_peak_qps_decimals_of_precision = 0;
    });
    run(&workload(settings, None), stop)
}

#[test]
fn the_log_of_a_search_for_the_peak_begins_with_its_first_trial() {
    let issued = peak(|_| None);
    let log = &issued.tests[0].log;
    assert_eq!((log.settings.server_target_qps, log.effective.target_qps, log.audited), (4.0, 4.0, true));
    assert!(log.started <= log.phases[0].power_begin && log.phases.len() == issued.trials.len());
    assert_eq!(log.phases.iter().filter(|it| it.result.is_some()).count(), 1);
    let found = log.judged(|results, validity| (results.effective.target_qps, validity.valid())).unwrap();
    let best = issued.trials.iter().rfind(|it| it.met).unwrap();
    assert_eq!(found, (best.rate, true));
    assert_eq!(issued.workload.loadgen.unwrap().tests[0].settings.server_target_qps, best.rate);
}

#[test]
fn a_search_for_the_peak_that_is_stopped_is_not_valid() {
    // At 32 per second, 500 queries arrive within 16 s and their answers take 20 s, so at 18 s the trial is complete.
    let issued = peak(|load| (load == 3).then_some(Duration::from_secs(18)));
    assert_eq!(issued.trials.len(), 4);
    assert!(issued.trials[2].met);
    let verdict = verdict(&issued);
    assert_eq!(verdict.valid, Some(false));
    assert!(verdict.reasons[0].contains(NO_PEAK), "{:?}", verdict.reasons);
}
