//! Checks which files of a power measurement exist. Does not check their figures; a note in the report states this.

use std::collections::BTreeSet;

use super::{
    super::{rules::Rule, tree::TreeError},
    Case, Check,
};

const RUN: [&str; 3] = ["mlperf_log_summary.txt", "mlperf_log_detail.txt", "spl.txt"];
const POWER: [&str; 5] = ["client.json", "client.log", "ptd_logs.txt", "server.json", "server.log"];
/// Files that can exist in addition to the logs.
const OPTIONAL: [&str; 3] = ["mlperf_log_accuracy.json", "mlperf_log_trace.json", "results.json"];

impl Check {
    pub(super) fn power(&mut self, case: &Case) {
        let performance = format!("{}/performance", case.results);
        if !self.tree.has(&format!("{performance}/power")) {
            return;
        }
        self.notes.insert(
            "of power measurements only the files are checked, and none of their figures: run MLPerf's own checker too"
                .into(),
        );
        for (folder, wanted) in [("run_1", &RUN[..]), ("ranging", &RUN), ("power", &POWER)] {
            self.power_folder(&format!("{performance}/{folder}"), wanted);
        }
    }

    /// Checks the files in a folder. MLPerf's checker requires exactly these files.
    fn power_folder(&mut self, folder: &str, wanted: &[&str]) {
        let entries = match self.tree.entries(folder) {
            Err(TreeError::Missing | TreeError::NoFile) => Vec::new(),
            Err(error) => return self.findings.fault(folder, &error, Rule::PowerFiles),
            Ok(entries) => entries,
        };
        let found: BTreeSet<_> = entries.into_iter().filter(|(_, folder)| !folder).map(|(file, _)| file).collect();
        let lacks: Vec<_> = wanted.iter().copied().filter(|it| !found.contains(*it)).collect();
        let more: Vec<_> =
            found.iter().map(String::as_str).filter(|it| !wanted.contains(it) && !OPTIONAL.contains(it)).collect();
        if !lacks.is_empty() {
            self.findings.add(Rule::PowerFiles, folder, "", format!("no {}", lacks.join(", ")), wanted.join(", "));
        }
        if !more.is_empty() {
            let wanted = format!("{} and nothing else", wanted.join(", "));
            self.findings.add(Rule::PowerFiles, folder, "", more.join(", "), wanted);
        }
    }
}
