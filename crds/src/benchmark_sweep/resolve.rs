//! A sweep's spec with its defaults and its cells.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use super::{
    cells::{self, Cell, NamedFactor},
    spec::{
        BenchmarkSweepSpec, MAX_CELLS, MAX_FACTORS, MAX_LEVELS, MAX_SWEEP_ATTEMPTS, MAX_SWEEP_NAME_BYTES,
        MAX_SWEEP_REPEATS, OnFailure, Selection, SweepOrder, default_repeats,
    },
};
use crate::{
    resolve::FieldError,
    units::Seed,
    wording::{cut, quoted},
};

/// Maximum number of combinations before filters. It bounds the time and memory that a tenant's sweep costs the operator. At most [`MAX_CELLS`] may
/// remain.
const MAX_COMBINATIONS: usize = 10_000;

/// A sweep that is ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedSweep {
    pub name: String,
    pub factors: Vec<SweepFactor>,
    pub cells: Vec<Cell>,
    /// The cell that each cell is compared with; `None` for a baseline, and if the filters left its partner out.
    pub baselines: Vec<Option<usize>>,
    pub repeats: u32,
    /// All runs in their order: the number of the cell, from 0, and the number of the repeat, from 1.
    pub order: Vec<(usize, u32)>,
    pub cooldown: Duration,
    /// Maximum number of attempts per run.
    pub attempts: u32,
    pub on_failure: OnFailure,
    pub budget: Option<Duration>,
    /// The seed of the runs. Every cell of one repeat has the same seed, so their requests have the same lengths and arrival times.
    pub seed: Seed,
    /// Whether all repeats have the same seed, because the template sets one.
    pub fixed_seed: bool,
    pub engaged: Vec<SweepEngagement>,
    /// The template's spec as JSON. The specs of the cells are built when they are needed, because 256 large specs would fill the operator's memory.
    pub(super) template: Value,
    pub(super) settings: Vec<NamedFactor>,
}

/// A bound on a figure that holds if a setting is active.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepEngagement {
    /// The numbers of the cells that must meet the bound.
    pub cells: Vec<usize>,
    pub figure: String,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// A factor and the names of its levels.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepFactor {
    pub name: String,
    pub levels: Vec<String>,
}

impl ResolvedSweep {
    /// The seed of a run.
    pub fn seed_of(&self, repeat: u32) -> Seed {
        if self.fixed_seed { self.seed } else { self.seed.of_repeat(repeat) }
    }

    /// The name of the BenchmarkRun of a run, such as `batching-c3-r2`. At most 43 bytes.
    pub fn run_name(&self, cell: usize, repeat: u32) -> String {
        format!("{}-c{}-r{repeat}", self.name, cell + 1)
    }

    /// The name of the BenchmarkRun of an attempt. The first attempt has the name of the run; later ones append the attempt, such as
    /// `batching-c3-r2-a2`. At most 46 bytes.
    pub fn attempt_name(&self, cell: usize, repeat: u32, attempt: u32) -> String {
        let name = self.run_name(cell, repeat);
        if attempt == 1 { name } else { format!("{name}-a{attempt}") }
    }

    /// Cell, repeat and attempt of the BenchmarkRun with this name. `None` if no run of the sweep has this name.
    pub fn attempt_named(&self, name: &str) -> Option<(usize, u32, u32)> {
        let (cell, rest) = name.strip_prefix(&self.name)?.strip_prefix("-c")?.split_once("-r")?;
        let (repeat, attempt) = rest.split_once("-a").unwrap_or((rest, "1"));
        let cell = cell.parse::<usize>().ok()?.checked_sub(1).filter(|it| *it < self.cells.len())?;
        let repeat = repeat.parse().ok().filter(|it| (1..=self.repeats).contains(it))?;
        let attempt = attempt.parse().ok().filter(|it| (1..=MAX_SWEEP_ATTEMPTS).contains(it))?;
        // Other spellings of the same numbers, such as `c03`, are not names of this sweep.
        (self.attempt_name(cell, repeat, attempt) == name).then_some((cell, repeat, attempt))
    }

    /// The spec of a cell as JSON: the template with the fields of the cell's levels.
    pub fn cell_spec(&self, cell: usize) -> Value {
        cells::spec(&self.cells[cell], &self.settings, &self.template, &mut Vec::new())
    }

    /// The spec of a run as JSON: the cell's spec with the seed of the repeat.
    pub fn run_spec(&self, cell: usize, repeat: u32) -> Value {
        let mut spec = self.cell_spec(cell);
        spec["seed"] = self.seed_of(repeat).0.into();
        spec
    }
}

/// Resolves a sweep. `uid`: a text that is new for each sweep, from which the seeds are drawn.
///
/// # Errors
/// All wrong fields. The runs themselves are not checked.
pub fn resolve(name: &str, spec: &BenchmarkSweepSpec, uid: &str) -> Result<ResolvedSweep, Vec<FieldError>> {
    let mut errors = Vec::new();
    let add = |errors: &mut Vec<FieldError>, path: &str, message: String| {
        errors.push(FieldError { path: path.to_owned(), message });
    };
    if name.len() > MAX_SWEEP_NAME_BYTES {
        let message = format!(
            "is {}, of {} bytes; use at most {MAX_SWEEP_NAME_BYTES}, because the names of its runs append cell, repeat and attempt",
            quoted(name),
            name.len()
        );
        add(&mut errors, "metadata.name", message);
    }
    let template = &spec.run_template.spec;
    if let Some(repeat) = template.repeat.filter(|it| *it != 1) {
        let message = format!("is {repeat}; take it out, and write spec.repeats: {}", repeat.min(MAX_SWEEP_REPEATS));
        add(&mut errors, "spec.runTemplate.spec.repeat", message);
    }
    if template.search.is_some() {
        let message = "cannot be part of a sweep, because each search chooses its own loads; take it out, and vary the load with a factor";
        add(&mut errors, "spec.runTemplate.spec.search", message.to_owned());
    }
    if let Some(repeats) = spec.repeats.filter(|it| !(1..=MAX_SWEEP_REPEATS).contains(it)) {
        let message = format!("is {repeats}; write a whole number from 1 to {MAX_SWEEP_REPEATS}");
        add(&mut errors, "spec.repeats", message);
    }
    let factors = factors(spec, &mut errors);
    let selected = |all: &[Selection], field: &str, errors: &mut Vec<FieldError>| -> Vec<_> {
        let found = all.iter().enumerate();
        found.map(|(at, it)| cells::selected(it, &factors, &format!("spec.{field}[{at}]"), errors)).collect()
    };
    let excluded = selected(&spec.exclude, "exclude", &mut errors);
    let only = selected(&spec.only, "only", &mut errors);
    let engaged: Vec<Selection> = spec.engaged.iter().map(|it| it.when.clone()).collect();
    let engaged = selected(&engaged, "engaged", &mut errors);
    for (at, it) in spec.engaged.iter().enumerate().filter(|(_, it)| it.min.is_none() && it.max.is_none()) {
        let message = format!("has no bound on {}; write min, max or both", it.figure);
        add(&mut errors, &format!("spec.engaged[{at}]"), message);
    }
    let baseline = match (&spec.baseline, factors.first()) {
        (Some(chosen), _) => cells::selected(chosen, &factors, "spec.baseline", &mut errors),
        (None, Some(first)) => first.levels.first().map(|it| (0, it.0.clone())).into_iter().collect(),
        (None, None) => BTreeMap::new(),
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let combinations = cells::combinations(&factors);
    if combinations > MAX_COMBINATIONS {
        let message = format!("have {combinations} combinations; use fewer levels: at most {MAX_CELLS} cells can run");
        add(&mut errors, "spec.factors", message);
        return Err(errors);
    }
    let template = serde_json::to_value(template).unwrap_or_default();
    let levels = |cell: &[usize]| -> Vec<String> {
        factors.iter().zip(cell).map(|(factor, level)| factor.levels[*level].0.clone()).collect()
    };
    let keeps = |cell: &Vec<usize>| {
        let levels = levels(cell);
        let is_any = |of: &[BTreeMap<usize, String>]| of.iter().any(|it| cells::matches(&levels, it));
        (only.is_empty() || is_any(&only)) && !is_any(&excluded)
    };
    let kept: Vec<Vec<usize>> = cells::all(&factors).into_iter().filter(keeps).collect();
    match kept.len() {
        0 => {
            add(&mut errors, "spec.exclude", "leaves no cell; exclude fewer levels, or keep more with only".to_owned())
        }
        found if found > MAX_CELLS => {
            let message = format!(
                "have {found} cells; at most {MAX_CELLS} can run: use fewer levels, or leave cells out with exclude or only"
            );
            add(&mut errors, "spec.factors", message);
        }
        _ => {}
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let cells: Vec<Cell> = kept.into_iter().map(|it| cells::cell(it, &factors)).collect();
    for cell in &cells {
        cells::spec(cell, &factors, &template, &mut errors);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let baselines = baselines(&cells, &baseline);
    let wants_none = spec.baseline.as_ref().is_some_and(BTreeMap::is_empty);
    if cells.len() > 1 && !wants_none && baselines.iter().all(Option::is_none) {
        let levels = baseline.iter().map(|(at, level)| format!("{}={level}", factors[*at].name));
        let message = format!(
            "is {}, and no cell has a partner with these levels; write levels that cells have, or `baseline: {{}}` to compare no cells",
            levels.collect::<Vec<_>>().join(",")
        );
        add(&mut errors, "spec.baseline", message);
        return Err(errors);
    }
    let repeats = spec.repeats.unwrap_or_else(|| default_repeats(cells.len()));
    let seed = spec.run_template.spec.seed.map_or_else(|| Seed::drawn(uid), Seed);
    let engaged = spec.engaged.iter().zip(&engaged).map(|(it, when)| SweepEngagement {
        cells: (0..cells.len()).filter(|cell| cells::matches(&cells[*cell].levels, when)).collect(),
        figure: it.figure.clone(),
        min: it.min,
        max: it.max,
    });
    let engaged: Vec<SweepEngagement> = engaged.collect();
    Ok(ResolvedSweep {
        name: name.to_owned(),
        baselines,
        order: order(cells.len(), repeats, spec.order.unwrap_or_default(), seed),
        factors: factors
            .iter()
            .map(|it| SweepFactor { name: it.name.clone(), levels: it.levels.iter().map(|it| it.0.clone()).collect() })
            .collect(),
        cells,
        repeats,
        cooldown: Duration::from_secs(spec.cooldown_seconds.unwrap_or_default().into()),
        attempts: spec.attempts.unwrap_or(1).max(1),
        on_failure: spec.on_failure.unwrap_or_default(),
        budget: spec.budget_seconds.map(|it| Duration::from_secs(it.into())),
        seed,
        fixed_seed: spec.run_template.spec.seed.is_some(),
        engaged,
        template,
        settings: factors,
    })
}

fn factors(spec: &BenchmarkSweepSpec, errors: &mut Vec<FieldError>) -> Vec<NamedFactor> {
    let mut add = |path: &str, message: String| errors.push(FieldError { path: path.to_owned(), message });
    if spec.factors.is_empty() || spec.factors.len() > MAX_FACTORS {
        add("spec.factors", format!("is a list of {}; write 1 to {MAX_FACTORS} factors", spec.factors.len()));
    }
    for (at, factor) in spec.factors.iter().enumerate() {
        let levels = factor.values.len().max(factor.levels.len());
        if levels == 0 || levels > MAX_LEVELS {
            add(&format!("spec.factors[{at}]"), format!("has {levels} levels; write 1 to {MAX_LEVELS}"));
        }
        if spec.factors[..at].iter().any(|it| it.name == factor.name) {
            add(
                &format!("spec.factors[{at}].name"),
                format!("is {} again; give each factor its own name", factor.name),
            );
        }
    }
    let mut set_by: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, factor) in spec.factors.iter().enumerate() {
        let of_levels = factor.levels.iter().flat_map(|it| it.set.keys());
        let fields: BTreeSet<&str> = factor.field.iter().chain(of_levels).map(String::as_str).collect();
        for field in fields {
            if let Some(other) = set_by.insert(field, at) {
                let other = &spec.factors[other].name;
                let message = format!("sets {}, as the factor {other} does; set each field by one factor", cut(field));
                add(&format!("spec.factors[{at}]"), message);
            }
        }
    }
    let named = spec.factors.iter().enumerate();
    named.map(|(at, it)| NamedFactor::new(it, &format!("spec.factors[{at}]"), errors)).collect()
}

/// For each cell, the cell with the baseline's levels that otherwise has the same levels.
fn baselines(cells: &[Cell], baseline: &BTreeMap<usize, String>) -> Vec<Option<usize>> {
    let partner = |cell: &Cell| {
        let mut levels = cell.levels.clone();
        baseline.iter().for_each(|(at, level)| levels[*at].clone_from(level));
        cells.iter().position(|it| it.levels == levels).filter(|at| cells[*at].levels != cell.levels)
    };
    cells.iter().map(partner).collect()
}

/// All runs in their order. Each repeat runs every cell once.
fn order(cells: usize, repeats: u32, order: SweepOrder, seed: Seed) -> Vec<(usize, u32)> {
    let of_repeat = |repeat: u32| {
        let mut all: Vec<usize> = (0..cells).collect();
        match order {
            SweepOrder::Alternated if repeat.is_multiple_of(2) => all.reverse(),
            SweepOrder::Random => all.sort_by_key(|it| seed.derive(&format!("sweep/{repeat}/{it}")).0),
            SweepOrder::Alternated | SweepOrder::Listed => {}
        }
        all.into_iter().map(move |cell| (cell, repeat))
    };
    (1..=repeats).flat_map(of_repeat).collect()
}
