//! Which results a run deletes from a shared claim.

use std::fs;

use crds::{Outcome, benchmark_run::FolderRetention};

use crate::{
    common::put_finished,
    pod::fixture::{Pod, Server},
};

fn left(pod: &Pod) -> Vec<String> {
    let entries = fs::read_dir(pod.path("results")).unwrap();
    let mut names: Vec<String> = entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn pod_with_old_folders() -> Pod {
    let pod = Pod::new();
    for (name, days) in [("old", 9), ("older", 10), ("recent", 2), ("live.partial", 20)] {
        put_finished(&pod.path("results"), name, days);
    }
    pod
}

#[test]
fn a_run_deletes_what_is_beyond_its_limits_and_says_so() {
    for (retention, deleted) in [
        (FolderRetention { keep_runs: Some(2), keep_days: None }, &["older", "old"][..]),
        (FolderRetention { keep_runs: Some(9), keep_days: Some(5) }, &["older", "old"]),
        (FolderRetention { keep_runs: Some(1), keep_days: None }, &["older", "old", "recent"]),
        (FolderRetention { keep_runs: Some(9), keep_days: None }, &[]),
    ] {
        let (pod, model) = (pod_with_old_folders(), Server::model());
        pod.mount_url(&model.url(), |run| run.retention = Some(retention.clone()));
        let output = pod.run();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let core = pod.envelope().core;
        let own = core.folder.unwrap();
        assert_eq!((core.outcome, core.deleted_folders as usize), (Outcome::Passed, deleted.len()), "{retention:?}");
        let mut wanted = vec!["live.partial".to_owned(), "old".into(), "older".into(), "recent".into(), own];
        wanted.retain(|it| !deleted.contains(&it.as_str()));
        wanted.sort();
        assert_eq!(left(&pod), wanted, "{retention:?}");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = format!("deleted by storage.pvc.retention: {}", deleted.join(", "));
        assert_eq!(stdout.lines().any(|it| it == line), !deleted.is_empty(), "{stdout}");
    }
}

#[test]
fn a_run_that_stores_nothing_deletes_nothing() {
    let (pod, model) = (pod_with_old_folders(), Server::model());
    pod.mount_url(&model.url(), |run| {
        run.retention = Some(FolderRetention { keep_runs: Some(1), keep_days: None });
        run.endpoint = crds::resolve::Endpoint::Url("http://127.0.0.1:1".into());
    });
    assert_eq!(pod.run().status.code(), Some(11));
    assert_eq!(left(&pod), ["live.partial", "old", "older", "recent"]);
}

#[test]
fn a_series_counts_as_one_folder_and_keeps_its_runs() {
    let (pod, model) = (pod_with_old_folders(), Server::model());
    pod.mount_url(&model.url(), |run| {
        run.repeat = 2;
        run.retention = Some(FolderRetention { keep_runs: Some(2), keep_days: None });
    });
    let output = pod.run();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let core = pod.envelope().core;
    let own = core.folder.unwrap();
    assert_eq!((left(&pod), core.deleted_folders), (vec![own.clone(), "live.partial".into(), "recent".into()], 2));
    assert!(pod.path("results").join(own).join("r2/report.json").is_file());
}
