//! [I/O] `benchwright mlperf`: creates a BenchmarkRun of LoadGen tests from the flags of an MLPerf Inference runner, and runs it.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::{Args, ValueEnum};
use crds::{Outcome, wording::with_causes};
use files::{user_file, write_whole};
use report::{LoadGenSummary, index, prune::remove_finished, report_file};
use serde_json::{Map, Value, json};
use workload_profiles::{
    loadgen::{self, ConfFile, Settings, apply_config},
    workload::{check_of_benchmark, without_share},
};

use super::{
    plot,
    runner_args::{RunArgs, Switch, TargetArgs, say},
};

/// The runner's name for the data set that it downloads.
const CNN_DAILY_MAIL: &str = "cnndm";
/// Context length for synthetic prompts, in tokens. A prompt and its answer fit into it, for every model.
const CONTEXT: u32 = 2_048;
/// Maximum tokens of an answer from Llama 3.1 8B.
const ANSWER: u32 = 128;
/// Maximum size of a settings file and of a summary, in bytes.
const MAX_BYTES: u64 = 4 << 20;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright mlperf --simulator --total-sample-count 50
  benchwright mlperf -U http://server:8000 --scenario server --server-target-qps 10")]
pub(crate) struct MlperfArgs {
    /// The round of MLPerf Inference, such as 5.1 [default: the newest]
    #[arg(long, value_name = "ROUND")]
    version: Option<String>,
    /// The benchmark of the category: Llama 3.1 8B for datacenter, and its variant with 5,000 samples for edge
    #[arg(long, value_enum, ignore_case = true, default_value_t = Category::Datacenter)]
    category: Category,
    /// How samples are issued
    #[arg(long, value_enum, ignore_case = true, default_value_t = Scenario::Offline)]
    scenario: Scenario,
    /// What is tested
    #[arg(long, alias = "test-mode", value_enum, ignore_case = true, default_value_t = Mode::Performance)]
    mode: Mode,
    /// Another benchmark, as MLPerf or LoadGen names it, such as llama2-70b-99.9
    #[arg(long, alias = "lg-model-name", value_name = "NAME")]
    benchmark: Option<String>,
    /// The data set with tokens, and with expected answers for the mode accuracy [default: synthetic prompts]
    #[arg(long, alias = "dataset-path", value_name = "FILE", help_heading = "Data set")]
    dataset: Option<PathBuf>,
    /// The column of the prompts [default: tok_input, for chats input]
    #[arg(long, value_name = "NAME", requires = "dataset", help_heading = "Data set")]
    column: Option<String>,
    /// Send texts as chats
    #[arg(long, help_heading = "Data set")]
    chat: bool,
    /// The number of samples, or auto for all samples of the benchmark. A smaller number runs a smoke test with about that many samples; its
    /// result is not valid for MLPerf [default: auto]
    #[arg(long, value_name = "N", help_heading = "Data set")]
    total_sample_count: Option<String>,
    /// Samples in one request, in Offline [default: 1]
    #[arg(long, value_name = "N", help_heading = "Load")]
    batch_size: Option<u32>,
    /// Maximum tokens of an answer [default: the benchmark's maximum]
    #[arg(long, value_name = "TOKENS", help_heading = "Load")]
    max_new_tokens: Option<u32>,
    /// Queries per second in Server, auto (0.8 of the last Offline run, or a search), or search [default: auto]
    #[arg(long, value_name = "QPS", help_heading = "Load")]
    server_target_qps: Option<String>,
    /// Samples per second that are expected in Offline, or auto [default: auto]
    #[arg(long, value_name = "QPS", help_heading = "Load")]
    offline_target_qps: Option<String>,
    /// The expected latency in SingleStream, in milliseconds [default: 1000]
    #[arg(long, value_name = "MS", help_heading = "Load")]
    singlestream_target_latency: Option<f64>,
    /// Minimum duration of a performance test, in milliseconds [default: the round's minimum, or 0 in a smoke test]
    #[arg(long, value_name = "MS", help_heading = "Load")]
    min_duration: Option<u64>,
    /// Maximum concurrent requests in Offline and Server
    #[arg(long, value_name = "N", help_heading = "Load")]
    max_concurrency: Option<u32>,
    /// A user.conf of LoadGen
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    user_conf: Option<PathBuf>,
    /// Require 99.9 % of the reference's accuracy in place of 99 %
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "1", default_value = "0", help_heading = "Accuracy")]
    high_accuracy: Switch,
    /// The model's tokenizer.json or its folder, for the mode accuracy
    #[arg(long, value_name = "PATH", help_heading = "Accuracy")]
    tokenizer: Option<PathBuf>,
    /// NLTK's folder punkt_tab/english, for the mode accuracy [default: the variable PUNKT_DATA]
    #[arg(long, value_name = "FOLDER", help_heading = "Accuracy")]
    punkt: Option<PathBuf>,
    /// 0: after a valid run, delete and list earlier runs with the same profile and target; 1: keep them
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "1", default_value = "1", help_heading = "Results")]
    keep_all: Switch,
    /// Accepted for compatibility; every run reads the server's metrics
    #[arg(long, help_heading = "Compatibility")]
    enable_metrics: bool,
    /// Accepted for compatibility; every run reports all figures
    #[arg(long, value_enum, value_name = "0|1", help_heading = "Compatibility")]
    extra_metrics: Option<Switch>,
    #[command(flatten, next_help_heading = "Target")]
    target: TargetArgs,
    #[command(flatten, next_help_heading = "Results")]
    run: RunArgs,
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
    fn of_loadgen(self) -> loadgen::Scenario {
        match self {
            Scenario::Offline => loadgen::Scenario::Offline,
            Scenario::Server => loadgen::Scenario::Server,
            Scenario::Singlestream => loadgen::Scenario::SingleStream,
        }
    }

    /// LoadGen's name.
    fn name(self) -> &'static str {
        self.of_loadgen().name()
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

/// The LoadGen settings in a user.conf.
struct UserConf {
    text: String,
    benchmark: String,
    scenario: loadgen::Scenario,
}

impl UserConf {
    /// Whether the file sets a setting. The file is applied to two different initial values; if both become equal, the file has set the value.
    fn sets<T: PartialEq>(&self, of: fn(&mut Settings) -> &mut T, values: [T; 2]) -> bool {
        let [one, other] = values.map(|before| {
            let mut settings = Settings { scenario: self.scenario, ..Settings::default() };
            *of(&mut settings) = before;
            // If a line is wrong, the profile reports it later.
            let read =
                apply_config(ConfFile::UserConf, Some(&self.text), &self.benchmark, self.scenario, &mut settings);
            read.is_ok().then_some(settings)
        });
        one.zip(other).is_some_and(|(mut one, mut other)| of(&mut one) == of(&mut other))
    }

    /// Whether the profile should contain the setting: if the flag is given, or if the file does not contain it. Prints a note if a flag overrides
    /// the file.
    fn yields(&self, flag: &str, given: bool, is_set: bool) -> bool {
        if given && is_set {
            say(format_args!("{flag} overrides the value of --user-conf"));
        }
        given || !is_set
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

    /// The name of the run, which is also valid for a Kubernetes object.
    fn name(&self) -> String {
        let name = format!("{}-{}-{}", self.benchmark(), self.scenario.name(), self.mode.name()).to_lowercase();
        name.replace(|it: char| !it.is_ascii_alphanumeric(), "-")
    }

    fn user_conf(&self) -> anyhow::Result<UserConf> {
        let read = self.user_conf.as_ref().map(|file| {
            let text = user_file::read_text(file, MAX_BYTES);
            text.map_err(|error| anyhow::anyhow!("cannot read {}: {error}", file.display()))
        });
        Ok(UserConf {
            text: read.transpose()?.unwrap_or_default(),
            benchmark: loadgen::canonical_benchmark(&self.benchmark()),
            scenario: self.scenario.of_loadgen(),
        })
    }

    /// Number of samples in a smoke test. `None` for a test of the whole benchmark.
    fn smoke_test(&self) -> anyhow::Result<Option<u64>> {
        let Some(text) = self.total_sample_count.as_deref().filter(|it| *it != "auto") else { return Ok(None) };
        let count = text.parse().ok().filter(|it| *it > 0);
        let count = count
            .ok_or_else(|| anyhow::anyhow!("--total-sample-count is {text:?}; write a number above 0, or auto"))?;
        let all = loadgen::samples_of_benchmark(&loadgen::canonical_benchmark(&self.benchmark()));
        Ok(all.is_none_or(|all| count < all).then_some(count))
    }

    /// Returns the profile, in the format of `harness: loadgen`.
    fn profile(&self, target: &Value) -> anyhow::Result<Value> {
        let user_conf = self.user_conf()?;
        let smoke_test = self.smoke_test()?;
        let mut profile = json!({
            "benchmark": self.benchmark(),
            "scenario": self.scenario.name(),
            "mode": self.mode.name(),
            "api": if self.chat { "chat" } else { "completions" },
        });
        if let Some(round) = &self.version {
            profile["round"] = format!("v{}", round.trim_start_matches('v')).into();
        }
        let by_flag = match self.scenario {
            Scenario::Offline => Some(("--offline-target-qps", self.offline_target_qps.as_deref())),
            Scenario::Server => Some(("--server-target-qps", self.server_target_qps.as_deref())),
            Scenario::Singlestream => None,
        };
        if let Some((flag, rate)) = by_flag.filter(|_| self.mode != Mode::Accuracy) {
            let of_file = match self.scenario {
                Scenario::Offline => user_conf.sets(|it| &mut it.offline_expected_qps, [1.0, 2.0]),
                _ => user_conf.sets(|it| &mut it.server_target_qps, [1.0, 2.0]),
            };
            if user_conf.yields(flag, rate.is_some(), of_file) {
                // An Offline smoke test sends all its samples whatever rate is expected, so no search is needed.
                let searched = self.scenario == Scenario::Offline && smoke_test.is_some();
                profile["target_qps"] = number(rate.unwrap_or(if searched { "1" } else { "auto" }));
            }
        }
        let mut settings = Map::new();
        let of_file = user_conf.sets(|it| &mut it.min_duration_ms, [1, 2]);
        let least = self.min_duration.or(smoke_test.map(|_| 0).filter(|_| !of_file));
        if user_conf.yields("--min-duration", self.min_duration.is_some(), of_file) {
            settings.extend(least.map(|it| ("min_duration".to_owned(), it.into())));
        }
        if !user_conf.sets(|it| &mut it.min_query_count, [1, 2]) {
            // In SingleStream, LoadGen may add one more pass over the samples. With a minimum of one query fewer, the test has exactly one pass.
            let fewer = u64::from(self.scenario == Scenario::Singlestream);
            let queries = |it: u64| it.saturating_sub(fewer).max(1);
            settings.extend(smoke_test.map(|it| ("min_query_count".to_owned(), queries(it).into())));
        }
        if self.scenario == Scenario::Singlestream {
            let (flag, given) = ("--singlestream-target-latency", self.singlestream_target_latency);
            let of_file = user_conf.sets(|it| &mut it.single_stream_expected_latency_ns, [1.0, 2.0]);
            if user_conf.yields(flag, given.is_some(), of_file) {
                settings.insert("target_latency".into(), given.unwrap_or(1_000.0).into());
            }
        }
        if !settings.is_empty() {
            profile["settings"] = settings.into();
        }
        if let Some(count) = smoke_test {
            profile["qsl"] = json!({"total_sample_count": count});
            say(format_args!("a smoke test of {count} samples: its result is not a valid result of MLPerf"));
        }
        if let Some(tokens) = self.max_new_tokens {
            profile["tokens"] = json!({"max": tokens});
        }
        if let Some(samples) = self.batch_size {
            profile["batchSize"] = samples.into();
        }
        if let Some(most) = self.max_concurrency.filter(|_| self.scenario != Scenario::Singlestream) {
            profile["maxConcurrency"] = most.into();
        }
        if !user_conf.text.is_empty() {
            profile["user_conf"] = user_conf.text.into();
        }
        let dataset = self.dataset.as_ref().filter(|it| it.as_os_str() != CNN_DAILY_MAIL);
        profile["dataset"] = match dataset {
            Some(file) => {
                let mut set = json!({"path": file});
                set.as_object_mut().into_iter().for_each(|it| {
                    it.extend(self.column.iter().map(|name| ("column".to_owned(), name.as_str().into())))
                });
                json!({"file": set})
            }
            None => {
                self.say_that_prompts_are_synthetic();
                let answer = self.max_new_tokens.unwrap_or(ANSWER);
                let most = match self.target.max_model_len(target) {
                    Some(context) => {
                        let left = context.saturating_sub(answer);
                        ensure!(
                            left > 0,
                            "--max-model-len is {context}, and answers of {answer} tokens leave no room for a prompt; raise it, or lower --max-new-tokens"
                        );
                        left.min(CONTEXT)
                    }
                    None => CONTEXT.saturating_sub(answer).max(CONTEXT / 2),
                };
                json!({"synthetic": {"input": {"shape": "lognormal", "mean": most.min(800), "stdDev": 400, "min": 1, "max": most}}})
            }
        };
        if dataset.is_some() && self.mode != Mode::Performance {
            profile["accuracy"] = self.accuracy();
        }
        Ok(profile)
    }

    /// Prints that the prompts are synthetic. No data set is downloaded, so without a file there are no expected answers either.
    fn say_that_prompts_are_synthetic(&self) {
        let ignored: Vec<&str> = [("--tokenizer", &self.tokenizer), ("--punkt", &self.punkt)]
            .into_iter()
            .filter_map(|(flag, path)| path.is_some().then_some(flag))
            .collect();
        let unscored = match (self.mode, ignored.is_empty()) {
            (Mode::Performance, true) => String::new(),
            (Mode::Performance, false) => format!(", and {} has no effect", ignored.join(" and ")),
            (_, true) => ", and no answer is scored".to_owned(),
            (_, false) => format!(", no answer is scored, and {} has no effect", ignored.join(" and ")),
        };
        let wanted = if self.dataset.is_some() { "cnndm is not downloaded: " } else { "" };
        say(format_args!("{wanted}the prompts are synthetic{unscored}; give the data set as --dataset FILE"));
    }

    fn accuracy(&self) -> Value {
        let benchmark = self.benchmark();
        let mut accuracy = json!({});
        // For a benchmark without a check, the profile reports the problem.
        if let Some(check) = check_of_benchmark(&benchmark) {
            let high = self.high_accuracy == Switch::On || check.ends_with("-99.9");
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
}

/// Converts a rate to a number. Words such as auto remain text.
fn number(rate: &str) -> Value {
    rate.parse::<f64>().ok().filter(|it| it.is_finite()).map_or_else(|| rate.into(), Value::from)
}

/// Returns the exit status of `benchwright run`.
pub(crate) fn run(args: &MlperfArgs) -> anyhow::Result<u8> {
    let target = args.target.target()?;
    let profile = args.profile(&target)?;
    let ended = args.run.run(&args.name(), target, "loadgen", &profile)?;
    if let Some(folder) = &ended.folder {
        draw(folder);
        if args.keep_all == Switch::Off {
            replace_earlier(&args.run.results, folder, &args.name());
        }
    }
    Ok(ended.status)
}

/// Draws the plots of a new run. A failure is reported, but does not change the result.
fn draw(folder: &Path) {
    let plotted = report_file::read(folder).map_err(anyhow::Error::from).and_then(|(_, document)| {
        plot::write(&document, &folder.join(plot::FOLDER), &plot::Format::PICTURES).map_err(anyhow::Error::from)?;
        name_plots(folder)
    });
    if let Err(error) = plotted {
        say(format_args!("the plots were not written: {}", with_causes(error.as_ref())));
    }
}

/// Adds the paths of the plots to the run's `summary.json`.
fn name_plots(folder: &Path) -> anyhow::Result<()> {
    let path = folder.join("summary.json");
    if !path.exists() {
        return Ok(());
    }
    let mut summary: LoadGenSummary = serde_json::from_slice(&user_file::read_regular(&path, MAX_BYTES)?)?;
    let plots = [("tokens_per_sec", "load-output.png"), ("latency_cdf", "cdf-latency.png")].map(|(key, file)| {
        let file = Path::new(plot::FOLDER).join(file);
        (key.to_owned(), json!(folder.join(&file).exists().then_some(file)))
    });
    summary.runner.insert("plots".to_owned(), Map::from_iter(plots).into());
    write_whole(&path, |file| Ok(serde_json::to_writer_pretty(file, &summary)?))?;
    Ok(())
}

/// Deletes the folders of earlier runs with the same settings, if this run is valid. Prints the names of the deleted folders.
fn replace_earlier(results: &Path, folder: &Path, run: &str) {
    if !is_valid(folder) {
        return say("earlier runs are not deleted, because this run is not valid");
    }
    let new = folder.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let Some(of_new) = settings(folder) else {
        return say("earlier runs are not deleted, because the settings of this run cannot be read");
    };
    let entries = std::fs::read_dir(results).into_iter().flatten().flatten();
    let names = entries.filter_map(|it| it.file_name().into_string().ok());
    // The folder may also contain other runs of the user. A folder name consists of the time, a hyphen and the name of the run.
    let is_earlier = |name: &String| {
        let same_run = name.as_str() < new && name.split_once('-').is_some_and(|(_, of)| of == run);
        same_run && settings(&results.join(name)).as_ref() == Some(&of_new)
    };
    let removed = remove_finished(results, names.filter(is_earlier));
    if !removed.deleted.is_empty() {
        say(format_args!("deleted by --keep-all 0: {}", removed.deleted.join(", ")));
        if let Err(error) = index::rebuild(results) {
            say(format_args!("index.html was not brought up to date: {error}"));
        }
    }
    for (name, error) in &removed.failed {
        say(format_args!("the earlier run {name} cannot be deleted: {error}"));
    }
}

/// Returns the settings of a run: its profile and its `run.yaml`, without the fields that differ in every run.
fn settings(folder: &Path) -> Option<(Vec<u8>, Value)> {
    let read = |name: &str| user_file::read_regular(&folder.join(name), MAX_BYTES).ok();
    let mut run: Value = serde_saphyr::from_slice(&read("run.yaml")?).ok()?;
    let keys = run.as_object_mut()?;
    ["run", "promptSalt"].iter().for_each(|key| drop(keys.remove(*key)));
    if keys.get("fixedSeed") == Some(&Value::Bool(false)) {
        keys.remove("seed");
    }
    Some((read("profile.yaml")?, run))
}

/// Whether all tests of a run are valid.
fn is_valid(folder: &Path) -> bool {
    let text = user_file::read_regular(&folder.join("summary.json"), MAX_BYTES).ok();
    let summary = text.and_then(|it| serde_json::from_slice::<LoadGenSummary>(&it).ok());
    summary.is_some_and(|it| it.outcome == Outcome::Passed && it.tests.iter().all(|it| it.valid != Some(false)))
}
