//! The common arguments of `benchwright mlperf` and `benchwright mmlu`. They describe the server of the load, with the flags of the MLPerf runner's
//! run.py and mmlu.py, and the place of the results.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum};
use crds::{
    benchmark_run::{GROUP, KIND, SimulatorPreset, VERSION},
    yaml,
};
use files::user_file;
use launcher::{
    console,
    input::{self, LocalOptions, RunSource},
    run::{self, RunOptions},
};
use serde_json::{Value, json};

use super::preset::PresetArg;

/// Maximum size of the file with a server's fields, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Default folder for the results of all runs.
const RESULTS: &str = "results";
/// The runner's short name for its model, and the full name of the model.
const ALIAS: (&str, &str) = ("llama3.1-8b-instruct", "meta-llama/Llama-3.1-8B-Instruct");
/// Maximum duration of a run in seconds: one week, which is the longest allowed time. A test ends by its own rules.
const RUN_SECONDS: u32 = 604_800;

/// The server of the load.
#[derive(Args)]
pub(super) struct TargetArgs {
    /// The base URL of a server that runs already, without /v1 [default: a vLLM is started for the run]
    #[arg(short = 'U', long, alias = "api-server-url", value_name = "URL")]
    url: Option<String>,
    /// The embedded simulator in place of a server
    #[arg(long, value_name = "PRESET", num_args = 0..=1, default_missing_value = "gpu", conflicts_with = "url")]
    simulator: Option<PresetArg>,
    /// The model name in requests, and the model that a started vLLM loads: a repository, a path, or llama3.1-8b-instruct [default: the
    /// served model; for a started vLLM meta-llama/Llama-3.1-8B-Instruct]
    #[arg(short, long, alias = "model-name", value_name = "NAME")]
    model: Option<String>,
    /// The engine that is started
    #[arg(long, value_enum, default_value_t = Backend::Vllm)]
    backend: Backend,
    /// A YAML file with the fields of spec.target.server, for the server that is started. Flags override the file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "simulator"])]
    server_config: Option<PathBuf>,
    /// The data type of weights, for a vLLM that is started
    #[arg(long, value_enum)]
    precision: Option<Precision>,
    /// Number of GPUs for the model, for a vLLM that is started; auto: all GPUs
    #[arg(long, value_name = "N")]
    tensor_parallel_size: Option<String>,
    /// Maximum tokens of prompt and answer together, for a vLLM that is started
    #[arg(long, value_name = "TOKENS")]
    max_model_len: Option<u32>,
    /// Maximum share of a GPU's memory, for a vLLM that is started
    #[arg(long, value_name = "SHARE")]
    gpu_memory_utilization: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backend {
    Vllm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Precision {
    Fp16,
    Bf16,
}

impl TargetArgs {
    /// Returns `spec.target`. If no vLLM is started, prints the flags that only apply to a started vLLM.
    ///
    /// # Errors
    /// The file with the server's fields cannot be read.
    pub(super) fn target(&self) -> anyhow::Result<Value> {
        let model = self.model.as_deref().map(|it| if it == ALIAS.0 { ALIAS.1 } else { it });
        let mut target = match (&self.url, self.simulator) {
            (Some(url), _) => json!({"url": url}),
            (None, Some(preset)) => json!({"simulator": {"preset": SimulatorPreset::from(preset)}}),
            (None, None) => {
                let server = self.server(model)?;
                // A server with `engine: Custom` gets its model from its own arguments, but requests must still name the model.
                let named = model.filter(|_| server["engine"] == "Custom");
                return Ok(match named {
                    Some(model) => json!({"server": server, "model": model}),
                    None => json!({"server": server}),
                });
            }
        };
        if let Some(model) = model {
            target["model"] = model.into();
        }
        let without_effect = [
            ("--precision", self.precision.is_some()),
            ("--tensor-parallel-size", self.tensor_parallel_size.is_some()),
            ("--max-model-len", self.max_model_len.is_some()),
            ("--gpu-memory-utilization", self.gpu_memory_utilization.is_some()),
        ];
        let named: Vec<&str> = without_effect.into_iter().filter_map(|(flag, given)| given.then_some(flag)).collect();
        if !named.is_empty() {
            say(format_args!("these flags have no effect, because this command starts no vLLM: {}", named.join(", ")));
        }
        Ok(target)
    }

    /// Maximum tokens of prompt and answer together: `--max-model-len`, else the field of the server in `target`.
    pub(super) fn max_model_len(&self, target: &Value) -> Option<u32> {
        let of_server = || target.pointer("/server/maxModelLen")?.as_u64().and_then(|it| u32::try_from(it).ok());
        self.max_model_len.or_else(of_server)
    }

    /// Returns `spec.target.server`: a vLLM, unless the file names another engine. The engine defines the defaults of absent fields.
    fn server(&self, model: Option<&str>) -> anyhow::Result<Value> {
        let mut server = self.server_config.as_deref().map_or_else(|| Ok(json!({})), server_file)?;
        let has = |server: &Value, key: &str| server.get(key).is_some();
        if !has(&server, "engine") {
            server["engine"] = "VLLM".into();
        }
        let needs_model = !has(&server, "model") && !has(&server, "modelClaim") && server["engine"] == "VLLM";
        let model = model.filter(|_| server["engine"] != "Custom");
        if let Some(model) = model.or(needs_model.then_some(ALIAS.1)) {
            server["model"] = model.into();
        }
        if let Some(precision) = self.precision {
            server["dtype"] = match precision {
                Precision::Fp16 => "float16",
                Precision::Bf16 => "bfloat16",
            }
            .into();
        }
        if let Some(size) = self.tensor_parallel_size.as_deref() {
            server["tensorParallelSize"] = match (size, size.parse::<u64>()) {
                ("auto", _) => "Auto".into(),
                (_, Ok(number)) => number.into(),
                // The field's own error message lists the valid values.
                (text, Err(_)) => text.into(),
            };
        }
        if let Some(tokens) = self.max_model_len {
            server["maxModelLen"] = tokens.into();
        }
        if let Some(share) = self.gpu_memory_utilization {
            server["gpuMemoryUtilization"] = share.into();
        }
        Ok(server)
    }
}

/// Reads the fields of a server from a YAML file.
fn server_file(file: &Path) -> anyhow::Result<Value> {
    let shown = file.display();
    let text = user_file::read_text(file, MAX_BYTES)
        .with_context(|| format!("--server-config: {shown} cannot be read; write the path of a YAML file"))?;
    let fields = serde_saphyr::from_str::<Value>(&text)
        .with_context(|| format!("--server-config: {shown} is no YAML; write the fields of spec.target.server"))?;
    ensure!(
        fields.is_object(),
        "--server-config: {shown} has no fields; write fields of spec.target.server, such as engine: VLLM"
    );
    Ok(fields)
}

/// Where the results go, and whether the run starts at all.
#[derive(Args)]
pub(super) struct RunArgs {
    /// Each run creates its own folder in this folder
    #[arg(long, aliases = ["results-dir", "output-dir"], value_name = "DIR", default_value = RESULTS)]
    pub(super) results: PathBuf,
    /// Print the BenchmarkRun, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Return the outcome as exit code, for a pipeline, as `benchwright run --gate` does
    #[arg(long)]
    gate: bool,
}

/// The result of a run.
pub(super) struct Ended {
    /// The exit code.
    pub(super) status: u8,
    /// The folder that the run wrote, if any.
    pub(super) folder: Option<PathBuf>,
}

impl RunArgs {
    /// Runs a BenchmarkRun, or prints it. `harness` and `profile` are part of its spec.
    pub(super) fn run(&self, name: &str, target: Value, harness: &str, profile: &Value) -> anyhow::Result<Ended> {
        let profile = yaml::write(profile);
        let document = yaml::write(&json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": KIND,
            "metadata": {"name": name},
            "spec": {
                "harness": harness,
                "target": target,
                "profile": {"inline": profile},
                "execution": {"deadlines": {"runSeconds": RUN_SECONDS}},
            },
        }));
        if self.dry_run {
            input::from_source(&RunSource::Document(document.clone()), &LocalOptions::default())?;
            console::print(document)?;
            return Ok(Ended { status: crds::ExitCode::Done.code(), folder: None });
        }
        let mut folder = None;
        let options = RunOptions {
            source: Some(RunSource::Document(document)),
            input: None,
            local: LocalOptions::default(),
            results: Some(self.results.clone()),
            folder: None,
            no_results: false,
            now: false,
            threads: None,
            gate: self.gate,
            baseline: None,
            status_port: None,
            termination_log: None,
            plain: false,
            commit: crate::commit::COMMIT,
        };
        let status = run::run_into(&options, &mut folder);
        Ok(Ended { status, folder })
    }
}

/// Prints a notice about a flag.
pub(super) fn say(what: impl std::fmt::Display) {
    console::say(format_args!("benchwright: {what}"));
}

/// A flag that the runners write as 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    #[value(name = "0")]
    Off,
    #[value(name = "1")]
    On,
}
