//! Compares the figures of a run with MLPerf's limits. Pure.

use crate::{benchmark::Limit, scorer::Outcome};

/// A figure and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub limit: Limit,
    /// The figure as printed; `None` if it was not computed.
    pub value: Option<f64>,
    /// Whether the limit is met; `None` if there is no figure, or if the run covers only a part of the data set.
    pub met: Option<bool>,
}

/// The overall result of comparing figures with limits.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// All limits are met.
    Passed,
    /// At least one limit is missed.
    Failed,
    /// No verdict is possible, for these reasons.
    Undecided(Vec<String>),
}

/// The judged limits of a run, and the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Every limit with its figure.
    pub limits: Vec<Judged>,
    pub verdict: Verdict,
}

/// Creates a user's limit for a figure: its minimum value.
pub fn at_least(key: &'static str, bound: f64) -> Limit {
    Limit { key, baseline: bound, factor: 1.0, is_upper: false }
}

/// Compares a run with limits. `wanted` is the number of samples that must be scored; `None` for any number. `doubts`: additional reasons against a
/// verdict. A run with another number of samples has no verdict. A run that lacks a figure with a limit has no verdict either, unless another figure
/// misses its limit.
pub fn judge(outcome: &Outcome, limits: Vec<Limit>, wanted: Option<u64>, doubts: &[String]) -> Gate {
    let mut reasons = doubts.to_vec();
    if let Some(wanted) = wanted.filter(|it| outcome.samples != *it) {
        let name = outcome.benchmark.name();
        reasons.push(format!(
            "the log has answers to {} samples, and the limits of {name} are for {wanted}",
            outcome.samples
        ));
    }
    let is_comparable = reasons.is_empty();
    let judged = |limit: Limit| {
        let value = outcome.value(limit.key);
        let meets = |it: f64| if limit.is_upper { it <= limit.bound() } else { it >= limit.bound() };
        Judged { limit, value, met: value.filter(|_| is_comparable).map(meets) }
    };
    let limits: Vec<Judged> = limits.into_iter().map(judged).collect();
    for key in limits.iter().filter(|it| it.value.is_none() && !it.limit.is_upper).map(|it| it.limit.key) {
        let missing = outcome.missing.iter().find(|(it, _)| *it == key);
        let reason = missing.map_or("it is no figure of the check", |(_, reason)| reason);
        reasons.push(format!("{key} is not computed: {reason}"));
    }
    if limits.is_empty() {
        reasons.push("no figure has a limit".to_owned());
    }
    let verdict = match limits.iter().any(|it| it.met == Some(false)) {
        true => Verdict::Failed,
        false if reasons.is_empty() => Verdict::Passed,
        false => Verdict::Undecided(reasons),
    };
    Gate { limits, verdict }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{benchmark::Benchmark, scorer::Value};

    fn outcome(samples: u64, values: &[(&'static str, f64)]) -> Outcome {
        Outcome {
            benchmark: Benchmark::Llama3_1_8bEdge,
            lines: samples,
            scored: samples,
            samples,
            repeated: 0,
            unknown: 0,
            values: values.iter().map(|(key, number)| Value { key, number: *number, text: String::new() }).collect(),
            missing: vec![("gen_len", "no tables"), ("rougeLsum", "no tables")],
            kinds: Vec::new(),
        }
    }

    fn judge_all(outcome: &Outcome, doubts: &[String]) -> Gate {
        judge(outcome, outcome.benchmark.limits(false), outcome.benchmark.samples(), doubts)
    }

    fn check(outcome: &Outcome, expected: Verdict) {
        assert_eq!(judge_all(outcome, &[]).verdict, expected);
    }

    /// Figures exactly at their lower limits. Only the first figure is lower than its limit, by `first`.
    fn at_limits(first: f64) -> Vec<(&'static str, f64)> {
        let bounds = Benchmark::Llama3_1_8bEdge.limits(false);
        let lower = bounds.iter().filter(|it| !it.is_upper);
        lower.enumerate().map(|(index, it)| (it.key, it.bound() - if index == 0 { first } else { 0.0 })).collect()
    }

    #[test]
    fn a_figure_at_its_limit_passes() {
        check(&outcome(5000, &at_limits(0.0)), Verdict::Passed);
        check(&outcome(5000, &at_limits(0.001)), Verdict::Failed);
        let upper = 1.1 * 3_051_113.0;
        let mut values = at_limits(0.0);
        values[4].1 = upper;
        check(&outcome(5000, &values), Verdict::Passed);
        values[4].1 = upper + 1.0;
        check(&outcome(5000, &values), Verdict::Failed);
    }

    #[test]
    fn a_part_of_the_data_set_has_no_verdict() {
        let gate = judge_all(&outcome(4999, &at_limits(10.0)), &[]);
        let Verdict::Undecided(reasons) = gate.verdict else { panic!("{:?}", gate.verdict) };
        assert_eq!(reasons, ["the log has answers to 4999 samples, and the limits of llama3.1-8b-edge are for 5000"]);
        assert!(gate.limits.iter().all(|it| it.met.is_none() && it.value.is_some()));
    }

    #[test]
    fn a_figure_that_is_not_computed_leaves_the_verdict_open_unless_another_is_missed() {
        let gate = judge_all(&outcome(5000, &at_limits(0.0)[..3]), &[]);
        let Verdict::Undecided(reasons) = gate.verdict else { panic!("{:?}", gate.verdict) };
        assert_eq!(reasons, ["rougeLsum is not computed: no tables", "gen_len is not computed: no tables"]);
        check(&outcome(5000, &at_limits(1.0)[..3]), Verdict::Failed);
    }

    #[test]
    fn without_a_limit_there_is_no_verdict() {
        let gate = judge(&outcome(5000, &at_limits(0.0)), Vec::new(), None, &[]);
        assert_eq!(gate.verdict, Verdict::Undecided(vec!["no figure has a limit".into()]));
    }

    #[test]
    fn a_doubt_leaves_the_verdict_open() {
        let gate = judge_all(&outcome(5000, &at_limits(1.0)), &["the tokenizer is another one".into()]);
        assert!(matches!(gate.verdict, Verdict::Undecided(_)));
    }
}
