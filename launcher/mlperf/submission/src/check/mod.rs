//! [I/O] Checks a submission tree, whether ours or another submitter's. Checks everything that MLPerf's checker checks. Faults that this checker
//! overlooks, but that a reviewer would find, are also errors here.
//!
//! Nothing is executed, and no link is followed. After a finding, the check continues as long as anything is left to check.

mod accuracy;
mod audit;
mod descriptions;
mod logs;
mod performance;
mod power;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, io, path::Path};

use workload_profiles::loadgen::Round;

use super::{
    detail_log::DetailLog,
    findings::{Findings, Report, Row},
    layout::{Division, INCOMPLETE, Layout, ScenarioFolder},
    limits::Benchmark,
    rules::Rule,
    tree::Tree,
};

pub(super) use descriptions::is_name;

/// The reason why a tree cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The folder does not exist.
    #[error("cannot read the folder {path} ({source}); give the folder that holds closed, open or network")]
    NoFolder {
        /// Path of the folder.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

/// Checks the tree in `root`.
///
/// # Errors
/// The folder does not exist.
pub fn check(root: &Path, round: Round) -> Result<Report, CheckError> {
    let folder = std::fs::read_dir(root).map(drop);
    folder.map_err(|source| CheckError::NoFolder { path: root.display().to_string(), source })?;
    let mut check = Check {
        tree: Tree::new(root),
        round,
        layout: Layout::new(round),
        findings: Findings::default(),
        notes: BTreeSet::new(),
        rows: Vec::new(),
    };
    check.all();
    let Check { findings, notes, rows, .. } = check;
    let count = findings.count;
    Ok(Report { round: round.name(), rows, findings: findings.into_all(), count, notes: notes.into_iter().collect() })
}

/// A check in progress.
#[derive(Debug)]
struct Check {
    tree: Tree,
    round: Round,
    layout: Layout,
    findings: Findings,
    notes: BTreeSet<String>,
    rows: Vec<Row>,
}

/// The results for a benchmark in one scenario.
#[derive(Debug)]
struct Case {
    division: Division,
    benchmark: &'static Benchmark,
    scenario_folder: ScenarioFolder,
    system: String,
    /// Whether the results can be inferred from the results of another scenario. This is allowed for an edge system.
    edge: bool,
    /// Path of the folder with its logs.
    results: String,
    /// Path of the folder with its measurements.json and descriptions.
    measurements: String,
    /// Path of the folder with its compliance tests.
    compliance: String,
}

impl Case {
    /// Returns the scenario of the logs. It is the folder's scenario, or another one from which the results can be inferred.
    fn ran(&self, log: &DetailLog) -> ScenarioFolder {
        let told = log.text("effective_scenario").and_then(ScenarioFolder::from_name);
        let inferred = self.scenario_folder.inferred_from().filter(|it| self.edge && told == Some(*it));
        inferred.unwrap_or(self.scenario_folder)
    }
}

impl Check {
    fn all(&mut self) {
        let folders = self.tree.folders("", &mut self.findings);
        if self.tree.has(INCOMPLETE) {
            self.findings.add(Rule::Incomplete, INCOMPLETE, "", "a tree that was written incomplete", "no such file");
        }
        for division in Division::ALL.into_iter().filter(|it| folders.iter().any(|name| name == it.name())) {
            for submitter in self.tree.folders(division.name(), &mut self.findings) {
                self.submitter(division, &submitter);
            }
        }
        if self.rows.is_empty() {
            self.findings.add(Rule::Empty, ".", "", "no result", "closed/<submitter>/results/<system>/<benchmark>");
        }
    }

    fn submitter(&mut self, division: Division, submitter: &str) {
        let path = format!("{}/{submitter}", division.name());
        let source = format!("{path}/{}", self.layout.source());
        match self.tree.entries(&source) {
            Ok(entries) if !entries.is_empty() => {}
            Ok(_) => {
                self.findings.add(Rule::SourceEmpty, &source, "", "an empty folder", "a folder with something in it");
            }
            Err(error) => self.findings.fault(&source, &error, Rule::NoSource),
        }
        if division.bounded() {
            self.calibration(&format!("{path}/documentation"));
        }
        let systems = self.tree.folders(&format!("{path}/results"), &mut self.findings);
        for system in &systems {
            let system_type = self.system(division, submitter, &path, system);
            for benchmark in self.tree.folders(&format!("{path}/results/{system}"), &mut self.findings) {
                self.benchmark(division, &path, system, &benchmark, system_type.as_deref());
            }
        }
        for (file, folder) in self.tree.entries(&format!("{path}/systems")).unwrap_or_default() {
            let described = file.strip_suffix(".json").filter(|_| !folder);
            if let Some(system) = described.filter(|it| !systems.iter().any(|system| system == it)) {
                self.notes.insert(format!(
                    "{path}/systems/{file} describes a system without results; add {path}/results/{system}, or remove it"
                ));
            }
        }
    }

    fn calibration(&mut self, folder: &str) {
        let documents = self.tree.entries(folder).unwrap_or_default();
        let found = documents.iter().find(|(name, _)| name.to_lowercase().starts_with("calibration"));
        let path = found.map_or_else(|| format!("{folder}/calibration.md"), |(name, _)| format!("{folder}/{name}"));
        if let Err(error) = self.tree.open(&path) {
            self.findings.fault(&path, &error, Rule::NoCalibration);
        }
    }

    fn benchmark(&mut self, division: Division, path: &str, system: &str, name: &str, system_type: Option<&str>) {
        let folder = format!("{path}/results/{system}/{name}");
        let Some(benchmark) = Benchmark::from_folder(name, self.round) else {
            let known: Vec<_> = Benchmark::all(self.round).map(|it| it.folder).collect();
            self.findings.add(Rule::UnknownBenchmark, &folder, "", name, known.join(", "));
            return;
        };
        if let Some(found) = system_type.filter(|it| !it.split(',').any(|one| one == benchmark.category)) {
            let file = format!("{path}/systems/{system}.json");
            self.findings.add(
                Rule::SystemType,
                &file,
                "system_type",
                found,
                format!("{}, for {name}", benchmark.category),
            );
        }
        if !self.layout.together() {
            // In the rounds before v6.0, the checker requires the code of each benchmark.
            let code = format!("{path}/{}/{name}", self.layout.source());
            if !self.tree.has(&code) {
                self.findings.add(Rule::NoSource, &code, "", "nothing", "a folder with the code of the benchmark");
            }
        }
        let mut scenario_folders = BTreeSet::new();
        for scenario in self.tree.folders(&folder, &mut self.findings) {
            let Some(scenario_folder) = ScenarioFolder::from_name(&scenario).filter(|it| benchmark.takes(*it)) else {
                let known: Vec<_> = benchmark.required.iter().chain(benchmark.one_of).map(|it| it.name()).collect();
                let file = format!("{folder}/{scenario}");
                self.findings.add(Rule::UnknownScenario, &file, "", scenario, known.join(", "));
                continue;
            };
            scenario_folders.insert(scenario_folder);
            let case = format!("{system}/{name}/{scenario}");
            let case = Case {
                division,
                benchmark,
                scenario_folder,
                system: system.into(),
                edge: benchmark.takes(ScenarioFolder::SingleStream)
                    && system_type.is_some_and(|it| it.contains("edge")),
                results: self.layout.results(path, &case),
                measurements: self.layout.measurements(path, &case),
                compliance: self.layout.compliance(path, &case),
            };
            let before = self.findings.count;
            let (value, unit) = self.case(&case);
            self.rows.push(Row {
                system: format!("{path}/{system}"),
                benchmark: name.into(),
                scenario,
                value,
                unit,
                findings: self.findings.count - before,
            });
        }
        if division.bounded() {
            self.scenarios(benchmark, &folder, &scenario_folders);
        }
    }

    fn scenarios(&mut self, benchmark: &Benchmark, folder: &str, scenario_folders: &BTreeSet<ScenarioFolder>) {
        let names = |it: &[ScenarioFolder]| it.iter().map(|it| it.name()).collect::<Vec<_>>().join(" or ");
        let found: Vec<_> = scenario_folders.iter().map(|it| it.name()).collect();
        let found = if found.is_empty() { "nothing".into() } else { found.join(", ") };
        for scenario_folder in benchmark.required.iter().filter(|it| !scenario_folders.contains(it)) {
            self.findings.add(Rule::MissingScenario, folder, "", &found, scenario_folder.name());
        }
        // Earlier rounds require none of these scenarios.
        let asked = self.round == Round::V6_1 && !benchmark.one_of.is_empty();
        if asked && !benchmark.one_of.iter().any(|it| scenario_folders.contains(it)) {
            self.findings.add(Rule::MissingScenario, folder, "", &found, names(benchmark.one_of));
        }
    }

    /// Checks a case. Returns its metric and the unit.
    fn case(&mut self, case: &Case) -> (Option<f64>, &'static str) {
        self.measurements(case);
        for file in ["README.md", "user.conf"] {
            self.wanted(&format!("{}/{file}", case.measurements), Rule::MissingFile);
        }
        let metric = self.performance(case);
        self.power(case);
        self.accuracy(case);
        if case.division.bounded() {
            self.audits(case);
        }
        metric
    }

    /// Reports `rule` if the file is missing or empty. Returns its length in bytes.
    fn wanted(&mut self, file: &str, rule: Rule) -> Option<u64> {
        match self.tree.open(file) {
            Ok((_, bytes)) => Some(bytes),
            Err(error) => {
                self.findings.fault(file, &error, rule);
                None
            }
        }
    }
}
