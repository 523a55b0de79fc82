//! The `benchmarkrun.yaml` in a results folder can be run again without changes. It sends the same requests at the same times.

use std::fs;

use sha2::{Digest as _, Sha256};

use crate::{
    cli::prompts::Recorder,
    common::{Folder, at, simulated},
};

/// Two stages: a recorded trace, and an open load. The lengths are random.
const PROFILE: &str = "\
requests: {random: {input: {mean: 24, stdDev: 4, min: 12, max: 40}, output: 4}}
stages:
  - load: {trace: {trace: {file: {path: recorded.csv, atColumn: at, inputColumn: input, outputColumn: output}}}}
  - load: {open: {arrivals: poisson, rate: {{ rate }}, count: 12}}
";
const TRACE: &str = "at,input,output\n0,20,5\n0.05,30,6\n0.1,25,7\n";

/// Returns the plan of a run. The times of each stage count from its first request, because a stage begins when the previous one has ended.
fn plan_of(folder: &Folder) -> Vec<[i64; 3]> {
    let mut plan = folder.plan();
    for stage in [0..3, 3..15] {
        let first = plan[stage.start][0];
        plan[stage].iter_mut().for_each(|it| it[0] -= first);
    }
    plan
}

#[test]
fn a_results_folder_runs_again_with_the_same_prompts_and_schedule() {
    let server = Recorder::start();
    let folder = Folder::new();
    let settings = "variables: {rate: 20}, overrides: {requests.random.output: 3}, ";
    let run = at(&server.url, 20, PROFILE).replace("profile: {", &format!("profile: {{{settings}"));
    folder.write("run.yaml", &run.replace("spec:\n", "spec:\n  harness: benchwright\n  seed: 7\n"));
    folder.write("recorded.csv", TRACE);
    folder.benchwright(&["run", "-f", "run.yaml", "-o", "stages.1.load.open.rate=40"]).assert().success();
    let (prompts, plan, first) = (server.take(), plan_of(&folder), folder.report());
    assert_eq!(prompts.len(), 15);

    assert_eq!(first["toolCommit"], env!("BENCHWRIGHT_COMMIT"));
    let sha256 = |bytes: &[u8]| crds::hex(&Sha256::digest(bytes));
    let profile = fs::read(folder.path("results/latest/profile.yaml")).unwrap();
    assert_eq!(first["inputs"]["profileSha256"], sha256(&profile));
    assert_eq!(first["inputs"]["files"][0]["sha256"], sha256(TRACE.as_bytes()));

    for _ in 0..2 {
        let again = fs::canonicalize(folder.path("results/latest")).unwrap().join("benchmarkrun.yaml");
        folder.benchwright(&["run", "-f", again.to_str().unwrap()]).assert().success();
        assert_eq!((server.take(), plan_of(&folder)), (prompts.clone(), plan.clone()));
        let report = folder.report();
        assert_eq!(report["workload"], first["workload"]);
        assert_eq!((&report["seeds"], &report["inputs"]), (&first["seeds"], &first["inputs"]));
        assert_eq!(report["run"]["name"], "chat");
    }

    let text = fs::read_to_string(folder.path("results/latest/benchmarkrun.yaml")).unwrap();
    let fresh: Vec<&str> = text.lines().filter(|it| !it.trim_start().starts_with("promptSalt:")).collect();
    folder.write("fresh.yaml", &fresh.join("\n"));
    folder.benchwright(&["run", "-f", "fresh.yaml"]).assert().success();
    assert_eq!(plan_of(&folder), plan);
    let new = server.take();
    assert!(new.len() == 15 && new.iter().all(|it| !prompts.contains(it)), "{new:?}");
}

#[test]
fn a_large_profile_finds_its_files_again() {
    let folder = Folder::new();
    // The profile is larger than a BenchmarkRun may contain.
    let profile = format!("{PROFILE}# {}\n", "x".repeat(33 << 10)).replace("{{ rate }}", "20");
    folder.write("large.yaml", &profile);
    folder.write("recorded.csv", TRACE);
    let run = simulated(&super::profile(20, 1)).replace("spec:\n", "spec:\n  harness: benchwright\n");
    folder.write("run.yaml", &run);
    folder.benchwright(&["run", "-f", "run.yaml", "--profile", "large.yaml"]).assert().success();
    let plan = plan_of(&folder);
    let again = fs::canonicalize(folder.path("results/latest")).unwrap();
    let [run, profile] = ["benchmarkrun.yaml", "profile.yaml"].map(|it| again.join(it).display().to_string());
    folder.benchwright(&["run", "-f", &run, "--profile", &profile]).assert().success();
    assert_eq!(plan_of(&folder), plan);
}

#[test]
fn a_simulator_stays_a_simulator_and_a_token_a_reference() {
    let folder = Folder::new();
    let auth = "target: {auth: {secretKeyRef: {name: api-key, key: token}}, ";
    folder.write("run.yaml", &simulated(&super::profile(20, 1)).replace("target: {", auth));
    folder.write("token", "secret-of-the-target");
    let token = folder.path("token");
    let given = ["--token-file", token.to_str().unwrap()];
    folder.benchwright(&[&["run", "-f", "run.yaml"][..], &given].concat()).assert().success();
    let (plan, first) = (folder.plan(), folder.report());
    let text = fs::read_to_string(folder.path("results/latest/benchmarkrun.yaml")).unwrap();
    assert!(text.contains(&format!("--token-file {}", token.display())) && text.contains("api-key"), "{text}");
    assert!(!text.contains("secret-of-the-target"), "{text}");
    let again = ["run", "-f", "results/latest/benchmarkrun.yaml"];
    folder.benchwright(&[&again[..], &given].concat()).assert().success();
    let report = folder.report();
    assert_eq!((folder.plan(), &report["seeds"]), (plan, &first["seeds"]));
    assert_eq!(report["resolvedRun"]["endpoint"], first["resolvedRun"]["endpoint"]);
}
