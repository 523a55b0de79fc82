//! Which recorded request follows which, and which messages their prompts share. Pure.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use serde_json::{Map, Value};
use workload_profiles::workload::{RecordedAnswers, RecordedSessions, RecordedWaits};

use super::{Call, CallPrompt, Message, Session, message::Said, otel::RawCall};

/// Builds the graph of requests in the order in which they began.
///
/// A request follows every request with an answer that its messages contain, and the last request that had ended before it began. Indirect
/// predecessors are left out.
pub(super) fn session(calls: Vec<RawCall>, recorded: &RecordedSessions) -> Session {
    let mut built = Session { calls: Vec::with_capacity(calls.len()), ..Session::default() };
    let mut places: HashMap<(String, Option<u32>), u32> = HashMap::new();
    // All direct and indirect predecessors of each request.
    let mut ancestors: Vec<Ancestors> = Vec::with_capacity(calls.len());
    let mut answered = Answered::default();
    let begin = calls.first().map_or(0.0, |it| it.start);
    for (index, call) in calls.iter().enumerate() {
        let answers: Vec<Option<usize>> = call.messages.iter().map(|it| answered.by(it)).collect();
        let before = |it: &usize| calls[*it].end <= call.start;
        let nearest =
            (0..index).rev().filter(before).max_by(|one, other| calls[*one].end.total_cmp(&calls[*other].end));
        let mut after: BTreeSet<usize> = BTreeSet::new();
        let mut all = Ancestors::default();
        let wanted: BTreeSet<usize> = answers.iter().flatten().copied().chain(nearest).collect();
        for parent in wanted.into_iter().rev() {
            if all.insert(parent) {
                after.insert(parent);
                all.add(&ancestors[parent]);
            }
        }
        let wait = match after.iter().map(|it| calls[*it].end).max_by(f64::total_cmp) {
            Some(end) => call.start - end,
            None => call.start - begin,
        };
        let prompt = call.messages.iter().zip(&answers).map(|(message, answer)| {
            let answer = answer.filter(|_| recorded.answers == RecordedAnswers::Server).map(number);
            // An answer that called tools is sent as recorded: the results of these tools refer to its calls.
            let answer = answer.filter(|_| Said::from_message(message).tool_calls.is_empty());
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
        answered.push(index, &call.answer);
    }
    built.set_answer_uses();
    built
}

pub(super) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Predecessors of a request, one bit each. With the maximum number of requests per session these take about 6 MB in total.
#[derive(Debug, Default)]
struct Ancestors(Vec<u64>);

impl Ancestors {
    /// Adds an index. Returns whether it is new.
    fn insert(&mut self, index: usize) -> bool {
        let (word, bit) = (index / 64, 1 << (index % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    fn add(&mut self, other: &Ancestors) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }
}

/// For each recorded answer, the index of the latest request that received it.
#[derive(Debug, Default)]
struct Answered<'a> {
    /// Answers without tool calls, by text.
    texts: HashMap<&'a str, usize>,
    /// Answers with tool calls, by the ids of the calls.
    tool_calls: HashMap<&'a [String], usize>,
}

impl<'a> Answered<'a> {
    fn push(&mut self, index: usize, answer: &'a Said) {
        if answer.tool_calls.is_empty() {
            self.texts.insert(&answer.text, index);
        } else {
            self.tool_calls.insert(&answer.tool_calls, index);
        }
    }

    /// The latest request with an answer that equals this message.
    fn by(&self, message: &Map<String, Value>) -> Option<usize> {
        if message.get("role").and_then(Value::as_str) != Some("assistant") {
            return None;
        }
        let said = Said::from_message(message);
        if !said.tool_calls.is_empty() {
            return self.tool_calls.get(said.tool_calls.as_slice()).copied();
        }
        (!said.text.is_empty()).then(|| self.texts.get(said.text.as_str()).copied()).flatten()
    }
}

/// The part of a recorded wait that is kept.
fn kept(seconds: f64, recorded: &RecordedSessions) -> Duration {
    // OpenTelemetry records no think time.
    let wait = if recorded.waits == RecordedWaits::All { bounded_wait(seconds, recorded) } else { Duration::ZERO };
    recorded.max_idle.map_or(wait, |most| wait.min(most.0))
}

/// A wait, from 0 to the maximum that the workload allows.
pub(super) fn bounded_wait(seconds: f64, recorded: &RecordedSessions) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX).min(recorded.max_wait.0)
}
