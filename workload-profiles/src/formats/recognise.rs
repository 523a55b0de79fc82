//! Tells from the text of a profile whose format it has, where the text shows it.

use crds::benchmark_run::Harness;
use serde_json::Value;

use super::common::command_line::file_name;
use crate::yaml;

/// The first words of command lines, without paths before them, and whose they are.
const COMMANDS: [(&[&str], Harness); 6] = [
    (&["vllm", "bench"], Harness::VllmBenchmark),
    (&["guidellm"], Harness::Guidellm),
    (&["aiperf"], Harness::Aiperf),
    (&["benchmark_serving.py"], Harness::Inferencemax),
    (&["python", "benchmark_serving.py"], Harness::Inferencemax),
    (&["python3", "benchmark_serving.py"], Harness::Inferencemax),
];

/// Groups of root keys that only one format has. A profile has the format of the first group whose keys it has.
const KEYS: [(&[&str], Harness); 22] = [
    (&["requests", "stages"], Harness::Benchwright),
    (&["scenario", "dataset"], Harness::Loadgen),
    (&["mlperf_conf"], Harness::Loadgen),
    (&["trafficClasses"], Harness::PriorityMix),
    (&["load", "data"], Harness::InferencePerf),
    (&["load", "server"], Harness::InferencePerf),
    (&["load", "api"], Harness::InferencePerf),
    (&["scenarios", "qps_values"], Harness::Fmperf),
    (&["spec"], Harness::Guidellm),
    (&["benchmarks"], Harness::Guidellm),
    (&["target", "profile"], Harness::Guidellm),
    (&["target", "rate_type"], Harness::Guidellm),
    (&["target", "data"], Harness::Guidellm),
    (&["profile", "data"], Harness::Guidellm),
    (&["rate_type", "data"], Harness::Guidellm),
    (&["input_tokens"], Harness::Fmperf),
    (&["output_tokens"], Harness::Fmperf),
    (&["min_input_tokens", "max_input_tokens"], Harness::Fmperf),
    (&["min_output_tokens", "max_output_tokens"], Harness::Fmperf),
    (&["url", "endpoint-type"], Harness::Aiperf),
    (&["executable"], Harness::VllmBenchmark),
    (&["base-url"], Harness::VllmBenchmark),
];

/// The harness whose format a profile has; `None` where the text does not show it. The text may be a template that is not yet
/// rendered: only the keys at its root and its first words are read.
pub fn recognise(text: &str) -> Option<Harness> {
    let command = first_words(text);
    if let Some((_, harness)) = COMMANDS.iter().find(|(words, _)| command.starts_with(words)) {
        return Some(*harness);
    }
    let keys = root_keys(text);
    let has = |wanted: &[&str]| wanted.iter().all(|it| keys.iter().any(|key| key == it));
    KEYS.iter().find(|(wanted, _)| has(wanted)).map(|(_, harness)| *harness)
}

/// The words of the first line that is no comment, without paths before them.
fn first_words(text: &str) -> Vec<&str> {
    let line = text.lines().map(str::trim).find(|it| !it.is_empty() && !it.starts_with('#')).unwrap_or_default();
    line.trim_start_matches("---").split_whitespace().map(file_name).collect()
}

/// The keys at the root of a mapping. A template is no YAML before it is rendered, so its lines are read one by one.
fn root_keys(text: &str) -> Vec<String> {
    if let Ok((Value::Object(entries), _)) = yaml::read_all(text) {
        return entries.keys().cloned().collect();
    }
    let keys = text.lines().filter_map(|line| line.split_once(':')).map(|(key, _)| key.trim_end());
    let is_key = |it: &&str| !it.is_empty() && it.chars().all(|it| it.is_ascii_alphanumeric() || "_-".contains(it));
    keys.filter(is_key).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{shipped, shipped_names};

    #[test]
    fn every_shipped_profile_shows_its_harness() {
        for harness in Harness::ALL.into_iter().filter(|it| !matches!(it, Harness::Nop | Harness::Inferencemax)) {
            for name in shipped_names(harness) {
                assert_eq!(recognise(shipped(harness, name).unwrap()), Some(harness), "{name}");
            }
        }
    }

    #[test]
    fn a_command_line_shows_its_tool() {
        for (text, expected) in [
            ("# a comment\nvllm  bench serve \\\n  --model m\n", Some(Harness::VllmBenchmark)),
            ("guidellm run --scenario s.yaml", Some(Harness::Guidellm)),
            ("aiperf profile --model m", Some(Harness::Aiperf)),
            ("/usr/bin/vllm bench serve --model m", Some(Harness::VllmBenchmark)),
            ("python3 benchmarks/benchmark_serving.py --model m", Some(Harness::Inferencemax)),
            ("/opt/bin/python benchmark_serving.py", Some(Harness::Inferencemax)),
            ("guidellm: run", None),
            ("input_tokens: 500\noutput_tokens: 50\n", Some(Harness::Fmperf)),
            ("min_input_tokens: 5\nmax_input_tokens: 9\n", Some(Harness::Fmperf)),
            ("rate_type: sweep\ndata: prompt_tokens=5\n", Some(Harness::Guidellm)),
            ("", None),
            ("a: 1\n", None),
            ("- 1\n", None),
            ("{\"target\": \"http://s\", \"profile\": \"sweep\"}", Some(Harness::Guidellm)),
        ] {
            assert_eq!(recognise(text), expected, "{text}");
        }
    }
}
