//! The objectives of a run in the form that the launcher receives, and the checks of the spec's objectives.

use std::{collections::BTreeSet, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{Errors, FieldError, effective};
use crate::{
    AnyValue,
    benchmark_run::{
        self as written, BenchmarkRunSpec, EVERY_STAGE, Enforcement, MAX_NAME_BYTES, MAX_OBJECTIVE_NAME,
        MAX_OBJECTIVES, MAX_REGRESSION_PERCENT, Metric, MetricUnit, Stat,
    },
    objective::{FigureValue, limit_fault},
    units::Span,
    wording::quoted,
};

/// Maximum length of a stage's name, in characters. The status has the same limit.
const MAX_STAGE_CHARS: usize = 64;
/// Maximum limit for a rate. No server is that fast, so a higher number is a typing error.
const MAX_RATE: f64 = 1e12;
/// Maximum limit for a time, in seconds: no run takes longer than a week.
const MAX_TIME_SECONDS: u64 = 604_800;
const TIME_REMEDY: &str = "write a duration with its unit above 0 and up to 168h, such as 500ms";

/// The objectives of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedSlo {
    /// The effect of a missed objective.
    pub enforcement: Enforcement,
    /// The objectives: from 1 to [`MAX_OBJECTIVES`], with distinct names.
    pub objectives: Vec<ResolvedObjective>,
    /// An earlier run to compare the figure of each objective with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<ResolvedBaseline>,
}

/// One bound on one figure.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedObjective {
    /// The name that status and report use.
    pub name: String,
    /// The figure.
    pub metric: Metric,
    /// The statistic. Always set if the metric is a time, and absent for other metrics.
    pub stat: Option<Stat>,
    /// The name of a stage, or `*` for every stage. If absent, the objective applies to the run as a whole. See [`ResolvedObjective::scope`].
    pub stage: Option<String>,
    /// The limit.
    pub bound: Bound,
}

/// The limit of an objective. A value that equals the limit meets the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Bound {
    /// The largest value that meets the objective.
    Max(FigureValue),
    /// The smallest value that meets the objective.
    Min(FigureValue),
}

/// The part of a run that an objective applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// The figures of the run as a whole.
    Run,
    /// The figures of each stage separately.
    EveryStage,
    /// The figures of one stage.
    Stage(&'a str),
}

/// An earlier run to compare figures with.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedBaseline {
    /// The `report.json` of the earlier run. [`super::resolve`] leaves it empty. The operator fills it in from the status of that run, and the
    /// command line from `--baseline`.
    pub report: Option<PathBuf>,
    /// The SHA-256 of that file in hex, from the status of the earlier run. It reveals whether the file was changed, because others can write to the
    /// claim. `None` if the status contains no hash, or if the file was given on the command line.
    pub sha256: Option<String>,
    /// Maximum percentage by which a figure can be worse than in the earlier run.
    pub max_regression_percent: u32,
}

/// A baseline without a report, with the default for the allowed regression.
impl Default for ResolvedBaseline {
    fn default() -> Self {
        let written = written::Baseline::default();
        ResolvedBaseline {
            report: None,
            sha256: None,
            max_regression_percent: effective::max_regression_percent(&written),
        }
    }
}

impl ResolvedObjective {
    /// The part of the run that the objective applies to.
    pub fn scope(&self) -> Scope<'_> {
        match self.stage.as_deref() {
            None => Scope::Run,
            Some(EVERY_STAGE) => Scope::EveryStage,
            Some(name) => Scope::Stage(name),
        }
    }

    /// The figure as text, such as `p99 of ttft`.
    pub fn figure(&self) -> String {
        match self.stat {
            Some(stat) => format!("{} of {}", stat.name(), self.metric.name()),
            None => self.metric.name().to_owned(),
        }
    }

    /// The figure and its stage as text, such as `p50 of ttft in every stage`.
    pub fn figure_in_place(&self) -> String {
        let place = match self.scope() {
            Scope::Run => String::new(),
            Scope::EveryStage => " in every stage".to_owned(),
            Scope::Stage(stage) => format!(" in stage {stage}"),
        };
        self.figure() + &place
    }

    /// Figure, stage and limit as text, such as `p50 of ttft in every stage, max 500ms`. The text is the same for all runs of a spec.
    pub fn described(&self) -> String {
        format!("{}, {}", self.figure_in_place(), self.bound.described())
    }
}

impl Bound {
    /// The limit without its direction.
    pub fn limit(self) -> FigureValue {
        let (Bound::Max(limit) | Bound::Min(limit)) = self;
        limit
    }

    /// The limit with its direction, such as `max 500ms`.
    pub fn described(self) -> String {
        format!("{} {}", self.name(), self.limit())
    }

    /// `max` or `min`.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Max(_) => "max",
            Bound::Min(_) => "min",
        }
    }
}

/// The valid objectives of a spec, without the baseline. Invalid objectives are ignored. `None` if no objective is valid.
pub fn readable_slo(slo: &written::Slo) -> Option<ResolvedSlo> {
    let objectives = objectives(&slo.objectives, &mut Errors::default());
    let effective = effective::slo(slo)?;
    Some(ResolvedSlo { enforcement: effective.enforcement, objectives, baseline: None })
}

/// Checks and returns the objectives of a spec. `None` if it has none.
pub(super) fn slo(spec: &BenchmarkRunSpec, in_cluster: bool, errors: &mut Errors) -> Option<ResolvedSlo> {
    let slo = &spec.slo;
    let objectives = objectives(&slo.objectives, errors);
    let baseline = slo.baseline.as_ref().map(|it| baseline(it, spec, in_cluster, errors));
    let effective = effective::slo(slo)?;
    Some(ResolvedSlo { enforcement: effective.enforcement, objectives, baseline })
}

/// Returns what is wrong with one objective, and the remedy: `max: is "5"; write a duration with its unit ...`. `None` if it is valid.
pub fn objective_problem(objective: &written::Objective) -> Option<String> {
    let mut errors = Errors::default();
    check_objective(objective, "", &mut errors);
    let FieldError { path, message } = errors.none_or(()).err()?.into_iter().next()?;
    Some(format!("{}: {message}", path.trim_start_matches('.')))
}

fn objectives(written: &[written::Objective], errors: &mut Errors) -> Vec<ResolvedObjective> {
    if written.len() > MAX_OBJECTIVES {
        let message = format!("is a list of {}; write at most {MAX_OBJECTIVES}", written.len());
        errors.add("spec.slo.objectives", &message);
    }
    let mut names = BTreeSet::new();
    let mut read = Vec::new();
    for (index, objective) in written.iter().enumerate().take(MAX_OBJECTIVES) {
        let path = format!("spec.slo.objectives[{index}]");
        if !names.insert(&objective.name) {
            let name = quoted(&objective.name);
            let message = format!("is {name}, the name of an earlier objective; give each objective a name of its own");
            errors.add(&format!("{path}.name"), &message);
        }
        if let Some(bound) = check_objective(objective, &path, errors) {
            read.push(ResolvedObjective {
                name: objective.name.clone(),
                metric: objective.metric,
                stat: objective.stat,
                stage: objective.stage.clone(),
                bound,
            });
        }
    }
    read
}

/// Checks an objective, and returns its limit if it is valid.
fn check_objective(objective: &written::Objective, path: &str, errors: &mut Errors) -> Option<Bound> {
    check_name(&objective.name, path, errors);
    check_stat(objective, path, errors);
    check_stage(objective, path, errors);
    bound(objective, path, errors)
}

fn check_name(name: &str, path: &str, errors: &mut Errors) {
    let plain = |it: u8| it.is_ascii_alphanumeric() || b"-._".contains(&it);
    if name.is_empty() || name.len() > MAX_OBJECTIVE_NAME || !name.bytes().all(plain) {
        let remedy =
            format!("write 1 to {MAX_OBJECTIVE_NAME} letters, digits, dashes, dots and underscores, such as ttft-p99");
        errors.add(&format!("{path}.name"), &format!("is {}; {remedy}", quoted(name)));
    }
}

fn check_stat(objective: &written::Objective, path: &str, errors: &mut Errors) {
    let metric = objective.metric.name();
    let problem = match (objective.metric.unit(), objective.stat) {
        (MetricUnit::Time, None) => {
            format!("is missing; {metric} has many values: choose one of mean, p50, p90, p95, p99, p99.9 and max")
        }
        (MetricUnit::PerSecond | MetricUnit::Share, Some(stat)) => {
            format!("is {}; {metric} is one number: take stat out", stat.name())
        }
        _ => return,
    };
    errors.add(&format!("{path}.stat"), &problem);
}

fn check_stage(objective: &written::Objective, path: &str, errors: &mut Errors) {
    let Some(stage) = &objective.stage else { return };
    if stage.is_empty() || stage.chars().count() > MAX_STAGE_CHARS {
        let remedy = "write the name of a stage of at most 64 characters, or \"*\" for every stage, or leave it out for the whole run";
        errors.add(&format!("{path}.stage"), &format!("is {}; {remedy}", quoted(stage)));
    }
}

fn bound(objective: &written::Objective, path: &str, errors: &mut Errors) -> Option<Bound> {
    let unit = objective.metric.unit();
    let mut read = |field: &str, found: &AnyValue| {
        let limit = limit(unit, found);
        limit.map_err(|problem| errors.add(&format!("{path}.{field}"), &problem)).ok()
    };
    match (&objective.max, &objective.min) {
        (Some(max), None) => read("max", max).map(Bound::Max),
        (None, Some(min)) => read("min", min).map(Bound::Min),
        (Some(_), Some(_)) => {
            errors.add(path, "has both max and min; keep one of them, and write a second objective for the other");
            None
        }
        (None, None) => {
            errors.add(path, "has neither max nor min; set one of them, such as max: 500ms");
            None
        }
    }
}

/// Parses a limit. The error contains the found value and the remedy.
fn limit(unit: MetricUnit, found: &AnyValue) -> Result<FigureValue, String> {
    let text = found.text();
    // The message shows a number as it was written, without quotes.
    let shown = if found.0.is_number() { crate::wording::cut(&text) } else { quoted(&text) };
    let (most, remedy) = match unit {
        MetricUnit::Time => {
            let no_unit = || text.parse::<f64>().ok().map(|_| "the unit is missing".to_owned());
            let fault = limit_fault(&text).or_else(no_unit).map_or_else(String::new, |it| format!("{it}; "));
            let time = text.parse::<Span>().map_err(|_| format!("is {shown}; {fault}{TIME_REMEDY}"))?;
            let most = std::time::Duration::from_secs(MAX_TIME_SECONDS);
            return match time.0.is_zero() || time.0 > most {
                true => Err(format!("is {shown}; {TIME_REMEDY}")),
                false => Ok(FigureValue::Time(time)),
            };
        }
        MetricUnit::PerSecond => (MAX_RATE, "write a number from 0 on without a unit, at most 1e12, such as 900"),
        MetricUnit::Share => (1.0, "write a number from 0 to 1, such as 0.01"),
    };
    match text.parse::<f64>() {
        Ok(number) if (0.0..=most).contains(&number) => Ok(FigureValue::Number(number)),
        _ => {
            let has_unit = || text.parse::<Span>().ok().map(|_| "that has a unit".to_owned());
            let fault = limit_fault(&text).or_else(has_unit).map_or_else(String::new, |it| format!("{it}; "));
            Err(format!("is {shown}; {fault}{remedy}"))
        }
    }
}

fn baseline(
    written: &written::Baseline,
    spec: &BenchmarkRunSpec,
    in_cluster: bool,
    errors: &mut Errors,
) -> ResolvedBaseline {
    const PATH: &str = "spec.slo.baseline";
    if spec.slo.objectives.is_empty() {
        errors
            .add(PATH, "is set without objectives, whose figures it compares; add an objective, or take baseline out");
    }
    let max_regression_percent = effective::max_regression_percent(written);
    if max_regression_percent > MAX_REGRESSION_PERCENT {
        let message = format!("is {max_regression_percent}; write a whole number from 0 to {MAX_REGRESSION_PERCENT}");
        errors.add(&format!("{PATH}.maxRegressionPercent"), &message);
    }
    if in_cluster {
        let name = &written.run_ref;
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !written::is_object_name(name) {
            let message = format!("is {}; write the name of a BenchmarkRun in this namespace", quoted(name));
            errors.add(&format!("{PATH}.runRef"), &message);
        }
        if spec.storage.none.is_some() {
            let message = "needs the results of an earlier run, and storage.none mounts none; set storage.pvc to the claim that holds them";
            errors.add(PATH, message);
        }
        if spec.storage.s3.is_some() {
            let message = "needs the results of an earlier run on a claim, and storage.s3 mounts none; set storage.pvc to the claim that holds them";
            errors.add(PATH, message);
        }
    }
    ResolvedBaseline { report: None, sha256: None, max_regression_percent }
}

#[cfg(test)]
mod tests;
