//! Reads OpenTelemetry spans whose attributes follow the conventions for generative AI. Pure.

use std::collections::HashSet;

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::{Map, Value, json};
use workload_profiles::workload::RecordedSessions;

use super::message::{Said, of_chat};

/// Minimum output limit, in tokens, of an answer that can end early. A lower limit could cut a tool call, which is then invalid JSON.
const LEAST_OPEN: u32 = 4_096;

/// A request of a session that has no position in the graph yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawCall {
    /// Seconds since the Unix epoch.
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) messages: Vec<Map<String, Value>>,
    pub(super) answer: Said,
    pub(super) output: u32,
    /// Whether the answer can end early.
    pub(super) may_end: bool,
    pub(super) fields: String,
}

/// Returns the sessions of a file. Accepted forms: a list of spans, an object with `spans`, or a list of such objects.
pub(super) fn records(value: Value) -> Result<Vec<Map<String, Value>>, String> {
    match value {
        Value::Object(record) if record.contains_key("spans") => Ok(vec![record]),
        Value::Array(list) if list.iter().all(|it| it.get("spans").is_some()) => {
            Ok(list.into_iter().filter_map(|it| if let Value::Object(it) = it { Some(it) } else { None }).collect())
        }
        Value::Array(list) => Ok(vec![Map::from_iter([("spans".to_owned(), Value::Array(list))])]),
        _ => Err("is no list of spans, and no object with spans".to_owned()),
    }
}

/// Returns the attributes of a session that a filter can use.
pub(super) fn described(record: &Map<String, Value>) -> Value {
    let spans = record.get("spans").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let tokens = |span: &Value| input_tokens(span).unwrap_or(0) + output_tokens(span).unwrap_or(0);
    let mut models: Vec<&str> =
        spans.iter().filter_map(|it| attribute(it, "gen_ai.request.model").and_then(Value::as_str)).collect();
    models.sort_unstable();
    models.dedup();
    let mut described = record.clone();
    for (key, value) in [
        ("models", json!(models)),
        ("max_tokens", json!(spans.iter().map(tokens).max().unwrap_or(0))),
        ("num_turns", json!(spans.len())),
        ("session_id", spans.iter().find_map(|it| it.get("trace_id")).cloned().unwrap_or_default()),
        ("total_tokens", json!(spans.iter().map(tokens).sum::<u64>())),
    ] {
        described.entry(key).or_insert(value);
    }
    Value::Object(described)
}

/// Returns the requests of a session in the order in which they began. Spans that are not requests are skipped.
pub(super) fn calls(record: &Map<String, Value>, recorded: &RecordedSessions) -> Result<Vec<RawCall>, String> {
    let Some(Value::Array(spans)) = record.get("spans") else { return Err("spans is no list".to_owned()) };
    let mut seen = HashSet::new();
    let mut calls = Vec::new();
    for span in spans {
        let name = span.get("name").and_then(Value::as_str).unwrap_or_default();
        let operation = attribute(span, "gen_ai.operation.name").and_then(Value::as_str);
        let has_failed = span.pointer("/status/code").and_then(Value::as_u64) == Some(2);
        let is_chat = operation.map_or(name.starts_with("chat ") || name == "chat", |it| it == "chat");
        let Some(messages) = attribute(span, "gen_ai.input.messages").filter(|_| is_chat || operation.is_none()) else {
            continue;
        };
        let times = (span.get("start_time"), span.get("end_time"));
        let same = format!("{:?} {:?}", times, span.get("attributes"));
        if (has_failed && !recorded.include_errors) || !seen.insert(same) {
            continue;
        }
        let start = time(times.0).ok_or("a span has no start_time in ISO 8601")?;
        let end = time(times.1).unwrap_or(start);
        let messages = match parsed(messages)? {
            Value::Array(messages) => messages.iter().map(of_chat).collect::<Result<Vec<_>, _>>()?,
            _ => return Err("gen_ai.input.messages is no list".to_owned()),
        };
        let answer = answer(span)?;
        let output = output_tokens(span).and_then(|it| u32::try_from(it).ok()).filter(|it| *it > 0);
        let fields = fields(span, &answer, recorded.tool_calls.forced)?;
        let output = output.unwrap_or(recorded.default_output);
        let may_end = recorded.tool_calls.open_ended && !answer.functions.is_empty();
        let output = if may_end { output.saturating_mul(4).max(LEAST_OPEN) } else { output };
        calls.push(RawCall { start, end, messages, answer, output, may_end, fields });
    }
    calls.retain(|it| !it.messages.is_empty());
    calls.sort_by(|one, other| one.start.total_cmp(&other.start));
    Ok(calls)
}

fn attribute<'a>(span: &'a Value, name: &str) -> Option<&'a Value> {
    span.get("attributes")?.get(name).filter(|it| !it.is_null())
}

fn number(span: &Value, names: [&str; 2]) -> Option<u64> {
    let value = |name: &&str| attribute(span, name);
    let value = names.iter().find_map(value)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn input_tokens(span: &Value) -> Option<u64> {
    number(span, ["gen_ai.usage.prompt_tokens", "gen_ai.usage.input_tokens"])
}

fn output_tokens(span: &Value) -> Option<u64> {
    number(span, ["gen_ai.usage.completion_tokens", "gen_ai.usage.output_tokens"])
}

/// Returns the value. If it is a string, parses that string as JSON.
fn parsed(value: &Value) -> Result<Value, String> {
    match value {
        Value::String(text) => serde_json::from_str(text).map_err(|error| format!("an attribute is no JSON: {error}")),
        other => Ok(other.clone()),
    }
}

fn answer(span: &Value) -> Result<Said, String> {
    let texts = ["gen_ai.output.text", "gen_ai.completion", "gen_ai.output"];
    if let Some(text) = texts.iter().find_map(|it| attribute(span, it).and_then(Value::as_str)) {
        return Ok(Said { text: text.to_owned(), ..Said::default() });
    }
    let Some(messages) = attribute(span, "gen_ai.output.messages") else { return Ok(Said::default()) };
    match parsed(messages)? {
        Value::Array(messages) => match messages.as_slice() {
            [] => Ok(Said::default()),
            [one] => Ok(Said::from_message(&of_chat(one)?)),
            several => Err(format!("gen_ai.output.messages has {} messages, and one is expected", several.len())),
        },
        _ => Err("gen_ai.output.messages is no list".to_owned()),
    }
}

/// Returns the body fields for the tools. If `forced`, and the recorded answer called a tool, the fields include `tool_choice`.
fn fields(span: &Value, answer: &Said, forced: bool) -> Result<String, String> {
    let Some(tools) = attribute(span, "gen_ai.tool.definitions") else { return Ok(String::new()) };
    let Value::Array(tools) = parsed(tools)? else { return Err("gen_ai.tool.definitions is no list".to_owned()) };
    let tools: Vec<Value> = tools
        .into_iter()
        .map(|tool| match &tool {
            Value::Object(it) if !it.contains_key("function") => {
                let mut function = it.clone();
                function.remove("type");
                json!({ "type": "function", "function": function })
            }
            _ => tool,
        })
        .collect();
    if tools.is_empty() {
        return Ok(String::new());
    }
    let offers =
        |name: &String| tools.iter().any(|it| it.pointer("/function/name").and_then(Value::as_str) == Some(name));
    let choice = match (answer.functions.as_slice(), answer.functions.iter().all(offers)) {
        ([], _) => String::new(),
        _ if !forced => String::new(),
        ([name], true) => {
            format!(",\"tool_choice\":{}", json!({ "type": "function", "function": { "name": name } }))
        }
        _ => ",\"tool_choice\":\"required\"".to_owned(),
    };
    Ok(format!("\"tools\":{}{choice}", Value::Array(tools)))
}

/// Converts an ISO 8601 time to seconds since the Unix epoch. A time without a zone is in UTC.
fn time(value: Option<&Value>) -> Option<f64> {
    let text = value?.as_str()?;
    let at: Timestamp = text.parse().ok().or_else(|| {
        let local: DateTime = text.parse().ok()?;
        Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })?;
    Some(at.as_nanosecond() as f64 / 1e9)
}
