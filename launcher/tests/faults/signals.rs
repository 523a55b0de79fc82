//! Signals during the load, and what a killed run leaves behind.

use std::{fs, process::Child};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    common::{Folder, profile, simulated},
    faults::{ended, until},
};

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Starts a run, and returns when it issues its load. The stderr of the first run goes to `log0`, that of the second to `log1`, and so on.
fn started(folder: &Folder, before: &str, seconds: u32) -> Child {
    folder.write("run.yaml", &simulated(&profile(20, seconds)));
    let log = (0..).map(|it| format!("log{it}")).find(|it| !folder.path(it).exists()).unwrap();
    let child = folder.shell(before, &["run", "-f", "run.yaml"], &format!("2>{log}")).spawn().unwrap();
    until("the load", || folder.text(&log).contains("the target is ready"));
    child
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path("results")).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter(|it| !matches!(it.as_str(), "latest" | "index.md" | "index.html")).collect();
    names.sort();
    names
}

#[test]
fn each_signal_to_end_leaves_a_report() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let folder = Folder::new();
        // Reset the handlers, because child processes inherit ignored signals. Signals are ignored if the tests run under `nohup` or in the
        // background of a shell.
        let child = started(&folder, "exec env --default-signal=HUP,INT,QUIT \"$0\" \"$@\" 2>log0;", 600);
        send(&child, signal);
        assert_eq!(ended(child).code, Some(20), "{signal:?}");
        assert_eq!(folder.report()["outcome"], "Cancelled", "{signal:?}");
    }
}

#[test]
fn under_nohup_a_terminal_may_close() {
    let folder = Folder::new();
    // `nohup` starts a program in the same way.
    let child = started(&folder, "trap '' HUP;", 2);
    send(&child, Signal::HUP);
    assert_eq!(ended(child).code, Some(0));
    assert_eq!(folder.report()["outcome"], "Passed");
}

#[test]
fn what_a_killed_run_leaves_says_so_and_goes_with_the_next_run() {
    let folder = Folder::new();
    let (mut killed, alive) = (started(&folder, "", 600), started(&folder, "", 600));
    let partial = names(&folder);
    assert!(partial.len() == 2 && partial.iter().all(|it| it.ends_with(".partial")), "{partial:?}");
    let marker = fs::read_to_string(folder.path("results").join(&partial[0]).join("PARTIAL.md")).unwrap();
    assert!(marker.contains("not finished") && marker.contains("can be deleted"), "{marker}");
    let of_killed = partial.iter().position(|it| {
        let text = fs::read_to_string(folder.path("results").join(it).join("PARTIAL.md")).unwrap();
        text.contains(&format!("- process: {}\n", killed.id()))
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    let next = ended(folder.shell("", &["run", "-f", "run.yaml"], "").spawn().unwrap());
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    assert!(next.stderr.contains("the folder of a killed launcher was deleted"), "{}", next.stderr);
    let left = names(&folder);
    // The folder of the running run is kept, and is completed later.
    assert!(left.len() == 2 && !left.contains(&partial[of_killed.unwrap()]), "{left:?} after {partial:?}");
    assert!(left.iter().any(|it| it.ends_with(".partial")), "{left:?}");
    send(&alive, Signal::TERM);
    assert_eq!(ended(alive).code, Some(20));
    let left = names(&folder);
    assert!(left.len() == 2 && left.iter().all(|it| !it.ends_with(".partial")), "{left:?}");
    assert!(left.iter().all(|it| !folder.path("results").join(it).join("PARTIAL.md").exists()));
}

#[test]
fn results_that_vanish_during_the_load_are_written_again() {
    let folder = Folder::new();
    let child = started(&folder, "", 600);
    fs::remove_dir_all(folder.path("results")).unwrap();
    send(&child, Signal::TERM);
    assert_eq!(ended(child).code, Some(20));
    let log = folder.text("log0");
    assert!(log.contains("were moved or deleted while the run went on"), "{log}");
    let latest = folder.path("results/latest");
    for file in ["run.yaml", "profile.yaml", "report.json", "requests.parquet"] {
        assert!(latest.join(file).exists(), "{file} is missing");
    }
}
