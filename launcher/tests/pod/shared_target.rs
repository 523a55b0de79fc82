//! A target that other runs use at the same time.

use std::fs;

use crate::{
    common::Sim,
    pod::fixture::{Pod, files},
};

/// Runs against a server whose target has this field. Returns the report and the output.
fn reported(target: &Sim, field: &str) -> (serde_json::Value, String) {
    let pod = Pod::new();
    pod.mount(&format!("target: {{url: '{}'{field}}}", target.url), |_| {});
    let output = pod.run();
    let report = files(&pod.path("results")).into_iter().find(|it| it.ends_with("report.json")).unwrap();
    let report = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    (report, String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_run_that_shares_its_target_has_a_remark() {
    let target = Sim::start(&["--preset", "tiny"]);
    let remark = "target.exclusive is false: other runs may have used the target at the same time";
    for (field, expected) in [(", exclusive: false", true), (", exclusive: true", false), ("", false)] {
        let (report, table) = reported(&target, field);
        let remarks = report["selfJudgement"]["remarks"].to_string();
        assert_eq!(
            (remarks.contains(remark), table.contains(remark)),
            (expected, expected),
            "{field}: {remarks} {table}"
        );
    }
}
