//! [I/O] The inputs of a submission tree: the tests by benchmark and scenario, with their files. Also lists everything that is missing.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{
    super::{layout::ScenarioFolder, limits::Benchmark, test06},
    BuildOptions, Missing, ScenarioFile, answers,
    source::{self, Purpose, Test},
};

/// All inputs of a tree.
#[derive(Debug)]
pub(super) struct Inputs<'a> {
    pub(super) cases: Vec<Case<'a>>,
}

/// The inputs for a benchmark in one scenario.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub(super) benchmark: &'static Benchmark,
    pub(super) scenario_folder: ScenarioFolder,
    pub(super) performance: Option<&'a Test>,
    pub(super) accuracy: Option<&'a Test>,
    /// The audit test, and the text of its verify_accuracy.txt.
    pub(super) audit: Option<(&'a Test, String)>,
    /// The output of the evaluation script, with the accuracy scores.
    pub(super) scores: Option<String>,
    pub(super) measurements: Option<&'a Path>,
}

impl Case<'_> {
    /// Returns faults that Benchwright itself found in the runs. The tree is judged by LoadGen's verdict, which these faults do not change.
    pub(super) fn notes(&self) -> Vec<String> {
        let audit = self.audit.as_ref().map(|(test, _)| *test);
        let uses = [("performance", self.performance), ("accuracy", self.accuracy), ("TEST06", audit)];
        let invalid = uses.into_iter().filter_map(|(what, test)| Some((what, test?, test?.invalid.as_ref()?)));
        let told = invalid.map(|(what, test, why)| {
            let (benchmark, scenario_folder) = (self.benchmark.folder, self.scenario_folder.name());
            format!("{benchmark}/{scenario_folder}: benchwright judged the {what} run {} as Invalid: {why}", test.name)
        });
        told.collect()
    }
}

/// All tests found for a benchmark and scenario, before one is selected for each purpose.
#[derive(Default)]
struct CaseTests<'a> {
    performance: Vec<&'a Test>,
    accuracy: Vec<&'a Test>,
    audit: Vec<&'a Test>,
}

/// The missing inputs, in the order in which they were noticed.
struct List(Vec<Missing>);

impl List {
    fn add(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(Missing { what: what.into(), remedy: remedy.into() });
    }
}

/// Returns the tests of all runs, and the problems with their folders.
pub(super) fn tests(options: &BuildOptions) -> (Vec<Test>, Vec<Missing>) {
    let (mut tests, mut missing) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for run in &options.runs {
        // `results/*` contains the last run twice, because the link `latest` points to it.
        if !seen.insert(run.canonicalize().unwrap_or_else(|_| run.clone())) {
            continue;
        }
        match source::tests(run, options.benchmark.as_deref(), options.round) {
            Ok(found) => tests.extend(found),
            Err(error) => missing.push(error),
        }
    }
    (tests, missing)
}

impl<'a> Inputs<'a> {
    pub(super) fn collect(
        options: &'a BuildOptions,
        tests: &'a [Test],
        missing: Vec<Missing>,
    ) -> (Inputs<'a>, Vec<Missing>) {
        let mut list = List(missing);
        if let Err(error) = source::read(&options.system) {
            list.add(
                format!("the description of the system, {}, cannot be read ({error})", options.system.display()),
                "write it and name it by --system",
            );
        }
        if options.calibration.as_ref().map_or(options.division.bounded(), |it| !it.is_file()) {
            list.add("no file describes how the weights were calibrated", "write one and name it by --calibration");
        }
        alike(options, tests, &mut list);
        let mut found: BTreeMap<(&str, ScenarioFolder), CaseTests<'a>> = BTreeMap::new();
        for test in tests {
            let case = found.entry((test.benchmark.folder, test.scenario_folder)).or_default();
            if matches!(test.purpose, Purpose::Performance | Purpose::Both) {
                case.performance.push(test);
            }
            if matches!(test.purpose, Purpose::Accuracy | Purpose::Both) {
                case.accuracy.push(test);
            }
            if test.purpose == Purpose::Test06 {
                case.audit.push(test);
            }
        }
        for (flag, given) in [("--accuracy", &options.accuracy), ("--measurements", &options.measurements)] {
            for case in given.iter().filter_map(|it| it.case.as_deref()) {
                let names = found
                    .keys()
                    .any(|(folder, scenario_folder)| is_of(case, &format!("{folder}/{}", scenario_folder.name())));
                if !names {
                    list.add(format!("{flag} {case}= names no scenario of the runs"), "name one of them");
                }
            }
        }
        let alone = found.len() == 1;
        let cases = found.into_values().filter_map(|it| case(options, it, alone, &mut list)).collect();
        (Inputs { cases }, list.0)
    }
}

/// Checks that all tests used the same system, and that all tests of a benchmark used the same model.
fn alike(options: &BuildOptions, tests: &[Test], list: &mut List) {
    let told = |it: BTreeSet<&str>| it.into_iter().collect::<Vec<_>>().join(", ");
    let targets: BTreeSet<_> = tests.iter().filter_map(|it| it.target.as_deref()).collect();
    if targets.len() > 1 && !options.same_system {
        list.add(
            format!("the runs are of different targets: {}", told(targets)),
            "build a tree for each system, or give --same-system if these are one system",
        );
    }
    let benchmarks: BTreeSet<_> = tests.iter().map(|it| it.benchmark.folder).collect();
    for name in benchmarks {
        let models = tests.iter().filter(|it| it.benchmark.folder == name).filter_map(|it| it.model.as_deref());
        let models: BTreeSet<_> = models.collect();
        if models.len() > 1 {
            list.add(format!("the runs of {name} are of different models: {}", told(models)), "give runs of one model");
        }
    }
}

fn case<'a>(options: &'a BuildOptions, found: CaseTests<'a>, alone: bool, list: &mut List) -> Option<Case<'a>> {
    let any = found.performance.iter().chain(&found.accuracy).chain(&found.audit).next()?;
    let (benchmark, scenario_folder) = (any.benchmark, any.scenario_folder);
    let name = format!("{}/{}", benchmark.folder, scenario_folder.name());
    let audited = options.division.bounded() && benchmark.test06(options.round);
    let performance =
        one(&found.performance, &name, "performance", "run the profile with mode performance or both", list);
    let accuracy = one(&found.accuracy, &name, "accuracy", "run the profile with mode accuracy or both", list);
    let audit = if audited || !found.audit.is_empty() {
        one(&found.audit, &name, "TEST06", "run the profile with audit TEST06, and give its folder too", list)
    } else {
        None
    };
    if performance.is_some_and(|it| it.user_conf.trim().is_empty()) {
        list.add(format!("{name}: no user.conf is known"), "put the user.conf of the test into the folder of the logs");
    }
    for it in performance.iter().flat_map(|it| &it.conf_differences) {
        list.add(format!("{name}: user.conf does not fit: {it}"), "give the user.conf that the test was run with");
    }
    for (test, log) in [(performance, "performance"), (accuracy, "accuracy")] {
        let file = "mlperf_log_accuracy.json";
        if test.is_some_and(|it| !it.logs.join(file).is_file()) {
            list.add(format!("{name}: the {log} run has no {file}"), "give the folder with all files of the run");
        }
    }
    let verdict = |test: &'a Test| match test06::verify(test, options.end_of_sequence, options.elements) {
        Ok(found) => Some((test, found.text())),
        Err(error) => {
            list.add(format!("{name}: {error}"), "see docs/submission.md on TEST06");
            None
        }
    };
    let audit = audit.and_then(verdict);
    let scores = scores(options, accuracy, &name, alone, list);
    let measurements = given(&options.measurements, &name, true).map(|it| it.path.as_path());
    if measurements.is_none_or(|it| !it.is_file()) {
        list.add(
            format!("{name}: no measurements.json"),
            "write down data types, weights and their transformations and name the file by --measurements",
        );
    }
    // Without an accuracy log, the tree cannot contain the truncated log that must show the accuracy.
    let accuracy = accuracy.filter(|it| it.logs.join("mlperf_log_accuracy.json").is_file());
    if let Some(test) = accuracy {
        match answers::fault(&test.logs.join("mlperf_log_accuracy.json"), benchmark.accuracy_samples) {
            Ok(None) => {}
            Ok(Some(fault)) => list.add(format!("{name}: {fault}"), "run the accuracy test until none fails"),
            Err(error) => list.add(format!("{name}: {error}"), "give the log as LoadGen wrote it, and not cut"),
        }
    }
    let measurements = measurements.filter(|it| it.is_file());
    Some(Case { benchmark, scenario_folder, performance, accuracy, audit, scores, measurements })
}

fn one<'a>(tests: &[&'a Test], name: &str, what: &str, remedy: &str, list: &mut List) -> Option<&'a Test> {
    match tests {
        [test] => return Some(test),
        [] => list.add(format!("{name}: no {what} run"), remedy),
        several => {
            let folders: Vec<_> = several.iter().map(|it| it.run.display().to_string()).collect();
            list.add(format!("{name}: several {what} runs, {}", folders.join(", ")), "give one");
        }
    }
    None
}

/// Whether `case`, as a user writes it (`Offline` or `llama3.1-8b/Offline`), means the case with the name `name`.
fn is_of(case: &str, name: &str) -> bool {
    name == case || name.rsplit('/').next() == Some(case)
}

/// Returns the user's file for a case. A file for exactly this case takes precedence over one for all cases.
fn given<'a>(files: &'a [ScenarioFile], name: &str, for_all: bool) -> Option<&'a ScenarioFile> {
    let named = files.iter().find(|it| it.case.as_deref().is_some_and(|it| is_of(it, name)));
    named.or_else(|| files.iter().find(|it| for_all && it.case.is_none()))
}

fn scores(options: &BuildOptions, accuracy: Option<&Test>, name: &str, alone: bool, list: &mut List) -> Option<String> {
    let beside =
        |test: &Test| [&test.logs, &test.run].map(|it| it.join("accuracy.txt")).into_iter().find(|it| it.is_file());
    let file = given(&options.accuracy, name, alone).map(|it| it.path.clone()).or_else(|| accuracy.and_then(beside));
    let Some(file) = file else {
        let unused = options.accuracy.iter().find(|it| it.case.is_none());
        let unused = unused.map(|it| {
            format!(", and --accuracy {} was not used: it names none of the several scenarios", it.path.display())
        });
        list.add(
            format!("{name}: no accuracy scores{}", unused.unwrap_or_default()),
            format!("evaluate the accuracy log and give the script's output with --accuracy {name}=FILE"),
        );
        return None;
    };
    source::read(&file)
        .map_err(|error| {
            list.add(format!("{name}: cannot read {} ({error})", file.display()), "name another file by --accuracy");
        })
        .ok()
}
