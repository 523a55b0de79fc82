//! `benchwright bench --for`, run as the built binary. It determines whether a machine has the capacity for a load.

use crate::common::{Folder, profile, simulated};
use predicates::prelude::*;

#[test]
fn it_needs_a_run_and_its_parts_are_no_commands_for_people() {
    let folder = Folder::new();
    folder.benchwright(&["--help"]).assert().success().stdout(predicate::str::contains("bench-part").not());
    folder.benchwright(&["bench-part", "{}"]).assert().code(10).stderr(predicate::str::contains("internal command"));
    folder.benchwright(&["bench"]).assert().code(10).stderr(predicate::str::contains("--for <FILE>"));
}

#[test]
fn a_load_that_fits_is_told_with_its_margin_and_one_that_does_not_with_a_remedy() {
    let folder = Folder::new();
    let slots = "type: concurrent, stages: [{concurrency_level: 2, num_requests: 4}]";
    let open = profile(1_000_000, 1);
    let (before, after) = (open.find("type: constant").unwrap(), open.find("}, api").unwrap());
    folder.write("small.yaml", &simulated(&format!("{}{slots}{}", &open[..before], &open[after..])));
    folder.write("flood.yaml", &simulated(&open.replace("duration: 1", "duration: 0.005")));
    let ask = |more: &[&str]| folder.benchwright(&[&["bench", "--itl", "1ms", "--for"], more].concat());
    let yes = || predicate::str::starts_with("yes: ").and(predicate::str::contains("would still fit"));
    ask(&["small.yaml"]).assert().success().stdout(yes());
    for form in ["api.type=chat", "api.streaming=false"] {
        ask(&["small.yaml", "-o", form]).assert().success().stdout(yes());
    }
    // At this low rate, a trial of a few seconds sends no request.
    folder.write("rare.yaml", &simulated(&open.replace("rate: 1000000, duration: 1", "rate: 0.01, duration: 600")));
    let assumed = predicate::str::contains("1ms to each further token (--ttft, --itl)");
    ask(&["rare.yaml"]).assert().success().stdout(yes().and(assumed).and(predicate::str::contains("not judged: ")));
    // More requests than any machine can send in this time.
    ask(&["flood.yaml"])
        .assert()
        .code(1)
        .stdout(predicate::str::starts_with("no: ").and(predicate::str::contains("lower the rate, or give it")));
    folder
        .benchwright(&["bench", "--for", "nowhere.yaml"])
        .assert()
        .code(10)
        .stderr(predicate::str::contains("nowhere.yaml"));
    ask(&["small.yaml", "--quick"]).assert().code(10).stderr(predicate::str::contains("--quick"));
}
