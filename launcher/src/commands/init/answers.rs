//! The answers from which a BenchmarkRun is written. Pure.

use std::{collections::BTreeSet, fmt};

use clap::ValueEnum as _;
use crds::{
    benchmark_run::Objective,
    resolve::{url_problem, without_credentials},
    wording::quoted,
};

use super::{load::Load, objectives};
use crate::commands::preset::PresetArg;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answers {
    pub(super) target: Target,
    /// The model that requests name. `None`: the model that the server serves.
    pub(super) model: Option<String>,
    pub(super) load: Load,
    pub(super) objectives: Vec<Objective>,
}

impl Answers {
    /// Reports errors in the answers themselves. The check of the written file would report them as errors of fields that the user never wrote.
    ///
    /// # Errors
    /// There are too many levels, or a figure has two limits.
    pub(super) fn check(&self) -> Result<(), String> {
        self.load.check()?;
        let mut figures = BTreeSet::new();
        match self.objectives.iter().map(objectives::figure).find(|it| !figures.insert(it.clone())) {
            Some(twice) => Err(format!("{twice} has two limits; keep one of them")),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Url(String),
    Simulator(PresetArg),
}

impl Default for Target {
    fn default() -> Self {
        Target::Simulator(PresetArg::Gpu)
    }
}

impl Target {
    /// Reads a URL, the name of a preset, or `simulator` with or without a preset.
    ///
    /// # Errors
    /// The text is none of these.
    pub(super) fn parse(text: &str) -> Result<Target, String> {
        let preset = text.strip_prefix("simulator").map_or(text, str::trim);
        if preset.is_empty() {
            return Ok(Target::default());
        }
        if let Ok(preset) = PresetArg::from_str(preset, true) {
            return Ok(Target::Simulator(preset));
        }
        if text.contains(":/") {
            return url(text).map(Target::Url);
        }
        let remedy = "write the URL of a server, such as http://localhost:8000, or simulator with gpu, tiny or instant";
        Err(format!("{} is no target; {remedy}", quoted(text)))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Url(url) => f.write_str(url),
            Target::Simulator(preset) => {
                let name = preset.to_possible_value();
                write!(f, "simulator {}", name.as_ref().map_or("", |it| it.get_name()))
            }
        }
    }
}

/// Reads a base URL.
///
/// # Errors
/// It is no URL that a cluster and a laptop can use.
pub(super) fn url(text: &str) -> Result<String, String> {
    match url_problem(text) {
        Some(problem) => Err(format!("{} is no base URL; {problem}", quoted(&without_credentials(text)))),
        None => Ok(text.to_owned()),
    }
}
