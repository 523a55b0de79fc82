//! An independent reader of exchanges. Unlike the launcher, it parses the whole body at once, as `serde_json::Value`s.
//!
//! A request has failed in any of these cases. Its status is not 2xx. The body is JSON with an error although the status is 200. A stream
//! contains an event with an error, ends without `[DONE]` and without finish reasons, or is cut. A finish reason is `abort` or `error`.

use std::collections::BTreeMap;

use measurement::{output::Output, record::RequestOutcome};
use serde_json::Value;

use super::cases::Case;

/// The result that the launcher is expected to find.
#[derive(Debug)]
pub struct Reading {
    pub outcome: RequestOutcome,
    /// Number of events with visible output.
    pub events: u32,
    /// The body offsets at which the first and the last event that count as tokens were complete; `None` for an answer in one piece.
    pub tokens: Option<(usize, usize)>,
    /// Number of prompt and output tokens, according to the server.
    pub usage: (Option<u64>, Option<u64>),
    /// Words that the failure message must contain: the type of the error, or its text if it has no type.
    pub error: Option<String>,
    /// The output of the first choice; empty if the request failed by its status.
    pub output: Output,
}

/// Reads a case.
pub fn read(case: &Case) -> Reading {
    let kind = case.header("content-type").unwrap_or_default();
    if !(200..300).contains(&case.status) {
        let error = serde_json::from_slice(&case.body).ok().and_then(|it: Value| words(&it));
        return Reading {
            outcome: RequestOutcome::HttpError(case.status),
            events: 0,
            tokens: None,
            usage: (None, None),
            error: error.filter(|_| case.ended && case.status >= 400),
            output: Output::default(),
        };
    }
    let mut found = Found::default();
    let is_stream = kind.starts_with("text/event-stream") || (case.streaming && !kind.contains("json"));
    if is_stream {
        for (end, data) in events(&case.body) {
            found.event(end, &data);
            if found.failed.is_some() {
                break;
            }
        }
    } else if case.ended {
        found.whole(&case.body);
    }
    found.reading(case.ended, is_stream)
}

#[derive(Default)]
struct Found {
    events: u32,
    visible: Vec<usize>,
    silent: Vec<usize>,
    usage: (Option<u64>, Option<u64>),
    /// The finish reason of each choice, by the choice's index.
    finish: BTreeMap<u64, Option<String>>,
    done: bool,
    failed: Option<RequestOutcome>,
    error: Option<String>,
    output: Output,
    has_output: bool,
}

impl Found {
    fn event(&mut self, end: usize, data: &str) {
        if data.trim() == "[DONE]" {
            self.done = true;
            return;
        }
        let Some(event) = serde_json::from_str::<Value>(data).ok().filter(Value::is_object) else {
            self.failed = Some(RequestOutcome::BrokenStream);
            return;
        };
        if !self.value(&event, !self.visible.is_empty()) {
            return;
        }
        let choices = event["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
        if choices.iter().any(is_visible) {
            self.visible.push(end);
            self.events += 1;
        } else if choices.iter().any(is_silent) {
            self.silent.push(end);
        }
        self.add_choices(choices);
    }

    /// Adds the text and the ids of choice 0. Ids in a chunk that opens a chat are not part of the output.
    fn add_choices(&mut self, choices: &[Value]) {
        let Some(choice) = choices.iter().find(|it| it["index"].as_u64().unwrap_or(0) == 0) else { return };
        let output = &mut self.output;
        output.text += choice["text"].as_str().or(message(choice)["content"].as_str()).unwrap_or_default();
        let is_role = is_filled(&choice["delta"]["role"]) && !choices.iter().any(is_visible);
        let ids = choice["token_ids"].as_array().filter(|_| !is_role);
        output.token_ids.extend(ids.into_iter().flatten().map(|it| it.as_u64().unwrap() as u32));
        let is_visible = choices.iter().any(is_visible);
        if !self.has_output && (is_visible || output.first == 0) {
            output.first = output.token_ids.len();
        }
        self.has_output |= is_visible;
    }

    fn whole(&mut self, body: &[u8]) {
        self.done = true;
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let Some(answer) = serde_json::from_slice::<Value>(body).ok().filter(Value::is_object) else {
            self.failed = Some(RequestOutcome::BrokenStream);
            return;
        };
        if self.value(&answer, false) {
            let choices = answer["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
            let silent = choices.iter().any(is_silent) && self.usage.1.is_some_and(|it| it > 0);
            if choices.iter().any(is_visible) || silent {
                self.visible.push(body.len());
            }
            self.add_choices(choices);
        }
    }

    /// Reads the fields that every kind of object has. Returns `false` for an error.
    fn value(&mut self, value: &Value, after_output: bool) -> bool {
        if value["object"] == "error" || is_filled(&value["error"]) {
            let code = value["error"]["code"].as_u64().or_else(|| value["code"].as_u64());
            let code = code.and_then(|it| u16::try_from(it).ok()).filter(|it| (400..600).contains(it));
            self.failed = Some(match after_output {
                true => RequestOutcome::BrokenStream,
                false => RequestOutcome::HttpError(code.unwrap_or(500)),
            });
            self.error = words(value);
            return false;
        }
        let usage = &value["usage"];
        let count = |name: &str| usage[name].as_f64().filter(|it| *it >= 0.0).map(|it| it as u64);
        self.usage.0 = count("prompt_tokens").or(self.usage.0);
        self.usage.1 = count("completion_tokens").or(self.usage.1);
        for choice in value["choices"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let reason = choice["finish_reason"].as_str().filter(|it| !it.is_empty());
            let kept = self.finish.entry(choice["index"].as_u64().unwrap_or(0)).or_default();
            if !kept.as_deref().is_some_and(gave_up) {
                *kept = reason.map(str::to_owned).or(kept.take());
            }
        }
        true
    }

    fn reading(self, ended: bool, is_stream: bool) -> Reading {
        let finished = !self.finish.is_empty() && self.finish.values().all(Option::is_some);
        let has_silent = !self.silent.is_empty() && self.usage.1.is_some_and(|it| it > 0);
        let outcome = match self.failed {
            Some(failed) => failed,
            // A stream may be cut after `[DONE]`.
            None if !ended && !self.done => RequestOutcome::BrokenStream,
            None if self.finish.values().flatten().any(|it| gave_up(it)) => RequestOutcome::BrokenStream,
            None if !self.done && !finished => RequestOutcome::BrokenStream,
            None if !self.visible.is_empty() || has_silent => RequestOutcome::Ok,
            None => RequestOutcome::Empty,
        };
        let ends = |of: &[usize]| of.first().copied().zip(of.last().copied());
        let tokens = match outcome {
            RequestOutcome::Ok => ends(&self.visible).or_else(|| ends(&self.silent)),
            _ => ends(&self.visible),
        };
        Reading {
            outcome,
            events: self.events,
            tokens: tokens.filter(|_| is_stream),
            usage: self.usage,
            error: self.error,
            output: self.output,
        }
    }
}

fn gave_up(reason: &str) -> bool {
    ["abort", "error"].contains(&reason)
}

/// Whether a value is neither null nor empty.
fn is_filled(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

fn message(choice: &Value) -> &Value {
    choice.get("delta").filter(|it| !it.is_null()).unwrap_or(&choice["message"])
}

fn is_visible(choice: &Value) -> bool {
    let keys = ["content", "reasoning", "reasoning_content", "refusal", "tool_calls", "function_call"];
    is_filled(&choice["text"]) || keys.iter().any(|it| is_filled(&message(choice)[*it]))
}

/// Whether a choice is an empty text outside a role chunk, or has a finish reason.
fn is_silent(choice: &Value) -> bool {
    let message = message(choice);
    let has_end = choice["finish_reason"].as_str().is_some_and(|it| !it.is_empty());
    let keys = ["content", "reasoning", "reasoning_content", "refusal"];
    let has_text = choice["text"] == "" || keys.iter().any(|it| message[*it] == "");
    !is_visible(choice) && !is_filled(&message["role"]) && (has_end || has_text)
}

/// Returns the type of an error, or its text if there is no type, as far as a report shows it.
fn words(value: &Value) -> Option<String> {
    let error = if value["object"] == "error" { value } else { &value["error"] };
    let text = error["type"].as_str().or_else(|| error.as_str()).or_else(|| value["detail"].as_str())?;
    Some(text.lines().next()?.chars().take(100).collect())
}

/// Returns the data of each event, with the body offset at which it was complete: the end of the empty line after it, or of the body.
fn events(body: &[u8]) -> Vec<(usize, String)> {
    let mut events = Vec::new();
    let mut data: Option<String> = None;
    let mut at = body.strip_prefix(b"\xef\xbb\xbf").map_or(0, |_| 3);
    while at < body.len() {
        let length = body[at..].iter().position(|it| [b'\n', b'\r'].contains(it));
        let end = at + length.unwrap_or(body.len() - at);
        let line = String::from_utf8_lossy(&body[at..end]).into_owned();
        if line.is_empty() {
            events.extend(data.take().map(|it| (end, it)));
        } else if let Some(more) = line.strip_prefix("data:").or((line == "data").then_some("")) {
            let more = more.strip_prefix(' ').unwrap_or(more);
            data = Some(data.map_or_else(|| more.to_owned(), |it| it + "\n" + more));
        }
        at = end + if body[end..].starts_with(b"\r\n") { 2 } else { 1 };
    }
    events.extend(data.map(|it| (body.len(), it)));
    events
}
