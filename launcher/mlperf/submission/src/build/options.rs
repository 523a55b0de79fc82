//! The inputs for building a tree, and the list of missing inputs.

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
    /// The folder that is made.
    pub out: PathBuf,
    /// Who submits: the name of a folder.
    pub submitter: String,
    /// The description of the system; the file name without `.json` is the name of the system.
    pub system: PathBuf,
    /// Which division.
    pub division: Division,
    /// Which round.
    pub round: Round,
    /// The benchmark of folders that do not contain its name: folders from the official LoadGen.
    pub benchmark: Option<String>,
    /// The outputs of the evaluation scripts.
    pub accuracy: Vec<ScenarioFile>,
    /// measurements.json.
    pub measurements: Vec<ScenarioFile>,
    /// How the weights were quantised.
    pub calibration: Option<PathBuf>,
    /// The id of the end-of-sequence token, where the benchmark's is not known.
    pub end_of_sequence: Option<i64>,
    /// How token ids are stored, for TEST06.
    pub elements: ElementType,
    /// All runs used one system, although their targets differ.
    pub same_system: bool,
    /// Write the tree though something is missing.
    pub incomplete: bool,
    /// The folders of finished tests.
    pub runs: Vec<PathBuf>,
}

/// A given file, for one scenario or for all scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioFile {
    /// `Offline` or `llama3.1-8b/Offline`; `None`: for all.
    pub case: Option<String>,
    /// The file.
    pub path: PathBuf,
}

impl std::str::FromStr for ScenarioFile {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A path may have an equals sign too.
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
    /// The missing input.
    pub what: String,
    /// How to provide it.
    pub remedy: String,
}

impl Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}
