//! Compares one run with the base.

use ::document::{ReportDocument, StageDocument};
use figures::{Family, Value, Way};
use statistics::{
    Interval,
    difference::{ERROR_95, Estimated, Method, difference},
    mean_of_runs,
};

use crate::{
    answer::{self, NOT_COMPARABLE, Size},
    document::{FigureDocument, PairDocument, StagePairDocument, ValueDocument, Verdict},
    estimate::{Reading, Source},
    figure::compared,
    remarks::{self, Remark},
    run::Run,
    stages,
};

/// The probability that at least one interval of a pair of runs misses the true difference. There is one interval per family of figures. With this
/// value, if twenty comparisons of equal runs are made, none of them reports a difference in at least four of five cases.
pub(crate) const FAMILY_ERROR: f64 = 0.01;

/// The smallest difference that counts, in percent of the larger value. Runs with the same setting differ by more than their intervals show, for
/// example because the machine is warmer, or because a process has another memory layout.
pub(crate) const SMALLEST_PERCENT: f64 = 1.0;

/// "No difference found" is reported only if both ends of the interval are at most this far from 0, in percent of the larger value.
const WIDE_PERCENT: f64 = 25.0;

/// Which servers of a pair of runs fell behind their load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overload {
    Neither,
    Base,
    Other,
    Both,
}

impl Overload {
    /// Considers all runs of a series. If it is unknown for one side whether the server fell behind, the result is the same as if both kept up, so
    /// that the interval decides.
    fn compare([base, other]: [&Reader<'_>; 2]) -> Overload {
        match (base.overloaded(), other.overloaded()) {
            (Some(true), Some(false)) => Overload::Base,
            (Some(false), Some(true)) => Overload::Other,
            (Some(true), Some(true)) => Overload::Both,
            _ => Overload::Neither,
        }
    }

    /// The verdict on a latency if a server fell behind, so that the latency grows with the length of the stage. An interval assumes a steady state,
    /// so it cannot decide then. `None` if the interval decides.
    fn verdict(self, [base, other]: [f64; 2], name: &str) -> Option<(Verdict, String)> {
        let grows = "so this latency grows with the length of the stage";
        let is_small = (other - base).abs() < SMALLEST_PERCENT / 100.0 * base.abs().max(other.abs());
        let (verdict, overloaded, steady) = match self {
            Overload::Base | Overload::Other if is_small => return None,
            Overload::Base if base > other => (Verdict::Better, "A", name),
            Overload::Other if other > base => (Verdict::Worse, name, "A"),
            Overload::Both => {
                let why = format!(
                    "neither run kept up with its load, {grows}; compare at a load that both servers keep up with"
                );
                return Some((Verdict::CannotBeDecided, why));
            }
            Overload::Neither | Overload::Base | Overload::Other => return None,
        };
        Some((verdict, format!("{overloaded} did not keep up with its load, but {steady} did, {grows}")))
    }
}

/// A figure of both runs that has no verdict yet.
struct Beside {
    figure: Value,
    base: Option<Reading>,
    other: Option<Reading>,
    /// Both estimates, or why they cannot be compared.
    estimates: Result<[Estimated; 2], String>,
}

/// Compares a run with the base. `name` is the name of the compared run, such as `B`.
pub(crate) fn compare(one: &Run<'_>, two: &Run<'_>, name: &str) -> PairDocument {
    let (base, other) = (one.report, two.report);
    let matched = stages::matched(base, other, name);
    let remarks = remarks::of_pair(base, other, &matched.pairs);
    let figures = compared();
    let besides: Vec<Vec<Beside>> = matched
        .pairs
        .iter()
        .map(|(of_one, of_two)| {
            let readers = [Reader::new(one, of_one), Reader::new(two, of_two)];
            figures.iter().filter_map(|it| beside(*it, &readers, blocking(*it, of_one, &remarks), name)).collect()
        })
        .collect();
    let has_interval = |of_stage: &[Beside], family| {
        of_stage.iter().any(|it| it.figure.figure.row().family == family && it.estimates.is_ok())
    };
    let families = besides.iter().flat_map(|it| Family::ALL.into_iter().filter(|family| has_interval(it, *family)));
    let families = families.count();
    let runs = [one, two].into_iter().filter_map(Run::runs).min();
    // Bonferroni correction over families of figures. The figures within one family depend on each other, so each of them adds little error.
    let error = FAMILY_ERROR / families.max(1) as f64;
    let stages = matched.pairs.iter().zip(besides).map(|((of_one, of_two), figures)| {
        let overload = Overload::compare([&Reader::new(one, of_one), &Reader::new(two, of_two)]);
        let figures: Vec<FigureDocument> = figures.into_iter().map(|it| decided(it, error, overload, name)).collect();
        let seconds = of_one.figures.duration_ms.min(of_two.figures.duration_ms) / 1e3;
        let (answer, sentence) = answer::of_stage(name, &figures, Size { seconds, runs });
        let (base, other) = (of_one.name.clone(), of_two.name.clone());
        StagePairDocument { base, other, answer, sentence, seconds, runs, figures }
    });
    let stages: Vec<StagePairDocument> = stages.collect();
    let (answer, sentence) = answer::of_pair(name, &stages);
    let run = name.to_owned();
    PairDocument { run, answer, sentence, remarks, stages, unmatched: matched.unmatched, families }
}

/// The source of the figures of a stage: one run, or each run of a series.
struct Reader<'a>(Vec<Source<'a>>);

impl<'a> Reader<'a> {
    fn new(run: &Run<'a>, stage: &'a StageDocument) -> Reader<'a> {
        let source = |of: &'a ReportDocument| {
            let stage = of.stages.iter().find(|it| it.name == stage.name && !it.profiled)?;
            Some(Source { stage, hardware: of.hardware.as_ref() })
        };
        let own = Source { stage, hardware: run.report.hardware.as_ref() };
        Reader(std::iter::once(own).chain(run.more.iter().filter_map(source)).collect())
    }

    /// Whether the server fell behind in at least one run. `None` if a report does not contain this.
    fn overloaded(&self) -> Option<bool> {
        let all: Vec<Option<bool>> = self.0.iter().map(|it| it.stage.overloaded).collect();
        if all.contains(&Some(true)) { Some(true) } else { (!all.contains(&None)).then_some(false) }
    }

    fn read(&self, figure: Value) -> Option<Reading> {
        if let [only] = &self.0[..] {
            return only.read(figure);
        }
        let values: Option<Vec<f64>> = self.0.iter().map(|it| it.read(figure).map(|it| it.value)).collect();
        let (value, interval) = mean_of_runs(&values?)?;
        let method = Method::MeanOfRuns { runs: self.0.len() };
        Some(Reading { value, estimate: Ok(Estimated { value, interval, method }) })
    }
}

/// The reason for which the remarks make a figure of a stage incomparable. `None` if it is comparable.
fn blocking(figure: Value, stage: &StageDocument, remarks: &[Remark]) -> Option<String> {
    let found = remarks.iter().find(|it| it.blocks(figure, &stage.name))?;
    Some(format!("{NOT_COMPARABLE}{}", found.label))
}

/// Reads a figure from both runs. `None` if neither run has it.
fn beside(figure: Value, [one, two]: &[Reader<'_>; 2], blocked: Option<String>, name: &str) -> Option<Beside> {
    let (base, other) = (one.read(figure), two.read(figure));
    if base.is_none() && other.is_none() {
        return None;
    }
    let estimate = |reading: &Option<Reading>, name: &str| match reading {
        None => Err(format!("{name} has no value")),
        Some(it) => it.estimate.clone().map_err(|why| format!("{name}: {why}")),
    };
    let estimates = match (blocked, estimate(&base, "A"), estimate(&other, name)) {
        (Some(why), _, _) => Err(why),
        (None, Ok(one), Ok(two)) => Ok([one, two]),
        (None, Err(one), Err(two)) if one.strip_prefix("A: ") == two.strip_prefix(&format!("{name}: ")) => {
            // If both runs have the same reason, it is reported once.
            Err(one.strip_prefix("A: ").map_or(one.clone(), str::to_owned))
        }
        (None, Err(why), _) | (None, _, Err(why)) => Err(why),
    };
    Some(Beside { figure, base, other, estimates })
}

fn decided(beside: Beside, error: f64, overload: Overload, name: &str) -> FigureDocument {
    let Beside { figure, base, other, estimates } = beside;
    let row = figure.figure.row();
    let values = base.as_ref().zip(other.as_ref()).map(|(one, two)| [one.value, two.value]);
    let between = values.map(|[one, two]| two - one);
    let base_value = values.map(|[one, _]| one).filter(|it| *it != 0.0);
    let percent = |it: f64| base_value.map(|base| 100.0 * it / base.abs());
    let pair = |it: Interval| [it.low, it.high];
    let grows = matches!(row.family, Family::Ttft | Family::Request);
    let by_overload = values.filter(|_| grows && estimates.is_ok()).and_then(|it| overload.verdict(it, name));
    let (verdict, why, interval, interval95) = match (by_overload, &estimates) {
        (Some((verdict, why)), _) => (verdict, why, None, None),
        (None, Err(why)) => (Verdict::CannotBeDecided, why.clone(), None, None),
        (None, Ok([one, two])) => {
            let interval = difference(one, two, error);
            let (verdict, why) = verdict(row.better, [one.value, two.value], interval);
            (verdict, why, Some(pair(interval)), Some(pair(difference(one, two, ERROR_95))))
        }
    };
    FigureDocument {
        figure: figure.name(),
        family: row.family,
        title: figure.title(),
        unit: row.unit.symbol().to_owned(),
        better: row.better,
        base: base.as_ref().map(value),
        other: other.as_ref().map(value),
        difference: between,
        percent: between.and_then(percent),
        interval,
        interval_percent: interval.and_then(|[low, high]| Some([percent(low)?, percent(high)?])),
        interval95,
        verdict,
        why,
    }
}

fn value(reading: &Reading) -> ValueDocument {
    let interval = reading.estimate.as_ref().ok().map(|it| it.interval);
    ValueDocument { value: reading.value, low: interval.map(|it| it.low), high: interval.map(|it| it.high) }
}

/// Decides whether a difference counts: its interval must exclude 0, and it must be at least [`SMALLEST_PERCENT`].
fn verdict(way: Way, [base, other]: [f64; 2], interval: Interval) -> (Verdict, String) {
    let between = other - base;
    // If the values have no spread, the interval is a single point, and rounding can move it away from 0.
    if interval.contains(0.0) || between == 0.0 {
        // Both values are treated alike, so that swapping the runs does not change the verdict.
        let (reach, larger) = (interval.low.abs().max(interval.high.abs()), base.abs().max(other.abs()));
        if reach > WIDE_PERCENT / 100.0 * larger && larger > 0.0 {
            return (
                Verdict::CannotBeDecided,
                format!("the intervals allow a difference of more than {WIDE_PERCENT} %"),
            );
        }
        return (Verdict::NoDifferenceFound, String::new());
    }
    if between.abs() < SMALLEST_PERCENT / 100.0 * base.abs().max(other.abs()) {
        return (Verdict::NoDifferenceFound, format!("the difference is certain, but below {SMALLEST_PERCENT} %"));
    }
    let is_better = (between > 0.0) == (way == Way::Up);
    (if is_better { Verdict::Better } else { Verdict::Worse }, String::new())
}
