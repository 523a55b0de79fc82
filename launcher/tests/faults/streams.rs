//! Closed or full stdout and stderr.

use std::{io, process::Stdio};

use crate::{
    common::{Folder, profile, simulated},
    faults::ended,
};

/// Commands that end without a signal, and their exit status.
const COMMANDS: [(&[&str], i32); 17] = [
    (&["render", "-f", "run.yaml"], 0),
    (&["render", "-f", "run.yaml", "--workload"], 0),
    (&["render", "-f", "none.yaml"], 10),
    (&["plan", "-f", "loadgen.yaml"], 0),
    (&["plan", "-f", "loadgen.yaml", "--queries", "all", "--json"], 0),
    (&["plan", "-f", "run.yaml"], 10),
    (&["show", "finished"], 0),
    (&["show", "none"], 10),
    (&["submission", "check", "none"], 10),
    (&["submission", "test06", "none"], 10),
    (&["bench", "--for", "none.yaml"], 10),
    (&["sut", "-f", "none.yaml"], 10),
    (&["sim", "--host", "203.0.113.1", "--port", "0"], 10),
    (&["run", "-f", "none.yaml"], 10),
    (&["run", "-f", "run.yaml", "--no-results"], 0),
    (&["--help"], 0),
    (&["run", "--none"], 10),
];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    let loadgen = include_str!("../../../examples/loadgen.yaml");
    folder.write("loadgen.yaml", loadgen);
    std::fs::create_dir(folder.path("finished")).unwrap();
    folder.write("finished/report.md", &"# Report\n".repeat(20_000));
    folder
}

#[test]
fn nothing_changes_where_stderr_cannot_be_written() {
    let folder = folder();
    for (arguments, status) in COMMANDS {
        for after in ["2>&-", "2>/dev/full", ">&- 2>&-"] {
            let ended = ended(folder.shell("", arguments, after).spawn().unwrap());
            assert_eq!(ended.code, Some(status), "{arguments:?} {after}");
        }
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let ended = ended(folder.shell("", arguments, "").stderr(Stdio::from(writer)).spawn().unwrap());
        assert_eq!(ended.code, Some(status), "{arguments:?} and a reader of stderr that has gone");
    }
}

#[test]
fn a_reader_of_stdout_that_has_gone_has_seen_enough() {
    let folder = folder();
    for (arguments, status) in COMMANDS {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let ended = ended(folder.shell("", arguments, "").stdout(Stdio::from(writer)).spawn().unwrap());
        assert_eq!(ended.code, Some(status), "{arguments:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains("ipe"), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn a_result_that_cannot_be_printed_is_told() {
    let folder = folder();
    for (arguments, status) in COMMANDS {
        let ended = ended(folder.shell("", arguments, ">/dev/full").spawn().unwrap());
        // The figures of a run are stored in files, so a run succeeds even if its output is lost.
        let lost = status == 0 && arguments[0] != "run";
        assert_eq!(ended.code, Some(if lost { 10 } else { status }), "{arguments:?}: {}", ended.stderr);
        let told = ended.stderr.contains("cannot write to stdout: No space left");
        assert_eq!(told, status == 0, "{arguments:?}: {}", ended.stderr);
    }
}
