//! Derives which recorded requests follow which, and which messages their prompts share. Pure.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use serde_json::{Map, Value};
use workload_profiles::workload::{RecordedAnswers, RecordedSessions, RecordedWaits};

use super::{Call, CallPrompt, Message, Session, message::Said, otel::RawCall};

/// Builds the graph of a session's requests. `calls` are in the order in which they began.
///
/// A request follows every request whose answer its messages contain, and the request that ended last before it began. Predecessors that
/// are already implied by other predecessors are omitted.
pub(super) fn session(calls: Vec<RawCall>, recorded: &RecordedSessions) -> Session {
    let mut built = Session { calls: Vec::with_capacity(calls.len()), ..Session::default() };
    let mut places: HashMap<(String, Option<u32>), u32> = HashMap::new();
    // The direct and indirect predecessors of each request.
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
            // An answer with tool calls is sent as recorded, because the recorded tool results refer to those calls.
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

/// A set of predecessors, as a bitmap. For a session of the maximum length, all sets together take about 6 MB.
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

/// Finds the request that received a recorded answer. If several did, the latest one.
#[derive(Debug, Default)]
struct Answered<'a> {
    /// Index of the request by the text of its answer, for answers without tool calls.
    texts: HashMap<&'a str, usize>,
    /// Index of the request by the ids of the tool calls, for answers with tool calls.
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

    /// Returns the latest request whose answer equals this message.
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

/// Returns how much of a recorded wait is replayed.
fn kept(seconds: f64, recorded: &RecordedSessions) -> Duration {
    // OpenTelemetry does not record think time separately, so a wait is replayed only with `RecordedWaits::All`.
    let wait = if recorded.waits == RecordedWaits::All { bounded_wait(seconds, recorded) } else { Duration::ZERO };
    recorded.max_idle.map_or(wait, |most| wait.min(most.0))
}

/// Converts a wait in seconds, and limits it to the range from 0 to the workload's maximum.
pub(super) fn bounded_wait(seconds: f64, recorded: &RecordedSessions) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX).min(recorded.max_wait.0)
}
