//! Which recorded request follows which, and what their prompts share. Pure.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use serde_json::Value;
use workload_profiles::workload::{RecordedAnswers, RecordedSessions, RecordedWaits};

use super::{Call, CallPrompt, Message, Session, message::Said, otel::RawCall};

/// Builds the graph of requests in the order in which they began.
///
/// A request follows those whose answers its messages hold, and the last one that had ended before it began. What follows through
/// other requests is left out.
pub(super) fn session(calls: Vec<RawCall>, recorded: &RecordedSessions) -> Session {
    let mut built = Session { calls: Vec::with_capacity(calls.len()), ..Session::default() };
    let mut places: HashMap<(String, Option<u32>), u32> = HashMap::new();
    // All that each request follows, by way of others too.
    let mut ancestors: Vec<BTreeSet<usize>> = Vec::with_capacity(calls.len());
    let begin = calls.first().map_or(0.0, |it| it.start);
    for (index, call) in calls.iter().enumerate() {
        let answers: Vec<Option<usize>> = call.messages.iter().map(|it| answered(it, &calls[..index])).collect();
        let before = |it: &usize| calls[*it].end <= call.start;
        let nearest =
            (0..index).rev().filter(before).max_by(|one, other| calls[*one].end.total_cmp(&calls[*other].end));
        let mut after: BTreeSet<usize> = BTreeSet::new();
        let mut all: BTreeSet<usize> = BTreeSet::new();
        let wanted: BTreeSet<usize> = answers.iter().flatten().copied().chain(nearest).collect();
        for parent in wanted.into_iter().rev() {
            if all.insert(parent) {
                after.insert(parent);
                all.extend(&ancestors[parent]);
            }
        }
        let wait = match after.iter().map(|it| calls[*it].end).max_by(f64::total_cmp) {
            Some(end) => call.start - end,
            None => call.start - begin,
        };
        let prompt = call.messages.iter().zip(&answers).map(|(message, answer)| {
            let answer = answer.filter(|_| recorded.answers == RecordedAnswers::Server).map(number);
            // An answer that called tools is sent as it was recorded: the results of these tools name its calls.
            let answer = answer.filter(|_| Said::of(message).tool_calls.is_empty());
            let text = Value::Object(message.clone()).to_string();
            let next = number(built.messages.len());
            *places.entry((text, answer)).or_insert_with_key(|(text, answer)| {
                built.messages.push(Message { recorded: text.clone(), answer_of: *answer });
                next
            })
        });
        let prompt = CallPrompt::Messages(prompt.collect());
        built.calls.push(Call {
            after: after.into_iter().map(number).collect(),
            wait: kept(wait, recorded),
            prompt,
            output: call.output,
            may_end: call.may_end,
            fields: call.fields.clone(),
        });
        ancestors.push(all);
    }
    built
}

pub(super) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The latest request whose answer a message is.
fn answered(message: &serde_json::Map<String, Value>, earlier: &[RawCall]) -> Option<usize> {
    if message.get("role").and_then(Value::as_str) != Some("assistant") {
        return None;
    }
    let said = Said::of(message);
    let is_answer = |call: &RawCall| {
        let answer = &call.answer;
        if said.tool_calls.is_empty() {
            answer.text == said.text && answer.tool_calls.is_empty()
        } else {
            answer.tool_calls == said.tool_calls
        }
    };
    (!said.is_empty()).then(|| earlier.iter().rposition(is_answer)).flatten()
}

/// The part of a recorded wait that is kept.
fn kept(seconds: f64, recorded: &RecordedSessions) -> Duration {
    // OpenTelemetry records no think time.
    let wait = if recorded.waits == RecordedWaits::All { bounded_wait(seconds, recorded) } else { Duration::ZERO };
    recorded.max_idle.map_or(wait, |most| wait.min(most.0))
}

/// A wait, from 0 to the longest one that the workload allows.
pub(super) fn bounded_wait(seconds: f64, recorded: &RecordedSessions) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX).min(recorded.max_wait.0)
}
