//! Waiting for the target: the messages, and the errors for which there is no wait.

use std::{fs, time::Duration};

use predicates::prelude::*;

use crate::common::{Folder, Sim, at, free_port, profile};

/// Readiness timeout in seconds. Waiting would take this long.
const LONG: u32 = 600;
/// If the target is refused immediately, the command ends well within this time, even on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(120);

#[test]
fn a_url_that_refuses_is_a_target_that_is_unavailable() {
    let port = free_port();
    let folder = Folder::new();
    folder.write("run.yaml", &at(&format!("http://127.0.0.1:{port}"), 2, &profile(5, 1)));
    let log = folder.path("log");
    folder
        .benchwright(&["run", "-f", "run.yaml", "--termination-log", log.to_str().unwrap()])
        .assert()
        .code(11)
        .stderr(
            predicate::str::contains(format!("waiting up to 2s for http://127.0.0.1:{port}: cannot connect"))
                .and(predicate::str::contains("refused").and(predicate::str::contains("readiness.timeoutSeconds"))),
        );
    let envelope = crds::Envelope::parse(&fs::read_to_string(log).unwrap()).unwrap();
    assert_eq!((envelope.core.outcome, envelope.core.reason.as_str()), (crds::Outcome::Error, "TargetUnavailable"));
}

#[test]
fn a_url_that_hangs_is_a_target_that_is_unavailable() {
    let server = Sim::start(&["--hang"]);
    let folder = Folder::new();
    folder.write("run.yaml", &at(&server.url, 2, &profile(5, 1)));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().code(11).stderr(predicate::str::contains("was not ready"));
}

#[test]
fn a_model_that_the_server_does_not_list_ends_the_wait_at_once() {
    let server = Sim::start(&["--model", "org/model-8b"]);
    let folder = Folder::new();
    for probe in ["Generate", "Models"] {
        let text = at(&server.url, LONG, &profile(5, 1));
        let text = text.replace("readiness: {", &format!("model: modle-8b, readiness: {{probe: {probe}, "));
        folder.write("run.yaml", &text);
        folder.benchwright(&["run", "-f", "run.yaml"]).timeout(AT_ONCE).assert().code(10).stderr(
            predicate::str::contains("target.model is modle-8b")
                .and(predicate::str::contains("did you mean org/model-8b?")),
        );
    }
}

#[test]
fn a_token_that_is_missing_ends_the_wait_at_once_and_names_the_flag() {
    let server = Sim::start(&["--fail-status", "401"]);
    let folder = Folder::new();
    folder.write("run.yaml", &at(&server.url, LONG, &profile(5, 1)));
    folder
        .benchwright(&["run", "-f", "run.yaml", "--gate"])
        .timeout(AT_ONCE)
        .assert()
        .code(3)
        .stderr(predicate::str::contains("401").and(predicate::str::contains("--token-file")));
}
