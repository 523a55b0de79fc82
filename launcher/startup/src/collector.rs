//! Reads the lines of a log in order, and describes the last start in it.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use crds::server_engine::{
    ArgumentsForm, ServerEngine,
    startup_log::{Figure, Role, StepName, Text},
};
use jiff::{Timestamp, Zoned};
use serde_json::{Map, Value};

use crate::{
    failure::Failures,
    line::{self, Parts},
    lines::RawLine,
    number::number,
    python, redact,
    startup::{Gpu, LogFacts, Outcome, Process, SleepWake, SleepWakeKind, Startup},
    steps::{self, Mark, ProcessSteps},
    texts::TEXTS,
};

/// Maximum number of server processes that are tracked separately. Even the largest deployments have about a hundred.
const MAX_PROCESSES: usize = 256;
/// Maximum number of changes of the sleep mode that are kept.
const MAX_SLEEP_WAKE: usize = 1000;
const MAX_GPUS: usize = 64;
/// Maximum bytes of a version, a load format or a model name.
const MAX_WORD: usize = 256;

/// The texts around the model's name in the last line that tensorizer logs when it serializes a model. llm-d-benchmark runs tensorizer in the
/// server's container, before the server.
const SERIALIZATION: [&str; 2] = ["End model ", " serialization"];
/// The line before the list of GPUs, which the preprocess hook of llm-d-benchmark prints.
const GPUS_BEGIN: &str = "--- gpu scenario start name:";
/// The line after this list.
const GPUS_END: &str = "--- gpu scenario end name:";

static PATTERNS: LazyLock<AhoCorasick> =
    LazyLock::new(|| AhoCorasick::new(TEXTS.iter().map(|it| it.1.text)).expect("the table is small and constant"));

pub(crate) struct Collector<'a> {
    reference: &'a Zoned,
    start: Start,
    /// The lines since the server became ready. They belong to the next start, if there is one.
    after: Option<Start>,
    gpus: Vec<Gpu>,
    is_in_gpus: bool,
    facts: LogFacts,
    serialized: bool,
    /// Whether there were more processes than [`MAX_PROCESSES`].
    many_processes: bool,
    last_line: String,
}

/// A start, from the lines that were read so far.
#[derive(Default)]
struct Start {
    engine: Option<ServerEngine>,
    version: Option<String>,
    /// The start lines that were seen so far. For each: its kind (the banner, or a row of the table of texts) and its process.
    begun: Vec<(usize, Option<Process>)>,
    /// The rank and the time of the best start line that was seen. A lower rank is better.
    started: Option<(u8, Timestamp)>,
    is_ready: bool,
    ready: Option<Timestamp>,
    first_line: Option<Timestamp>,
    processes: Vec<ProcessSteps>,
    figures: std::collections::BTreeMap<Figure, f64>,
    sleep_wake: Vec<SleepWake>,
    memory: Option<(f64, f64)>,
    args: Option<Map<String, Value>>,
    args_unread: Option<u64>,
    load_format: Option<String>,
    sleep_mode: Option<bool>,
    model: Option<String>,
    failures: Failures,
}

/// The kind that stands for the banner. It is not an index into the table of texts.
const BANNER: usize = usize::MAX;

impl<'a> Collector<'a> {
    pub fn new(reference: &'a Zoned) -> Self {
        Collector {
            reference,
            start: Start::default(),
            after: None,
            gpus: Vec::new(),
            is_in_gpus: false,
            facts: LogFacts::default(),
            serialized: false,
            many_processes: false,
            last_line: String::new(),
        }
    }

    pub fn observe(&mut self, raw: &RawLine) {
        self.facts.lines += 1;
        self.facts.cut_lines += u64::from(raw.is_cut);
        let text = line::without_colours(&raw.text);
        if text.trim().is_empty() {
            return;
        }
        self.last_line.clear();
        self.last_line.push_str(line::cut(&text, redact::MAX_QUOTE));
        self.gpus(&text);
        if text.find(SERIALIZATION[0]).is_some_and(|at| text[at..].contains(SERIALIZATION[1])) {
            (self.start, self.after, self.serialized) = (Start::default(), None, true);
            return;
        }
        let parts = line::take_apart(&text);
        let hits = hits(&parts);
        let begins =
            hits.iter().copied().filter(|it| TEXTS[*it].1.roles.iter().any(|role| matches!(role, Role::Begins(_))));
        let begins: Vec<usize> = begins.chain(banner(&parts).map(|_| BANNER)).collect();
        if begins.iter().any(|it| self.start.begins_again(*it, parts.process.as_ref())) {
            self.start = self.after.take().map(Start::before_begin).unwrap_or_default();
            self.facts.earlier_starts += 1;
        }
        let at = parts.stamp.and_then(|it| it.time(self.reference));
        let seen = Seen { parts: &parts, hits: &hits, begins: &begins, at, line: raw.number };
        let mut many = self.start.observe(&seen);
        if self.start.is_ready {
            let after = self.after.get_or_insert_default();
            many |= after.observe(&seen);
        }
        self.many_processes |= many;
    }

    fn gpus(&mut self, text: &str) {
        if text.contains(GPUS_BEGIN) {
            self.is_in_gpus = true;
            return;
        }
        if text.contains(GPUS_END) {
            self.is_in_gpus = false;
        }
        if !self.is_in_gpus || self.gpus.len() == MAX_GPUS {
            return;
        }
        let value = |key: &str| {
            let rest = text.split_once(key)?.1.strip_prefix("='")?;
            Some(line::cut(rest.split_once('\'')?.0.trim(), MAX_WORD).to_owned())
        };
        let Some(uuid) = value("gpu_uuid") else { return };
        let rest = |key| value(key).unwrap_or_default();
        self.gpus.push(Gpu {
            uuid,
            name: rest("gpu_name"),
            compute_cap: rest("compute_cap"),
            persistence_mode: rest("persistence_mode"),
        });
    }

    pub fn finish(mut self) -> Startup {
        let start = self.start;
        let mut notice = |text: String| self.facts.notices.push(text);
        if self.serialized {
            notice("the log begins with a serialization by tensorizer, which is left out".into());
        }
        if let Some(line) = start.args_unread {
            notice(format!("the arguments of the engine, in line {line}, could not be read"));
        }
        if self.many_processes {
            notice(format!("the steps of more than {MAX_PROCESSES} processes are left out"));
        }
        let steps = steps::steps(&start.processes);
        let ready = start.ready;
        let started = start.started.map(|it| it.1);
        let span = started.zip(ready).filter(|(started, ready)| started <= ready);
        let outcome = match (start.is_ready, start.failures.is_fatal()) {
            (true, _) => Outcome::Ready,
            (false, true) => Outcome::Failed,
            (false, false) => Outcome::Unfinished,
        };
        let failure =
            (outcome != Outcome::Ready && self.facts.lines > 0).then(|| start.failures.finish(&self.last_line));
        Startup {
            outcome,
            engine: start.engine,
            version: start.version,
            model: start.args.as_ref().and_then(served).or(start.model),
            load_format: start.load_format,
            sleep_mode: start.sleep_mode,
            first_line: start.first_line.filter(|_| self.facts.earlier_starts == 0),
            started,
            ready,
            ready_seconds: span.map(|(from, to)| steps::seconds(from, to)),
            uncategorized_seconds: span
                .filter(|_| !steps.is_empty())
                .map(|(from, to)| steps::uncategorized(&steps, from, to)),
            figures: start.figures,
            steps,
            sleep_wake: start.sleep_wake,
            gpus: self.gpus,
            args: start.args,
            failure,
            log: self.facts,
        }
    }
}

/// A line, and which rows of the table of texts match it.
struct Seen<'a> {
    parts: &'a Parts<'a>,
    /// The indices of the matching rows.
    hits: &'a [usize],
    begins: &'a [usize],
    at: Option<Timestamp>,
    line: u64,
}

/// Returns the indices of the rows in the table of texts that match a line, in ascending order. Most rows match only at the beginning of the message:
/// a log can contain prompts, and any text can occur in those.
fn hits(parts: &Parts<'_>) -> Vec<usize> {
    let mut hits = Vec::new();
    for found in PATTERNS.find_overlapping_iter(parts.text) {
        let index = found.pattern().as_usize();
        let counts =
            !TEXTS[index].1.begins_message || parts.text.get(parts.message_at..found.start()).is_some_and(is_tag);
        if counts && !hits.contains(&index) {
            hits.push(index);
        }
    }
    hits.sort_unstable();
    hits
}

/// Whether a text is empty, or a tag such as `[backbone] `.
fn is_tag(text: &str) -> bool {
    text.is_empty() || text.strip_prefix('[').and_then(|it| it.strip_suffix("] ")).is_some_and(|it| !it.contains(']'))
}

/// The version in vLLM's banner, which is drawn with block characters. `None` if the line is not that banner.
fn banner<'a>(parts: &Parts<'a>) -> Option<&'a str> {
    let (drawing, version) = parts.message().split_once("version ")?;
    let is_drawn = drawing.contains(|it| ('\u{2580}'..='\u{259f}').contains(&it));
    let version = version.split_whitespace().next()?;
    (is_drawn && version.starts_with(|it: char| it.is_ascii_digit())).then_some(version)
}

/// The name under which the model is served, from the first of several possible arguments.
fn served(args: &Map<String, Value>) -> Option<String> {
    let name = match args.get("served_model_name") {
        Some(Value::Array(names)) => names.first().and_then(Value::as_str),
        Some(Value::String(name)) => Some(name.as_str()),
        _ => None,
    };
    let name = name.or_else(|| ["model", "model_path"].iter().find_map(|it| args.get(*it)?.as_str()));
    name.map(|it| line::cut(it, MAX_WORD).to_owned())
}

impl Start {
    /// Whether this start line begins a new start. It does if the server was already ready, if its start has failed, or if the same process logs this
    /// line again.
    fn begins_again(&self, kind: usize, process: Option<&Process>) -> bool {
        if self.is_ready {
            return true;
        }
        let same = |(seen, by): &(usize, Option<Process>)| {
            *seen == kind && (by.as_ref() == process || self.failures.is_fatal())
        };
        self.begun.iter().any(same)
    }

    /// Keeps what was logged before a start line and belongs to the start that follows. Used for lines after a server became ready.
    fn before_begin(self) -> Start {
        let processes = self.processes.into_iter().map(ProcessSteps::before_begin).collect();
        Start { processes, ..Start::default() }
    }

    /// Reads a line. Returns whether the line belongs to a process beyond [`MAX_PROCESSES`], which is not tracked.
    fn observe(&mut self, seen: &Seen<'_>) -> bool {
        if self.first_line.is_none() {
            self.first_line = seen.at;
        }
        self.words(seen);
        for kind in seen.begins {
            self.begun.push((*kind, seen.parts.process.clone()));
        }
        if let Some(version) = banner(seen.parts) {
            self.engine.get_or_insert(ServerEngine::Vllm);
            self.version.get_or_insert_with(|| line::cut(version, MAX_WORD).to_owned());
            self.begin(1, seen.at);
        }
        let mut is_known = true;
        if !seen.hits.is_empty() || !seen.begins.is_empty() || seen.at.is_some() {
            is_known = self.steps(seen);
        }
        for index in seen.hits {
            let (engine, row) = TEXTS[*index];
            if self.engine.is_none_or(|it| it == engine) {
                self.row(engine, row, seen);
            }
        }
        self.sleep_wake(seen);
        if !self.is_ready {
            self.failures.observe(seen.parts, seen.line);
        }
        !is_known
    }

    fn begin(&mut self, rank: u8, at: Option<Timestamp>) {
        if let Some(at) = at
            && self.started.is_none_or(|(best, _)| rank < best)
        {
            self.started = Some((rank, at));
        }
    }

    /// Records for the steps of a process whether this line begins or ends them. Returns false if there are too many processes.
    fn steps(&mut self, seen: &Seen<'_>) -> bool {
        let of = seen.parts.process.as_ref();
        // A process can change its name, but not its process id.
        let is_same = |it: &ProcessSteps| match (&it.process, of) {
            (Some(known), Some(now)) => match (known.pid, now.pid) {
                (Some(known), Some(now)) => known == now,
                _ => known.name == now.name,
            },
            (None, None) => true,
            _ => false,
        };
        let place = match self.processes.iter().position(is_same) {
            Some(place) => place,
            None if self.processes.len() == MAX_PROCESSES => return false,
            None => {
                self.processes.push(ProcessSteps::new(of.cloned()));
                self.processes.len() - 1
            }
        };
        let process = &mut self.processes[place];
        if !seen.hits.is_empty() {
            process.process = of.cloned();
        }
        if let Some(at) = seen.at {
            process.date(at);
        }
        let mark = Mark { line: seen.line, at: seen.at };
        if seen.begins.contains(&BANNER) {
            process.start(StepName::GetModelInfo, mark);
        }
        for index in seen.hits {
            let (engine, row) = TEXTS[*index];
            if self.engine.is_some_and(|it| it != engine) {
                continue;
            }
            for role in row.roles {
                match role {
                    Role::Starts(step) => process.start(*step, mark),
                    Role::Ends(step, rank) => process.end(*step, *rank, mark),
                    Role::Begins(_) | Role::Ready(_) | Role::Number(..) => {}
                }
            }
        }
        true
    }

    fn row(&mut self, engine: ServerEngine, row: &Text, seen: &Seen<'_>) {
        let Some(at) = seen.parts.text.find(row.text) else { return };
        let rest = &seen.parts.text[at + row.text.len()..];
        for role in row.roles {
            match role {
                Role::Begins(rank) => {
                    self.engine.get_or_insert(engine);
                    self.begin(*rank, seen.at);
                    if *rank == 0 && self.args.is_none() && self.args_unread.is_none() {
                        self.args(engine, rest, seen.line);
                    } else if *rank > 0
                        && let Some(version) = rest.split_whitespace().next()
                    {
                        self.version.get_or_insert_with(|| line::cut(version, MAX_WORD).to_owned());
                    }
                }
                Role::Ready(has_time) => {
                    self.is_ready = true;
                    if *has_time && seen.at.is_some() {
                        self.ready = seen.at;
                    }
                }
                Role::Number(figure, after) => {
                    if let Some(value) = number(rest, after) {
                        self.figures.entry(*figure).or_insert(value);
                    }
                }
                Role::Starts(_) | Role::Ends(..) => {}
            }
        }
    }

    fn args(&mut self, engine: ServerEngine, text: &str, line: u64) {
        let row = engine.row();
        let read = match row.startup_log.map(|it| it.arguments) {
            Some(ArgumentsForm::Dictionary) => python::map(text.trim()),
            Some(ArgumentsForm::Call) => python::call(text.trim()),
            None => None,
        };
        match read {
            Some(mut args) => {
                if row.has_sleep_mode {
                    self.sleep_mode = Some(args.get("enable_sleep_mode") == Some(&Value::Bool(true)));
                }
                redact::map(&mut args);
                self.args = Some(args);
            }
            None => self.args_unread = Some(line),
        }
    }

    /// Reads the values that a line can contain: the load format, the model, the version.
    fn words(&mut self, seen: &Seen<'_>) {
        let text = seen.parts.text;
        if self.load_format.is_none()
            && let Some(found) = setting(text, "load_format=")
        {
            let word = found.trim_start_matches('<').trim_start_matches("LoadFormat.");
            let word = word.split(':').next().unwrap_or_default().trim_matches(['\'', '"', ' ']);
            self.load_format = (!word.is_empty()).then(|| line::cut(word, MAX_WORD).to_ascii_lowercase());
        }
        if let Some((_, config)) = text.split_once("LLM engine (v") {
            if self.version.is_none()
                && let Some((version, _)) = config.split_once(')')
            {
                self.version = Some(line::cut(version, MAX_WORD).to_owned());
                self.engine.get_or_insert(ServerEngine::Vllm);
            }
            if self.model.is_none()
                && let Some(model) = setting(config, "model=")
            {
                self.model = Some(redact::text(line::cut(model.trim_matches('\''), MAX_WORD)).into_owned());
            }
        }
        if self.sleep_mode.is_none()
            && let Some((_, rest)) = text.split_once("'enable_sleep_mode':")
        {
            self.sleep_mode = Some(rest.trim_start().starts_with("True"));
        }
    }

    fn sleep_wake(&mut self, seen: &Seen<'_>) {
        let message = seen.parts.message();
        if let Some(rest) = message.strip_prefix("Sleep mode freed") {
            self.memory = number(rest, "").zip(number(rest, "memory,"));
            return;
        }
        let Some(rest) = message.strip_prefix("It took ") else { return };
        let kind = if rest.contains(" seconds to fall asleep") {
            SleepWakeKind::Sleep
        } else if rest.contains(" seconds to wake up") {
            SleepWakeKind::Wake
        } else {
            return;
        };
        let Some(seconds) = number(rest, "") else { return };
        if self.sleep_wake.len() == MAX_SLEEP_WAKE {
            return;
        }
        let memory = if kind == SleepWakeKind::Sleep { self.memory.take() } else { None };
        let (freed_gib, in_use_gib) = memory.unzip();
        self.sleep_wake.push(SleepWake { kind, at: seen.at, seconds, freed_gib, in_use_gib });
    }
}

/// The value that follows `key`, up to the next comma.
fn setting<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(key)?;
    let (value, _) = rest.split_once(',')?;
    Some(value.trim()).filter(|it| !it.is_empty())
}
