//! Reads Weka's traces, which record the requests of agents as lengths and block hashes. Pure.
//!
//! A prompt consists of the texts of its blocks. A conversation that returns to an earlier point therefore shares the blocks up to that
//! point.

use serde_json::{Map, Value, json};
use workload_profiles::workload::{RecordedSessions, RecordedWaits};

use super::{
    BlockSettings, Call, CallPrompt, Session, bounded,
    graph::{bounded_wait, number},
};
use crate::trace;

/// Maximum depth of agents that are started by other agents.
const MAX_DEPTH: usize = 8;
/// Maximum number of tokens in a prompt, and in an answer.
const MAX_TOKENS: u64 = 2_000_000;
/// Maximum number of tokens per block.
const MAX_BLOCK: u64 = 65_536;
/// Maximum value of a time, in seconds (thirty years).
const MAX_SECONDS: f64 = 1e9;

/// Notice for the report, if the workload wants the server's answers in later prompts: how the replay differs from inference-perf.
pub(super) const ANSWERS: &str = "each prompt is one message with the text of its recorded blocks, which stand for the system message, the tools and the \
     answers too; inference-perf sends several messages with the answers of the server";

/// A request that has no position in the graph yet.
#[derive(Debug)]
struct Recorded {
    agent: usize,
    /// Seconds from the start of the session.
    start: f64,
    end: f64,
    think_time: f64,
    hashes: Vec<u64>,
    tokens: u32,
    output: u32,
}

/// The main agent, or an agent that another agent started.
#[derive(Debug, Default)]
struct Agent {
    parent: Option<usize>,
    /// Index of the last request before the agent was started.
    started_by: Option<usize>,
    /// Whether no agent waits for the end of this agent.
    is_detached: bool,
}

/// All agents and requests of a session. An agent comes before the agents that it starts, and a request comes before its followers.
#[derive(Debug)]
struct Flat<'a> {
    settings: &'a RecordedSessions,
    block_size: u32,
    agents: Vec<Agent>,
    requests: Vec<Recorded>,
}

/// Requests of an agent that follow one another.
#[derive(Debug)]
struct Stream {
    agent: usize,
    last: usize,
    /// Whether a request of a parent agent follows this stream's last request.
    is_joined: bool,
}

/// Returns the sessions of a file. Accepted forms: an object with `requests`, or a list of such objects.
pub(super) fn records(value: Value) -> Result<Vec<Map<String, Value>>, String> {
    let record = |value| match value {
        Value::Object(record) if record.get("requests").is_some_and(Value::is_array) => Ok(record),
        _ => Err("is no object with a list of requests".to_owned()),
    };
    match value {
        Value::Array(list) => list.into_iter().map(record).collect(),
        one => Ok(vec![record(one)?]),
    }
}

/// Returns the attributes of a session that a filter can use. They cover the requests of all agents.
pub(super) fn described(record: &Map<String, Value>) -> Value {
    let mut lengths = Vec::new();
    let mut open = vec![record.get("requests")];
    while let Some(list) = open.pop() {
        for entry in list.and_then(Value::as_array).into_iter().flatten() {
            if is_agent(entry) {
                open.push(entry.get("requests"));
            } else {
                let tokens = |key: &str| entry.get(key).and_then(Value::as_u64).unwrap_or(0);
                lengths.push(tokens("in").saturating_add(tokens("out")));
            }
        }
    }
    let mut described = record.clone();
    for (key, value) in [
        ("max_tokens", json!(lengths.iter().max().unwrap_or(&0))),
        ("models", json!([])),
        ("num_turns", json!(lengths.len())),
        ("session_id", record.get("id").cloned().unwrap_or_default()),
        ("total_tokens", json!(lengths.iter().fold(0_u64, |sum, it| sum.saturating_add(*it)))),
    ] {
        described.entry(key).or_insert(value);
    }
    Value::Object(described)
}

/// Builds the requests of a session and the graph of their order.
pub(super) fn session(
    record: &Map<String, Value>,
    block_size: u32,
    settings: &RecordedSessions,
) -> Result<Session, String> {
    let id = record.get("id").and_then(Value::as_str).ok_or("has no id")?;
    let scope = match record.get("hash_id_scope").and_then(Value::as_str) {
        // With an empty scope, equal hashes mean equal texts across all sessions.
        Some("global") => String::new(),
        None | Some("local") => format!("recording/{id}"),
        Some(other) => return Err(format!("hash_id_scope is {other:?}; local and global are known")),
    };
    let block_size = match record.get("block_size").filter(|it| !it.is_null()) {
        Some(size) => count(size, MAX_BLOCK)
            .filter(|it| *it > 0)
            .ok_or_else(|| format!("block_size is no whole number from 1 to {MAX_BLOCK}"))?,
        None => block_size,
    };
    let mut flat = Flat { settings, block_size, agents: vec![Agent::default()], requests: Vec::new() };
    flat.add(record.get("requests"), 0, 0)?;
    if let Some(most) = settings.max_idle {
        shorten_idle(&mut flat.requests, most.0.as_secs_f64());
    }
    Ok(Session { calls: flat.calls(), blocks: BlockSettings { size: block_size, scope }, ..Session::default() })
}

fn is_agent(entry: &Value) -> bool {
    entry.get("type").and_then(Value::as_str) == Some("subagent")
}

impl Flat<'_> {
    /// Adds the requests of an agent, and of the agents that it starts, ordered by time.
    fn add(&mut self, list: Option<&Value>, agent: usize, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("has agents within agents, more than {MAX_DEPTH} deep"));
        }
        let list = list.and_then(Value::as_array).ok_or("an agent has no list of requests")?;
        let timed = list.iter().map(|entry| Ok((seconds(entry, "t")?.ok_or("a request has no t")?, entry)));
        let mut entries = timed.collect::<Result<Vec<_>, String>>()?;
        entries.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut before = self.agents[agent].started_by;
        for (start, entry) in entries {
            if is_agent(entry) {
                let is_detached = entry.get("status").and_then(Value::as_str) == Some("async_launched");
                self.agents.push(Agent { parent: Some(agent), started_by: before, is_detached });
                bounded(self.agents.len())?;
                self.add(entry.get("requests"), self.agents.len() - 1, depth + 1)?;
            } else {
                before = Some(self.requests.len());
                self.requests.push(self.request(entry, agent, start)?);
                bounded(self.requests.len())?;
            }
        }
        Ok(())
    }

    fn request(&self, entry: &Value, agent: usize, start: f64) -> Result<Recorded, String> {
        match entry.get("type").and_then(Value::as_str) {
            None | Some("n" | "s") => {}
            Some(other) => return Err(format!("a request has the type {other:?}; n, s and subagent are known")),
        }
        let hashes = match entry.get("hash_ids").filter(|it| !it.is_null()) {
            Some(list) => trace::hashes(list).ok_or("hash_ids is no list of whole numbers")?,
            None => Vec::new(),
        };
        let whole = (hashes.len() as u64).saturating_mul(u64::from(self.block_size)).min(MAX_TOKENS);
        let input = tokens(entry, "in")?.or_else(|| u32::try_from(whole).ok()).filter(|it| *it > 0);
        let tokens_of_prompt = input.ok_or("a request has neither a length, in, nor hash_ids")?;
        let output = tokens(entry, "out")?.unwrap_or(self.settings.default_output);
        let mut hashes = hashes;
        hashes.truncate(tokens_of_prompt.div_ceil(self.block_size) as usize);
        let end = start + seconds(entry, "api_time")?.unwrap_or(0.0);
        let think_time = seconds(entry, "think_time")?.unwrap_or(0.0);
        Ok(Recorded { agent, start, end, think_time, hashes, tokens: tokens_of_prompt, output })
    }

    /// Builds the graph. Requests of the main agent follow each other. Requests of another agent are divided into streams in which no two
    /// requests overlap; the first request of each stream follows the last request before the agent was started. A request that an agent
    /// sends after its child agents have ended also follows the last requests of those child agents.
    fn calls(self) -> Vec<Call> {
        let begin = self.requests.iter().map(|it| it.start).min_by(f64::total_cmp).unwrap_or_default();
        let ends: Vec<f64> = self.requests.iter().map(|it| it.end).collect();
        let mut streams: Vec<Stream> = Vec::new();
        let mut calls = Vec::with_capacity(ends.len());
        let Flat { settings, agents, requests, .. } = self;
        for (index, request) in requests.into_iter().enumerate() {
            let agent = request.agent;
            let has_ended = |it: &Stream| ends[it.last] <= request.start;
            let own = streams
                .iter_mut()
                .filter(|it| it.agent == agent && (agent == 0 || has_ended(it)))
                .max_by(|one, other| ends[one.last].total_cmp(&ends[other.last]));
            let mut after = Vec::new();
            match own {
                Some(stream) => {
                    after.push(stream.last);
                    (stream.last, stream.is_joined) = (index, false);
                }
                None => {
                    after.extend(agents[agent].started_by);
                    streams.push(Stream { agent, last: index, is_joined: false });
                }
            }
            for stream in streams.iter_mut().filter(|it| !it.is_joined && is_waited_for(&agents, it.agent, agent)) {
                if has_ended(stream) {
                    stream.is_joined = true;
                    after.push(stream.last);
                }
            }
            after.sort_unstable();
            after.dedup();
            let last_end = after.iter().map(|it| ends[*it]).max_by(f64::total_cmp);
            let wait = match settings.waits {
                RecordedWaits::All => request.start - last_end.unwrap_or(begin),
                RecordedWaits::ThinkTime => request.think_time,
                RecordedWaits::Nothing => 0.0,
            };
            calls.push(Call {
                after: after.into_iter().map(number).collect(),
                wait: bounded_wait(wait, settings),
                prompt: CallPrompt::Blocks { hashes: request.hashes, tokens: request.tokens },
                output: request.output,
                may_end: false,
                fields: String::new(),
            });
        }
        calls
    }
}

/// Whether `above` is an ancestor of an agent and waits for the end of that agent.
fn is_waited_for(agents: &[Agent], mut agent: usize, above: usize) -> bool {
    while let Some(parent) = agents[agent].parent.filter(|_| !agents[agent].is_detached) {
        if parent == above {
            return true;
        }
        agent = parent;
    }
    false
}

/// Limits each period without a request in flight to `most` seconds.
fn shorten_idle(requests: &mut [Recorded], most: f64) {
    let mut order: Vec<&mut Recorded> = requests.iter_mut().collect();
    order.sort_by(|one, other| one.start.total_cmp(&other.start));
    let Some(first) = order.first() else { return };
    let (mut busy_until, mut removed) = (first.start, 0.0);
    for request in order {
        removed += (request.start - busy_until - most).max(0.0);
        busy_until = busy_until.max(request.end);
        request.start -= removed;
        request.end -= removed;
    }
}

/// Parses a time in an entry; `None` if the entry has none.
fn seconds(entry: &Value, key: &str) -> Result<Option<f64>, String> {
    let Some(value) = entry.get(key).filter(|it| !it.is_null()) else { return Ok(None) };
    let time = value.as_f64().filter(|it| (0.0..=MAX_SECONDS).contains(it));
    time.map(Some).ok_or_else(|| format!("{key} is {value}; a number of seconds from 0 to {MAX_SECONDS} is expected"))
}

/// Parses a length in an entry; `None` if the entry has none, or if it is 0.
fn tokens(entry: &Value, key: &str) -> Result<Option<u32>, String> {
    let Some(value) = entry.get(key).filter(|it| !it.is_null()) else { return Ok(None) };
    let length = count(value, MAX_TOKENS);
    let length = length
        .ok_or_else(|| format!("{key} is {value}; a whole number of tokens from 0 to {MAX_TOKENS} is expected"))?;
    Ok(Some(length).filter(|it| *it > 0))
}

fn count(value: &Value, most: u64) -> Option<u32> {
    value.as_u64().filter(|it| *it <= most).and_then(|it| u32::try_from(it).ok())
}

#[cfg(test)]
mod tests;
