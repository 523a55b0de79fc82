//! Searches on the simulator in virtual time.

use std::sync::Arc;

use analysis::search::Stopped;
use crds::{
    benchmark_run::{Api, SimulatorPreset},
    resolve::{RunIdentity, Settings, resolve},
    units::Seed,
};
use engine::{
    client::Target,
    issue::{Files, LoadOrder, Trials as _, run_order_here},
    stop::{Stop, StopReason},
};
use measurement::recorder::Keep;
use prompts::source::ReadRows;
use serde_json::json;
use simulator::{SimOptions, Simulator, latency::StepCosts};
use workload_profiles::workload::LengthDistribution;

use super::*;
use crate::input::{LocalOptions, SearchOptions};

/// The service time of a request in seconds: four steps of 10 ms, one request at a time.
const SERVICE: f64 = 0.04;
/// The objective: the p90 of the latency, in seconds.
const LIMIT: f64 = 0.12;

/// A run with this search and this objective.
fn run(search: &str, objective: &str) -> ResolvedRun {
    let spec = format!("{{target: {{url: 'http://h:1'}}, search: {search}, slo: {{objectives: [{objective}]}}}}");
    let spec = serde_saphyr::from_str(&spec).unwrap();
    resolve(RunIdentity::first_attempt("search", "", "u"), &spec, &Settings::default()).unwrap()
}

fn latency() -> String {
    format!("{{name: latency, metric: latency, stat: p90, max: {}ms}}", LIMIT * 1e3)
}

/// A profile whose load is a rate, or a concurrency.
fn workload(is_closed: bool) -> Workload {
    let template = Template { arrivals: Arrivals::Poisson, max_concurrency: None };
    let over = if is_closed { SearchOver::Concurrency } else { SearchOver::Rate };
    let (input, output) = (LengthDistribution::fixed(5), LengthDistribution::fixed(4));
    serde_json::from_value(json!({
        "api": "OpenAICompletions", "streaming": true, "sampling": {"ignoreEos": true},
        "stages": [Stage::new("s", first_load(over, template))],
        "requests": {"random": {"input": input, "output": output, "text": "words"}},
    }))
    .unwrap()
}

/// Runs a search on a server that answers `parallel` requests at a time. `stop`: the time at which the run is stopped, in seconds.
fn search(
    run: &ResolvedRun,
    workload: &Workload,
    parallel: u32,
    seed: u64,
    stop: Option<u64>,
) -> (LoadResult, Workload, SearchResult) {
    search_from(run, workload, parallel, seed, stop, Earlier::default(), None)
}

/// Runs a search like [`search`], which goes on from earlier trials, and saves its trials.
fn search_from(
    run: &ResolvedRun,
    workload: &Workload,
    parallel: u32,
    seed: u64,
    stop: Option<u64>,
    earlier: Earlier,
    ledger: Option<Ledger>,
) -> (LoadResult, Workload, SearchResult) {
    let search = Search::new(run, run.search.as_ref().unwrap(), workload, earlier, ledger, None)
        .unwrap_or_else(|it| panic!("{}", it.message));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let mut load = runtime.block_on(async {
        let costs = StepCosts { base: std::time::Duration::from_millis(10), ..StepCosts::default() };
        let preset = SimOptions::preset(SimulatorPreset::Instant);
        let simulator = Simulator::new(SimOptions { costs, max_num_seqs: parallel, model: "m".into(), ..preset });
        let target = Target::in_process(Api::Completions, move || {
            let (client, server) = tokio::io::duplex(64 << 10);
            let simulator = Arc::clone(&simulator);
            tokio::spawn(async move { simulator.serve_connection(server).await });
            client
        });
        let ended = Stop::default();
        let stopping = async {
            if let Some(at) = stop {
                tokio::time::sleep(std::time::Duration::from_secs(at)).await;
                ended.abort(StopReason::Signal);
            }
        };
        let files = Files::read(&search.workload, ReadRows::default()).unwrap();
        let order = LoadOrder {
            workload: &search.workload,
            files: &files,
            phases: &[],
            model: "m",
            target: &target,
            seeds: Seed(seed).into(),
            keep: Keep::RecordsAlone,
            threads: 1,
            stop: &ended,
            progress: Arc::default(),
            trials: Some(search.searcher()),
        };
        let (result, ()) = tokio::join!(run_order_here(order), stopping);
        result.unwrap()
    });
    let (workload, found) = search.end(&mut load);
    (load, workload, found)
}

/// The share of requests within the limit at a rate: the distribution of the wait of an M/D/1 queue (Erlang, 1909) at limit - service time.
fn share_within(rate: f64) -> f64 {
    let wait = LIMIT - SERVICE;
    let terms = (0..=2_i32).scan(1.0, |factorial, k| {
        if k > 0 {
            *factorial *= f64::from(k);
        }
        let rest = wait - f64::from(k) * SERVICE;
        Some((-rate * rest).powi(k) / *factorial * (rate * rest).exp())
    });
    (1.0 - rate * SERVICE) * terms.sum::<f64>()
}

/// The rate at which exactly 90 % are within the limit.
fn capacity() -> f64 {
    let (mut low, mut high) = (1.0, 1.0 / SERVICE);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if share_within(middle) >= 0.9 { low = middle } else { high = middle }
    }
    low
}

#[test]
fn the_answer_is_near_the_capacity_of_the_simulator() {
    let (run, workload, capacity) = (run("{}", &latency()), workload(false), capacity());
    let mut answers = Vec::new();
    for seed in 0..4 {
        let (load, issued, found) = search(&run, &workload, 1, seed, None);
        assert!(found.used_seconds <= found.budget_seconds + 5.0, "{found:?}");
        assert_eq!(found.trials.len(), issued.stages.len());
        assert_eq!(load.recorder.stages.len(), issued.stages.len());
        let answer = found.answer.as_ref().map_or(0.0, |it| it.load);
        println!("{}: {} of {capacity:.2}", found.sentence(), answer);
        answers.push(answer / capacity);
    }
    answers.sort_by(f64::total_cmp);
    let above = answers.iter().filter(|it| **it > 1.0).count();
    assert!(above <= 1, "{answers:?}");
    assert!(answers[2] >= 0.75, "{answers:?}");
}

#[test]
fn a_closed_loop_is_searched_by_whole_numbers() {
    // The server answers four requests at a time. A fifth request waits until one of them ends, after up to 40 ms.
    let run = run("{}", "{name: latency, metric: latency, stat: p90, max: 60ms}");
    let (_, issued, found) = search(&run, &workload(true), 4, 3, None);
    assert_eq!(found.over, SearchOver::Concurrency);
    let answer = found.answer.clone().unwrap();
    assert!((3.0..=4.0).contains(&answer.load), "{found:?}");
    let stage = issued.stages.iter().find(|it| Some(&it.name) == answer.stage.as_ref()).unwrap();
    assert!(
        matches!(stage.load, Load::Closed { concurrency, .. } if f64::from(concurrency) == answer.load),
        "{stage:?}"
    );
}

#[test]
fn no_load_and_every_load_have_answers_of_their_own() {
    let slow = run("{}", "{name: latency, metric: latency, stat: p90, max: 10ms}");
    let (_, _, found) = search(&slow, &workload(false), 1, 1, None);
    assert_eq!((found.answer.clone(), found.stopped), (None, Some(Stopped::NoLoadPasses)), "{found:?}");
    assert!(found.sentence().starts_with("No load holds all objectives: even "), "{}", found.sentence());
    let bounded = run("{highest: 4}", &latency());
    let (_, _, found) = search(&bounded, &workload(false), 1, 1, None);
    assert_eq!((found.answer.unwrap().load, found.stopped), (4.0, Some(Stopped::HighestLoadPasses)));
}

#[test]
fn a_stopped_search_keeps_its_trials() {
    let (load, issued, found) = search(&run("{}", &latency()), &workload(false), 1, 1, Some(60));
    assert_eq!(
        (found.answer.clone(), found.stopped, load.stopped),
        (None, None, Some(StopReason::Signal)),
        "{found:?}"
    );
    assert!(found.trials.len() >= 3 && issued.stages.len() == found.trials.len(), "{found:?}");
}

#[test]
fn a_load_that_cannot_be_varied_needs_its_kind() {
    let mut workload = workload(false);
    workload.stages[0].load = Load::Burst { count: 8, max_concurrency: None };
    let without = run("{}", &latency());
    let refused = |run: &ResolvedRun| {
        Search::new(run, run.search.as_ref().unwrap(), &workload, Earlier::default(), None, None)
            .err()
            .map(|it| it.message)
    };
    assert!(refused(&without).unwrap().starts_with("spec.search.over: is missing"), "{:?}", refused(&without));
    assert_eq!(refused(&run("{over: Rate}", &latency())), None);
}

#[test]
fn a_search_that_was_stopped_goes_on_after_its_last_finished_trial() {
    let folder = tempfile::tempdir().unwrap();
    let (run, workload) = (run("{}", &latency()), workload(false));
    let objectives = objectives::of_run(&run, &workload.goodput);
    let conditions = saved::conditions(&run, &workload, &objectives);
    let ledger = || Some(Ledger::new(folder.path(), &run, conditions.clone()));
    let (_, _, stopped) = search_from(&run, &workload, 1, 1, Some(300), Earlier::default(), ledger());
    assert_eq!(stopped.stopped, None, "{stopped:?}");

    let resume = SearchOptions { resume: Some(folder.path().to_owned()), ..SearchOptions::default() };
    let local = LocalOptions { search: Some(resume), ..LocalOptions::default() };
    let options = RunOptions { local, ..RunOptions::default() };
    let earlier =
        saved::find(&run, &options, &conditions, objectives.len()).unwrap_or_else(|it| panic!("{}", it.message));
    let finished = earlier.trials.len();
    assert!(finished > 3, "{finished}");
    let used: f64 = earlier.trials.iter().map(|it| it.trial.seconds).sum();
    let (load, issued, found) = search_from(&run, &workload, 1, 1, None, earlier, ledger());
    assert!(found.stopped.is_some() && found.answer.is_some(), "{found:?}");
    assert!(found.used_seconds > used && found.used_seconds <= found.budget_seconds + 5.0, "{found:?}");
    let resumed: Vec<_> = found.trials.iter().take_while(|it| it.resumed).collect();
    assert_eq!(resumed.len(), finished);
    for (now, before) in resumed.iter().zip(&stopped.trials) {
        assert_eq!((&now.stage, now.load, now.role), (&before.stage, before.load, before.role));
    }
    // The report has stages only of trials that this search made. The first is a warm-up.
    let own: Vec<&str> = found.trials[finished..].iter().map(|it| it.stage.as_str()).collect();
    assert_eq!(own, issued.stages.iter().map(|it| it.name.as_str()).collect::<Vec<_>>());
    assert_eq!((load.recorder.stages.len(), found.trials[finished].role), (own.len(), Role::WarmUp));
    let mut names: Vec<&str> = found.trials.iter().map(|it| it.stage.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), found.trials.len());
    let stage = found.answer.unwrap().stage;
    assert!(stage.is_none_or(|it| own.contains(&it.as_str())), "a resumed trial has no stage");
    assert!(
        found.notices.iter().any(|it| it.starts_with(&format!("{finished} trials were made by an earlier search")))
    );
}

#[test]
fn a_trial_in_which_the_launcher_needed_its_whole_cpu_shows_nothing_about_the_server() {
    let (run, workload) = (run("{}", &latency()), workload(true));
    let search = Search::new(&run, run.search.as_ref().unwrap(), &workload, Earlier::default(), None, None);
    let searcher = search.unwrap_or_else(|it| panic!("{}", it.message)).searcher();
    // Each start has the CPU share of the trial before it. The first trial is a warm-up, which has no verdict.
    for (stage, seconds, cpu_share) in [(0, 0, 0.0), (1, 22, 1.0), (2, 60, 0.1), (3, 100, 1.0)] {
        assert!(searcher.begin(stage, std::time::Duration::from_secs(seconds), cpu_share).is_some());
    }
    let found = searcher.end(std::time::Duration::from_secs(120));
    let verdicts: Vec<(Role, Verdict)> = found.trials.iter().map(|it| (it.trial.role, it.trial.verdict)).collect();
    let undecided = Verdict::Undecided;
    assert_eq!(verdicts[..2], [(Role::WarmUp, undecided), (Role::Grow, undecided)]);
    assert_eq!(verdicts[2].1, Verdict::ClientLimited);
}

#[test]
fn the_value_of_an_objective_is_its_percentile() {
    let objective = &objectives::of_run(&run("{}", &latency()), &workload(false).goodput)[0];
    let outcome = |it: u32| ::search::Outcome { value: f64::from(it) / 100.0, missed: it > 8 };
    let reading = objective.reading(&(1..=10).rev().map(outcome).collect::<Vec<_>>());
    assert_eq!((reading.share, reading.value), (Some(0.2), Some(0.09)));
    assert_eq!(objective.reading(&[]), objectives::Reading::default());
}
