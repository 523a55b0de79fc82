//! [I/O] Finds finished tests: in folders of Benchwright's own runs, and in folders of logs that another LoadGen wrote.

use std::{
    fs,
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use crds::Outcome;
use report::{LoadGenConfig, LoadGenSummary};
use workload_profiles::loadgen::{Mode, Round};

use super::{
    super::{detail_log::DetailLog, layout::ScenarioFolder, limits::Benchmark, user_conf},
    options::Missing,
};
use files::user_file;

/// Maximum size of config.json and of user.conf, in bytes. config.json contains the requests of a workload.
const MAX_CONFIG: u64 = 64 << 20;

/// The purpose of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Purpose {
    Performance,
    Accuracy,
    /// Performance and accuracy in one log, from a SubmissionRun.
    Both,
    Test06,
}

/// A finished test, with its logs.
#[derive(Clone, Debug)]
pub(in super::super) struct Test {
    /// The run folder that the user gave.
    pub(super) run: PathBuf,
    /// The name of that folder. For a link such as `latest`, the name of the folder that it points to.
    pub(super) name: String,
    /// The folder that contains the logs.
    pub(in super::super) logs: PathBuf,
    pub(super) purpose: Purpose,
    pub(in super::super) benchmark: &'static Benchmark,
    pub(in super::super) scenario_folder: ScenarioFolder,
    /// The target and the model; `None` unless it is one of Benchwright's own runs.
    pub(super) target: Option<String>,
    pub(super) model: Option<String>,
    /// Text of the user.conf; empty if the file is unknown.
    pub(super) user_conf: String,
    /// Differences between the logs and the user.conf in the same folder.
    pub(super) conf_differences: Vec<String>,
    /// The version of the LoadGen that wrote the logs.
    pub(super) version: String,
    /// Why Benchwright judged the run as Invalid; `None` if it did not.
    pub(super) invalid: Option<String>,
}

impl Test {
    pub(in super::super) fn is_audit(&self) -> bool {
        self.purpose == Purpose::Test06
    }
}

/// Returns the tests in a folder. `benchmark` is the benchmark of folders that do not contain its name.
pub(in super::super) fn tests(run: &Path, benchmark: Option<&str>, round: Round) -> Result<Vec<Test>, Missing> {
    let missing =
        |what: String, remedy: &str| Missing { what: format!("{}: {what}", run.display()), remedy: remedy.into() };
    let config = match fs::metadata(run.join("config.json")) {
        Ok(_) => {
            let config = read(&run.join("config.json"));
            let config = config.and_then(|it| serde_json::from_str::<LoadGenConfig>(&it).map_err(io::Error::from));
            Some(config.map_err(|error| {
                missing(
                    format!("config.json is not from a LoadGen run ({error})"),
                    "give a results folder as it was written",
                )
            })?)
        }
        Err(_) => None,
    };
    let folders = ["", "Performance", "Accuracy"].map(|it| run.join(it));
    let with_logs: Vec<_> = folders.iter().filter(|it| it.join("mlperf_log_detail.txt").is_file()).collect();
    if with_logs.is_empty() {
        return Err(missing(
            "there is no mlperf_log_detail.txt".into(),
            "give the results folder of a LoadGen run, or a folder of LoadGen's logs",
        ));
    }
    let name = config.as_ref().map(|it| it.loadgen.benchmark.as_str()).or(benchmark);
    // The benchmark as the user names it also contains the accuracy target, which LoadGen's name lacks.
    let name = match (name, benchmark) {
        (Some(told), Some(asked)) if same(told, asked, round) => (Some(told), asked),
        (told, _) => (told, told.unwrap_or_default()),
    };
    let (Some(told), wanted) = name else {
        return Err(missing("it does not name its benchmark".into(), "name it by --benchmark, such as llama3.1-8b"));
    };
    let Some(benchmark) = Benchmark::from_name(wanted, round) else {
        let known: Vec<_> = Benchmark::all(round).map(|it| it.folder).collect();
        let remedy =
            format!("{} has {}; name one of them by --benchmark, or another --round", round.name(), known.join(", "));
        return Err(missing(format!("its benchmark {wanted} is not one of the round"), &remedy));
    };
    let folder = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    let folder = folder.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let invalid = invalid(run);
    let mut tests = Vec::new();
    for logs in with_logs {
        let read = user_file::open(&logs.join("mlperf_log_detail.txt")).map(BufReader::new);
        let read = read.map_err(Into::into).and_then(DetailLog::read);
        let log = read.map_err(|error| {
            missing(format!("its mlperf_log_detail.txt is {error}"), "give the log as it was written")
        })?;
        let (purpose, scenario_folder) = purpose_and_folder(&log, benchmark, told)
            .map_err(|what| missing(what, "give performance and accuracy runs, and the run with audit TEST06"))?;
        let user_conf = conf_of(run, logs, config.as_ref(), &log, scenario_folder)
            .map_err(|error| missing(format!("cannot read its user.conf ({error})"), "make it a text file"))?;
        let conf_differences = if config.is_none() && purpose != Purpose::Accuracy {
            user_conf::differences(&user_conf, &log, benchmark, scenario_folder, round)
        } else {
            Vec::new()
        };
        tests.push(Test {
            run: run.to_owned(),
            name: folder.clone(),
            logs: logs.clone(),
            purpose,
            benchmark,
            scenario_folder,
            target: config.as_ref().map(|it| it.target.clone()),
            model: config.as_ref().map(|it| it.model.clone()),
            user_conf,
            conf_differences,
            version: log.shown("loadgen_version"),
            invalid: invalid.clone(),
        });
    }
    Ok(tests)
}

/// Returns why one of Benchwright's own runs is Invalid. `None` also if that result is unreadable; then only the logs count.
fn invalid(run: &Path) -> Option<String> {
    let summary: LoadGenSummary = serde_json::from_str(&read(&run.join("summary.json")).ok()?).ok()?;
    (summary.outcome == Outcome::Invalid).then(|| summary.reasons.join("; "))
}

/// Whether two names mean benchmarks with the same LoadGen tests.
fn same(one: &str, other: &str, round: Round) -> bool {
    let loadgen = |it| Benchmark::from_name(it, round).map(|it| it.loadgen);
    loadgen(one).is_some() && loadgen(one) == loadgen(other)
}

fn purpose_and_folder(log: &DetailLog, benchmark: &Benchmark, name: &str) -> Result<(Purpose, ScenarioFolder), String> {
    let mode = log.text("effective_test_mode").unwrap_or_default();
    let sampled = (log.whole("requested_accuracy_log_rng_seed"), log.whole("requested_accuracy_log_sampling_target"));
    let purpose = if mode == Mode::AccuracyOnly.name() {
        Purpose::Accuracy
    } else if mode == Mode::SubmissionRun.name() {
        Purpose::Both
    } else if mode != Mode::PerformanceOnly.name() {
        return Err(format!("a test of mode {} does not belong to a submission", log.shown("effective_test_mode")));
    } else if !log.audited {
        Purpose::Performance
    } else if sampled == (Some(720_381_539_243_781_796), Some(100)) {
        Purpose::Test06
    } else {
        return Err("it is of an audit other than TEST06".into());
    };
    // A test of Interactive is a Server test with other limits. So its name or its limits show what it is.
    let limits = (log.whole("requested_server_ttft_latency"), log.whole("requested_server_tpot_latency"));
    let is_named = name.to_lowercase().contains("-interactive") && !benchmark.folder.contains("-interactive");
    if is_named && benchmark.interactive.is_none() {
        return Err(format!("{name} has no scenario Interactive in this round"));
    }
    let interactive = benchmark
        .interactive
        .is_some_and(|it| is_named || limits == (Some(it.ttft_ms * 1_000_000), Some(it.tpot_ms * 1_000_000)));
    let scenario = log.shown("effective_scenario");
    let scenario_folder = ScenarioFolder::from_log(&scenario, interactive);
    let scenario_folder = scenario_folder.filter(|it| benchmark.takes(*it));
    let scenario_folder =
        scenario_folder.ok_or_else(|| format!("scenario {scenario} is not one of {}", benchmark.folder))?;
    Ok((purpose, scenario_folder))
}

/// Returns the user.conf of a test. In one of Benchwright's own runs, it also contains settings that come from the profile.
fn conf_of(
    run: &Path,
    logs: &Path,
    config: Option<&LoadGenConfig>,
    log: &DetailLog,
    scenario_folder: ScenarioFolder,
) -> io::Result<String> {
    let Some(config) = config else {
        let found = [logs, run].map(|it| it.join("user.conf")).into_iter().find(|it| it.is_file());
        return found.map_or_else(|| Ok(String::new()), |it| read(&it));
    };
    let scenario = scenario_folder.scenario().name();
    let rate = match scenario_folder {
        ScenarioFolder::Offline => ("target_qps", log.number("requested_offline_expected_qps")),
        ScenarioFolder::Server | ScenarioFolder::Interactive => {
            ("target_qps", log.number("requested_server_target_qps"))
        }
        ScenarioFolder::SingleStream => ("target_latency", millis(log, "requested_single_stream_expected_latency_ns")),
        ScenarioFolder::MultiStream => ("target_latency", millis(log, "requested_multi_stream_expected_latency_ns")),
    };
    let settings = [
        rate,
        ("min_duration", log.number("requested_min_duration_ms")),
        ("min_query_count", log.number("requested_min_query_count")),
    ];
    let mut text = config.loadgen.user_conf.trim_end().to_owned();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str("# As the test was asked to run.\n");
    for (name, value) in settings {
        if let Some(value) = value {
            text.push_str(&format!("*.{scenario}.{name} = {value}\n"));
        }
    }
    Ok(text)
}

fn millis(log: &DetailLog, key: &str) -> Option<f64> {
    Some(log.number(key)? / 1e6)
}

pub(super) fn read(path: &Path) -> io::Result<String> {
    user_file::read_text(path, MAX_CONFIG)
}
