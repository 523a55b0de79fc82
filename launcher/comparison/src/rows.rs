//! Texts and table cells of a comparison, shared by its text, Markdown and page. Each text is one line, and is not escaped.

use analysis::{Accuracy, AccuracyLimit};
use crds::{
    figure::rate_text,
    wording::{one_line, percent},
};

use crate::{
    document::{
        Comparison, FigureDocument, Gate, PairDocument, RunDocument, StagePairDocument, ValueDocument, Verdict,
    },
    percent::{interval, rounded_up, tenths},
    remarks::Remark,
};

const NOTHING: &str = "-";
/// Maximum number of reasons of a gate that are listed. Enough for a stage that is slower in every figure.
const MOST_REASONS: usize = 30;
/// The only figure that is shown in percent.
const ERRORS: &str = "errorRatio";

/// The header of a table of figures.
pub fn columns(pair: &PairDocument) -> [String; 5] {
    ["figure".into(), "A".into(), pair.run.clone(), format!("{} - A", pair.run), "verdict".into()]
}

/// The cells of a row for a figure.
pub fn cells(it: &FigureDocument) -> [String; 5] {
    let name = if it.unit.is_empty() { it.title.clone() } else { format!("{}, {}", it.title, it.unit) };
    [name, value(it, it.base), value(it, it.other), difference(it), it.verdict.name().to_owned()]
}

/// The cell of a value, such as `81.23 (80.1 to 82.4)`.
fn value(figure: &FigureDocument, value: Option<ValueDocument>) -> String {
    let Some(ValueDocument { value, low, high }) = value else { return NOTHING.to_owned() };
    let text = |it: f64| if figure.figure == ERRORS { percent(it) } else { signed(it, "") };
    match low.zip(high) {
        Some((low, high)) => format!("{} ({} to {})", text(value), text(low), text(high)),
        None => text(value),
    }
}

/// The cell of a difference, such as `+1.234, +1.5 % (-0.4 to +3.3 %)`. The difference of a share is in percentage points. If the base's value is 0,
/// there is no percentage.
fn difference(it: &FigureDocument) -> String {
    let Some(between) = it.difference else { return NOTHING.to_owned() };
    if it.figure == ERRORS {
        let points = |share: f64| signed(100.0 * share, "+");
        let interval = it.interval.map(|[low, high]| format!(" ({} to {})", points(low), points(high)));
        return format!("{} points{}", points(between), interval.unwrap_or_default());
    }
    let absolute = signed(between, "+");
    match (it.percent, it.interval_percent, it.interval) {
        (Some(share), Some(ends), _) => format!("{absolute}, {} % ({})", tenths(share), interval(ends)),
        (Some(share), None, _) => format!("{absolute}, {} %", tenths(share)),
        (None, _, Some([low, high])) => format!("{absolute} ({} to {})", signed(low, "+"), signed(high, "+")),
        (None, _, None) => absolute,
    }
}

/// A number with four significant digits. `plus` is put before a number above zero.
fn signed(number: f64, plus: &str) -> String {
    match number {
        it if it > 0.0 => format!("{plus}{}", rate_text(it)),
        it if it < 0.0 => format!("-{}", rate_text(-it)),
        _ => "0".to_owned(),
    }
}

/// The result of a comparison as a sentence, without a full stop.
pub fn answer(pair: &PairDocument) -> String {
    one_line(&pair.sentence)
}

/// The number of figures with each verdict, such as `2 better, 1 worse, 18 no difference found, 4 cannot be decided`.
pub fn counts(pair: &PairDocument) -> String {
    let count = |wanted: Verdict| {
        let figures = pair.stages.iter().flat_map(|it| &it.figures);
        figures.filter(|it| it.verdict == wanted).count()
    };
    let all = [Verdict::Better, Verdict::Worse, Verdict::NoDifferenceFound, Verdict::CannotBeDecided];
    all.map(|it| format!("{} {}", count(it), it.name())).join(", ")
}

/// Whether a figure is better or worse.
pub fn differs(it: &FigureDocument) -> bool {
    matches!(it.verdict, Verdict::Better | Verdict::Worse)
}

/// Returns the notes on the figures of a stage. Each reason appears once, after its figures, such as `TTFT p99, latency p99: too few for p99`.
pub fn reasons(stage: &StagePairDocument) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for it in stage.figures.iter().filter(|it| !it.why.is_empty()) {
        match found.iter_mut().find(|(why, _)| *why == it.why) {
            Some((_, titles)) => titles.push(&it.title),
            None => found.push((&it.why, vec![&it.title])),
        }
    }
    let text = |(why, titles): (&str, Vec<&str>)| {
        let about = if titles.len() == stage.figures.len() { "all figures".to_owned() } else { titles.join(", ") };
        format!("{about}: {}", one_line(why))
    };
    found.into_iter().map(text).collect()
}

/// The name of a stage, such as `stage r10`. If the runs name it differently, both names.
pub fn stage_name(stage: &StagePairDocument, pair: &PairDocument) -> String {
    let [base, other] = [&stage.base, &stage.other].map(|it| one_line(it));
    if base == other { format!("stage {base}") } else { format!("stage {base} of A, {other} of {}", pair.run) }
}

/// The line of a remark, such as `not comparable: clock: A scheduled, B sent. TTFT and latency count ...`.
pub fn remark(it: &Remark, pair: &PairDocument) -> String {
    let values = match (it.base.is_empty(), it.other.is_empty()) {
        (true, true) => String::new(),
        _ => format!(": A {}, {} {}", or_nothing(&it.base), pair.run, or_nothing(&it.other)),
    };
    let stages = match &it.stages[..] {
        [] => String::new(),
        stages => format!(" (stage {})", stages.join(", ")),
    };
    let about = match &it.figures[..] {
        [] => String::new(),
        figures => format!(" This concerns {}.", families(figures)),
    };
    one_line(&format!("{}: {}{values}{stages}. {}.{about}", it.severity.name(), it.label, sentence(&it.meaning)))
}

fn or_nothing(text: &str) -> &str {
    if text.is_empty() { NOTHING } else { text }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    // A term such as TTFT already starts with a capital letter.
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Shortens the names of figures to what comes before the dot: `ttft.mean`, `ttft.p50` and so on become `ttft`.
fn families(figures: &[String]) -> String {
    let mut found: Vec<&str> = Vec::new();
    for name in figures.iter().filter_map(|it| it.split('.').next()) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found.join(", ")
}

/// One line per stage that only one run has.
pub fn unmatched(pair: &PairDocument) -> Vec<String> {
    pair.unmatched
        .iter()
        .map(|it| one_line(&format!("stage {} of {} is not compared: {}", it.stage, it.run, it.why)))
        .collect()
}

/// One line about a run.
pub fn run(it: &RunDocument) -> String {
    let runs = it.runs.map(|it| format!(", mean of {it} runs")).unwrap_or_default();
    let server = it.server.as_ref().map(|it| format!(", {it}")).unwrap_or_default();
    let text = format!("{}: {}, {}{server}, {:.0}, {}{runs}", it.path, it.run, it.model, it.started, it.outcome.name());
    one_line(&text)
}

/// The table of the accuracy of all runs: its header and its rows, with one column per run. `None` if no run was scored.
pub fn accuracy(comparison: &Comparison) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let scored: Vec<&Accuracy> = comparison.runs.iter().filter_map(|it| it.accuracy.as_ref()).collect();
    let mut names: Vec<&str> = Vec::new();
    let computed = scored.iter().flat_map(|it| it.figures.iter().map(|it| it.name.as_str()));
    let missing = scored.iter().flat_map(|it| it.not_computed.iter().map(|it| it.figure.as_str()));
    for name in computed.chain(missing) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let row = |name: &str, cell: &dyn Fn(&Accuracy) -> String| -> Vec<String> {
        let cells = comparison.runs.iter().map(|it| it.accuracy.as_ref().map_or_else(|| NOTHING.to_owned(), cell));
        [name.to_owned()].into_iter().chain(cells).map(|it| one_line(&it)).collect()
    };
    let verdict = row("verdict", &report::accuracy::headline);
    let figures = names.iter().map(|name| row(name, &|it| score(it, name)));
    let head = ["accuracy".to_owned()].into_iter().chain(comparison.runs.iter().map(|it| it.name.clone()));
    (!scored.is_empty()).then(|| (head.collect(), [verdict].into_iter().chain(figures).collect()))
}

/// The cell of a score, such as `39.38 (at least 38: met)`.
fn score(accuracy: &Accuracy, name: &str) -> String {
    let value = accuracy.figures.iter().find(|it| it.name == name).map(|it| it.text.as_str());
    let is_missing = || accuracy.not_computed.iter().any(|it| it.figure == name);
    let value = value.unwrap_or_else(|| if is_missing() { "not computed" } else { NOTHING });
    let limit = |it: &AccuracyLimit| format!("{}: {}", it.text(), report::accuracy::met(it));
    let limits: Vec<String> = accuracy.limits_of(name).map(limit).collect();
    if limits.is_empty() { value.to_owned() } else { format!("{value} ({})", limits.join("; ")) }
}

/// The outcome of the gate, and one line per reason.
pub fn gate(it: &Gate) -> (String, Vec<String>) {
    let allowed = match it.percent {
        Some(percent) => format!("at most {percent} % worse is allowed"),
        None => "no worsening is allowed".to_owned(),
    };
    let about = if it.figures.is_empty() { String::new() } else { format!(" for {}", it.figures.join(", ")) };
    let most = it.largest_not_ruled_out.as_ref().map_or_else(String::new, |it| match it.percent > 0.0 {
        true => format!("; {} may be up to {} worse", one_line(&it.figure), rounded_up(it.percent)),
        false => "; no figure that decides is worse".to_owned(),
    });
    let head = format!("gate: {} ({allowed}{about}{most})", it.outcome.name());
    let shown = it.reasons.iter().take(MOST_REASONS).map(|it| one_line(it));
    let more = it.reasons.len().saturating_sub(MOST_REASONS);
    let more = (more > 0).then(|| format!("and {more} more, which are in the JSON"));
    (head, shown.chain(more).collect())
}

/// Explains the intervals and verdicts.
pub fn legend(comparison: &Comparison) -> String {
    let together = 100.0 * (1.0 - comparison.family_error);
    let counts: Vec<String> = comparison.pairs.iter().map(|it| it.families.to_string()).collect();
    format!(
        "In brackets: 95 % intervals of values, and wider intervals of differences. The wider ones allow for {} families of figures (TTFT, \
         decoding, request, rates and errors of each stage): they are all right together in {together} % of comparisons. A figure differs if its \
         interval excludes 0 and the difference is {} % or more. Two runs with the same settings may differ by more than single runs can show.",
        counts.join(", "),
        comparison.smallest_percent
    )
}
