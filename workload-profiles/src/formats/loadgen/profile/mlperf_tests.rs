//! The tests of a profile, and the settings of each test.
//!
//! Settings are applied in LoadGen's order, and later settings override earlier ones: LoadGen's defaults, the mlperf.conf of the round, `user_conf`,
//! the keys `settings`, `seeds`, `target_qps` and `mode`, and finally audit.config.

use super::{
    benchmark,
    conf_files::{self, AuditConfig},
    settings, target_qps,
};
use crate::{
    loadgen::{ConfFile, Mode, Round, Scenario, Settings, apply_config},
    problem::{listed, quoted, suggestion},
    reader::Section,
    workload::{AutoQps, LoadGenTest},
};

/// The tests of a profile.
pub(super) struct Tests {
    pub benchmark: String,
    pub round: Round,
    pub scenario: Scenario,
    pub tests: Vec<LoadGenTest>,
    pub auto_qps: Option<AutoQps>,
    pub user_conf: String,
}

/// The error for a wrong key whose problem has already been added to the findings.
pub(super) struct Reported;

/// Reads the tests; `None`: at least one problem was reported.
pub(super) fn read(root: &Section) -> Option<Tests> {
    let (benchmark, scenario) = (benchmark(root), scenario(root));
    let round = conf_files::round(root);
    let audit = conf_files::audit(root);
    let user_conf = root.text("user_conf").unwrap_or_default();
    let modes = modes(root);
    // If the scenario is wrong, read the other keys as for Server, only to report their problems.
    let (of_tests, interactive) = scenario.unwrap_or((Scenario::Server, false));
    let benchmark =
        benchmark.map(|it| if interactive && !it.ends_with("-interactive") { it + "-interactive" } else { it });
    if let (Some(benchmark), Some(_)) = (&benchmark, scenario) {
        check_benchmark(root, benchmark);
    }
    let model = benchmark.as_deref().unwrap_or("*");
    let mut settings = Settings { scenario: of_tests, ..Settings::default() };
    let apply = |key: &str, file, text: &str, settings: &mut Settings| {
        conf_files::report(root, key, apply_config(file, Some(text), model, of_tests, settings));
    };
    apply("round", ConfFile::MlperfConf, &round.unwrap_or_default().mlperf_conf(), &mut settings);
    apply("user_conf", ConfFile::UserConf, user_conf, &mut settings);
    conf_files::check_names(root, user_conf, model);
    let text = settings::read(root, of_tests, &mut settings);
    apply("settings", ConfFile::UserConf, &text, &mut settings);
    settings::seeds(root, &mut settings);
    let auto_qps = target_qps::read(root, of_tests, &mut settings);
    let tests = tests(root, modes.ok()?, audit.ok()?, model, &settings);
    for test in &tests {
        check_peak(root, &test.settings, auto_qps);
    }
    let (scenario, _) = scenario?;
    Some(Tests { benchmark: benchmark?, round: round?, scenario, tests, auto_qps, user_conf: user_conf.to_owned() })
}

/// Reads LoadGen's name of the benchmark.
fn benchmark(root: &Section) -> Option<String> {
    root.require("benchmark", "write LoadGen's name of it, such as llama3_1-8b");
    let name = root.text("benchmark")?.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        root.problem("benchmark", format!("is {}; write a name without blanks, such as llama3_1-8b", quoted(name)));
        return None;
    }
    Some(benchmark::canonical(name))
}

fn check_benchmark(root: &Section, name: &str) {
    if benchmark::find(name).is_some() {
        return;
    }
    if let Some(plain) = name.strip_suffix("-interactive").filter(|it| benchmark::find(it).is_some()) {
        root.problem("scenario", format!("is Interactive, but {plain} has no limits for it; choose Server"));
    } else {
        let what = "is not a known benchmark, so that the lines of mlperf.conf for all models are used";
        root.notice("benchmark", format!("{name} {what}; {}", suggestion(name, benchmark::names())));
    }
}

/// Reads the scenario. The second value is true for Server with the latency limits for interactive use.
fn scenario(root: &Section) -> Option<(Scenario, bool)> {
    let choices = Scenario::ALL.map(|it| (it.name(), (it, false)));
    let choices: Vec<_> = choices.into_iter().chain([("Interactive", (Scenario::Server, true))]).collect();
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    root.require("scenario", &format!("write one of {}", listed(&names)));
    root.choice("scenario", &choices)
}

/// Reads the mode of each test. `None` if the configuration files decide.
fn modes(root: &Section) -> Result<Option<&'static [Mode]>, Reported> {
    use Mode::{AccuracyOnly, FindPeakPerformance, PerformanceOnly, SubmissionRun};
    if root.value("mode").is_none() {
        return Ok(None);
    }
    let choices: [(&str, &[Mode]); 7] = [
        ("accuracy", &[AccuracyOnly]),
        ("performance", &[PerformanceOnly]),
        ("both", &[AccuracyOnly, PerformanceOnly]),
        ("AccuracyOnly", &[AccuracyOnly]),
        ("PerformanceOnly", &[PerformanceOnly]),
        ("SubmissionRun", &[SubmissionRun]),
        ("FindPeakPerformance", &[FindPeakPerformance]),
    ];
    root.choice("mode", &choices).map(Some).ok_or(Reported)
}

/// Returns one test per mode. All tests share the other settings.
fn tests(
    root: &Section,
    modes: Option<&[Mode]>,
    audit: Option<AuditConfig>,
    model: &str,
    shared: &Settings,
) -> Vec<LoadGenTest> {
    let written = modes.unwrap_or_default();
    let mut tests = Vec::new();
    for mode in modes.unwrap_or(&[shared.mode]) {
        let mut settings = Settings { mode: *mode, ..shared.clone() };
        if let Some(AuditConfig { key, text }) = audit {
            let applied = apply_config(ConfFile::AuditConfig, Some(text), model, shared.scenario, &mut settings);
            // Every test would report the same problems, so only the first one does.
            if tests.is_empty() {
                conf_files::report(root, key, applied);
            }
            if settings.mode != *mode && !written.is_empty() {
                let what = if written.len() > 1 { "both" } else { mode.name() };
                root.problem(
                    "mode",
                    format!(
                        "is {what}, but {key} sets the mode {} for each test; leave mode out",
                        settings.mode.name()
                    ),
                );
            }
        }
        tests.push(LoadGenTest { settings, audited: audit.is_some(), trials_before: Vec::new() });
    }
    tests
}

/// Adds a problem if a search for the peak is combined with a scenario other than Server, or with another search for the rate.
fn check_peak(root: &Section, settings: &Settings, auto_qps: Option<AutoQps>) {
    if settings.mode != Mode::FindPeakPerformance {
        return;
    }
    if settings.scenario != Scenario::Server {
        let scenario = settings.scenario.name();
        let what = format!("is FindPeakPerformance, which LoadGen has only in Server, not in {scenario}");
        root.problem("mode", format!("{what}; choose performance"));
    }
    if auto_qps.is_some() {
        root.problem(
            "target_qps",
            "is searched already, because mode is FindPeakPerformance; write the first rate as a number",
        );
    }
}
