//! Recognises the format of a profile from its text, if the text shows it.

use crds::benchmark_run::Harness;
use serde_json::Value;

use super::{
    aiperf,
    common::{command_line::file_name, script},
    vllm_benchmark,
};
use crate::{
    problem::{Problem, named},
    yaml,
};

/// Groups of root keys that only one format has. The first group with a key in the profile decides.
const KEYS: [(&[&str], Harness); 25] = [
    (&["requests", "stages"], Harness::Benchwright),
    (&["scenario", "dataset"], Harness::Loadgen),
    (&["mlperf_conf"], Harness::Loadgen),
    (&["trafficClasses"], Harness::PriorityMix),
    (&["data", "scoring"], Harness::Mmlu),
    (&["data", "shots"], Harness::Mmlu),
    (&["data", "totalLimit"], Harness::Mmlu),
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

/// The harness of the profile's format; `None` if the text does not show it. The text can be an unrendered template, so only its root keys and its
/// first words are read.
pub fn recognise(text: &str) -> Option<Harness> {
    if script::is_script(text) {
        return script::first_tool(text).and_then(|words| of_command(&words, text));
    }
    let keys = root_keys(text);
    let has = |wanted: &[&str]| wanted.iter().all(|it| keys.iter().any(|key| key == it));
    if has(&["executable"]) && text.lines().any(|it| it.starts_with("executable:") && it.contains(INFERENCEMAX)) {
        return Some(Harness::Inferencemax);
    }
    let found = KEYS.iter().find(|(wanted, _)| has(wanted)).map(|(_, harness)| *harness);
    found.or_else(|| match flag_tools(&keys, keys.len()).as_slice() {
        [one] if keys.len() > 1 => Some(*one),
        _ => None,
    })
}

/// The folder of InferenceMAX's tool. Its name in a command line identifies the tool.
const INFERENCEMAX: &str = "bench_serving/";
/// A flag that InferenceMAX's tool has and vLLM's tool does not.
const INFERENCEMAX_FLAG: &str = "--use-chat-template";

fn of_command(words: &[String], text: &str) -> Option<Harness> {
    let program = words.first()?;
    match (file_name(program), words.get(1).map(String::as_str)) {
        ("guidellm", _) => Some(Harness::Guidellm),
        ("aiperf", _) => Some(Harness::Aiperf),
        ("vllm", Some("bench")) => Some(Harness::VllmBenchmark),
        ("benchmark_serving.py", _) => {
            let is_other = program.contains(INFERENCEMAX) || text.contains(INFERENCEMAX_FLAG);
            Some(if is_other { Harness::Inferencemax } else { Harness::VllmBenchmark })
        }
        _ => None,
    }
}

/// Returns the tools that have at least `least` of the keys as flags. InferenceMAX's tool has the same flags as vLLM's.
fn flag_tools(keys: &[String], least: usize) -> Vec<Harness> {
    let tables = [
        (&[Harness::VllmBenchmark, Harness::Inferencemax][..], vllm_benchmark::has_flag as fn(&str) -> bool),
        (&[Harness::Aiperf][..], aiperf::has_flag),
    ];
    let fits = |has: &fn(&str) -> bool| {
        let known = keys.iter().filter(|it| has(&it.trim_start_matches('-').replace('_', "-"))).count();
        known > 0 && known >= least
    };
    tables.iter().filter(|(_, has)| fits(has)).flat_map(|(harnesses, _)| harnesses.iter().copied()).collect()
}

/// Explains why [`recognise`] finds no harness: what is wrong with the text, or which tools have flags with the names of its keys.
pub fn unrecognised(text: &str) -> String {
    if text.trim().is_empty() {
        return "is empty; write a profile into it, such as one that `benchwright profiles show NAME` prints"
            .to_owned();
    }
    if script::is_script(text) {
        return match script::command(text) {
            Err(error) => error.to_string(),
            Ok(_) => {
                "is a command whose load is not read; write vllm bench serve, guidellm or aiperf profile".to_owned()
            }
        };
    }
    let is_template = text.contains("{{") || text.contains("{%");
    let keys = match yaml::read_all(text) {
        Err(Problem { path, message }) if !is_template => {
            let place = path.strip_prefix("profile").unwrap_or(&path).trim_start_matches(", ").to_owned();
            return if place.is_empty() { message } else { format!("{message} ({place})") };
        }
        Ok((Value::Null, _)) => return "is empty; write a profile into it".to_owned(),
        _ => root_keys(text),
    };
    let harnesses = flag_tools(&keys, keys.len().div_ceil(2));
    let names: Vec<&str> = harnesses.iter().map(|it| it.name()).collect();
    match names.as_slice() {
        [] => "does not show its harness; name it with --harness, such as --harness guidellm".to_owned(),
        [first, ..] => format!(
            "has keys, such as {}, that are flags of {}; name the harness with --harness, such as --harness {first}",
            named(&keys[0]),
            names.join(" and ")
        ),
    }
}

/// Returns the keys at the root of a mapping. An unrendered template is not valid YAML, so its lines are read one by one.
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
            ("python3 benchmarks/benchmark_serving.py --model m", Some(Harness::VllmBenchmark)),
            ("/opt/bin/python benchmark_serving.py", Some(Harness::VllmBenchmark)),
            ("python3 utils/bench_serving/benchmark_serving.py --model m", Some(Harness::Inferencemax)),
            ("python3 benchmark_serving.py --model m \\\n --use-chat-template", Some(Harness::Inferencemax)),
            ("executable: benchmark_serving.py\nmodel: m", Some(Harness::VllmBenchmark)),
            ("executable: bench_serving/benchmark_serving.py\nmodel: m", Some(Harness::Inferencemax)),
            (
                "#!/bin/bash\nset -e\nexport A=1\nB=2\n\nC=3 uv run vllm bench serve --model $B",
                Some(Harness::VllmBenchmark),
            ),
            ("vllm serve m", None),
            ("concurrency: 4\nrequest-count: 10\nisl: 5", Some(Harness::Aiperf)),
            ("dataset-name: random\nrandom-input-len: 10", None),
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

    #[test]
    fn what_is_not_recognised_says_why() {
        for (text, expected) in [
            ("", "is empty; write a profile into it, such as one that"),
            ("# nothing\n", "is empty; write a profile into it"),
            ("a: [1\n", "is no readable YAML: "),
            (
                "dataset-name: random\nrandom-input-len: 10",
                "has keys, such as dataset-name, that are flags of vllm-benchmark and inferencemax; name the harness with --harness, such as \
                 --harness vllm-benchmark",
            ),
            ("concurency: 4\nrequest-count: 10", "has keys, such as concurency, that are flags of aiperf; name"),
            ("docker run x", "holds the command docker, which runs a container"),
            ("vllm serve m", "is a command whose load is not read; write vllm bench serve"),
            ("key: 1", "does not show its harness; name it with --harness"),
        ] {
            let found = unrecognised(text);
            assert!(found.starts_with(expected), "{text}\n{found}");
        }
        assert!(unrecognised("a: b\n  c: d: e\n").contains("line 2"), "{}", unrecognised("a: b\n  c: d: e\n"));
    }
}
