//! Limits of the system.

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    common::{Folder, profile, simulated},
    faults::{ended, until},
};

fn check(limit: &str, arguments: &[&str], statuses: &[i32], words: &str) {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    let ended = ended(folder.shell(limit, arguments, "").spawn().unwrap());
    assert!(
        ended.code.is_some_and(|it| statuses.contains(&it)),
        "{limit} {arguments:?}: {:?} {}",
        ended.code,
        ended.stderr
    );
    assert!(ended.stderr.contains(words), "{limit} {arguments:?}: {}", ended.stderr);
}

#[test]
fn too_few_open_files_name_their_remedy() {
    for files in [8, 10, 12, 16] {
        check(&format!("ulimit -n {files};"), &["run", "-f", "run.yaml", "--no-results"], &[10], "ulimit -n");
    }
    check("ulimit -n 5;", &["sim", "--port", "0"], &[10], "ulimit -n");
}

#[test]
fn a_limit_of_file_sizes_is_an_error_of_writing() {
    check("ulimit -f 4;", &["run", "-f", "run.yaml"], &[12], "ulimit -f");
}

#[test]
fn records_that_do_not_fit_into_memory_are_told_before_the_load() {
    let folder = Folder::new();
    // A closed loop with a number of requests has a plan, so the size of its records can be estimated. The test ends the run with a signal.
    let profile = "{load: {type: concurrent, stages: [{num_requests: 9000000, concurrency_level: 1}]}, \
                   api: {type: completion, streaming: true}, \
                   data: {type: random, input_distribution: {min: 10, max: 10, mean: 10, std_dev: 0}, \
                   output_distribution: {min: 5, max: 5, mean: 5, std_dev: 0}}}";
    folder.write("run.yaml", &simulated(profile));
    let child = folder.shell("ulimit -v 1500000;", &["run", "-f", "run.yaml"], "2>log").spawn().unwrap();
    until("the warning", || folder.text("log").contains("records of 9000000 requests need"));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let (ended, log) = (ended(child), folder.text("log"));
    assert_eq!(ended.code, Some(20), "{log}");
    assert!(log.contains("perRequestRecords: None") && log.contains("ulimit -v"), "{log}");
}

/// The load uses all file descriptors, so the embedded simulator cannot accept further connections.
#[test]
fn a_load_that_holds_all_files_ends() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(200, 3)));
    for _ in 0..3 {
        let ended =
            ended(folder.shell("ulimit -n 64;", &["run", "-f", "run.yaml", "--no-results"], "").spawn().unwrap());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stderr.contains("ulimit -n"), "{}", ended.stderr);
    }
}
