//! Tests comparisons of runs of the load engine against the simulated server, on a paused clock. They cover the full path from the schedule to the
//! report, without the timing noise of this machine.

use std::sync::Arc;

use analysis::{Evidence, Measured, analyse};
use comparison::{FigureDocument, Verdict};
use crds::{
    benchmark_run::{Api, SimulatorPreset},
    units::Seed,
};
use document::ReportDocument;
use engine::{client::Target, issue::run_here, stop::Stop};
use simulator::{SimOptions, Simulator};
use tokio::io::duplex;

use crate::{
    decisions::{figure, figures, pair},
    fixture::Fixture,
};

/// Number of pairs of runs on equal servers.
const EQUAL: u64 = 20;
/// Number of pairs of runs on different servers. It is smaller, so that the test takes less than a minute in a debug build.
const DIFFERENT: u64 = 10;
/// Requests per run, at 10 per second.
const REQUESTS: u64 = 300;

fn server(seed: u64) -> SimOptions {
    SimOptions { model: "m".into(), seed: Seed(seed), ..SimOptions::preset(SimulatorPreset::Gpu) }
}

/// A server whose steps take a fifth longer.
fn slower(seed: u64) -> SimOptions {
    let mut options = server(seed);
    options.costs.base = options.costs.base.mul_f64(1.2);
    options
}

/// A target for the load engine: the simulator serves its connections on this runtime.
fn target(options: SimOptions) -> Target {
    let simulator = Simulator::new(options);
    Target::in_process(Api::Completions, move || {
        let (client, server) = duplex(64 << 10);
        let simulator = Arc::clone(&simulator);
        tokio::spawn(async move { simulator.serve_connection(server).await });
        client
    })
}

/// The report of a run whose requests have about 20 prompt tokens and 6 output tokens.
fn simulated(options: SimOptions, seed: u64) -> ReportDocument {
    let mut fixture = Fixture::of_one_stage();
    fixture.requests.clear();
    fixture.workload = queue_workload(fixture.workload);
    fixture.run.seed = Seed(seed);
    fixture.run.run.uid = format!("run-{seed}");
    fixture.run.prompt_salt = fixture.run.run.prompt_salt();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let result = runtime.block_on(async {
        run_here(&fixture.workload, "m", &target(options), Seed(seed), &Stop::default()).await.unwrap()
    });
    let analysis = analyse(&Evidence::new(Measured::from(&result), &fixture.workload, &fixture.run, "m"));
    let mut analysed = fixture.analyse();
    analysed.analysis = analysis;
    fixture.report(&analysed).document().unwrap()
}

fn queue_workload(mut workload: workload_profiles::Workload) -> workload_profiles::Workload {
    use workload_profiles::workload::{LengthDistribution, PromptText, RequestSource};
    workload.requests =
        RequestSource::random(crate::fixture::normal(20), LengthDistribution::fixed(6), PromptText::Words);
    workload.stages = vec![crate::queue::stage(REQUESTS)];
    workload
}

fn found(comparison: &comparison::Comparison) -> Vec<&FigureDocument> {
    figures(comparison).iter().filter(|it| matches!(it.verdict, Verdict::Better | Verdict::Worse)).collect()
}

#[test]
fn equal_servers_are_never_told_apart_and_different_ones_each_time() {
    for number in 0..EQUAL {
        let seeds = [3 * number, 3 * number + 1, 3 * number + 2];
        let base = simulated(server(seeds[0]), seeds[0]);
        assert_eq!((base.outcome, base.figures.succeeded), (crds::Outcome::Passed, REQUESTS), "{:?}", base.reasons);
        let equal = pair(&base, &simulated(server(seeds[1]), seeds[1]));
        assert_eq!(found(&equal), Vec::<&FigureDocument>::new(), "pair {number}");
        let decided = figures(&equal).iter().filter(|it| it.verdict == Verdict::NoDifferenceFound).count();
        assert!(decided >= 15, "pair {number}: {decided}");
        if number >= DIFFERENT {
            continue;
        }
        let different = pair(&base, &simulated(slower(seeds[2]), seeds[2]));
        for name in ["tpot.mean", "tpot.p50", "ttft.mean", "latency.mean", "latency.p50"] {
            let it = figure(&different, name);
            assert_eq!(it.verdict, Verdict::Worse, "pair {number}: {it:?}");
        }
    }
}
