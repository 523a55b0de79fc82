//! Small, made-up finished runs for tests, and the options that build a tree without findings from them.

use std::{
    fs,
    io::BufWriter,
    path::{Path, PathBuf},
};

use report::LoadGenConfig;
use serde_json::json;
use tempfile::TempDir;
use workload_profiles::{
    loadgen::{Qsl, Round},
    workload::{LoadGen, RequestSource, Sampling, Timeouts},
};

use super::{
    build::{BuildOptions, ScenarioFile},
    layout::Division,
};
use loadgen::logs::{
    accuracy_log::{AccuracyEntry, Writer, bytes_of},
    test06::ElementType,
};

/// A test whose logs can be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// LoadGen's name of the benchmark.
    pub(super) benchmark: &'static str,
    pub(super) scenario: &'static str,
    /// LoadGen's mode, or TEST06.
    pub(super) mode: &'static str,
    pub(super) round: Round,
}

/// Scores that meet the limits of the benchmarks.
const SCORES: &str =
    "{'rouge1': '38.7792', 'rouge2': '15.9075', 'rougeL': '24.4957', 'rougeLsum': '35.793', 'gen_len': 8167644}";
const EDGE_SCORES: &str =
    "{'rouge1': '39.06', 'rouge2': '16.1147', 'rougeL': '24.6375', 'rougeLsum': '36.124', 'gen_len': 3051113}";

impl Run {
    pub(super) fn new(benchmark: &'static str, scenario: &'static str, mode: &'static str) -> Run {
        Run { benchmark, scenario, mode, round: Round::V6_1 }
    }

    fn samples(&self) -> u64 {
        match self.benchmark {
            "llama3_1-8b-edge" => 5_000,
            "llama2-70b-interactive" => 24_576,
            _ => 13_368,
        }
    }

    /// Returns all keys of the detail log, with their values as they appear in the log.
    pub(super) fn entries(&self) -> Vec<(String, String)> {
        let text = |it: &str| format!("\"{it}\"");
        let samples = self.samples();
        let audit = self.mode == "TEST06";
        let mode = if audit { "PerformanceOnly" } else { self.mode };
        let (ttft, tpot) = match self.benchmark {
            "llama3_1-8b-interactive" => (500_000_000_u64, 30_000_000_u64),
            "llama2-70b-interactive" => (450_000_000, 40_000_000),
            _ => (2_000_000_000, 100_000_000),
        };
        let mut all: Vec<(String, String)> = Vec::new();
        let mut add = |key: &str, value: String| all.push((key.to_owned(), value));
        add("loadgen_version", text("6.0.17 @ d6147c7eb7"));
        for key in ["build_date_local", "build_date_utc", "git_commit_date", "git_log_message", "git_status_message"] {
            add(&format!("loadgen_{key}"), text("NA"));
        }
        add("loadgen_file_sha1", "{}".into());
        add("sut_name", text("Network SUT of a test"));
        if audit {
            add("warning_generic_message", text("CaseTests Audit Config file (audit.config)."));
        }
        add("qsl_reported_total_count", samples.to_string());
        match self.scenario {
            "Server" => add("requested_server_target_qps", "5".into()),
            "Offline" => add("requested_offline_expected_qps", "5".into()),
            _ => add("requested_single_stream_expected_latency_ns", "1e+09".into()),
        }
        add("requested_min_duration_ms", "600000".into());
        add("requested_min_query_count", "100".into());
        add("requested_accuracy_log_rng_seed", if audit { "720381539243781796" } else { "0" }.into());
        add("requested_accuracy_log_sampling_target", if audit { "100" } else { "0" }.into());
        add("requested_use_token_latencies", "true".into());
        if self.scenario == "Server" {
            add("requested_server_ttft_latency", ttft.to_string());
            add("requested_server_tpot_latency", tpot.to_string());
        }
        add("effective_scenario", text(self.scenario));
        add("effective_test_mode", text(mode));
        let offline = self.scenario == "Offline";
        add("effective_samples_per_query", if offline { samples } else { 1 }.to_string());
        add("effective_target_latency_ns", "0".into());
        add("effective_target_latency_percentile", if self.scenario == "Server" { "0.99" } else { "0.9" }.into());
        add("effective_min_duration_ms", "600000".into());
        for (name, seed) in ["qsl", "sample_index", "schedule"].into_iter().zip(self.round.seeds()) {
            add(&format!("effective_{name}_rng_seed"), seed.to_string());
        }
        add("effective_performance_issue_unique", "false".into());
        add("effective_performance_issue_same", "false".into());
        add("effective_performance_sample_count", samples.to_string());
        add("effective_accuracy_sample_count", samples.to_string());
        add("effective_sample_concatenate_permutation", (!audit).to_string());
        add("loaded_qsl_set", "[1,0,2]".into());
        add("power_begin", text("11-21-2026 10:00:00.000"));
        add("power_end", text("11-21-2026 10:10:00.000"));
        if mode != "AccuracyOnly" {
            add("result_validity", text(if audit { "INVALID" } else { "VALID" }));
            add("early_stopping_met", "true".into());
            add("early_stopping_latency_ss", "650000001".into());
            add("result_90.00_percentile_latency_ns", "650000000".into());
            add("result_qps_without_loadgen_overhead", "1.75".into());
            add("result_completed_samples_per_sec", "5.005".into());
            add("result_samples_per_second", "10.01".into());
            add("result_first_token_99.00_percentile_latency_ns", (ttft - 1).to_string());
            add("result_time_per_output_token_99.00_percentile_ns", (tpot - 1).to_string());
            add("result_completed_tokens_per_second", "640.5".into());
            add("result_tokens_per_second", "1280.25".into());
            add("num_errors", "0".into());
        }
        all
    }

    /// Writes a run folder as the launcher does.
    pub(super) fn write(&self, root: &Path) -> PathBuf {
        let run = root.join(format!("{}-{}-{}", self.benchmark, self.scenario, self.mode));
        fs::create_dir_all(&run).unwrap();
        let loadgen = LoadGen {
            benchmark: self.benchmark.into(),
            round: self.round.name().into(),
            sut_name: "SUT".into(),
            qsl: Qsl {
                name: "QSL".into(),
                total_sample_count: self.samples(),
                performance_sample_count: self.samples(),
            },
            batch_size: None,
            max_concurrency: None,
            tests: Vec::new(),
            auto_qps: None,
            user_conf: "*.*.max_duration = 0".into(),
        };
        let config = LoadGenConfig {
            tool: "benchwright".into(),
            target: "http://sut:80".into(),
            model: "org/m".into(),
            loadgen,
            effective: Vec::new(),
            requests: RequestSource::Mock,
            sampling: Sampling::default(),
            timeouts: Timeouts::default(),
        };
        fs::write(run.join("config.json"), serde_json::to_string(&config).unwrap()).unwrap();
        fs::write(run.join("run.yaml"), "name: test\n").unwrap();
        fs::write(run.join("profile.yaml"), "benchmark: x\n").unwrap();
        self.write_logs(&run.join(if self.mode == "AccuracyOnly" { "Accuracy" } else { "Performance" }));
        run
    }

    /// Returns the detail log.
    pub(super) fn log(&self) -> String {
        self.entries().iter().map(|(key, value)| line(key, value, false)).collect()
    }

    /// Writes only the logs.
    pub(super) fn write_logs(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("mlperf_log_detail.txt"), self.log()).unwrap();
        fs::write(folder.join("mlperf_log_summary.txt"), "MLPerf Results Summary\nResult is : VALID\n").unwrap();
        let answers = match self.mode {
            "PerformanceOnly" => 0,
            "TEST06" => 100,
            _ => self.samples(),
        };
        let file = fs::File::create(folder.join("mlperf_log_accuracy.json")).unwrap();
        let mut log = Writer::new(BufWriter::new(file)).unwrap();
        for number in 0..answers {
            log.add(&AccuracyEntry {
                seq_id: number,
                qsl_idx: number,
                data: bytes_of(&[7, 8, 128_009]),
                token_data: (self.scenario != "Offline").then(|| bytes_of(&[7])),
                token_count: Some(3),
            })
            .unwrap();
        }
        log.finish().unwrap();
    }
}

/// Returns a line of a detail log.
pub(super) fn line(key: &str, value: &str, error: bool) -> String {
    format!(
        ":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"time_ms\": 1.000000, \"namespace\": \"mlperf::logging\", \
         \"event_type\": \"POINT_IN_TIME\", \"metadata\": {{\"is_error\": {error}, \"is_warning\": false, \"file\": \"a.cc\", \
         \"line_no\": 1, \"pid\": 1, \"tid\": 1}}}}\n"
    )
}

/// A folder with runs, and the options that build a tree from them.
#[derive(Debug)]
pub(super) struct Fixture {
    pub(super) folder: TempDir,
    pub(super) options: BuildOptions,
}

impl Fixture {
    /// Creates runs of two benchmarks, in all their scenarios.
    pub(super) fn new(division: Division, round: Round) -> Fixture {
        let mut runs = Vec::new();
        for (benchmark, scenario) in
            [("llama3_1-8b", "Offline"), ("llama3_1-8b", "Server"), ("llama3_1-8b-interactive", "Server")]
        {
            runs.extend(["PerformanceOnly", "AccuracyOnly", "TEST06"].map(|mode| (benchmark, scenario, mode)));
        }
        for scenario in ["Offline", "SingleStream"] {
            runs.extend(["PerformanceOnly", "AccuracyOnly"].map(|mode| ("llama3_1-8b-edge", scenario, mode)));
        }
        Fixture::with_runs(&runs, division, round)
    }

    pub(super) fn with_runs(
        runs: &[(&'static str, &'static str, &'static str)],
        division: Division,
        round: Round,
    ) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let used = runs.iter().map(|(benchmark, scenario, _)| {
            let interactive = benchmark.strip_suffix("-interactive");
            let folder = interactive.unwrap_or(benchmark).replace('_', ".");
            Some(format!("{folder}/{}", if interactive.is_some() { "Interactive" } else { scenario }))
        });
        let used: Vec<_> = used.collect();
        let runs = runs.iter().map(|(benchmark, scenario, mode)| {
            Run { round, ..Run::new(benchmark, scenario, mode) }.write(folder.path())
        });
        let runs = runs.collect();
        fs::write(path("h100x8.json"), system(division).to_string()).unwrap();
        fs::write(path("scores.txt"), format!("Results\n\n{SCORES}\n")).unwrap();
        fs::write(path("edge-scores.txt"), format!("{EDGE_SCORES}\n")).unwrap();
        let facts = json!({
            "input_data_types": "int32", "retraining": "N", "starting_weights_filename": "model.safetensors",
            "weight_data_types": "bf16", "weight_transformations": "none"
        });
        fs::write(path("measurements.json"), facts.to_string()).unwrap();
        fs::write(path("calibration.md"), "Nothing was quantised.\n").unwrap();
        let given = |case: &str, file: &str| ScenarioFile { case: Some(case.into()), path: path(file) };
        let accuracy = ["Offline", "Server", "Interactive"].map(|it| given(&format!("llama3.1-8b/{it}"), "scores.txt"));
        let edge = ["Offline", "SingleStream"].map(|it| given(&format!("llama3.1-8b-edge/{it}"), "edge-scores.txt"));
        let options = BuildOptions {
            out: path("tree"),
            submitter: "Us".into(),
            system: path("h100x8.json"),
            division,
            round,
            benchmark: None,
            accuracy: accuracy.into_iter().chain(edge).filter(|it| used.contains(&it.case)).collect(),
            measurements: vec![ScenarioFile { case: None, path: path("measurements.json") }],
            calibration: Some(path("calibration.md")),
            end_of_sequence: None,
            elements: ElementType::default(),
            same_system: false,
            incomplete: false,
            runs,
        };
        Fixture { folder, options }
    }
}

/// Returns a system description without faults.
fn system(division: Division) -> serde_json::Value {
    let mut system = json!({
        "division": division.name(), "submitter": "Us", "status": "available", "system_name": "eight H100",
        "number_of_nodes": "1", "accelerators_per_node": 8, "system_type": "datacenter,edge",
    });
    let words = "host_processor_model_name host_processors_per_node host_processor_core_count host_memory_capacity \
        host_storage_capacity host_storage_type accelerator_model_name accelerator_memory_capacity framework \
        operating_system other_software_stack host_memory_configuration host_networking host_networking_topology \
        accelerator_host_interconnect accelerator_interconnect accelerator_memory_configuration cooling \
        host_network_card_count";
    let empty = "host_processor_frequency host_processor_caches host_processor_interconnect accelerator_frequency \
        accelerator_interconnect_topology accelerator_on-chip_memories hw_notes sw_notes system_type_detail";
    let network = "network_type network_media network_rate nic_loadgen number_nic_loadgen net_software_stack_loadgen \
        network_protocol number_connections nic_sut number_nic_sut net_software_stack_sut network_topology";
    words.split_whitespace().for_each(|it| system[it] = "a word".into());
    empty.split_whitespace().for_each(|it| system[it] = "".into());
    if division == Division::Network {
        network.split_whitespace().for_each(|it| system[it] = "a word".into());
        system["is_network"] = "True".into();
    }
    system
}
