//! Compares static with dynamic batching in Offline: `make offline-batching`.
//!
//! The simulated 8B model gets 1,024 samples of 512 tokens. It runs on one GPU, which computes up to 256 sequences per step. With dynamic
//! batching each sample is one request, and the server fills each slot as it becomes free. With static batching a request holds several
//! samples, and the next request is sent when the last answer of the previous request is complete. The clock is paused, so minutes pass in
//! seconds and every run prints the same figures.

use std::{error::Error, sync::Arc, time::Duration};

use crds::{
    benchmark_run::{Api, SimulatorPreset},
    units::Seed,
};
use engine::{
    client::Target,
    issue::{Files, LoadOrder, run_order_here},
    stop::Stop,
};
use loadgen::phases::{planned_phases, to_issue};
use measurement::{record::RequestOutcome, recorder::Keep};
use prompts::source::ReadRows;
use simulator::{SimOptions, Simulator};
use workload_profiles::{
    Workload,
    loadgen::{Qsl, Scenario, Settings},
    workload::{LengthDistribution, Load, LoadGen, LoadGenTest, Phase, PromptText, RequestSource, Sampling, Stage},
};

const SAMPLES: u64 = 1_024;
const INPUT: u32 = 512;
/// Maximum tokens per answer.
const OUTPUT: u32 = 128;
/// Mean length of answers that the model ends.
const MEAN: u32 = 64;

/// One way to send the samples.
#[derive(Clone, Copy)]
struct Way {
    /// Samples per request; `None`: dynamic batching.
    batch: Option<u32>,
    /// Maximum number of requests in flight.
    at_once: u32,
}

const WAYS: [Way; 9] = [
    Way { batch: None, at_once: 1_024 },
    Way { batch: None, at_once: 256 },
    Way { batch: Some(32), at_once: 1 },
    Way { batch: Some(128), at_once: 1 },
    Way { batch: Some(256), at_once: 1 },
    Way { batch: Some(512), at_once: 1 },
    Way { batch: Some(1_024), at_once: 1 },
    Way { batch: Some(128), at_once: 4 },
    Way { batch: Some(32), at_once: 32 },
];

fn main() -> Result<(), Box<dyn Error>> {
    for (ends, title) in [
        (true, "Answers that end where the model ends them: 64 tokens in the mean, at most 128"),
        (false, "Answers of 128 tokens each"),
    ] {
        println!("{title}:\n");
        println!("| batching | requests under way | samples/s | output tokens/s | time | of dynamic |");
        println!("| --- | ---: | ---: | ---: | ---: | ---: |");
        let mut dynamic = None;
        for way in WAYS {
            let (time, tokens) = measure(way, ends)?;
            let rate = SAMPLES as f64 / time.as_secs_f64();
            let dynamic = *dynamic.get_or_insert(rate);
            let name = way.batch.map_or("dynamic".to_owned(), |it| format!("static, {it}"));
            println!(
                "| {name} | {} | {rate:.1} | {:.0} | {:.1} s | {:.0} % |",
                way.at_once,
                tokens as f64 / time.as_secs_f64(),
                time.as_secs_f64(),
                rate / dynamic * 100.0
            );
        }
        println!();
    }
    Ok(())
}

/// Returns the time in which all samples are answered, and the total number of output tokens.
fn measure(way: Way, ends: bool) -> Result<(Duration, u64), Box<dyn Error>> {
    // Each measurement has its own runtime, with a clock that begins at zero.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(async {
        let options =
            SimOptions { model: "m".into(), mean_output_tokens: MEAN, ..SimOptions::preset(SimulatorPreset::Gpu) };
        let simulator = Simulator::new(options);
        let target = Target::in_process(Api::Completions, move || {
            let (client, server) = tokio::io::duplex(1 << 20);
            let simulator = Arc::clone(&simulator);
            tokio::spawn(async move { simulator.serve_connection(server).await });
            client
        });
        let workload = workload(way, ends);
        let order = LoadOrder {
            workload: &workload,
            files: &Files::read(&workload, ReadRows::default())?,
            phases: &to_issue(&planned_phases(&workload)?),
            model: "m",
            target: &target,
            seeds: Seed(42).into(),
            keep: Keep::Records,
            threads: 1,
            stop: &Stop::default(),
            progress: Arc::default(),
            trials: None,
        };
        let result = run_order_here(order).await?;
        let records = result.recorder.records.as_ref().ok_or("there are no records")?;
        let failed = records.iter().filter(|it| it.outcome != RequestOutcome::Ok).count();
        if failed > 0 || records.len() as u64 != SAMPLES {
            return Err(format!("{failed} of {} samples failed", records.len()).into());
        }
        let end = records.iter().map(|it| it.ended.saturating_sub(it.scheduled)).max().unwrap_or_default();
        Ok((end, records.iter().map(|it| u64::from(it.osl())).sum()))
    })
}

fn workload(way: Way, ends: bool) -> Workload {
    let scenario = Scenario::Offline;
    let settings = Settings {
        scenario,
        min_query_count: SAMPLES,
        min_duration_ms: 0,
        offline_expected_qps: 1.0,
        ..Settings::default()
    };
    let qsl = Qsl { name: "synthetic".into(), total_sample_count: SAMPLES, performance_sample_count: SAMPLES };
    let load = Load::LoadGen { scenario, test: 0, phase: Phase::Performance };
    let [input, output] = [INPUT, OUTPUT].map(LengthDistribution::fixed);
    Workload {
        streaming: false,
        sampling: Sampling { ignore_eos: !ends, ..Sampling::default() },
        loadgen: Some(LoadGen {
            benchmark: "llama3_1-8b".into(),
            round: "v6.1".into(),
            sut_name: "simulator".into(),
            qsl,
            batch_size: way.batch,
            max_concurrency: Some(way.at_once),
            tests: vec![LoadGenTest { settings, audited: false, trials_before: Vec::new() }],
            auto_qps: None,
            user_conf: String::new(),
        }),
        ..Workload::new(
            Api::Completions,
            RequestSource::random(input, output, PromptText::Words),
            vec![Stage::new("offline", load)],
        )
    }
}
