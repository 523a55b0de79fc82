//! [I/O] `benchwright mlperf`: a BenchmarkRun of LoadGen tests, made of the flags of a runner of MLPerf Inference.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use crds::{
    ExitCode,
    benchmark_run::{GROUP, KIND, VERSION},
    wording::with_causes,
};
use launcher::{
    console,
    input::{LocalOptions, RunSource},
    run::{self, RunOptions},
};
use report::{
    index,
    prune::{Limits, prune},
    report_file,
};
use serde_json::{Map, Value, json};
use workload_profiles::workload::{check_of_benchmark, without_share};

use super::{plot, preset::PresetArg};

/// The folder below which each kind of run has a folder of its own.
const RESULTS: &str = "results";

#[derive(Args)]
pub(crate) struct MlperfArgs {
    /// The benchmark of the category: Llama 3.1 8B for datacenter, and the one of 5,000 samples for edge
    #[arg(long, value_enum, default_value_t = Category::Datacenter)]
    category: Category,
    /// How samples are issued
    #[arg(long, value_enum, default_value_t = Scenario::Offline)]
    scenario: Scenario,
    /// What is tested
    #[arg(long, value_enum, default_value_t = Mode::Performance)]
    mode: Mode,
    /// Another benchmark, as MLPerf names it, such as llama2-70b-99.9
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// The base URL of the server, without /v1
    #[arg(short = 'U', long, alias = "api-server-url", value_name = "URL", required_unless_present = "simulator")]
    url: Option<String>,
    /// The embedded simulator in place of a server
    #[arg(long, value_name = "PRESET", num_args = 0..=1, default_missing_value = "tiny", conflicts_with = "url")]
    simulator: Option<PresetArg>,
    /// The model that requests name [default: the one that the server serves]
    #[arg(short, long, alias = "model-name", value_name = "NAME")]
    model: Option<String>,
    /// The data set with tokens, and with expected answers for the mode accuracy [default: synthetic prompts]
    #[arg(long, alias = "dataset-path", value_name = "FILE")]
    dataset: Option<PathBuf>,
    /// The column of the prompts [default: tok_input, for chats input]
    #[arg(long, value_name = "NAME", requires = "dataset")]
    column: Option<String>,
    /// Send texts as chats
    #[arg(long)]
    chat: bool,
    /// The number of samples [default: all of the benchmark]
    #[arg(long, value_name = "N")]
    total_sample_count: Option<u64>,
    /// Queries per second in Server, auto (0.8 of the last Offline run, or a search), or search [default: auto]
    #[arg(long, value_name = "QPS")]
    server_target_qps: Option<String>,
    /// Samples per second that are expected in Offline, or auto [default: auto]
    #[arg(long, value_name = "QPS")]
    offline_target_qps: Option<String>,
    /// The expected latency in SingleStream, in milliseconds [default: 1000]
    #[arg(long, value_name = "MS")]
    singlestream_target_latency: Option<f64>,
    /// The least duration of a performance test, in milliseconds [default: that of the round]
    #[arg(long, value_name = "MS")]
    min_duration: Option<u64>,
    /// Requests under way at once in Offline and Server
    #[arg(long, value_name = "N")]
    max_concurrency: Option<u32>,
    /// A user.conf of LoadGen
    #[arg(long, value_name = "FILE")]
    user_conf: Option<PathBuf>,
    /// Ask for 99.9 % of the reference's accuracy in place of 99 %
    #[arg(long)]
    high_accuracy: bool,
    /// The model's tokenizer.json or its folder, for the mode accuracy
    #[arg(long, value_name = "PATH")]
    tokenizer: Option<PathBuf>,
    /// NLTK's folder punkt_tab/english, for the mode accuracy [default: the variable PUNKT_DATA]
    #[arg(long, value_name = "FOLDER")]
    punkt: Option<PathBuf>,
    /// The folder in which runs of this benchmark, scenario and mode have their folders [default: results/BENCHMARK-SCENARIO-MODE]
    #[arg(long, alias = "output-dir", value_name = "DIR")]
    results: Option<PathBuf>,
    /// Keep the folders of earlier runs of the same benchmark, scenario and mode; else only the new one stays
    #[arg(long)]
    keep_all: bool,
    /// Print the BenchmarkRun, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Tell a pipeline the outcome by the exit code, as `benchwright run --gate` does
    #[arg(long)]
    gate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Category {
    Datacenter,
    Edge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scenario {
    Offline,
    Server,
    #[value(alias = "single-stream")]
    Singlestream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    Performance,
    Accuracy,
    Both,
}

impl Scenario {
    /// LoadGen's name.
    fn name(self) -> &'static str {
        match self {
            Scenario::Offline => "Offline",
            Scenario::Server => "Server",
            Scenario::Singlestream => "SingleStream",
        }
    }
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Performance => "performance",
            Mode::Accuracy => "accuracy",
            Mode::Both => "both",
        }
    }
}

impl MlperfArgs {
    fn benchmark(&self) -> String {
        let of_category = match self.category {
            Category::Datacenter => "llama3.1-8b",
            Category::Edge => "llama3.1-8b-edge",
        };
        self.benchmark.clone().unwrap_or_else(|| of_category.to_owned())
    }

    /// The name of the run, which a Kubernetes object can have.
    fn name(&self) -> String {
        let name = format!("{}-{}-{}", self.benchmark(), self.scenario.name(), self.mode.name()).to_lowercase();
        name.replace(|it: char| !it.is_ascii_alphanumeric(), "-")
    }

    /// The profile, in the format of `harness: loadgen`.
    fn profile(&self) -> anyhow::Result<Value> {
        let mut profile = json!({
            "benchmark": self.benchmark(),
            "scenario": self.scenario.name(),
            "mode": self.mode.name(),
            "api": if self.chat { "chat" } else { "completions" },
        });
        let rate = match self.scenario {
            Scenario::Offline => Some(self.offline_target_qps.as_deref()),
            Scenario::Server => Some(self.server_target_qps.as_deref()),
            Scenario::Singlestream => None,
        };
        if let Some(rate) = rate.filter(|_| self.mode != Mode::Accuracy) {
            profile["target_qps"] = number(rate.unwrap_or("auto"));
        }
        let mut settings = Map::new();
        settings.extend(self.min_duration.map(|it| ("min_duration".to_owned(), it.into())));
        if self.scenario == Scenario::Singlestream {
            settings.insert("target_latency".into(), self.singlestream_target_latency.unwrap_or(1_000.0).into());
        }
        if !settings.is_empty() {
            profile["settings"] = settings.into();
        }
        if let Some(count) = self.total_sample_count {
            profile["qsl"] = json!({"total_sample_count": count});
        }
        if let Some(most) = self.max_concurrency.filter(|_| self.scenario != Scenario::Singlestream) {
            profile["maxConcurrency"] = most.into();
        }
        if let Some(file) = &self.user_conf {
            let text = files::user_file::read_text(file, 1 << 20);
            profile["user_conf"] =
                text.map_err(|error| anyhow::anyhow!("cannot read {}: {error}", file.display()))?.into();
        }
        profile["dataset"] = match &self.dataset {
            Some(file) => {
                let mut set = json!({"path": file});
                set.as_object_mut().into_iter().for_each(|it| {
                    it.extend(self.column.iter().map(|name| ("column".to_owned(), name.as_str().into())))
                });
                json!({"file": set})
            }
            None => {
                json!({"synthetic": {"input": {"shape": "lognormal", "mean": 800, "stdDev": 400, "min": 1, "max": 2048}}})
            }
        };
        if self.dataset.is_some() && self.mode != Mode::Performance {
            profile["accuracy"] = self.accuracy();
        }
        Ok(profile)
    }

    fn accuracy(&self) -> Value {
        let benchmark = self.benchmark();
        let mut accuracy = json!({});
        // A benchmark without a check is said by the profile.
        if let Some(check) = check_of_benchmark(&benchmark) {
            let high = self.high_accuracy || check.ends_with("-99.9");
            let base = without_share(&check);
            accuracy["check"] = if high { format!("{base}-99.9") } else { base.to_owned() }.into();
        }
        for (key, path) in [("tokenizer", &self.tokenizer), ("punkt", &self.punkt)] {
            if let Some(path) = path {
                accuracy[key] = json!(path);
            }
        }
        accuracy
    }

    /// The BenchmarkRun as YAML.
    fn document(&self) -> anyhow::Result<String> {
        let mut target = match (&self.url, self.simulator) {
            (Some(url), _) => json!({"url": url}),
            (None, preset) => {
                json!({"simulator": {"preset": crds::benchmark_run::SimulatorPreset::from(preset.unwrap_or_default())}})
            }
        };
        if let Some(model) = &self.model {
            target["model"] = model.as_str().into();
        }
        let profile = serde_saphyr::to_string(&self.profile()?)?;
        let run = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": KIND,
            "metadata": {"name": self.name()},
            "spec": {"harness": "loadgen", "target": target, "profile": {"inline": profile}},
        });
        Ok(serde_saphyr::to_string(&run)?)
    }
}

/// A rate as a number, or a word such as auto.
fn number(rate: &str) -> Value {
    rate.parse::<f64>().ok().filter(|it| it.is_finite()).map_or_else(|| rate.into(), Value::from)
}

/// Exit status: that of `benchwright run`.
pub(crate) fn run(args: &MlperfArgs) -> anyhow::Result<u8> {
    let document = args.document()?;
    if args.dry_run {
        console::print(document)?;
        return Ok(ExitCode::Done.code());
    }
    let results = args.results.clone().unwrap_or_else(|| Path::new(RESULTS).join(args.name()));
    let before = latest(&results);
    let options = RunOptions {
        source: Some(RunSource::Document(document)),
        input: None,
        local: LocalOptions::default(),
        results: Some(results.clone()),
        no_results: false,
        now: false,
        threads: None,
        gate: args.gate,
        baseline: None,
        status_port: None,
        termination_log: None,
        plain: false,
        commit: crate::COMMIT,
    };
    let status = run::run(&options);
    let after = latest(&results).filter(|it| before.as_ref() != Some(it));
    if let Some(folder) = after {
        finish(&results, &folder, &args.name(), args.keep_all);
    }
    Ok(status)
}

/// The names of what lies in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().into_string().ok()).collect()
}

/// The folder of the last finished run.
fn latest(results: &Path) -> Option<PathBuf> {
    Some(results.join(std::fs::read_link(results.join("latest")).ok()?))
}

/// Draws the plots of a new run, and deletes the folders of earlier runs of the same name. What fails here is said, and changes no
/// result.
fn finish(results: &Path, folder: &Path, run: &str, keep_all: bool) {
    let plotted = report_file::read(folder).map_err(anyhow::Error::from).and_then(|(_, document)| {
        plot::write(&document, &folder.join(plot::FOLDER), &plot::Format::PICTURES).map_err(anyhow::Error::from)
    });
    if let Err(error) = plotted {
        console::say(format_args!("benchwright: the plots were not written: {}", with_causes(error.as_ref())));
    }
    if keep_all {
        return;
    }
    let name = folder.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    // The user may have other runs in the same folder. A name is the time, a hyphen and the name of the run.
    let is_other = |it: &String| it.split_once('-').is_none_or(|(_, name)| name != run);
    let of_others: Vec<String> = names_in(results).into_iter().filter(is_other).collect();
    let spared: Vec<&str> = of_others.iter().map(String::as_str).chain([name]).collect();
    let limits = Limits { keep_runs: Some(1), keep_days: None };
    match prune(results, limits, &spared, clock::now().into(), false) {
        Ok(pruned) => {
            if !pruned.deleted.is_empty()
                && let Err(error) = index::rebuild(results)
            {
                console::say(format_args!("benchwright: index.html was not brought up to date: {error}"));
            }
            for (name, error) in &pruned.failed {
                console::say(format_args!("benchwright: the earlier run {name} cannot be deleted: {error}"));
            }
        }
        Err(error) => console::say(format_args!("benchwright: earlier runs were not deleted: {error}")),
    }
}
