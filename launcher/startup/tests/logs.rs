//! Tests that the reader finds in each log what a person finds there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{bytes, names, read, reference};
use crds::server_engine::ServerEngine;
use serde_json::{Value, json};
use startup::{Figure, Outcome, Server, SleepWakeKind, Startup, StepName, read_bytes, result};

/// Asserts the figures of a log. `expected`: their names and values, as in `report.json`.
fn assert_figures(log: &str, expected: &Value) {
    assert_eq!(&serde_json::to_value(read(log).figures).unwrap(), expected, "{log}");
}

/// Asserts the steps of a log: name, seconds and process of each.
fn assert_steps(log: &str, expected: &[(&str, f64, &str)]) {
    let found = read(log).steps;
    let process = |it: &startup::Step| match (&it.process, &it.ended_by) {
        (by, Some(end)) => format!("{} to {}", by.as_ref().map(startup::Process::text).unwrap_or_default(), end.text()),
        (by, None) => by.as_ref().map(startup::Process::text).unwrap_or_default(),
    };
    let found: Vec<_> = found.iter().map(|it| (it.name.name(), it.seconds, process(it))).collect();
    let found: Vec<_> = found.iter().map(|it| (it.0, it.1, it.2.as_str())).collect();
    assert_eq!(found, expected, "{log}");
}

fn assert_head(log: &str, version: &str, model: &str, ready_seconds: f64) -> Startup {
    let found = read(log);
    assert_eq!(found.outcome, Outcome::Ready, "{log}");
    assert_eq!(found.version.as_deref(), Some(version), "{log}");
    assert_eq!(found.model.as_deref().unwrap_or_default(), model, "{log}");
    assert_eq!(found.ready_seconds, Some(ready_seconds), "{log}");
    assert_eq!(found.log.notices, Vec::<String>::new(), "{log}");
    found
}

#[test]
fn a_first_start_that_compiles_on_a_cpu() {
    let log = "vllm-0.32.0-cold-compile-info";
    let found = assert_head(log, "0.32.0", "tiny-llama", 70.0);
    assert_eq!((found.load_format.as_deref(), found.sleep_mode), (Some("auto"), Some(false)));
    assert_eq!(found.started.unwrap().to_string(), "2026-11-21T02:08:51Z");
    assert_figures(
        log,
        &json!({"modelInitSeconds": 0.234719, "weightsLoadSeconds": 0.01, "warmUpSeconds": 0.03, "kvCacheTokens": 1048576.0,
                "engineInitSeconds": 27.03}),
    );
    assert_steps(
        log,
        &[
            ("Get Model Info", 15.0, "APIServer pid=16457"),
            ("Worker Initialization", 14.0, "EngineCore pid=19158 to Worker pid=19753"),
            ("Model Loading", 1.0, "Worker pid=19753"),
            ("Warm-up", 25.0, "Worker pid=19753"),
            ("API Server Starts", 0.0, "APIServer pid=16457"),
        ],
    );
    // 70 s from start to ready, minus the steps of 15, 14, 1 and 25 s.
    assert_eq!(found.uncategorized_seconds, Some(15.0));
}

#[test]
fn a_second_start_has_the_same_steps_and_other_times() {
    let log = "vllm-0.32.0-compile-second-start-info";
    assert_head(log, "0.32.0", "tiny-llama", 61.0);
    let (first, second) = (read("vllm-0.32.0-cold-compile-info"), read(log));
    let names = |it: &Startup| it.steps.iter().map(|it| it.name).collect::<Vec<_>>();
    assert_eq!(names(&first), names(&second));
    assert_eq!(second.figures[&Figure::EngineInitSeconds], 30.64);
}

#[test]
fn a_log_at_debug_has_longer_paths_and_more_lines() {
    let log = "vllm-0.32.0-eager-lora-debug";
    let found = assert_head(log, "0.32.0", "tiny-llama", 40.0);
    // The worker's name changes from VllmWorker-0 to Worker, but its process id does not.
    assert_steps(
        log,
        &[
            ("Get Model Info", 0.0, "APIServer pid=5998"),
            ("Worker Initialization", 15.0, "EngineCore pid=6968 to Worker pid=7159"),
            ("Model Loading", 0.0, "Worker pid=7159"),
            ("API Server Starts", 0.0, "APIServer pid=5998"),
        ],
    );
    let args = found.args.unwrap();
    assert_eq!(
        args["lora_modules"],
        json!([{"LoRAModulePath": "name='lora-a', path='tiny-lora-a', base_model_name=None, is_3d_lora_weight=False"}])
    );
    assert_eq!((&args["max_loras"], &args["enable_lora"]), (&json!(2), &json!(true)));
}

#[test]
fn an_older_engine_prefixes_the_lines_of_uvicorn() {
    let log = "vllm-0.16.0-eager-info";
    let found = assert_head(log, "0.16.0", "tiny-llama", 33.0);
    assert_figures(log, &json!({"weightsLoadSeconds": 0.03, "kvCacheTokens": 524288.0, "engineInitSeconds": 4.71}));
    // This server logs its imports nine seconds before its arguments.
    assert_eq!(found.first_line.unwrap().to_string(), "2026-11-21T02:50:18Z");
    assert_eq!(found.failure, None, "errors of requests are none of the start");
}

#[test]
fn of_two_api_servers_the_last_one_counts() {
    let found = assert_head("vllm-0.32.0-two-api-servers-info", "0.32.0", "tiny-llama", 198.0);
    assert_eq!(found.ready.unwrap().to_string(), "2026-11-21T03:06:32Z");
    let step = found.step(StepName::ApiServerStarts).unwrap();
    assert_eq!((step.processes, step.process.as_ref().unwrap().name.as_str()), (2, "ApiServer_0"));
    assert_eq!(found.log.earlier_starts, 0);
}

#[test]
fn a_failed_start_ends_with_the_words_of_the_first_process_that_failed() {
    let found = read("vllm-0.32.0-failed-start-bad-block-size");
    assert_eq!((found.outcome, found.ready, found.ready_seconds), (Outcome::Failed, None, None));
    let failure = found.failure.clone().unwrap();
    assert_eq!(failure.error.as_deref(), Some("ValueError: No common block size for 16 (CPU_ATTN: [MultipleOf(32)])."));
    assert_eq!((failure.process.unwrap().text().as_str(), failure.line), ("Worker pid=13495", Some(76)));
    assert_eq!(failure.last_line, "warnings.warn('resource_tracker: There appear to be %d '");
    assert!(found.step(StepName::ModelLoading).is_some() && found.step(StepName::ApiServerStarts).is_none());
}

#[test]
fn a_gpu_at_debug_has_every_step_and_figure() {
    let log = "composed-vllm-0.10-gpu-debug";
    let found = assert_head(log, "0.10.0", "meta-llama/Llama-3.1-8B-Instruct", 105.0);
    assert_eq!((found.load_format.as_deref(), found.sleep_mode), (Some("auto"), Some(true)));
    assert_figures(
        log,
        &json!({"weightsLoadSeconds": 3.08, "modelLoadSeconds": 5.214337, "modelSizeGib": 14.9889, "dynamoSeconds": 8.61,
                "compileGraphSeconds": 3.2, "torchCompileSeconds": 33.16, "initialFreeGib": 78.58, "freeAfterProfilingGib": 63.12,
                "memoryProfilingSeconds": 40.02, "kvCacheGib": 55.15, "kvCacheTokens": 451744.0, "graphCaptureSeconds": 21.0,
                "graphCaptureGib": 0.59, "engineInitSeconds": 61.94}),
    );
    assert_steps(
        log,
        &[
            ("Detect Platform", 3.0, ""),
            ("LLM Imports", 14.0, ""),
            ("Get Model Info", 11.0, "APIServer pid=41"),
            ("Worker Initialization", 7.0, ""),
            ("Model Loading", 6.0, ""),
            ("Pytorch Compilation", 38.0, ""),
            ("Dynamo", 9.0, ""),
            ("Inductor", 29.0, ""),
            ("CUDA Graph Capture", 24.0, ""),
            ("API Server Starts", 0.0, "APIServer pid=41"),
        ],
    );
    assert!((found.transfer_rate().unwrap() - 14.9889 / 5.214337).abs() < 1e-9);
    assert_eq!(found.gpus.len(), 2);
    assert_eq!((found.gpus[1].compute_cap.as_str(), found.gpus[1].name.as_str()), ("9.0", "NVIDIA H100 80GB HBM3"));
    let kinds: Vec<_> = found.sleep_wake.iter().map(|it| (it.kind, it.seconds, it.freed_gib, it.in_use_gib)).collect();
    let sleep = (SleepWakeKind::Sleep, 1.281903, Some(69.5), Some(0.75));
    assert_eq!(kinds, [sleep, (SleepWakeKind::Wake, 0.412268, None, None)]);
}

#[test]
fn a_prompt_in_the_log_is_no_line_of_the_start() {
    let found = read("composed-vllm-0.10-gpu-debug");
    assert_eq!(found.ready.unwrap().to_string(), "2026-08-06T10:16:06Z");
    assert_eq!(found.figures[&Figure::ModelLoadSeconds], 5.214337);
}

#[test]
fn the_slowest_of_several_workers_bounds_a_step() {
    let log = "composed-vllm-2026-gpu-tp2-cached";
    let found = assert_head(log, "0.24.0", "example-70b", 88.0);
    let step = found.step(StepName::ModelLoading).unwrap();
    assert_eq!(
        (step.seconds, step.processes, step.process.as_ref().unwrap().text().as_str()),
        (42.0, 2, "Worker_TP1 pid=58")
    );
    assert_eq!(found.figures[&Figure::LoadCompiledGraphSeconds], 0.717);
    assert_eq!((found.figures[&Figure::EngineInitSeconds], found.figures[&Figure::CompilationSeconds]), (19.77, 2.89));
    assert_eq!(found.load_format.as_deref(), Some("fastsafetensors"));
    assert_eq!(found.step(StepName::PytorchCompilation).unwrap().seconds, 3.0);
}

#[test]
fn lines_without_processes_are_of_one_process() {
    let log = "composed-vllm-0.7-no-process";
    let found = assert_head(log, "0.7.2", "", 69.0).figures;
    assert_eq!((found[&Figure::ModelSizeGib], found.get(&Figure::ModelLoadSeconds)), (0.9277, None));
    assert_eq!(found[&Figure::CompileGraphSeconds], 0.34);
}

#[test]
fn sglang_has_years_ranks_and_lines_behind_progress_bars() {
    let log = "composed-sglang-tp2";
    let found = read(log);
    assert_eq!((found.outcome, found.model.as_deref()), (Outcome::Ready, Some("llama-3.1-8b")));
    assert_eq!((found.engine, found.ready_seconds), (Some(ServerEngine::Sglang), Some(46.0)));
    assert_steps(
        log,
        &[
            ("LLM Imports", 18.0, " to TP0"),
            ("Worker Initialization", 6.0, "TP0"),
            ("Model Loading", 6.0, "TP0"),
            ("CUDA Graph Capture", 11.0, "TP0"),
            ("API Server Starts", 2.0, ""),
        ],
    );
    assert_figures(
        log,
        &json!({"distributedInitSeconds": 5.5, "modelLoadSeconds": 3.3, "modelSizeGib": 7.51, "kvCacheTokens": 834615.0,
                "graphCaptureSeconds": 11.35, "graphCaptureGib": 1.04}),
    );
}

#[test]
fn what_is_before_the_end_of_a_serialization_is_left_out() {
    let found = read("composed-vllm-after-serialization");
    assert_eq!(found.figures[&Figure::ModelLoadSeconds], 5.214337);
    assert_eq!(found.log.notices, ["the log begins with a serialization by tensorizer, which is left out"]);
}

#[test]
fn a_start_in_the_night_of_new_year_takes_seconds() {
    let found = assert_head("composed-vllm-0.16-new-year", "0.16.0", "tiny-llama", 33.0);
    assert_eq!(found.ready.unwrap().to_string(), "2027-01-01T00:00:00Z");
}

#[test]
fn no_key_of_an_argument_is_shown() {
    for log in names() {
        let text = serde_json::to_string(&read(&log)).unwrap();
        assert!(!text.contains("0123456789abcdef0123456789abcdef"), "{log}: {text}");
    }
}

#[test]
fn of_several_starts_the_last_one_counts() {
    let (first, second) = ("vllm-0.32.0-cold-compile-info", "vllm-0.16.0-eager-info");
    let both = [bytes(first), bytes(second)].concat();
    let found = read_bytes(&both, &reference(second));
    assert_eq!((found.log.earlier_starts, found.first_line), (1, None));
    assert_eq!((found.version.as_deref(), found.ready_seconds), (Some("0.16.0"), Some(33.0)));
    assert_eq!((&found.figures, &found.steps), (&read(second).figures, &read(second).steps));

    let failed = [bytes("vllm-0.32.0-failed-start-bad-block-size"), bytes(first)].concat();
    let found = read_bytes(&failed, &reference(first));
    assert_eq!((found.outcome, found.log.earlier_starts, found.ready_seconds), (Outcome::Ready, 1, Some(70.0)));
}

#[test]
fn json_is_read_back_as_it_was_written() {
    for log in names() {
        let found = read(&log);
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Startup>(&text).unwrap(), found, "{log}");
    }
}

#[test]
fn the_originals_file_has_its_keys_and_no_zero_for_what_is_not_known() {
    let name = "composed-vllm-0.10-gpu-debug";
    let found = read(name);
    let server = Server { name: "pod vllm", image: Some("vllm:0.10"), pod_start_seconds: Some(121.0), startup: &found };
    let file = result(&[server]);
    assert_eq!(file["scenario"]["platform"]["engines"][0]["args"]["api_key"], "<redacted>");
    assert_eq!(file["scenario"]["sleep_mode"], true);
    let metrics = &file["vllm_metrics"][0];
    assert_eq!(metrics["load"]["size"], 14.9889);
    assert_eq!(
        metrics["memory_profiling"],
        json!({"initial_free": 78.58, "after_free": 63.12, "time": 40.02, "available_kv_cache": 55.15})
    );
    assert_eq!(metrics["categories"][5]["title"], "Pytorch Compilation");
    assert_eq!(metrics["categories"][5]["categories"][1], json!({"title": "Inductor", "elapsed": 29.0}));
    assert_eq!(metrics["sleep_wake"][0]["gpu_freed"], 69.5);
    assert_eq!((&file["time"]["duration"], &file["vllm_metrics"][0]["pod_start"]), (&json!(105.0), &json!(121.0)));

    let eager = read("vllm-0.16.0-eager-info");
    let file = result(&[Server { name: "a", image: None, pod_start_seconds: None, startup: &eager }]);
    let metrics = file["vllm_metrics"][0].as_object().unwrap();
    for key in ["pod_start", "load", "torch_compile", "memory_profiling", "compile_graph"] {
        assert!(!metrics.contains_key(key), "{key}");
    }
}
