//! Sums up a comparison in one sentence.

use crds::benchmark_run::MAX_REPEATS;
use figures::Family;
use statistics::student::t_95;

use crate::{
    document::{Answer, FigureDocument, StagePairDocument, Verdict},
    percent::{interval, rounded_up, tenths},
};

/// Two runs count as equal if the intervals exclude every difference of a mean latency that is larger than this, in percent of the base.
const EQUAL_PERCENT: f64 = 10.0;
/// If a stage is too short, the answer proposes a length at which a difference of this size can be detected, in percent of the base.
const SHOWN_PERCENT: f64 = 5.0;
/// The mean latencies that decide whether two runs are equal.
pub(crate) const DECIDING: [&str; 3] = ["ttft.mean", "tpot.mean", "latency.mean"];
/// Maximum number of figures, or of stages, that a sentence names.
const MOST_NAMED: usize = 3;
/// Maximum factor by which an answer proposes to lengthen a stage.
const MOST_TIMES: f64 = 50.0;

/// Returns the answer for a stage, and its sentence. `name` is the name of the compared run, such as `B`.
pub(crate) fn of_stage(name: &str, figures: &[FigureDocument], size: Size) -> (Answer, String) {
    let found: Vec<&FigureDocument> = Family::ALL.into_iter().filter_map(|it| named(figures, it)).collect();
    if let Some(first) = found.first() {
        let has = |verdict| found.iter().any(|it| it.verdict == verdict);
        let is_time = first.family.is_time();
        let (answer, word) = match (has(Verdict::Worse), has(Verdict::Better)) {
            (true, true) => (Answer::Mixed, "is better in some figures and worse in others"),
            (true, false) => (Answer::Worse, if is_time { "is slower" } else { "is worse" }),
            _ => (Answer::Better, if is_time { "is faster" } else { "is better" }),
        };
        let named: Vec<String> = found.iter().take(MOST_NAMED).map(|it| with_interval(it)).collect();
        return (answer, format!("{name} {word}: {}", named.join(", ")));
    }
    let deciding: Vec<&FigureDocument> = figures.iter().filter(|it| DECIDING.contains(&it.figure.as_str())).collect();
    if deciding.is_empty() {
        return (Answer::Undecided, "neither run measured a latency".to_owned());
    }
    if let Some(label) = deciding[0].why.strip_prefix(NOT_COMPARABLE)
        && deciding.iter().all(|it| it.why.starts_with(NOT_COMPARABLE))
    {
        return (Answer::NotComparable, format!("A and {name} cannot be compared: {label}"));
    }
    if let Some(open) = deciding.iter().find(|it| percents95(it).is_none()) {
        let answer = if open.why.starts_with(NOT_COMPARABLE) { Answer::NotComparable } else { Answer::Undecided };
        return (answer, format!("{} cannot be decided: {}", open.title, open.why));
    }
    let bound = largest(figures);
    if bound <= EQUAL_PERCENT {
        return (Answer::Equal, format!("A and {name} are equal within {}", rounded_up(bound)));
    }
    let widest = deciding.iter().filter_map(|it| Some((it, percents95(it)?)));
    let Some((widest, [low, high])) =
        widest.max_by(|(_, one), (_, other)| either_way(*one).total_cmp(&either_way(*other)))
    else {
        return (Answer::Undecided, String::new());
    };
    let differs = format!("{} differs by {}", widest.title, interval([low, high]));
    let is_narrow = high - low <= 2.0 * SHOWN_PERCENT;
    let more = match size.sufficient(high - low, 2.0 * SHOWN_PERCENT) {
        _ if is_narrow => "; repeat both runs to be sure".to_owned(),
        Some(it) => format!("; {it} would show a difference of {SHOWN_PERCENT} %"),
        None => String::new(),
    };
    let short = if size.runs.is_some() { "too few runs" } else { "too short" };
    (Answer::Undecided, format!("{short} to tell: {differs}{more}"))
}

/// The prefix of the reason of a figure that cannot be compared.
pub(crate) const NOT_COMPARABLE: &str = "not comparable: ";

/// Returns the answer for all stages together, and its sentence.
pub(crate) fn of_pair(name: &str, stages: &[StagePairDocument]) -> (Answer, String) {
    let [first, ..] = stages else {
        return (Answer::NotComparable, "no stage of one run matches a stage of the other".to_owned());
    };
    if let [only] = stages {
        return (only.answer, only.sentence.clone());
    }
    let with = |answers: &[Answer]| stages.iter().filter(|it| answers.contains(&it.answer)).collect::<Vec<_>>();
    let differing = with(&[Answer::Better, Answer::Worse, Answer::Mixed]);
    if let Some(one) = differing.first() {
        let is_same = differing.iter().all(|it| it.answer == one.answer);
        let named = differing.iter().take(MOST_NAMED).map(|it| format!("{}: {}", it.other, it.sentence));
        let count = format!("{} of {} stages", differing.len(), stages.len());
        let answer = if is_same { one.answer } else { Answer::Mixed };
        return (answer, format!("{name} differs in {count}. {}", named.collect::<Vec<_>>().join(". ")));
    }
    let open = with(&[Answer::Undecided, Answer::NotComparable]);
    match open.first() {
        None => {
            let bound = largest(stages.iter().flat_map(|it| &it.figures));
            (
                first.answer,
                format!("A and {name} are equal within {} in all {} stages", rounded_up(bound), stages.len()),
            )
        }
        Some(one) => {
            let count = format!("{} of {} stages are undecided", open.len(), stages.len());
            (one.answer, format!("{count}. {}: {}", one.other, one.sentence))
        }
    }
}

/// Returns the figure that represents its family in a sentence: one that differs, preferably a mean, then a median. `None` if none differs.
fn named(figures: &[FigureDocument], family: Family) -> Option<&FigureDocument> {
    let rank = |it: &&FigureDocument| match it.figure.rsplit('.').next() {
        Some("mean") => 0,
        Some("p50") => 1,
        Some("p90") => 2,
        _ => 3,
    };
    let differs = |it: &&FigureDocument| matches!(it.verdict, Verdict::Better | Verdict::Worse);
    figures.iter().filter(|it| it.family == family).filter(differs).min_by_key(rank)
}

fn with_interval(it: &FigureDocument) -> String {
    match (it.percent, percents95(it)) {
        (Some(share), Some([low, high])) => {
            format!("{} {} % ({} to {})", it.title, tenths(share), tenths(low), tenths(high))
        }
        (Some(share), None) => format!("{} {} %", it.title, tenths(share)),
        _ => it.title.clone(),
    }
}

/// The largest difference of a mean latency that is possible according to the 95 % intervals, in percent of the base.
fn largest<'a>(figures: impl IntoIterator<Item = &'a FigureDocument>) -> f64 {
    let deciding = figures.into_iter().filter(|it| DECIDING.contains(&it.figure.as_str()));
    deciding.filter_map(percents95).map(either_way).fold(0.0, f64::max)
}

fn either_way([low, high]: [f64; 2]) -> f64 {
    low.abs().max(high.abs())
}

/// The 95 % interval of the difference of this figure on its own, in percent of the base. `None` without an interval, or if the base's value is 0.
pub(crate) fn percents95(it: &FigureDocument) -> Option<[f64; 2]> {
    let base = it.base?.value.abs();
    let interval = it.interval95.filter(|_| base > 0.0)?;
    Some(interval.map(|bound| 100.0 * bound / base))
}

/// How much was measured for a stage, which both runs have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Size {
    /// Duration of the shorter of the two stages.
    pub(crate) seconds: f64,
    /// Number of runs of the shorter series; `None` for two single runs.
    pub(crate) runs: Option<usize>,
}

impl Size {
    pub(crate) fn of_stage(stage: &StagePairDocument) -> Size {
        Size { seconds: stage.seconds, runs: stage.runs }
    }

    /// Returns what is needed to narrow an interval from `width` to `wanted`, as text: a longer stage, or more runs for a series. `None` if that
    /// needs more than [`MOST_TIMES`] times the duration, or more than [`MAX_REPEATS`] runs.
    ///
    /// The width of an interval within one run decreases with the square root of the duration. The width of an interval between n runs is
    /// proportional to t / sqrt(n), where t is the 97.5th percentile of Student's t with n - 1 degrees of freedom.
    pub(crate) fn sufficient(self, width: f64, wanted: f64) -> Option<String> {
        let Some(runs) = self.runs else {
            let times = (width / wanted).powi(2);
            let usable = times.is_finite() && times <= MOST_TIMES && self.seconds > 0.0;
            return usable.then(|| format!("stages of about {}", length(self.seconds * times.max(1.0))));
        };
        let relative = |runs: usize| t_95(runs.saturating_sub(1).max(1)) / (runs as f64).sqrt();
        let most = relative(runs) * wanted / width;
        let runs = (runs + 1..=MAX_REPEATS as usize).find(|it| relative(*it) <= most)?;
        Some(format!("`--repeat {runs}`"))
    }
}

fn length(seconds: f64) -> String {
    match seconds {
        it if it < 90.0 => format!("{it:.0} s"),
        it if it < 5_400.0 => format!("{:.0} min", it / 60.0),
        it => format!("{:.1} h", it / 3_600.0),
    }
}
