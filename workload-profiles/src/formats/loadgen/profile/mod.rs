//! The profile format of `harness: loadgen`. Settings have LoadGen's names, units and defaults, and come from LoadGen's configuration files, in
//! LoadGen's order. All other keys, such as the keys of requests, are the same as in our own format.
//!
//! `docs/loadgen.md` describes every key.

mod benchmark;
mod bounds;
mod conf_files;
mod data;
mod mlperf_tests;
mod settings;
mod target_qps;

use std::time::Duration;

use crds::{benchmark_run::Api, units::Span};
use serde_json::Value;

use super::{Mode, Scenario};
use crate::{
    formats::{
        common::{
            accuracy,
            bounds::MAX_PAUSE_SECONDS,
            fields::{api, concurrency, greedy, sampling, timeouts},
            headers::headers,
            stage_names::StageNames,
            target::model,
        },
        format::{Format, profile},
        target::Target,
    },
    problem::Findings,
    reader::Section,
    workload::{
        Accuracy, Load, LoadGen, LoadGenTest, PromptReuse, RequestSource, Sampling, Stage, Timeouts, Workload,
        check_of_benchmark,
    },
};
use data::{Data, Tokens};
use mlperf_tests::Tests;

/// Default concurrency in Offline. It is larger than any server's batch, and smaller than a server's queue of new connections.
const OFFLINE_CONCURRENCY: u32 = 1_024;
/// Maximum samples per static batch. The answer to a batch of this size has some tens of megabytes, less than the client's limit.
const MAX_BATCH: u64 = 1_024;
/// The keys of a profile.
pub(in crate::formats) const KEYS: [&str; 23] = [
    "accuracy",
    "api",
    "audit",
    "audit_config",
    "batchSize",
    "benchmark",
    "dataset",
    "headers",
    "maxConcurrency",
    "mode",
    "model",
    "qsl",
    "round",
    "sampling",
    "scenario",
    "seeds",
    "settings",
    "streaming",
    "sut_name",
    "target_qps",
    "timeouts",
    "tokens",
    "user_conf",
];
/// The name of the system under test in logs. MLPerf's network division requires these words.
const SUT_NAME: &str = "Network SUT";
/// Default of `timeouts.request`, in seconds. LoadGen itself has no limit, and waits forever for a lost answer.
const REQUEST_SECONDS: u64 = 3_600;

/// The profiles of LoadGen.
pub(in crate::formats) const FORMAT: Format = Format {
    parse,
    root_keys: || &KEYS,
    stage_length: None,
    shipped: &[
        profile!("loadgen", "llama2-70b-interactive"),
        profile!("loadgen", "llama2-70b-offline"),
        profile!("loadgen", "llama2-70b-server"),
        profile!("loadgen", "llama3.1-8b-edge-offline"),
        profile!("loadgen", "llama3.1-8b-edge-singlestream"),
        profile!("loadgen", "llama3.1-8b-interactive"),
        profile!("loadgen", "llama3.1-8b-offline"),
        profile!("loadgen", "llama3.1-8b-server"),
        profile!("loadgen", "sanity"),
    ],
};

/// Reads a profile. `None` means that the findings contain at least one problem.
fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &KEYS, findings)?;
    let api = api(&root);
    let model = model(&root, "model", target);
    let headers = root.section("headers").as_ref().map(headers).unwrap_or_default();
    let sut_name = root.text("sut_name").unwrap_or(SUT_NAME).to_owned();
    let tests = mlperf_tests::read(&root);
    let benchmark = tests.as_ref().map(|it| it.benchmark.as_str());
    let tokens = data::tokens(&root, benchmark);
    let data = data::read(&root, benchmark, tokens, api);
    let streaming = streaming(&root, tests.as_ref());
    let sampling = greedy_sampling(&root, tokens);
    let timeouts = request_timeouts(&root, tests.as_ref(), streaming);
    let batch_size = batch_size(&root, tests.as_ref(), api, streaming);
    let max_concurrency = max_concurrency(&root, tests.as_ref(), batch_size.is_some());
    let accuracy = scored(&root, tests.as_ref(), data.as_ref());
    let within = tests.as_ref().zip(data.as_ref()).is_some_and(|(tests, data)| bounds::check(&root, tests, &data.qsl));
    root.finish();
    // The `?` operators come only here, so that all keys are read and all problems are found.
    let (tests, data) = (tests?, data?);
    if !within {
        return None;
    }
    let loadgen = LoadGen {
        benchmark: tests.benchmark,
        round: tests.round.name().to_owned(),
        sut_name,
        qsl: data.qsl,
        max_concurrency,
        batch_size,
        tests: tests.tests,
        auto_qps: tests.auto_qps,
        user_conf: tests.user_conf,
    };
    let stages = stages(&loadgen, tests.scenario);
    Some(Workload {
        streaming,
        model,
        headers,
        // The texts are the same in every run, because the samples are a fixed data set.
        prompts: PromptReuse::Repeated,
        loadgen: Some(loadgen),
        accuracy,
        sampling,
        timeouts,
        ..Workload::new(api?, data.requests, stages)
    })
}

/// Converts the name of a benchmark to LoadGen's name: `llama3.1-8b` to `llama3_1-8b`. Any other name is returned unchanged.
pub fn canonical_benchmark(name: &str) -> String {
    benchmark::canonical(name)
}

/// Returns the number of samples in a benchmark, by its LoadGen name. `None` if the benchmark is unknown.
pub fn samples_of_benchmark(name: &str) -> Option<u64> {
    benchmark::find(name).map(|it| it.samples)
}

/// Returns how the answers of the accuracy tests are scored. Without the section `accuracy`, they are scored if the samples come from a file and the
/// benchmark has a check. `accuracy: none` turns scoring off.
fn scored(root: &Section, tests: Option<&Tests>, data: Option<&Data>) -> Option<Accuracy> {
    let check = root.text("benchmark").and_then(check_of_benchmark);
    let written = root.value("accuracy");
    let asked = match written {
        None => None,
        Some(Value::String(word)) if word == "none" => return None,
        Some(_) => Some(accuracy::read(root.section("accuracy")?, check.as_deref())?),
    };
    let (tests, data) = (tests?, data?);
    let has_phase = tests.tests.iter().any(|it| matches!(it.settings.mode, Mode::AccuracyOnly | Mode::SubmissionRun));
    let is_file = matches!(data.requests, RequestSource::DataSet(_));
    match asked {
        Some(_) if !has_phase => {
            root.notice("accuracy", "is set, but no test has the mode accuracy or both: nothing is scored");
            None
        }
        Some(accuracy) if !is_file && accuracy.data_set.is_none() => {
            root.problem("accuracy", "needs expected answers, but the samples are synthetic; send a dataset file");
            None
        }
        Some(accuracy) => Some(accuracy),
        None if has_phase && is_file => Some(Accuracy::of_benchmark(&check?)),
        None => None,
    }
}

/// Returns one stage per phase of each test.
fn stages(loadgen: &LoadGen, scenario: Scenario) -> Vec<Stage> {
    let mut names = StageNames::default();
    let loads = |(test, it): (u32, &LoadGenTest)| {
        it.phases(&loadgen.qsl).into_iter().map(move |phase| Load::LoadGen { scenario, test, phase })
    };
    let loads = (0..).zip(&loadgen.tests).flat_map(loads);
    loads.map(|load| Stage::new(names.name(&load), load)).collect()
}

/// Returns whether answers are streamed. Streaming is required if a test has limits for token latencies.
fn streaming(root: &Section, tests: Option<&Tests>) -> bool {
    let scenario = tests.map(|it| it.scenario);
    let tokens = tests.is_some_and(|it| it.tests.iter().any(|it| it.settings.use_token_latencies));
    let needed = tokens && scenario != Some(Scenario::Offline);
    let streaming = root.bool("streaming").unwrap_or(needed);
    if needed && !streaming {
        let what = "is off, but use_token_latencies is on, and the times of tokens are measured only in streams";
        root.problem("streaming", format!("{what}; leave it out, or set settings.use_token_latencies to false"));
    }
    streaming
}

/// Reads the number of samples per request. A batch is only possible in Offline, where all samples are due at the start, and with completions, whose
/// requests can contain several prompts. Batches are not streamed, because servers differ in how a stream assigns each output to its prompt.
fn batch_size(root: &Section, tests: Option<&Tests>, api: Option<Api>, streaming: bool) -> Option<u32> {
    let size = root.count_u32("batchSize", 1..=MAX_BATCH)?;
    if let Some(scenario) = tests.map(|it| it.scenario).filter(|it| *it != Scenario::Offline) {
        let what = format!("is a key of Offline alone, and the scenario is {}", scenario.name());
        root.problem("batchSize", format!("{what}; take it out"));
    }
    if api.is_some_and(|it| it != Api::Completions) {
        let what = "puts several prompts into a request, and a chat holds one conversation";
        root.problem("batchSize", format!("{what}; set api to completions, or take it out"));
    }
    if streaming {
        root.problem("batchSize", "needs answers in one piece; set streaming to false, or take it out");
    }
    Some(size)
}

/// Returns the maximum concurrency, for scenarios that do not fix it. By default, static batches are sent one after the other.
fn max_concurrency(root: &Section, tests: Option<&Tests>, has_batches: bool) -> Option<u32> {
    let written = concurrency(root, "maxConcurrency");
    let scenario = tests.map(|it| it.scenario);
    if let (Some(_), Some(scenario @ (Scenario::SingleStream | Scenario::MultiStream))) = (written, scenario) {
        let what = format!("is not a key for {}, which sends a query when the last one is complete", scenario.name());
        root.problem("maxConcurrency", format!("{what}; take it out"));
    }
    let of_offline = if has_batches { 1 } else { OFFLINE_CONCURRENCY };
    written.or((scenario == Some(Scenario::Offline)).then_some(of_offline))
}

/// Reads the section `sampling`. Without a temperature, decoding is greedy, as MLPerf requires.
fn greedy_sampling(root: &Section, tokens: Option<Tokens>) -> Sampling {
    let sampling = sampling(root, Sampling { min_tokens: tokens.map(|it| it.min), ..Sampling::default() });
    if let (Some(least), Some(most)) = (sampling.min_tokens, tokens.map(|it| it.max))
        && least > most
        && root.section("sampling").is_some_and(|it| it.value("minTokens").is_some())
    {
        root.problem("sampling.minTokens", format!("is {least}, above tokens.max, which is {most}; lower it"));
    }
    greedy(sampling)
}

/// Reads the section `timeouts`. In an Offline test all requests are due at the start and wait for their turn, so a request can take a day.
fn request_timeouts(root: &Section, tests: Option<&Tests>, streaming: bool) -> Timeouts {
    let is_offline = tests.is_some_and(|it| it.scenario == Scenario::Offline);
    let request = Span(Duration::from_secs(if is_offline { MAX_PAUSE_SECONDS } else { REQUEST_SECONDS }));
    timeouts(root, Timeouts { request: Some(request), ..Timeouts::default() }, streaming)
}

#[cfg(test)]
mod tests;
