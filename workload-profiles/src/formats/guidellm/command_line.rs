//! GuideLLM's command lines: `guidellm run ...` of the nested form, and `guidellm benchmark ...` of the flat form.

use serde_json::{Map, Value, json};

use super::{
    flat,
    paths::{arguments, typed},
    scenario::Scenario,
    words::{DISPLAY, SCENARIO, builtin, single},
};
use crate::{
    formats::common::command_line::{CommandLineError, CommandOption, options, words},
    problem::{Findings, quoted, suggestion},
};

/// The options of `guidellm run`, the key in `spec` for each, and whether the option can be repeated.
const OPTIONS: [(&str, &str, bool); 12] = [
    ("backend", "backend", false),
    ("profile", "profile", false),
    ("constraint", "constraints", true),
    ("tokenizer", "tokenizer", false),
    ("data", "data", true),
    ("data-column-mapper", "data_column_mapper", false),
    ("data-preprocessor", "data_preprocessors", true),
    ("data-finalizer", "data_finalizer", false),
    ("data-loader", "data_loader", false),
    ("seed", "seed", false),
    ("output", "outputs", true),
    ("metrics", "metrics", false),
];
/// Maximum number of benchmarks that overrides create.
const MAX_BENCHMARKS: usize = 1000;

/// Reads a command line. Returns `None` if at least one problem was reported.
pub(super) fn read(text: &str, findings: &Findings) -> Option<Scenario> {
    let of_command = |error: CommandLineError| findings.problem("profile", error.to_string());
    let words = words(text).map_err(of_command).ok()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let settings: Vec<(&str, &str)> = words.iter().map_while(|it| it.split_once('=')).collect();
    let words = &words[settings.len()..];
    let (is_flat, rest) = match words {
        ["guidellm", "run", rest @ ..] => (false, rest),
        ["guidellm", "benchmark", "run", rest @ ..] | ["guidellm", "benchmark", rest @ ..] => (true, rest),
        [_, command, ..] => {
            findings.problem(
                "profile",
                format!("has the command {}; write guidellm run or guidellm benchmark", quoted(command)),
            );
            return None;
        }
        _ => {
            findings.problem("profile", "has no command; write guidellm run or guidellm benchmark");
            return None;
        }
    };
    let rest: Vec<String> = rest.iter().map(|it| (*it).to_owned()).collect();
    let mut options = options(&rest).map_err(of_command).ok()?;
    add_settings(&settings, is_flat, &mut options, findings)?;
    if is_flat { flat::from_options(&options, findings) } else { nested(&options, findings) }
}

/// Adds the environment variables before the command as options. An option in the command line overrides an environment variable.
fn add_settings(
    settings: &[(&str, &str)],
    is_flat: bool,
    options: &mut Vec<CommandOption>,
    findings: &Findings,
) -> Option<()> {
    let mut complete = true;
    for (name, value) in settings.iter().filter(|(name, _)| name.starts_with(flat::SETTING)) {
        let key = match is_flat {
            true => flat::key_of_setting(name),
            false => {
                Err("is a setting of GuideLLM, and guidellm run takes options alone here; take it out, and write \
                          --profile kind=...,max_concurrency=64 for a bound on requests in flight"
                    .to_owned())
            }
        };
        match key {
            Ok(key) if options.iter().any(|it| it.name.replace('-', "_") == key) => {}
            Ok(key) => options.push(CommandOption { name: key.replace('_', "-"), values: vec![(*value).to_owned()] }),
            Err(message) => {
                findings.problem(*name, message);
                complete = false;
            }
        }
    }
    complete.then_some(())
}

fn nested(options: &[CommandOption], findings: &Findings) -> Option<Scenario> {
    let mut spec = Map::new();
    let mut scenario = Map::new();
    let mut benchmarks: Vec<Value> = Vec::new();
    let mut complete = true;
    for option in options {
        let path = format!("--{}", option.name);
        let name = option.name.replace('_', "-");
        let result = if let Some((_, key, repeated)) = OPTIONS.iter().find(|it| it.0 == name) {
            single(option).and_then(arguments).and_then(|value| add(&mut spec, key, *repeated, value))
        } else if SCENARIO.contains(&name.as_str()) {
            single(option).and_then(builtin).map(|it| scenario = it)
        } else if name == "override" {
            overrides(option, &mut benchmarks)
        } else if DISPLAY.contains(&name.as_str()) || name == "label" || name == "l" {
            Ok(())
        } else {
            let known = OPTIONS.iter().map(|it| it.0).chain(["scenario", "override", "label"]);
            Err(format!("is no known option; {}", suggestion(&name, known)))
        };
        if let Err(message) = result {
            findings.problem(path, message);
            complete = false;
        }
    }
    if !complete {
        return None;
    }
    for (key, value) in scenario {
        spec.entry(key).or_insert(value);
    }
    let benchmarks = if benchmarks.is_empty() { Value::Null } else { Value::Array(benchmarks) };
    Scenario::nested(&json!({"spec": spec, "benchmarks": benchmarks}), findings)
}

fn add(spec: &mut Map<String, Value>, key: &str, repeated: bool, value: Value) -> Result<(), String> {
    if repeated {
        if let Value::Array(items) = spec.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
            items.push(value);
        }
        return Ok(());
    }
    match spec.insert(key.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err("is given twice; keep one of them".to_owned()),
    }
}

/// `--override profile.streams 1,2,4` creates one benchmark per value.
fn overrides(option: &CommandOption, benchmarks: &mut Vec<Value>) -> Result<(), String> {
    let [key, values] = option.values.as_slice() else {
        return Err(format!(
            "has {} values; write a path and its values, such as profile.streams 1,2,4",
            option.values.len()
        ));
    };
    for (at, value) in values.split(',').enumerate() {
        if at >= MAX_BENCHMARKS {
            return Err(format!("has more than {MAX_BENCHMARKS} values; write fewer"));
        }
        if benchmarks.len() <= at {
            benchmarks.push(Value::Object(Map::new()));
        }
        // An empty value does not change the benchmark.
        if let (Value::Object(entry), false) = (&mut benchmarks[at], value.trim().is_empty()) {
            entry.insert(key.clone(), typed(value)?);
        }
    }
    Ok(())
}
