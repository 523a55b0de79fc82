//! The answer of a run in one sentence, with its verdicts. The page, the terminal, the comment for pull requests and the status begin with it.

use ::figures::{
    Figure,
    text::{brief, listed},
};
use crds::{
    Met, ObjectiveCounts, Outcome,
    wording::{one_line, percent},
};
use workload_profiles::workload::{Load, Rate};

use crate::{ObjectiveDocument, ReportDocument, StageDocument};

/// Maximum number of figures or objectives that the sentence names.
const MOST_NAMED: usize = 3;
/// Maximum number of loads in a list.
const MOST_LOADS: usize = 6;

/// The answer of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// One or two complete sentences.
    pub sentence: String,
    /// The verdict on the measurement, followed by the verdicts on the objectives.
    pub tags: Vec<Tag>,
}

/// A verdict in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    pub state: TagState,
    pub text: String,
}

impl Tag {
    /// The text with the sign of its verdict in front, such as `✓ Measurement valid`.
    pub fn signed(&self) -> String {
        format!("{} {}", self.state.sign(), self.text).trim_start().to_owned()
    }
}

/// Which verdict a tag shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagState {
    Met,
    Missed,
    Undecided,
    /// Text that is not a verdict.
    Plain,
}

impl TagState {
    /// The sign in front of the text, so that a verdict can be recognized without colour. Empty for [`TagState::Plain`].
    pub fn sign(self) -> &'static str {
        match self {
            TagState::Met => "✓",
            TagState::Missed => "✗",
            TagState::Undecided => "?",
            TagState::Plain => "",
        }
    }

    /// The verdict as a word: `met`, `missed`, `undecided`. Empty for [`TagState::Plain`].
    pub fn word(self) -> &'static str {
        match self {
            TagState::Met => "met",
            TagState::Missed => "missed",
            TagState::Undecided => "undecided",
            TagState::Plain => "",
        }
    }
}

impl From<Met> for TagState {
    fn from(met: Met) -> TagState {
        match met {
            Met::True => TagState::Met,
            Met::False => TagState::Missed,
            Met::Inconclusive => TagState::Undecided,
        }
    }
}

impl Answer {
    /// The answer of a finished run.
    pub fn new(document: &ReportDocument) -> Answer {
        let measurement = measurement(document);
        let found = match document.outcome.has_valid_figures() {
            true => found(document),
            false => Answer { sentence: invalid(document), tags: Vec::new() },
        };
        let sentence = match document.outcome.has_valid_figures() && document.partial {
            true => format!("{} {}", stopped(document), found.sentence),
            false => found.sentence,
        };
        let sentence = one_line(&sentence);
        Answer { sentence, tags: std::iter::once(measurement).chain(found.tags).collect() }
    }
}

fn tag(state: TagState, text: impl Into<String>) -> Tag {
    Tag { state, text: text.into() }
}

fn measurement(document: &ReportDocument) -> Tag {
    let invalid: Vec<&str> =
        document.stages.iter().filter(|it| !it.invalid.is_empty()).map(|it| it.name.as_str()).collect();
    match document.outcome {
        Outcome::Cancelled => tag(TagState::Undecided, "Stopped early"),
        it if !it.has_valid_figures() => tag(TagState::Missed, "Measurement not valid"),
        _ if document.partial => tag(TagState::Undecided, "Stopped early"),
        _ if !invalid.is_empty() => tag(TagState::Undecided, format!("Measurement not valid in {}", listed(&invalid))),
        _ => tag(TagState::Met, "Measurement valid"),
    }
}

/// The sentence on why the figures are invalid.
fn invalid(document: &ReportDocument) -> String {
    let reason = document.reasons.first();
    let why = reason.map(|it| if it.message.is_empty() { &it.reason } else { &it.message });
    match (document.outcome, why) {
        (Outcome::Cancelled, _) => stopped(document),
        // Uses only the first clause. The following clauses are details and remedies, which the list of reasons shows.
        (_, Some(why)) => {
            let first = why.split([';', '(']).map(str::trim).find(|it| !it.is_empty()).unwrap_or("no reason");
            format!("The measurement is not valid: {}.", first.trim_end_matches('.'))
        }
        (_, None) => "The measurement is not valid.".to_owned(),
    }
}

fn stopped(document: &ReportDocument) -> String {
    let all = document.stages.len();
    let run = document.stages.iter().rposition(|it| it.figures.requests > 0).map_or(1, |it| it + 1);
    match all {
        0 | 1 => "The run was stopped before its end.".to_owned(),
        _ => format!("The run was stopped in stage {run} of {all}."),
    }
}

fn found(document: &ReportDocument) -> Answer {
    if let Some(answer) = search(document).or_else(|| loadgen(document)).or_else(|| accuracy(document)) {
        return answer;
    }
    if document.objectives.is_empty() && document.workload["work"] == "startup" {
        return Answer { sentence: starts(document), tags: Vec::new() };
    }
    if document.objectives.is_empty() {
        return Answer { sentence: headline(document), tags: vec![tag(TagState::Plain, "No objectives set")] };
    }
    over_load(document).unwrap_or_else(|| objectives(document))
}

fn search(document: &ReportDocument) -> Option<Answer> {
    let found = document.search.as_ref()?;
    let text = match (&found.answer, found.at_least) {
        (Some(answer), Some(at_least)) if answer.load < at_least => {
            tag(TagState::Missed, format!("Below {}", found.load_text(at_least)))
        }
        (Some(answer), _) => tag(TagState::Met, found.load_text(answer.load)),
        (None, _) => tag(TagState::Undecided, "No load confirmed"),
    };
    Some(Answer { sentence: found.sentence(), tags: vec![text] })
}

fn loadgen(document: &ReportDocument) -> Option<Answer> {
    let tests = &document.loadgen.as_ref()?.tests;
    let result = |it: &crate::LoadGenTestDocument| {
        let rate = match (it.samples_per_second, it.tokens_per_second) {
            (_, Some(tokens)) => format!(", {} tokens/s", brief::number(tokens)),
            (Some(samples), None) => format!(", {} samples/s", brief::number(samples)),
            (None, None) => String::new(),
        };
        format!("{} ({}) is {}{rate}", it.scenario.name(), it.mode.name(), it.result)
    };
    let told: Vec<String> = tests.iter().map(result).collect();
    let state = |it: &crate::LoadGenTestDocument| match it.result.as_str() {
        "VALID" => TagState::Met,
        "INVALID" => TagState::Missed,
        _ => TagState::Plain,
    };
    let tags = tests.iter().map(|it| tag(state(it), format!("{} {}", it.scenario.name(), it.result)));
    (!told.is_empty()).then(|| Answer { sentence: format!("{}.", told.join("; ")), tags: tags.collect() })
}

fn accuracy(document: &ReportDocument) -> Option<Answer> {
    let found = document.accuracy.as_ref()?;
    let figures = found.figures.iter().take(MOST_NAMED).map(|it| format!("{} {}", it.name, it.text));
    let figures: Vec<String> = figures.collect();
    let of = found.wanted.map(|it| format!(" of {it}")).unwrap_or_default();
    let verdict = found.verdict.name();
    let figures = if figures.is_empty() { "No figure".to_owned() } else { listed(&figures) };
    let sentence = format!("Check {}: {verdict}. {figures} over {}{of} answers.", found.check, found.scored);
    Some(Answer { sentence, tags: vec![tag(TagState::Plain, format!("Accuracy: {verdict}"))] })
}

/// A stage with its load as a number, and its result.
struct Level {
    /// The index of the stage.
    stage: usize,
    load: f64,
    unit: Unit,
    met: Met,
    /// The figures of the objectives that the stage misses.
    missed: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Users,
    RequestsPerSecond,
}

impl Unit {
    fn of(stage: &StageDocument) -> Option<(f64, Unit)> {
        match &stage.load {
            Load::Closed { concurrency, .. } => Some((f64::from(*concurrency), Unit::Users)),
            Load::Open { rate: Rate::Steady(rate), .. } => Some((rate.per_second(), Unit::RequestsPerSecond)),
            _ => None,
        }
    }

    /// Several loads with the unit at the end, such as `1, 2 and 8 users`.
    fn list(self, loads: &[f64]) -> String {
        let mut numbers: Vec<String> = loads.iter().take(MOST_LOADS).map(|it| brief::short(*it)).collect();
        if loads.len() > MOST_LOADS {
            numbers.push(format!("{} more", loads.len() - MOST_LOADS));
        }
        let unit = match self {
            Unit::Users if loads == [1.0] => " user",
            Unit::Users => " users",
            Unit::RequestsPerSecond => " requests/s",
        };
        format!("{}{unit}", listed(&numbers))
    }
}

/// Returns the stages as levels of the same kind of load, in ascending order. `None` if their loads cannot be ordered, or if the report has no
/// results per stage. Also `None` if "the highest load that meets all objectives" would be misleading: with a minimum of a rate, high loads meet the
/// objective and low ones miss it; with a baseline, each stage has a different limit.
fn levels(document: &ReportDocument) -> Option<Vec<Level>> {
    let has_no_highest =
        |it: &ObjectiveDocument| (it.bound == "min" && it.unit == "perSecond") || it.baseline_limit.is_some();
    if document.objectives.iter().any(has_no_highest) {
        return None;
    }
    let mut levels: Vec<Level> = Vec::new();
    for (index, stage) in document.stages.iter().enumerate() {
        let results: Vec<(&ObjectiveDocument, Met)> =
            document.objectives.iter().filter_map(|it| Some((it, it.in_stage(&stage.name)?.met))).collect();
        if results.is_empty() {
            // A stage that is entirely warm-up has no results.
            continue;
        }
        let (load, unit) = Unit::of(stage)?;
        if results.len() != document.objectives.len() {
            return None;
        }
        let missed = results.iter().filter(|it| it.1 == Met::False).map(|it| it.0.figure()).collect();
        let met = ObjectiveCounts::count(results.iter().map(|it| it.1)).all();
        levels.push(Level { stage: index, load, unit, met, missed });
    }
    levels.sort_by(|one, other| one.load.total_cmp(&other.load));
    let is_one_load = levels.windows(2).all(|it| it[0].unit == it[1].unit && it[0].load < it[1].load);
    (levels.len() > 1 && is_one_load).then_some(levels)
}

/// The highest level that meets all objectives and is below the first level that misses one.
fn best(levels: &[Level]) -> Option<&Level> {
    let first_missed = levels.iter().position(|it| it.met == Met::False).unwrap_or(levels.len());
    levels.get(..first_missed)?.iter().rfind(|it| it.met == Met::True)
}

/// Returns the index of the stage with the highest load that meets all objectives and is below the first load that misses one. `None` if there is no
/// such stage, or if the stages are not levels of one load. In a search: the stage of the answer.
pub fn best_stage(document: &ReportDocument) -> Option<usize> {
    if let Some(search) = &document.search {
        let stage = search.answer.as_ref()?.stage.as_ref()?;
        return document.stages.iter().position(|it| it.name == *stage);
    }
    levels(document).as_deref().and_then(best).map(|it| it.stage)
}

/// The answer for a sweep: up to which load all objectives are met. `None` if the stages are not levels of one load.
fn over_load(document: &ReportDocument) -> Option<Answer> {
    let levels = levels(document)?;
    let unit = levels.first()?.unit;
    let with = |met: Met| -> Vec<f64> { levels.iter().filter(|it| it.met == met).map(|it| it.load).collect() };
    let [held, undecided, missed] = [Met::True, Met::Inconclusive, Met::False].map(with);
    let all = match document.objectives.len() {
        1 => "the objective".to_owned(),
        count => format!("all {count} objectives"),
    };
    let stay = |loads: &[f64]| if loads == [1.0] { "stays" } else { "stay" };
    let best = best(&levels).map(|it| it.load);
    let holds = match best {
        Some(best) if held.len() == levels.len() => {
            format!("Every load up to {} stays within {all}", unit.list(&[best]))
        }
        // If a load below the best one is undecided, "up to" would be wrong. So the answer lists the loads that meet the objectives.
        Some(best) if undecided.iter().any(|it| *it < best) => {
            let below: Vec<f64> = held.iter().copied().filter(|it| *it <= best).collect();
            format!("{} {} within {all}", unit.list(&below), stay(&below))
        }
        Some(best) => format!("Up to {} {} within {all}", unit.list(&[best]), stay(&[best])),
        None if !held.is_empty() => format!("{} {} within {all}", unit.list(&held), stay(&held)),
        None if !missed.is_empty() => format!("No load was shown to stay within {all}"),
        None => format!("No load has a verdict on {all}"),
    };
    let open = (!undecided.is_empty()).then(|| format!("{} {} undecided", unit.list(&undecided), are(undecided.len())));
    let first_missed = levels.iter().find(|it| it.met == Met::False);
    let misses = first_missed.map(|it| format!("{} {} {}", unit.list(&[it.load]), verb(it), listed(&it.missed)));
    let parts: Vec<String> = std::iter::once(holds).chain(open).chain(misses).collect();
    let tags = [
        (TagState::Met, "Met", held),
        (TagState::Undecided, "Undecided", undecided),
        (TagState::Missed, "Missed", missed),
    ];
    let tags = tags.into_iter().filter(|it| !it.2.is_empty());
    Some(Answer {
        sentence: format!("{}.", parts.join("; ")),
        tags: tags.map(|(state, word, loads)| tag(state, format!("{word} at {}", unit.list(&loads)))).collect(),
    })
}

fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn verb(level: &Level) -> &'static str {
    if level.load == 1.0 { "misses" } else { "miss" }
}

/// The answer by objectives: how many are met, and the first ones that are not.
fn objectives(document: &ReportDocument) -> Answer {
    let all = document.objectives.len();
    let with = |met: Met| document.objectives.iter().filter(|it| it.met == met).collect::<Vec<_>>();
    let [held, undecided, missed] = [Met::True, Met::Inconclusive, Met::False].map(with);
    let of_all = |count: usize| match all {
        1 => "The objective is".to_owned(),
        _ if count == all => format!("All {all} objectives are"),
        _ => format!("{count} of {all} objectives {}", are(count)),
    };
    // A value near its limit can be met or missed by chance.
    let is_close = document.stages.len() == 1
        && document.objectives.iter().any(|it| it.met != Met::Inconclusive && it.is_undecided_in_stage());
    let close = if is_close { " A limit is not decided with certainty." } else { "" };
    let told = |these: &[&ObjectiveDocument]| {
        let named: Vec<String> = these.iter().take(MOST_NAMED).map(|it| it.against_limit()).collect();
        let more = these.len().saturating_sub(MOST_NAMED);
        if more == 0 { named.join("; ") } else { format!("{}; and {more} more", named.join("; ")) }
    };
    let sentence = if !missed.is_empty() {
        format!("{} missed: {}.{close}", of_all(missed.len()), told(&missed))
    } else if !undecided.is_empty() {
        format!("{} undecided: {}.{close}", of_all(undecided.len()), told(&undecided))
    } else {
        format!("{} met: {}.{close}", of_all(held.len()), told(&held))
    };
    let counts = [
        (TagState::Met, "met", held),
        (TagState::Undecided, "undecided", undecided),
        (TagState::Missed, "missed", missed),
    ];
    let counts = counts.into_iter().filter(|it| !it.2.is_empty());
    let tags = counts.map(|(state, word, these)| tag(state, format!("{} of {all} objectives {word}", these.len())));
    Answer { sentence, tags: tags.collect() }
}

/// The sentence on how long the servers of a run took to start.
fn starts(document: &ReportDocument) -> String {
    let times: Vec<f64> = document.startups.iter().filter_map(|it| it.observed_ready_seconds).collect();
    let (shortest, longest) =
        times.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(*it), most.max(*it)));
    match times.len() {
        0 => "No start of a server was measured.".to_owned(),
        1 => format!("The server was ready after {} s.", brief::number(longest)),
        count => format!("{count} servers were ready after {} s.", brief::range(shortest, longest)),
    }
}

/// The sentence on the highest throughput and its load.
fn headline(document: &ReportDocument) -> String {
    let rate = |it: &&StageDocument| it.figures.number(Figure::OutputTokensPerSecond);
    let best = document.stages.iter().filter(|it| it.invalid.is_empty() && rate(it).is_some());
    let best = best.max_by(|one, other| rate(one).unwrap_or(0.0).total_cmp(&rate(other).unwrap_or(0.0)));
    let Some(best) = best else { return "No objectives were set, and no request succeeded.".to_owned() };
    let at = Unit::of(best).map(|(load, unit)| format!(" at {}", unit.list(&[load]))).unwrap_or_default();
    let most = if document.stages.len() > 1 { "At most " } else { "" };
    let figures = &best.figures;
    let tokens = figures.number(Figure::OutputTokensPerSecond).filter(|it| *it > 0.0);
    let tokens = tokens.map(|it| format!("{} output tokens/s", brief::number(it)));
    let requests = figures.number(Figure::RequestsPerSecond).map(|it| format!("{} requests/s", brief::number(it)));
    let ttft = figures.statistics(Figure::Ttft).map(|it| format!("TTFT p50 {}", brief::time(it.p50)));
    let latency = figures.statistics(Figure::Latency).map(|it| format!("latency p50 {}", brief::time(it.p50)));
    let times: Vec<String> = tokens.or(requests).into_iter().chain(ttft.or(latency)).collect();
    spaced(&format!("No objectives were set. {most}{}{at}.", times.join(", ")))
}

impl ObjectiveDocument {
    /// The result of a stage. `None` if the objective does not cover the stage, or if an earlier release wrote the report.
    pub fn in_stage(&self, stage: &str) -> Option<&crate::StageObjectiveDocument> {
        self.stages.iter().find(|it| it.stage == stage)
    }

    fn is_undecided_in_stage(&self) -> bool {
        self.stages.iter().any(|it| it.met == Met::Inconclusive)
    }

    /// The figure, such as `TTFT p99`.
    pub fn figure(&self) -> String {
        let figure = Figure::from_metric(self.metric);
        self.stat.map_or_else(|| figure.label(), |stat| figure.titled(stat))
    }

    /// A value of the objective with its unit, such as `72.9 ms`.
    pub fn value_text(&self, value: f64) -> String {
        match self.unit.as_str() {
            "ms" => spaced(&brief::bound(value)),
            "share" => percent(value),
            _ => format!("{}/s", brief::short(value)),
        }
    }

    /// A value with all digits and its unit, such as `500.3 ms`.
    pub fn exact_text(&self, value: f64) -> String {
        // A limit from a baseline is a product, so it has more digits than the measured value.
        let value = round_to(value, 1e6);
        match self.unit.as_str() {
            "ms" if value >= 1e3 && value % 100.0 == 0.0 => format!("{} s", value / 1e3),
            "ms" => format!("{value} ms"),
            "share" => format!("{} %", round_to(value * 100.0, 1e6)),
            _ => format!("{value}/s"),
        }
    }

    /// The observed value as text. It has all digits if fewer would make it look equal to the limit.
    pub fn observed_text(&self, value: f64) -> String {
        let (text, limit) = (self.value_text(value), self.deciding_limit());
        if value != limit && [self.value_text(limit), self.exact_text(limit)].contains(&text) {
            return self.exact_text(value);
        }
        text
    }

    /// The effective limit: the stricter of the objective's own limit and the baseline's limit.
    pub fn deciding_limit(&self) -> f64 {
        match self.baseline_limit {
            Some(it) if self.bound == "max" => it.min(self.limit),
            Some(it) => it.max(self.limit),
            None => self.limit,
        }
    }

    /// The observed value and its limit, such as `TTFT p99 is 812 ms, limit 500 ms`, with the stage if there is one.
    fn against_limit(&self) -> String {
        let limit = self.exact_text(self.deciding_limit());
        let place = self.observed_stage.as_ref().map(|it| format!(" in stage {it}")).unwrap_or_default();
        match self.observed {
            Some(value) => format!("{} is {}{place}, limit {limit}", self.figure(), self.observed_text(value)),
            None => format!("{} was not measured{place}, limit {limit}", self.figure()),
        }
    }
}

/// Rounds to a multiple of 1 / `parts`.
fn round_to(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

/// Replaces non-breaking spaces, which only a page needs, by normal spaces.
fn spaced(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests;
