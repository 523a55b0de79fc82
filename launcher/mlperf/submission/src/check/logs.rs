//! Checks that apply to both performance and accuracy logs.

use std::io::BufReader;

use workload_profiles::loadgen::Mode;

use super::{
    super::{detail_log::DetailLog, layout::Division, rules::Rule},
    Case, Check,
};

/// Keys that every log of a complete run contains, although MLPerf's checker does not require them.
const KEYS: [&str; 9] = [
    "loadgen_version",
    "loadgen_build_date_local",
    "loadgen_build_date_utc",
    "loadgen_git_commit_date",
    "loadgen_git_log_message",
    "loadgen_git_status_message",
    "loadgen_file_sha1",
    "power_begin",
    "power_end",
];

impl Check {
    /// Reads the detail log in a folder. `mode` is the mode that its test should have; SubmissionRun is always accepted.
    pub(super) fn detail(&mut self, case: &Case, folder: &str, mode: Mode) -> Option<DetailLog> {
        self.wanted(&format!("{folder}/mlperf_log_summary.txt"), Rule::MissingQuietFile);
        let file = format!("{folder}/mlperf_log_detail.txt");
        let opened = self.tree.open(&file).map(|(it, _)| BufReader::new(it));
        let opened = opened.map_err(|error| self.findings.fault(&file, &error, Rule::MissingFile)).ok()?;
        let log = match DetailLog::read(opened) {
            Ok(log) => log,
            Err(error) => {
                self.findings.add(Rule::Unreadable, &file, "", error, "a detail log of LoadGen");
                return None;
            }
        };
        let mut about = self.findings.about(&file);
        about.want(!log.unmarked, Rule::LogMarker, "", "a first line without :::MLLOG", ":::MLLOG at its beginning");
        if let Some((line, error)) = &log.bad_line {
            about.want(false, Rule::LogLine, "", format!("line {line} that is no JSON ({error})"), "JSON");
        }
        for key in KEYS {
            about.want(log.has(key), Rule::LogKeys, key, "nothing", "a value");
        }
        let scenario = case.scenario_folder.scenario().name();
        let ran = case.ran(&log).scenario().name();
        let accuracy = mode == Mode::AccuracyOnly;
        let (key, rule) = ("effective_scenario", if accuracy { Rule::AccuracyScenario } else { Rule::Scenario });
        about.want(log.text(key) == Some(ran), rule, key, log.shown(key), scenario);
        let (key, modes) = ("effective_test_mode", [mode.name(), Mode::SubmissionRun.name()]);
        let met = log.text(key).is_some_and(|it| modes.contains(&it));
        about.want(met, Rule::TestMode, key, log.shown(key), modes.join(" or "));
        if case.division == Division::Network {
            let met = log.text("sut_name").is_some_and(|it| it.contains("Network SUT"));
            let rule = if accuracy { Rule::AccuracySutName } else { Rule::SutName };
            about.want(met, rule, "sut_name", log.shown("sut_name"), "a name with Network SUT in it");
        }
        if let Some(version) = log.text("loadgen_version").filter(|it| it.contains("compatible")) {
            self.notes.insert(format!(
                "there are logs of {version}, which is not MLCommons' build of LoadGen: official submissions need that"
            ));
        }
        if ran != scenario {
            self.notes.insert(format!("{scenario} of {} is inferred from logs of {ran}", case.benchmark.folder));
        }
        self.version(&log);
        Some(log)
    }

    /// Checks the version of LoadGen. Rounds before v6.0 used LoadGen 5, and later rounds use LoadGen 6. The logs do not allow a more precise check.
    fn version(&mut self, log: &DetailLog) {
        let (Some(version), round) = (log.text("loadgen_version"), self.round.name()) else { return };
        let wanted = if self.layout.together() { "6" } else { "5" };
        if version.split('.').next().is_some_and(|it| it != wanted) {
            self.notes.insert(format!(
                "there are logs of LoadGen {version}, and {round} is measured with LoadGen {wanted}; run the tests with the \
                 LoadGen of the round, or check with the --round of the logs"
            ));
        }
    }
}
