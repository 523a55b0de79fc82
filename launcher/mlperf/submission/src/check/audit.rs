//! Checks the compliance test TEST06.

use std::io::BufReader;

use super::{
    super::{
        layout::ScenarioFolder,
        rules::Rule,
        tree::MAX_TEXT,
        truncation::{ELLIPSIS, MAX_LOG},
    },
    Case, Check,
};
use loadgen::logs::test06::{ElementType, Test06};

impl Check {
    pub(super) fn audits(&mut self, case: &Case) {
        if !case.benchmark.test06(self.round) {
            if case.benchmark.folder == "gpt-oss-120b" {
                self.notes.insert("TEST07 and TEST09 of gpt-oss-120b are not checked".into());
            }
            return;
        }
        let folder = format!("{}/TEST06", case.compliance);
        let file = format!("{folder}/verify_accuracy.txt");
        match self.tree.text(&file, MAX_TEXT) {
            Ok(text) => self.verdict(&file, &text, case.scenario_folder),
            Err(error) => self.findings.fault(&file, &error, Rule::AuditMissing),
        }
        let file = format!("{folder}/accuracy/mlperf_log_accuracy.json");
        if self.wanted(&file, Rule::AuditNoLog).is_some() {
            self.audit_log(&file, case);
        }
    }

    fn verdict(&mut self, file: &str, text: &str, scenario_folder: ScenarioFolder) {
        let mut about = self.findings.about(file);
        // In Offline, there are no first tokens to check.
        let first: &[&str] = if scenario_folder == ScenarioFolder::Offline { &["True", "Skipped"] } else { &["True"] };
        for (key, wanted) in
            [("First token check pass", first), ("EOS check pass", &["True"]), ("Sample length check pass", &["True"])]
        {
            let found = text.lines().find_map(|it| it.trim().strip_prefix(key)?.strip_prefix(':'));
            let found = found.map_or("nothing", str::trim);
            let rule =
                if found == "Skipped" && key.starts_with("First") { Rule::AuditSkipped } else { Rule::AuditFailed };
            about.want(wanted.contains(&found), rule, key, found, wanted.join(" or "));
        }
        let last = "TEST06 verification complete";
        let met = text.lines().any(|it| it.trim() == last);
        about.want(met, Rule::AuditUnfinished, "", "no line that it is complete", last);
    }

    /// Repeats TEST06 on its log, if the log is complete and the end-of-sequence token is known. The tree does not contain the type of the token ids.
    /// So it is enough if the test passes with one of the types.
    fn audit_log(&mut self, file: &str, case: &Case) {
        let cut = self.tree.text(file, MAX_LOG).is_ok_and(|it| it.contains(ELLIPSIS));
        let Some(end) = case.benchmark.end_of_sequence.filter(|_| !cut) else { return };
        let offline = case.scenario_folder == ScenarioFolder::Offline;
        let test = |elements| {
            let (log, _) = self.tree.open(file).ok()?;
            Some(Test06::from_log(BufReader::new(log), offline, end, elements))
        };
        let Some(usual) = test(ElementType::default()) else { return };
        let passing = ElementType::ALL.into_iter().filter_map(test).find(|it| it.as_ref().is_ok_and(Test06::passes));
        let mut about = self.findings.about(file);
        match passing.unwrap_or(usual) {
            Ok(test) => {
                let text = test.text();
                about.want(
                    test.passes(),
                    Rule::AuditLog,
                    "",
                    text.trim().replace('\n', "; "),
                    "a log that passes TEST06",
                );
            }
            Err(error) => about.want(false, Rule::AuditLog, "", error, "an accuracy log of LoadGen"),
        }
    }
}
