//! `spec.execution.collect`: reports the folder of a finished run, and sends no load.

use std::{fs, path::Path, process::Output};

use crds::{LauncherReason, Met, Outcome};

use crate::pod::fixture::{Pod, Server};

/// Runs a load. Returns the pod with its claim, the name of the results folder, and the server.
fn measured(change: impl FnOnce(&mut crds::ResolvedRun)) -> (Pod, String, Server) {
    let (pod, server) = (Pod::new(), Server::model());
    pod.mount_url(&server.url(), change);
    assert_eq!(pod.run().status.code(), Some(0));
    let folder = pod.envelope().core.folder.unwrap();
    (pod, folder, server)
}

/// Starts another run on the same claim, which collects a folder. `more` contains additional lines of its spec.
fn collect(pod: &Pod, server: &Server, folder: &str, more: &str) -> Output {
    let spec = format!("target: {{url: '{}'}}\nexecution: {{collect: {{folder: {folder}}}}}\n{more}", server.url());
    pod.mount(&spec, |run| run.run.uid = "uid-of-another".into());
    pod.run()
}

#[test]
fn the_figures_of_another_run_are_reported_without_a_load() {
    let (pod, folder, server) = measured(|_| {});
    let (first, before) = (pod.envelope(), server.prompts());
    let output = collect(&pod, &server, &folder, "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(server.prompts(), before);
    let second = pod.envelope();
    assert_eq!((second.core.run_uid.as_str(), second.core.attempt), ("uid-of-another", 1));
    assert_eq!((second.core.outcome, second.core.folder.as_ref()), (Outcome::Passed, Some(&folder)));
    assert_eq!((&second.core.summary, &second.stages), (&first.core.summary, &first.stages));
    assert_eq!((&second.core.model, second.core.load_start_time), (&first.core.model, first.core.load_start_time));
    assert!(second.core.artifacts.iter().any(|it| it.name == "report.json"), "{:?}", second.core.artifacts);
    let said = &second.core.message;
    assert!(
        said.contains(&format!("the figures of folder {folder}, which the run with UID {}", first.core.run_uid)),
        "{said}"
    );
    // The collecting run creates no folder of its own.
    assert_eq!(fs::read_dir(pod.path("results")).unwrap().count(), 1);
}

#[test]
fn objectives_are_those_of_the_run_that_collects() {
    let (pod, folder, server) = measured(|_| {});
    for (limit, met, outcome, code) in
        [("1h", Met::True, Outcome::Passed, 0), ("1ns", Met::False, Outcome::SLOViolated, 1)]
    {
        let slo = format!(
            "slo: {{objectives: [{{name: ttft, metric: ttft, stat: p99, max: {limit}}}, {{name: each, metric: errorRatio, stage: '*', max: 1}}]}}"
        );
        let output = collect(&pod, &server, &folder, &slo);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let envelope = pod.envelope();
        assert_eq!((envelope.core.outcome, envelope.objectives[0].met), (outcome, met), "{envelope:?}");
        assert_eq!(envelope.objectives[1].met, Met::True);
        assert_eq!(envelope.core.objectives.unwrap().total(), 2);
        let gate = pod.command().arg("--gate").output().unwrap();
        assert_eq!(gate.status.code(), Some(code), "{gate:?}");
    }
    // Without objectives of its own, the collecting run reports no objectives, even if the collected run had some.
    collect(&pod, &server, &folder, "");
    assert_eq!((pod.envelope().core.objectives, pod.envelope().objectives.len()), (None, 0));
}

#[test]
fn figures_that_are_not_valid_stay_so() {
    // The collected run has only ten requests, so it cannot reach this minimum of successes and is invalid.
    let (pod, folder, server) = measured(|run| run.validity.min_successful_requests = 1_000);
    let slo = "slo: {objectives: [{name: ttft, metric: ttft, stat: p99, max: 1h}]}";
    assert_eq!(collect(&pod, &server, &folder, slo).status.code(), Some(0));
    let core = pod.envelope().core;
    assert_eq!((core.outcome, &core.reason), (Outcome::Invalid, &LauncherReason::TooFewSuccesses.into()));
    assert_eq!(pod.envelope().objectives[0].met, Met::Inconclusive);
}

#[test]
fn a_folder_that_is_missing_or_not_finished_ends_the_run_with_the_reason() {
    let (pod, folder, server) = measured(|_| {});
    let root = pod.path("results");
    let make = |name: &str, change: &dyn Fn(&Path)| {
        let to = root.join(name);
        fs::create_dir(&to).unwrap();
        for file in fs::read_dir(root.join(&folder)).unwrap().map(|it| it.unwrap().path()) {
            fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
        }
        change(&to);
    };
    make("going.partial", &|_| {});
    make("bare", &|it| fs::remove_file(it.join("termination-message.txt")).unwrap());
    make("changed", &|it| fs::write(it.join("report.json"), "{}").unwrap());
    make("series", &|it| fs::write(it.join("repeats.json"), "{}").unwrap());
    make("stopped", &|it| {
        let path = it.join("termination-message.txt");
        let mut envelope = crds::Envelope::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        (envelope.core.outcome, envelope.core.partial) = (Outcome::Cancelled, true);
        fs::write(&path, envelope.to_text()).unwrap();
    });
    fs::create_dir(root.join("empty")).unwrap();
    std::os::unix::fs::symlink(root.join(&folder), root.join("link")).unwrap();
    let before = server.prompts();
    for (name, part) in [
        ("missing", "the claim of storage.pvc.claimName has no such folder; name an existing folder"),
        ("going", "its run has not ended, or was killed"),
        ("bare", "it has no termination-message.txt"),
        ("empty", "it has no termination-message.txt"),
        ("changed", "its report.json is not the one that its termination message lists"),
        ("series", "it holds a series of runs"),
        ("stopped", "its run did not measure completely: its outcome is Cancelled"),
        ("link", "cannot be read"),
    ] {
        let output = collect(&pod, &server, name, "");
        assert_eq!(output.status.code(), Some(10), "{name}: {output:?}");
        let core = pod.envelope().core;
        assert_eq!((core.outcome, &core.reason), (Outcome::Error, &LauncherReason::ConfigInvalid.into()), "{name}");
        let field = format!("spec.execution.collect.folder: is \"{name}\"");
        assert!(core.message.starts_with(&field) && core.message.contains(part), "{name}: {}", core.message);
    }
    assert_eq!(server.prompts(), before);
}
