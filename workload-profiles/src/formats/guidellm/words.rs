//! Options of a GuideLLM command line.

use serde_json::{Map, Value, json};

use crate::{formats::common::command_line::CommandOption, problem::quoted};

/// Options that only affect GuideLLM's console output.
pub(super) const DISPLAY: [&str; 5] = [
    "disable-console",
    "disable-console-outputs",
    "disable-console-interactive",
    "disable-progress",
    "display-scheduler-stats",
];
/// Options that name a scenario.
pub(super) const SCENARIO: [&str; 3] = ["scenario", "config", "c"];

/// Returns the value of an option that takes exactly one.
pub(super) fn single(option: &CommandOption) -> Result<&str, String> {
    match option.values.as_slice() {
        [value] => Ok(value),
        [] => Err("has no value; write it after the option".to_owned()),
        [_, next, ..] => Err(format!("has the further word {}; put a value with blanks into quotes", quoted(next))),
    }
}

/// Returns a scenario that ships with GuideLLM. Other options override its values.
pub(super) fn builtin(name: &str) -> Result<Map<String, Value>, String> {
    let text = |tokens: [u32; 8]| {
        let keys = ["prompt_tokens", "prompt_tokens_stdev", "prompt_tokens_min", "prompt_tokens_max"];
        let outputs = ["output_tokens", "output_tokens_stdev", "output_tokens_min", "output_tokens_max"];
        let lengths = keys.into_iter().chain(outputs).zip(tokens).map(|(key, value)| (key.to_owned(), value.into()));
        let kind = ("kind".to_owned(), Value::from("synthetic_text"));
        Value::Object([kind].into_iter().chain(lengths).collect())
    };
    let data = match name {
        "chat" => text([512, 128, 1, 1024, 256, 64, 1, 1024]),
        "rag" => text([4096, 512, 2048, 6144, 512, 128, 1, 1024]),
        _ => {
            return Err(format!(
                "is {}; a file is not read from a command line, so make the file the profile, or name chat or rag, which come with GuideLLM",
                quoted(name)
            ));
        }
    };
    let Value::Object(spec) = json!({"profile": {"kind": "sweep"}, "data": [data]}) else { return Ok(Map::new()) };
    Ok(spec)
}
