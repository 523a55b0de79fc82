//! The texts in a submission tree that do not come from runs. Pure.

use workload_profiles::loadgen::Round;

use super::{
    super::{findings::Report, truncation::HASH},
    Missing,
    inputs::Case,
};
use document::{TOOL, TOOL_VERSION};

const HONESTY: &str = "\
Logs that benchwright writes are compatible with those of MLPerf LoadGen and not of MLCommons' build of it. Official \
submissions to MLPerf need logs of MLCommons' unaltered LoadGen, and results of other logs must not be called MLPerf results. The key `loadgen_version` of a log names the LoadGen that wrote it.\n";

/// Returns README.md of the tree.
pub(super) fn tree(round: Round) -> String {
    let round = round.name();
    format!(
        "# A tree for MLPerf Inference {round}\n\nWritten by {TOOL} {TOOL_VERSION}; `benchwright submission check --round \
         {round} DIR` checks it.\n\n{HONESTY}"
    )
}

/// Returns README.md of the folder for code.
pub(super) fn source() -> String {
    format!(
        "# What ran\n\nThe load came from {TOOL} {TOOL_VERSION}, or from the LoadGen that the logs name. For each benchmark \
         and scenario that {TOOL} ran, this folder holds the run (`run.yaml`), its profile as rendered (`profile.yaml`), \
         and all settings as they took effect (`config.json`).\n"
    )
}

/// Returns README.md of a scenario.
pub(super) fn case(case: &Case<'_>) -> String {
    let mut text = format!("# {}, {}\n\n", case.benchmark.folder, case.scenario_folder.name());
    let audit = case.audit.as_ref().map(|(test, _)| *test);
    for (name, test) in [("Performance", case.performance), ("Accuracy", case.accuracy), ("TEST06", audit)] {
        let Some(test) = test else { continue };
        text.push_str(&format!("- {name}: run `{}`, LoadGen {}\n", test.name, test.version));
    }
    for note in case.notes() {
        text.push_str(&format!("- {note}\n"));
    }
    text + "\n" + HONESTY
}

/// Returns accuracy.txt: the output of the evaluation, and the hash of the whole log.
pub(super) fn accuracy(scores: &str, hash: &str) -> String {
    let mut text: String =
        scores.lines().filter(|it| !it.trim_start().starts_with(HASH)).map(|it| format!("{it}\n")).collect();
    text.push_str(&format!("{HASH}{hash}\n"));
    text
}

/// Returns INCOMPLETE.md: what is missing from the tree.
pub(super) fn incomplete(missing: &[Missing], report: &Report) -> String {
    let mut text = String::from("# This tree is incomplete and cannot be submitted\n\n");
    for it in missing {
        text.push_str(&format!("- {it}\n"));
    }
    for it in &report.findings {
        text.push_str(&format!("- {it}\n"));
    }
    text
}
