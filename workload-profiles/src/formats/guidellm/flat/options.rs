//! The flat form, written as options of `guidellm benchmark`.

use serde_json::{Map, Value, json};

use super::{OVER_SATURATION, canonical, keys, origin::Origin, read};
use crate::{
    formats::{
        common::command_line::CommandOption,
        guidellm::{
            paths::typed,
            scenario::Scenario,
            words::{DISPLAY, SCENARIO, builtin, single},
        },
    },
    problem::{Findings, suggestion},
};

/// Keys whose options can be repeated.
const REPEATED: [&str; 4] = ["data", "data_args", "rate", "outputs"];

/// Reads options.
pub(in crate::formats::guidellm) fn from_options(options: &[CommandOption], findings: &Findings) -> Option<Scenario> {
    let mut flat = Map::new();
    let mut complete = true;
    for option in options {
        let name = option.name.replace('_', "-");
        let plain = option.name.replace('-', "_");
        let result = if DISPLAY.contains(&name.as_str()) {
            Ok(())
        } else if SCENARIO.contains(&name.as_str()) {
            single(option).and_then(builtin).map(|it| {
                // A scenario never replaces a value that an earlier option has set. The profile of a scenario is always a sweep.
                for (key, value) in it {
                    let value = if key == "profile" { json!("sweep") } else { value };
                    flat.entry(key).or_insert(value);
                }
            })
        } else if OVER_SATURATION.1.contains(&plain.as_str()) {
            flat.insert(OVER_SATURATION.0.to_owned(), Value::Bool(true));
            Ok(())
        } else {
            value_of(&plain, option, &mut flat)
        };
        if let Err(message) = result {
            findings.problem(format!("--{}", option.name), message);
            complete = false;
        }
    }
    if complete { read(&Value::Object(flat), Origin::Options, findings) } else { None }
}

fn value_of(plain: &str, option: &CommandOption, flat: &mut Map<String, Value>) -> Result<(), String> {
    let Some(key) = canonical(plain) else {
        let names: Vec<String> = keys().map(|(key, _)| key.replace('_', "-")).collect();
        return Err(format!("is no known option; {}", suggestion(&option.name, names.iter().map(String::as_str))));
    };
    let text = single(option)?;
    // A data source is always a text, even if it looks like another type.
    let value = if key == "data" { Value::String(text.to_owned()) } else { typed(text)? };
    let values = match (key, value) {
        ("rate", Value::String(text)) => text.split(',').map(|it| typed(it.trim())).collect::<Result<Vec<_>, _>>()?,
        ("rate", Value::Array(values)) => values,
        (_, value) => vec![value],
    };
    if REPEATED.contains(&key) {
        match flat.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(all) => all.extend(values),
            other => *other = Value::Array(values),
        }
        return Ok(());
    }
    match flat.insert(key.to_owned(), values.into_iter().next().unwrap_or_default()) {
        None => Ok(()),
        Some(_) if key == "profile" => Ok(()),
        Some(_) => Err("is given twice; keep one of them".to_owned()),
    }
}
