//! Which tests there are, and their settings: the built-in mlperf.conf, user.conf, `settings`, `seeds`, `target_qps`, `mode`
//! and audit.config, each over those before it, as LoadGen has them.

use std::collections::BTreeSet;

use super::{benchmark, settings};
use crate::{
    loadgen::{ConfError, ConfFile, Mode, Round, Scenario, Settings, apply_config, audit_config, audit_tests},
    problem::{listed, quoted, suggestion},
    reader::Section,
    workload::{AutoQps, LoadGenTest},
};

/// The highest rate, in queries per second.
pub(super) const MAX_RATE: f64 = 1e6;
/// The share of the Offline rate that a server takes with latency limits, in MLPerf's own runner for Llama 3.1 8B.
const SHARE: f64 = 0.8;
/// The largest share of the Offline rate.
const MAX_SHARE: f64 = 10.0;

/// The tests of a profile.
pub(super) struct Tests {
    pub benchmark: String,
    pub round: Round,
    pub scenario: Scenario,
    pub tests: Vec<LoadGenTest>,
    pub auto_qps: Option<AutoQps>,
    pub user_conf: String,
}

/// Reads them; `None` goes with at least one problem.
pub(super) fn read(root: &Section) -> Option<Tests> {
    let (benchmark, scenario) = (name(root), scenario(root));
    let round = round(root);
    let (audit, user_conf) = (audit(root), root.text("user_conf").unwrap_or_default());
    let modes = modes(root);
    let (scenario, interactive) = scenario.or_else(|| {
        // The other keys are read all the same, so that all that is wrong with them is told.
        settings::read(root, Scenario::Server, &mut Settings::default());
        settings::seeds(root, &mut Settings::default());
        target_qps(root, Scenario::Server, &mut Settings::default());
        None
    })?;
    let benchmark =
        benchmark.map(|it| if interactive && !it.ends_with("-interactive") { it + "-interactive" } else { it });
    let model = benchmark.as_deref().unwrap_or("*");
    if let Some(plain) = model.strip_suffix("-interactive").filter(|it| benchmark::find(it).is_some())
        && benchmark::find(model).is_none()
    {
        root.problem("scenario", format!("is Interactive, for which {plain} has no limits; choose Server"));
    } else if benchmark::find(model).is_none() && benchmark.is_some() {
        let what = "is no benchmark that is known here, so that what mlperf.conf has for all models counts";
        root.notice("benchmark", format!("{model} {what}; {}", suggestion(model, benchmark::names())));
    }
    let mut settings = Settings { scenario, ..Settings::default() };
    let conf = |key: &str, file, text: &str, settings: &mut Settings| {
        apply(root, key, apply_config(file, Some(text), model, scenario, settings));
    };
    conf("round", ConfFile::MlperfConf, &round?.mlperf_conf(), &mut settings);
    conf("user_conf", ConfFile::UserConf, user_conf, &mut settings);
    for other in other_names(user_conf, model) {
        root.notice("user_conf", format!("has lines for {other}, whose name is {model} to LoadGen; write that one"));
    }
    let more = settings::read(root, scenario, &mut settings);
    conf("settings", ConfFile::UserConf, &more, &mut settings);
    settings::seeds(root, &mut settings);
    let auto_qps = target_qps(root, scenario, &mut settings);
    let is_written = modes.as_ref().is_some_and(Option::is_some);
    let modes = modes?.unwrap_or_else(|| vec![settings.mode]);
    let mut tests = Vec::new();
    for mode in &modes {
        let mut settings = Settings { mode: *mode, ..settings.clone() };
        if let Some((key, text)) = audit? {
            let remarks = apply_config(ConfFile::AuditConfig, Some(text), model, scenario, &mut settings);
            // Once for all tests.
            if tests.is_empty() {
                apply(root, key, remarks);
            }
            if settings.mode != *mode && is_written {
                let what = if modes.len() > 1 { "both".to_owned() } else { mode.name().to_owned() };
                root.problem(
                    "mode",
                    format!("is {what}, but {key} makes a {} of each test; leave mode out", settings.mode.name()),
                );
            }
        }
        if settings.mode == Mode::FindPeakPerformance && scenario != Scenario::Server {
            let what = format!("is FindPeakPerformance, which LoadGen has in Server alone, not in {}", scenario.name());
            root.problem("mode", format!("{what}; choose performance"));
        }
        if settings.mode == Mode::FindPeakPerformance && auto_qps.is_some() {
            root.problem("target_qps", "is searched by mode already, from a first rate on; write that as a number");
        }
        tests.push(LoadGenTest { settings, audited: audit?.is_some(), trials_before: Vec::new() });
    }
    Some(Tests { benchmark: benchmark?, round: round?, scenario, tests, auto_qps, user_conf: user_conf.to_owned() })
}

/// What is wrong with a file, and what LoadGen does without a word, go to the key with its text.
fn apply(root: &Section, key: &str, read: Result<Vec<crate::loadgen::Remark>, ConfError>) {
    match read {
        Ok(remarks) => remarks.iter().for_each(|it| root.notice(key, it.to_string())),
        Err(ConfError::Lines(lines)) => lines.iter().for_each(|it| root.problem(key, it.to_string())),
        Err(error @ ConfError::Missing { .. }) => root.problem(key, error.to_string()),
    }
}

/// The names by which a file means a model, and LoadGen another one.
fn other_names<'a>(conf: &'a str, model: &str) -> BTreeSet<&'a str> {
    let models = conf.lines().filter_map(|it| it.split_whitespace().next()?.rsplitn(3, '.').nth(2));
    models.filter(|it| *it != model && benchmark::canonical(it) == model).collect()
}

fn name(root: &Section) -> Option<String> {
    root.require("benchmark", "write LoadGen's name of it, such as llama3_1-8b");
    let name = root.text("benchmark")?.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        root.problem("benchmark", format!("is {}; write a name without blanks, such as llama3_1-8b", quoted(name)));
        return None;
    }
    Some(benchmark::canonical(name))
}

/// The scenario, and whether it is the server with the limits of interactive use.
fn scenario(root: &Section) -> Option<(Scenario, bool)> {
    let choices = Scenario::ALL.map(|it| (it.name(), (it, false)));
    let choices: Vec<_> = choices.into_iter().chain([("Interactive", (Scenario::Server, true))]).collect();
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    root.require("scenario", &format!("write one of {}", listed(&names)));
    root.choice("scenario", &choices)
}

fn round(root: &Section) -> Option<Round> {
    let Some(name) = root.value("round").and_then(|_| root.text("round")) else {
        return root.value("round").is_none().then(Round::default);
    };
    let round = Round::from_name(name);
    if round.is_none() {
        let names = Round::ALL.map(Round::name);
        root.problem("round", format!("is {}; choose one of {}", quoted(name), listed(&names)));
    }
    round
}

/// The modes of the tests: none where the configuration files decide; `None` after a problem.
fn modes(root: &Section) -> Option<Option<Vec<Mode>>> {
    use Mode::{AccuracyOnly, FindPeakPerformance, PerformanceOnly, SubmissionRun};
    if root.value("mode").is_none() {
        return Some(None);
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
    root.choice("mode", &choices).map(|it| Some(it.to_vec()))
}

/// The key and the text of an audit.config, if there is one; `None` after a problem.
fn audit<'a>(root: &Section<'a>) -> Option<Option<(&'static str, &'a str)>> {
    let text = root.text("audit_config");
    let Some(test) = root.text("audit") else {
        let wrong = root.value("audit").is_some();
        return (!wrong).then(|| text.map(|it| ("audit_config", it)));
    };
    if text.is_some() {
        root.problem("audit", "stands beside audit_config; keep one of them");
    }
    let config = audit_config(test);
    if config.is_none() {
        let names: Vec<&str> = audit_tests().collect();
        root.problem("audit", format!("is {}; choose one of {}", quoted(test), listed(&names)));
    }
    config.map(|it| Some(("audit", it)))
}

/// Reads `target_qps`: a number goes into the settings.
fn target_qps(root: &Section, scenario: Scenario, settings: &mut Settings) -> Option<AutoQps> {
    let value = root.value("target_qps")?;
    if root.value("settings").is_some_and(|it| !it["target_qps"].is_null()) {
        root.problem("target_qps", "stands beside settings.target_qps; keep one of them");
    }
    let to = match scenario {
        Scenario::Server => &mut settings.server_target_qps,
        Scenario::Offline => &mut settings.offline_expected_qps,
        Scenario::SingleStream | Scenario::MultiStream => {
            let what = format!("is no setting of {}, which has no rate", scenario.name());
            root.problem("target_qps", format!("{what}; write the expected milliseconds as settings.target_latency"));
            return None;
        }
    };
    let is_number = value.is_number() || value.as_str().is_some_and(|it| it.trim().parse::<f64>().is_ok());
    if is_number {
        if let Some(rate) = root.positive_number("target_qps", MAX_RATE) {
            *to = rate;
        }
        return None;
    }
    let (kind, within) = root.variant("target_qps", &["auto", "lastOffline", "search"])?;
    match (kind, within) {
        ("auto", None) if scenario == Scenario::Offline => Some(AutoQps::Search),
        ("search", None) => Some(AutoQps::Search),
        ("auto" | "lastOffline", None) => Some(AutoQps::LastOffline { share: SHARE }),
        ("lastOffline", Some(within)) => {
            let section = within.section("lastOffline")?;
            let share = match section.value("share") {
                None => Some(SHARE),
                Some(_) => section.positive_number("share", MAX_SHARE),
            };
            section.finish();
            share.map(|share| AutoQps::LastOffline { share })
        }
        (word, _) => {
            root.problem("target_qps", format!("has no settings for {word}; write target_qps: {word}"));
            None
        }
    }
}
