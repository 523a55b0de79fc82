//! Compares a user.conf with the log of its test. Pure.

use serde_json::{Map, Value};
use workload_profiles::loadgen::{ConfFile, Round, Settings, apply_config};

use super::{detail_log::DetailLog, layout::ScenarioFolder, limits::Benchmark};

/// Relative tolerance, because logs contain only six digits of a number.
const TOLERANCE: f64 = 1e-5;

/// Returns differences between a log and the user.conf, one text per setting. Only settings that the file contains are compared.
pub(super) fn differences(
    text: &str,
    log: &DetailLog,
    benchmark: &Benchmark,
    scenario_folder: ScenarioFolder,
    round: Round,
) -> Vec<String> {
    let interactive = if scenario_folder == ScenarioFolder::Interactive { "-interactive" } else { "" };
    let model = format!("{}{interactive}", benchmark.loadgen);
    let scenario = scenario_folder.scenario();
    let mut before = Settings { scenario, ..Settings::default() };
    let built_in = round.mlperf_conf();
    let read = apply_config(ConfFile::MlperfConf, Some(&built_in), &model, scenario, &mut before);
    let mut after = before.clone();
    let read = read.and_then(|_| apply_config(ConfFile::UserConf, Some(text), &model, scenario, &mut after));
    if let Err(error) = read {
        return vec![format!("LoadGen refuses it ({error})")];
    }
    let (before, after) = (fields(&before), fields(&after));
    let changed = after.iter().filter(|(name, value)| before.get(*name) != Some(value));
    let told = changed.filter_map(|(name, value)| {
        let key = format!("requested_{name}");
        let same = match value {
            Value::Bool(wanted) => log.flag(&key)? == *wanted,
            other => close(log.number(&key)?, other.as_f64()?),
        };
        (!same).then(|| format!("it sets {name} to {value}, but the log of the test has {}", log.shown(&key)))
    });
    told.collect()
}

fn fields(settings: &Settings) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Run;

    fn check(conf: &str, scenario: &'static str, expected: &[&str]) {
        let run = Run::new("llama3_1-8b", scenario, "PerformanceOnly");
        let log = DetailLog::read(run.log().as_bytes()).unwrap();
        let benchmark = Benchmark::from_name("llama3.1-8b", Round::V6_1).unwrap();
        let scenario_folder = ScenarioFolder::from_name(scenario).unwrap();
        assert_eq!(differences(conf, &log, benchmark, scenario_folder, Round::V6_1), expected, "{conf}");
    }

    #[test]
    fn what_differs_from_the_log_is_told() {
        check("*.Server.target_qps = 5\n", "Server", &[]);
        check("*.Server.target_qps = 5.00001\n*.Offline.target_qps = 99\n", "Server", &[]);
        let rate = "it sets server_target_qps to 99.0, but the log of the test has 5";
        check("*.Server.target_qps = 99\n", "Server", &[rate]);
        check("llama3_1-8b.Server.target_qps = 99\nother.Server.min_duration = 1\n", "Server", &[rate]);
        let duration = "it sets min_duration_ms to 700000, but the log of the test has 600000";
        check("*.Offline.min_duration = 700000\n", "Offline", &[duration]);
        let tokens = "it sets use_token_latencies to false, but the log of the test has true";
        check("*.*.use_token_latencies = 0\n", "Offline", &[tokens]);
    }

    #[test]
    fn a_file_that_loadgen_refuses_is_told() {
        check(
            "*.Server.target_qps = fast\n",
            "Server",
            &[
                "LoadGen refuses it (user.conf, line 1: \"*.Server.target_qps = fast\" has the value \"fast\", which is not a number; write one)",
            ],
        );
    }
}
