//! The inputs for building a submission tree, and the type of missing inputs.

use std::{
    fmt::{self, Display},
    path::PathBuf,
};

use workload_profiles::loadgen::Round;

use crate::layout::{Division, ScenarioFolder};
use loadgen::logs::test06::ElementType;

/// The inputs for building a tree.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The folder to create.
    pub out: PathBuf,
    /// The submitter, used as the name of a folder.
    pub submitter: String,
    /// The file with the system description. Its name without `.json` is the name of the system.
    pub system: PathBuf,
    /// The division to submit to.
    pub division: Division,
    /// The round to submit to.
    pub round: Round,
    /// The benchmark of run folders that do not contain its name because the official LoadGen wrote them.
    pub benchmark: Option<String>,
    /// Outputs of the evaluation scripts, with the accuracy scores.
    pub accuracy: Vec<ScenarioFile>,
    /// The measurements.json files.
    pub measurements: Vec<ScenarioFile>,
    /// The file that describes how the weights were quantised.
    pub calibration: Option<PathBuf>,
    /// The id of the end-of-sequence token. Needed for benchmarks for which this program does not know it.
    pub end_of_sequence: Option<i64>,
    /// The type of the token ids in the accuracy logs, for TEST06.
    pub elements: ElementType,
    /// Whether all runs used the same system although their targets differ.
    pub same_system: bool,
    /// Whether to write the tree even if something is missing.
    pub incomplete: bool,
    /// The folders of finished tests.
    pub runs: Vec<PathBuf>,
}

/// A user's file, for one scenario or for all scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioFile {
    /// `Offline` or `llama3.1-8b/Offline`; `None` if the file applies to all cases.
    pub case: Option<String>,
    /// Path of the file.
    pub path: PathBuf,
}

impl std::str::FromStr for ScenarioFile {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The path itself can contain an equals sign.
        let (case, path) = match text.split_once('=') {
            Some((case, path)) if is_case(case) => (Some(case.to_owned()), path),
            _ => (None, text),
        };
        Ok(ScenarioFile { case, path: path.into() })
    }
}

/// Whether the text names a scenario, such as `Offline` or `llama3.1-8b/Offline`.
fn is_case(text: &str) -> bool {
    ScenarioFolder::from_name(text.rsplit('/').next().unwrap_or(text)).is_some()
}

/// A required input that was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What is missing.
    pub what: String,
    /// How to provide it.
    pub remedy: String,
}

impl Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}
