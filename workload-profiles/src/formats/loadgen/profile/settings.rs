//! `settings` and `seeds`: LoadGen's settings, by the names that configuration files use.

use std::fmt::Write as _;

use crate::{
    loadgen::{KEYS, Scenario, SettingType, Settings},
    reader::{Section, described},
};

/// Maximum value of a real number.
const MAX_REAL: f64 = 1e12;
/// Maximum number of threads that issue queries.
const MAX_THREADS: u64 = 1_024;
/// Maximum number of decimal places of the rate that a search finds.
const MAX_DECIMALS: u64 = 9;

/// Converts `settings` to the text of a configuration file, and returns this text. Settings that no configuration file can contain are applied here.
pub(super) fn read(root: &Section, scenario: Scenario, settings: &mut Settings) -> String {
    let mut text = String::new();
    let Some(section) = root.section("settings") else { return text };
    for key in &KEYS {
        let name = key.name;
        if section.value(name).is_none() {
            continue;
        }
        if name == "mode" {
            section.problem(name, "is a key of the root; write mode there");
        } else if key.built_in_only {
            let remedy = if name.starts_with("test05") || name == "accuracy_log_probability" {
                "take it out"
            } else {
                "write it under seeds"
            };
            section.problem(name, format!("comes only from the mlperf.conf of the round; {remedy}"));
        } else if let Some(value) = value(&section, name, setting_type(name, key.setting_type, scenario)) {
            if !key.under.contains(&scenario) {
                section.notice(name, format!("has no effect in {}", scenario.name()));
            }
            // If each scenario has its own value of the setting, set only the value for this scenario.
            let at = if key.under.contains(&scenario) { scenario } else { key.under[0] };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "*.{}.{name} = {value}", at.name());
        }
    }
    if let Some(decimals) = section.count("server_find_peak_qps_decimals_of_precision", 0..=MAX_DECIMALS) {
        settings.server_find_peak_qps_decimals_of_precision = i32::try_from(decimals).unwrap_or(i32::MAX);
    }
    if let Some(step) = section.positive_number("server_find_peak_qps_boundary_step_size", MAX_REAL) {
        settings.server_find_peak_qps_boundary_step_size = step;
    }
    if let Some(threads) = section.count("server_num_issue_query_threads", 0..=MAX_THREADS) {
        settings.server_num_issue_query_threads = threads;
        section.notice(
            "server_num_issue_query_threads",
            "is only written to the logs; the launcher chooses its own number of threads",
        );
    }
    section.finish();
    text
}

/// Returns the type of a setting. In Server, LoadGen reads the latency limit in whole milliseconds.
fn setting_type(name: &str, setting_type: SettingType, scenario: Scenario) -> SettingType {
    if name == "target_latency" && scenario == Scenario::Server { SettingType::Integer } else { setting_type }
}

/// Returns a value as it is written in a configuration file.
fn value(section: &Section, name: &'static str, setting_type: SettingType) -> Option<String> {
    match setting_type {
        SettingType::Integer => section.seed(name).map(|it| it.to_string()),
        SettingType::Real => section.number(name, 0.0..=MAX_REAL).map(|it| it.to_string()),
        SettingType::Flag => {
            let value = section.value(name)?;
            let flag = match value.as_u64() {
                Some(number @ 0..=1) => Some(number == 1),
                Some(_) => None,
                None => return section.bool(name).map(|it| u8::from(it).to_string()),
            };
            if flag.is_none() {
                section.problem(name, format!("is {}; write true or false", described(value)));
            }
            flag.map(|it| u8::from(it).to_string())
        }
    }
}

/// Reads `seeds`, and sets them.
pub(super) fn seeds(root: &Section, settings: &mut Settings) {
    let Some(section) = root.section("seeds") else { return };
    let round = [settings.qsl_rng_seed, settings.sample_index_rng_seed, settings.schedule_rng_seed];
    for (key, to) in [
        ("qsl", &mut settings.qsl_rng_seed),
        ("sample_index", &mut settings.sample_index_rng_seed),
        ("schedule", &mut settings.schedule_rng_seed),
        ("accuracy_log", &mut settings.accuracy_log_rng_seed),
    ] {
        if let Some(seed) = section.seed(key) {
            *to = seed;
        }
    }
    if round != [settings.qsl_rng_seed, settings.sample_index_rng_seed, settings.schedule_rng_seed] {
        root.notice("seeds", "are not those of the round, so that a checker of submissions refuses the results");
    }
    section.finish();
}
