//! If an attempt had finished before its pod was lost, its result is reported again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crds::Outcome;

use crate::pod::fixture::{Pod, Server};

/// A change to the claim between two attempts.
type Change<'a> = &'a dyn Fn(&Pod);

/// Returns the folder of the first attempt.
fn folder_of_first(pod: &Pod) -> PathBuf {
    let folders = fs::read_dir(pod.path("results")).unwrap().map(|it| it.unwrap().path());
    folders.into_iter().find(|it| it.to_string_lossy().ends_with("-a1")).unwrap()
}

/// Runs the first attempt, changes its folder, and runs the second attempt. `finished` contains the attempts that the operator reports as finished.
/// Returns the number of prompts that the second attempt sent.
fn prompts_of_second(finished: &[u32], change: impl FnOnce(&Pod)) -> (Pod, usize) {
    let (mut pod, server) = (Pod::new(), Server::model());
    pod.mount_url(&server.url(), |_| {});
    assert_eq!(pod.run().status.code(), Some(0));
    let before = server.prompts();
    assert!(before >= 10, "{before}");
    change(&pod);
    pod.next_attempt();
    pod.mount_url(&server.url(), |run| run.finished_attempts = finished.to_vec());
    let output = pod.run();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    (pod, server.prompts() - before)
}

#[test]
fn figures_of_a_finished_attempt_are_reported_without_a_load() {
    let mut first = None;
    let (pod, prompts) = prompts_of_second(&[1], |pod| first = Some(pod.envelope()));
    let (first, second) = (first.unwrap(), pod.envelope());
    assert_eq!(prompts, 0);
    assert_eq!((second.core.attempt, second.core.outcome), (2, Outcome::Passed));
    assert_eq!((&second.core.summary, &second.stages), (&first.core.summary, &first.stages));
    assert_eq!((&second.core.folder, &second.core.run_uid), (&first.core.folder, &first.core.run_uid));
    let folder = first.core.folder.unwrap();
    assert!(folder.ends_with("-a1") && second.core.message.contains(&folder), "{}", second.core.message);
    assert!(second.core.message.contains("attempt 1 had finished"), "{}", second.core.message);
    let reported: Vec<&str> = second.core.artifacts.iter().map(|it| it.name.as_str()).collect();
    assert!(reported.contains(&"report.json"), "{reported:?}");
    // The second attempt created no folder of its own.
    assert_eq!(fs::read_dir(pod.path("results")).unwrap().count(), 1);
}

#[test]
fn a_folder_that_is_not_whole_or_not_of_this_run_is_measured_anew() {
    let edit = |pod: &Pod, file: &str, change: &dyn Fn(String) -> String| {
        let path = folder_of_first(pod).join(file);
        fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    };
    let message = "termination-message.txt";
    let replace = |pod: &Pod, make: &dyn Fn(&Path)| {
        let path = folder_of_first(pod).join(message);
        fs::rename(&path, pod.path("elsewhere.txt")).unwrap();
        make(&path);
    };
    let changes: [(&str, Change<'_>); 8] = [
        ("a pipe in place of the message", &|pod| {
            replace(pod, &|path| {
                rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
            });
        }),
        ("a link in place of the message", &|pod| {
            replace(pod, &|path| std::os::unix::fs::symlink(pod.path("elsewhere.txt"), path).unwrap());
        }),
        ("another report", &|pod| edit(pod, "report.json", &|it| it + " ")),
        ("no message", &|pod| fs::remove_file(folder_of_first(pod).join(message)).unwrap()),
        ("a damaged message", &|pod| edit(pod, message, &|it| it.replace("Passed", "Failed"))),
        ("another profile", &|pod| edit(pod, "profile.yaml", &|it| it.replace("rate: 10", "rate: 11"))),
        ("a link", &|pod| {
            let folder = folder_of_first(pod);
            fs::rename(&folder, pod.path("elsewhere")).unwrap();
            std::os::unix::fs::symlink(pod.path("elsewhere"), &folder).unwrap();
        }),
        ("another run", &|pod| {
            let text = fs::read_to_string(folder_of_first(pod).join(message)).unwrap();
            let mut envelope = crds::Envelope::parse(&text).unwrap();
            envelope.core.run_uid = "another".into();
            fs::write(folder_of_first(pod).join(message), envelope.to_text()).unwrap();
        }),
    ];
    for (name, change) in changes {
        let (pod, prompts) = prompts_of_second(&[1], change);
        let core = pod.envelope().core;
        assert!(prompts >= 10, "{name}: {prompts}");
        assert!(core.attempt == 2 && core.folder.as_ref().is_some_and(|it| it.ends_with("-a2")), "{name}: {core:?}");
    }
}

/// The folder is complete, but the operator does not report its attempt as finished. Another run on the same claim could have written it.
#[test]
fn a_folder_that_the_operator_does_not_vouch_for_is_measured_anew() {
    let (pod, prompts) = prompts_of_second(&[], |_| {});
    let core = pod.envelope().core;
    assert!(prompts >= 10, "{prompts}");
    assert!(core.attempt == 2 && core.folder.as_ref().is_some_and(|it| it.ends_with("-a2")), "{core:?}");
}

#[test]
fn figures_that_do_not_count_are_measured_anew() {
    let (mut pod, server) = (Pod::new(), Server::model());
    // The run has only ten requests, so it cannot reach this minimum of successes and is invalid.
    pod.mount_url(&server.url(), |run| run.validity.min_successful_requests = 1_000);
    assert_eq!(pod.run().status.code(), Some(0));
    assert_eq!(pod.envelope().core.outcome, Outcome::Invalid);
    let before = server.prompts();
    pod.next_attempt();
    pod.mount_url(&server.url(), |run| run.finished_attempts = vec![1]);
    assert_eq!(pod.run().status.code(), Some(0));
    assert!(server.prompts() >= before + 10);
    assert_eq!((pod.envelope().core.outcome, pod.envelope().core.attempt), (Outcome::Passed, 2));
}
