//! The settings that a configuration file can contain: their names, types, scenarios and units.

use super::{Conf, ConfFile, number};
use crate::{
    loadgen::{Mode, Scenario, Settings},
    problem::{quoted, suggestion},
};

/// How a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingType {
    /// 0 or 1; 1 is on.
    Flag,
    /// A whole number. A decimal point or an exponent, and everything after it, is ignored.
    Integer,
    Real,
}

/// A setting that a file can contain.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub setting_type: SettingType,
    /// The scenarios that use the setting.
    pub under: &'static [Scenario],
    /// Whether only mlperf.conf can set it.
    pub built_in_only: bool,
}

const fn key(name: &'static str, setting_type: SettingType) -> Key {
    Key { name, setting_type, under: &Scenario::ALL, built_in_only: false }
}

const fn under(name: &'static str, setting_type: SettingType, under: &'static [Scenario]) -> Key {
    Key { name, setting_type, under, built_in_only: false }
}

const fn built_in(name: &'static str, setting_type: SettingType) -> Key {
    Key { name, setting_type, under: &Scenario::ALL, built_in_only: true }
}

const SERVER: &[Scenario] = &[Scenario::Server];
const WITH_LATENCY: &[Scenario] = &[Scenario::SingleStream, Scenario::MultiStream, Scenario::Server];
/// All scenarios. Offline is included because mlperf.conf sets its percentile, although Offline does not use it.
const WITH_PERCENTILE: &[Scenario] = &Scenario::ALL;

/// All settings.
pub(crate) const KEYS: [Key; 33] = [
    key("mode", SettingType::Integer),
    built_in("qsl_rng_seed", SettingType::Integer),
    built_in("sample_index_rng_seed", SettingType::Integer),
    built_in("schedule_rng_seed", SettingType::Integer),
    key("accuracy_log_rng_seed", SettingType::Integer),
    built_in("accuracy_log_probability", SettingType::Real),
    key("accuracy_log_sampling_target", SettingType::Integer),
    built_in("test05", SettingType::Flag),
    built_in("test05_qsl_rng_seed", SettingType::Integer),
    built_in("test05_sample_index_rng_seed", SettingType::Integer),
    built_in("test05_schedule_rng_seed", SettingType::Integer),
    key("use_token_latencies", SettingType::Flag),
    under("ttft_latency", SettingType::Integer, SERVER),
    under("tpot_latency", SettingType::Integer, SERVER),
    key("infer_token_latencies", SettingType::Flag),
    key("token_latency_scaling_factor", SettingType::Integer),
    under("target_latency_percentile", SettingType::Real, WITH_PERCENTILE),
    under("target_latency", SettingType::Real, WITH_LATENCY),
    under("target_qps", SettingType::Real, &[Scenario::Server, Scenario::Offline]),
    under("samples_per_query", SettingType::Integer, &[Scenario::MultiStream]),
    key("performance_issue_unique", SettingType::Flag),
    key("performance_issue_same", SettingType::Flag),
    key("performance_issue_same_index", SettingType::Integer),
    key("print_timestamps", SettingType::Flag),
    key("sample_concatenate_permutation", SettingType::Flag),
    under("coalesce_queries", SettingType::Flag, SERVER),
    under("max_async_queries", SettingType::Integer, SERVER),
    key("min_duration", SettingType::Integer),
    key("max_duration", SettingType::Integer),
    key("min_query_count", SettingType::Integer),
    key("max_query_count", SettingType::Integer),
    key("performance_sample_count_override", SettingType::Integer),
    key("accuracy_sample_count_override", SettingType::Integer),
];

/// Returns a remark about a line if its effect may surprise its author.
pub(super) fn remark(file: ConfFile, key: &str, value: &str) -> Option<String> {
    let mut parts = key.rsplitn(3, '.');
    let (Some(name), Some(scenario), Some(model)) = (parts.next(), parts.next(), parts.next()) else {
        return Some("has no key of the form model.scenario.name; write one, such as *.Server.target_qps".to_owned());
    };
    let Some(known) = KEYS.iter().find(|it| it.name == name) else {
        let names = KEYS.iter().filter(|it| !it.built_in_only).map(|it| it.name);
        return Some(format!("sets {}, which LoadGen does not know; {}", quoted(name), suggestion(name, names)));
    };
    if scenario != "*" && !known.under.iter().any(|it| it.name() == scenario) {
        let names = known.under.iter().map(|it| it.name());
        return Some(match Scenario::ALL.iter().any(|it| it.name() == scenario) {
            true => format!("is ignored: {name} is a setting of {}", names.collect::<Vec<_>>().join(", ")),
            false => format!(
                "has the scenario {}, which LoadGen does not know; {}",
                quoted(scenario),
                suggestion(scenario, names)
            ),
        });
    }
    if file == ConfFile::AuditConfig && model != "*" {
        return Some(format!(
            "is ignored: in audit.config only lines for all models are used; write *.{scenario}.{name}"
        ));
    }
    if file != ConfFile::MlperfConf && known.built_in_only {
        return Some(format!("is ignored: {name} comes only from the built-in mlperf.conf of the round; take it out"));
    }
    let server_limit = name == "target_latency" && scenario == "Server";
    let whole = known.setting_type != SettingType::Real || server_limit;
    let (read, length) = number::integer(value);
    if name == "mode" && mode(read).is_none() {
        return Some(format!(
            "is an error to LoadGen, which keeps the mode as it was: {read} is not a mode; write 0 to 3"
        ));
    }
    if whole && length < value.len() {
        return Some(format!("is read as {read}, a whole number; write it as one"));
    }
    let real = number::real(value).0;
    match name {
        _ if ON_ONLY_AT_1.contains(&name) && read > 1 => {
            Some(format!("is read as off: {name} is on only at 1; write 1"))
        }
        "max_async_queries" if i32::try_from(read).is_err() => Some(format!(
            "is truncated to 32 bits, which gives {}; write at most {}, or 0 for no limit",
            read as i32,
            i32::MAX
        )),
        "target_latency_percentile" if real > 0.0 && real <= 1.0 => {
            Some(format!("is read as {real} percent; write 99 for 99 percent"))
        }
        _ => None,
    }
}

/// Flags that are on only if their value is 1. All other flags are on for every value except 0.
const ON_ONLY_AT_1: [&str; 4] =
    ["use_token_latencies", "infer_token_latencies", "sample_concatenate_permutation", "test05"];

fn mode(number: u64) -> Option<Mode> {
    Some(match number {
        0 => Mode::SubmissionRun,
        1 => Mode::AccuracyOnly,
        2 => Mode::PerformanceOnly,
        3 => Mode::FindPeakPerformance,
        _ => return None,
    })
}

/// Nanoseconds in a millisecond.
const NS: u64 = 1_000_000;

impl Conf {
    /// Applies the file's settings for a model in a scenario.
    pub(super) fn apply(&self, model: &str, scenario: Scenario, it: &mut Settings) {
        let integer_of = |scenario, name| self.find(model, scenario, name).map(|it| number::integer(&it.value).0);
        let real_of = |scenario, name| self.find(model, scenario, name).map(|it| number::real(&it.value).0);
        let integer = |name| integer_of(scenario, name);
        let one = |name| integer(name).map(|value| value == 1);
        let any = |name| integer(name).map(|value| value != 0);
        let nanoseconds = |name| integer_of(Scenario::Server, name).map(|value| value.wrapping_mul(NS));
        let share = |scenario| real_of(scenario, "target_latency_percentile").map(|value| value * 0.01);
        let latency = |scenario| real_of(scenario, "target_latency").map(|value| value * NS as f64);

        set(&mut it.mode, integer("mode").and_then(mode));
        if self.file == ConfFile::MlperfConf {
            set(&mut it.qsl_rng_seed, integer("qsl_rng_seed"));
            set(&mut it.sample_index_rng_seed, integer("sample_index_rng_seed"));
            set(&mut it.schedule_rng_seed, integer("schedule_rng_seed"));
            set(
                &mut it.accuracy_log_probability,
                real_of(scenario, "accuracy_log_probability").map(|value| value * 0.01),
            );
            set(&mut it.test05, one("test05"));
            set(&mut it.test05_qsl_rng_seed, integer("test05_qsl_rng_seed"));
            set(&mut it.test05_sample_index_rng_seed, integer("test05_sample_index_rng_seed"));
            set(&mut it.test05_schedule_rng_seed, integer("test05_schedule_rng_seed"));
        }
        set(&mut it.use_token_latencies, one("use_token_latencies"));
        if it.use_token_latencies {
            set(&mut it.server_ttft_latency, nanoseconds("ttft_latency"));
            set(&mut it.server_tpot_latency, nanoseconds("tpot_latency"));
        }
        set(&mut it.infer_token_latencies, one("infer_token_latencies"));
        if it.infer_token_latencies {
            set(&mut it.token_latency_scaling_factor, integer("token_latency_scaling_factor"));
        }
        set(&mut it.single_stream_target_latency_percentile, share(Scenario::SingleStream));
        set(&mut it.multi_stream_target_latency_percentile, share(Scenario::MultiStream));
        set(&mut it.server_target_latency_percentile, share(Scenario::Server));
        set(&mut it.multi_stream_samples_per_query, integer_of(Scenario::MultiStream, "samples_per_query"));
        set(&mut it.single_stream_expected_latency_ns, latency(Scenario::SingleStream));
        set(&mut it.multi_stream_expected_latency_ns, latency(Scenario::MultiStream));
        set(&mut it.server_target_latency_ns, nanoseconds("target_latency"));
        set(&mut it.server_target_qps, real_of(Scenario::Server, "target_qps"));
        set(&mut it.offline_expected_qps, real_of(Scenario::Offline, "target_qps"));
        set(&mut it.performance_issue_unique, any("performance_issue_unique"));
        set(&mut it.performance_issue_same, any("performance_issue_same"));
        set(&mut it.performance_issue_same_index, integer("performance_issue_same_index"));
        set(&mut it.print_timestamps, any("print_timestamps"));
        set(&mut it.sample_concatenate_permutation, one("sample_concatenate_permutation"));
        set(&mut it.server_coalesce_queries, integer_of(Scenario::Server, "coalesce_queries").map(|value| value != 0));
        // LoadGen first converts the value to an `int` of 32 bits.
        let max_async_queries =
            integer_of(Scenario::Server, "max_async_queries").map(|value| i64::from(value as i32) as u64);
        set(&mut it.server_max_async_queries, max_async_queries);
        set(&mut it.min_duration_ms, integer("min_duration"));
        set(&mut it.max_duration_ms, integer("max_duration"));
        set(&mut it.min_query_count, integer("min_query_count"));
        set(&mut it.max_query_count, integer("max_query_count"));
        set(&mut it.performance_sample_count_override, integer("performance_sample_count_override"));
        set(&mut it.accuracy_sample_count_override, integer("accuracy_sample_count_override"));
        set(&mut it.accuracy_log_rng_seed, integer("accuracy_log_rng_seed"));
        set(&mut it.accuracy_log_sampling_target, integer("accuracy_log_sampling_target"));
    }
}

/// Sets a field, if the file has a value for it.
fn set<T>(to: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *to = value;
    }
}

#[cfg(test)]
mod tests {
    use crate::loadgen::{ConfError, ConfFile, Remark, Scenario, Settings, apply_config};

    /// Checks the remarks about a line, without their file and text.
    fn check(file: ConfFile, text: &str, expected: &str) {
        let mut settings = Settings::default();
        let remarks: Result<Vec<Remark>, ConfError> =
            apply_config(file, Some(text), "m", Scenario::Server, &mut settings);
        let messages: Vec<String> = remarks.unwrap().into_iter().map(|it| it.message).collect();
        assert_eq!(messages.join("; "), expected, "{text}");
    }

    #[test]
    fn a_line_that_does_not_do_what_it_says_is_remarked() {
        use ConfFile::{AuditConfig as Audit, MlperfConf as BuiltIn, UserConf as User};
        check(User, "a.Server.target_qps = 5", "");
        check(User, "llama3.1-8b.Server.target_qps = 5", "");
        check(
            User,
            "target_qps = 5",
            "has no key of the form model.scenario.name; write one, such as *.Server.target_qps",
        );
        check(
            User,
            "*.Server.target_qsp = 5",
            "sets \"target_qsp\", which LoadGen does not know; did you mean target_qps?",
        );
        check(
            User,
            "*.server.target_qps = 5",
            "has the scenario \"server\", which LoadGen does not know; did you mean Server?",
        );
        check(User, "*.Offline.ttft_latency = 5", "is ignored: ttft_latency is a setting of Server");
        let seed = "is ignored: qsl_rng_seed comes only from the built-in mlperf.conf of the round; take it out";
        check(User, "*.*.qsl_rng_seed = 5", seed);
        check(BuiltIn, "*.*.qsl_rng_seed = 5", "");
        let model = "is ignored: in audit.config only lines for all models are used; write *.Offline.min_duration";
        check(Audit, "m.Offline.min_duration = 5", model);
        check(User, "m.Offline.min_duration = 1e3", "is read as 1, a whole number; write it as one");
        check(User, "m.Server.target_latency = 1.5", "is read as 1, a whole number; write it as one");
        check(User, "m.SingleStream.target_latency = 1.5", "");
        check(User, "*.*.use_token_latencies = 2", "is read as off: use_token_latencies is on only at 1; write 1");
        check(User, "*.*.use_token_latencies = 1", "");
        check(User, "*.*.performance_issue_unique = 2", "");
        let truncated = "is truncated to 32 bits, which gives -1294967296; write at most 2147483647, or 0 for no limit";
        check(User, "*.Server.max_async_queries = 3000000000", truncated);
        let share = "is read as 0.99 percent; write 99 for 99 percent";
        check(User, "*.Server.target_latency_percentile = 0.99", share);
        check(User, "*.Server.target_latency_percentile = 99", "");
        let mode = "is an error to LoadGen, which keeps the mode as it was: 9 is not a mode; write 0 to 3";
        check(User, "m.*.mode = 9", mode);
    }

    #[test]
    fn only_the_built_in_file_sets_seeds_and_the_share_of_logged_answers() {
        let text = "*.*.qsl_rng_seed = 1\n*.*.accuracy_log_probability = 5\n*.*.test05 = 1";
        for (file, expected) in [(ConfFile::MlperfConf, (1, 0.05, true)), (ConfFile::UserConf, (0, 0.0, false))] {
            let mut settings = Settings::default();
            apply_config(file, Some(text), "m", Scenario::Offline, &mut settings).unwrap();
            assert_eq!((settings.qsl_rng_seed, settings.accuracy_log_probability, settings.test05), expected);
        }
    }
}
