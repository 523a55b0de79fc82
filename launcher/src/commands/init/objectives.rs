//! Objectives in answers and flags: `ttft p99 500ms`, `ttft.p99<=500ms`, `requestsPerSecond>=9`. Pure.

use crds::{
    AnyValue,
    benchmark_run::{EVERY_STAGE, Metric, MetricUnit, Objective, Stat},
    resolve::objective_problem,
    wording::{quoted, suggestion},
};

/// The answer for a run without objectives.
pub(super) const NONE: &str = "none";

/// Reads objectives that are separated by commas, or `none`.
///
/// # Errors
/// One of them is wrong.
pub(super) fn parse_all(text: &str) -> Result<Vec<Objective>, String> {
    if text == NONE { Ok(Vec::new()) } else { text.split(',').map(parse).collect() }
}

/// Reads one objective, which every stage must meet. Without `<=` or `>=`, the limit is a minimum for rates and goodput, and a maximum for other
/// figures.
///
/// # Errors
/// The figure is unknown, or the limit is missing or does not fit the figure.
pub(in crate::commands) fn parse(text: &str) -> Result<Objective, String> {
    let (figure, bound, limit) = parts(text.trim())
        .ok_or_else(|| format!("{} has no limit; write, for example, ttft.p99<=500ms", quoted(text.trim())))?;
    let (metric, stat) = metric_and_stat(figure)?;
    let limit = Some(AnyValue::from(limit));
    let (max, min) = match bound.unwrap_or_else(|| usual_bound(metric)) {
        Bound::Max => (limit, None),
        Bound::Min => (None, limit),
    };
    let mut objective = Objective { name: String::new(), metric, stat, stage: Some(EVERY_STAGE.to_owned()), max, min };
    objective.name = figure_name(&objective, '-');
    match objective_problem(&objective) {
        Some(problem) => Err(format!("{}: {problem}", quoted(text.trim()))),
        None => Ok(objective),
    }
}

/// The figure of an objective, such as `ttft.p99`.
pub(super) fn figure(objective: &Objective) -> String {
    figure_name(objective, '.')
}

fn figure_name(objective: &Objective, between: char) -> String {
    let metric = objective.metric.name();
    objective.stat.map_or_else(|| metric.to_owned(), |it| format!("{metric}{between}{}", it.name()))
}

#[derive(Clone, Copy)]
enum Bound {
    Max,
    Min,
}

fn usual_bound(metric: Metric) -> Bound {
    let more_is_better = metric.unit() == MetricUnit::PerSecond || metric == Metric::GoodputShare;
    if more_is_better { Bound::Min } else { Bound::Max }
}

/// Splits an objective into the figure, the direction of the limit (if written), and the limit.
fn parts(text: &str) -> Option<(&str, Option<Bound>, &str)> {
    let at = |sign: &str| text.split_once(sign).map(|(figure, limit)| (figure.trim(), limit.trim()));
    let (figure, bound, limit) = match (at("<="), at(">=")) {
        (Some((figure, limit)), _) => (figure, Some(Bound::Max), limit),
        (None, Some((figure, limit))) => (figure, Some(Bound::Min), limit),
        (None, None) => {
            let (figure, limit) = text.rsplit_once(char::is_whitespace)?;
            (figure.trim(), None, limit)
        }
    };
    (!limit.is_empty()).then_some((figure, bound, limit))
}

fn metric_and_stat(figure: &str) -> Result<(Metric, Option<Stat>), String> {
    let split = figure.split_once(|it: char| it == '.' || it.is_whitespace());
    let (metric, stat) = split.map_or((figure, None), |(metric, stat)| (metric, Some(stat.trim())));
    let unknown = |what: &str, found: &str, known: &[&str]| {
        format!("{} is no {what}; {}", quoted(found), suggestion(found, known.iter().copied()))
    };
    let found = Metric::ALL.into_iter().find(|it| it.name() == metric);
    let found = found.ok_or_else(|| unknown("figure", metric, &Metric::ALL.map(Metric::name)))?;
    let Some(stat) = stat else { return Ok((found, None)) };
    let stat = Stat::ALL
        .into_iter()
        .find(|it| it.name() == stat)
        .ok_or_else(|| unknown("statistic", stat, &Stat::ALL.map(Stat::name)))?;
    Ok((found, Some(stat)))
}
