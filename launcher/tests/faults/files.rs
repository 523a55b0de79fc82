//! Files that are not regular files, have no end, or never begin.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process::Command,
    thread,
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
};

use crate::{
    common::{Folder, HEAD, at, profile, simulated},
    faults::{ended, until},
};

/// Each use of a file on a command line. `@` stands for the file.
const USES: [&[&str]; 11] = [
    &["render", "-f", "@"],
    &["run", "-f", "@", "--no-results"],
    &["plan", "-f", "@"],
    &["bench", "--for", "@"],
    &["sut", "-f", "@"],
    &["render", "-f", "run.yaml", "--profile", "@"],
    &["run", "-f", "run.yaml", "--no-results", "--token-file", "@"],
    &["run", "-f", "run.yaml", "--no-results", "--ca-file", "@"],
    &["show", ".", "--file", "linked"],
    &["submission", "--out", "tree", "--submitter", "Us", "--system", "@", "runs"],
    &["run", "-f", "trace.yaml", "--no-results"],
];

fn folder(trace: &str) -> Folder {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    let load = format!("{{trace: {{trace: {{file: {{path: '{trace}', format: csv}}}}}}}}");
    let profile = format!("{{stages: [{{name: a, load: {load}}}], requests: {{random: {{input: 8, output: 8}}}}}}");
    let text = serde_json::to_string(&profile).unwrap();
    let spec =
        format!("spec: {{target: {{simulator: {{preset: Tiny}}}}, harness: benchwright, profile: {{inline: {text}}}}}");
    folder.write("trace.yaml", &format!("{HEAD}{spec}\n"));
    fs::create_dir(folder.path("runs")).unwrap();
    std::os::unix::fs::symlink(trace, folder.path("linked")).unwrap();
    folder
}

fn with<'a>(arguments: &[&'a str], file: &'a str) -> Vec<&'a str> {
    arguments.iter().map(|it| if *it == "@" { file } else { it }).collect()
}

#[test]
fn what_is_no_file_is_refused_wherever_it_is_named() {
    for (file, what) in [
        ("/dev/zero", "it is a character device"),
        ("/dev/full", "it is a character device"),
        ("/dev", "it is a folder"),
    ] {
        let folder = folder(file);
        for arguments in USES {
            let arguments = with(arguments, file);
            let ended = ended(folder.shell("ulimit -v 4000000;", &arguments, "").spawn().unwrap());
            assert!(matches!(ended.code, Some(1 | 10)), "{arguments:?}: {:?} {}", ended.code, ended.stderr);
            assert!(ended.stderr.contains(what), "{arguments:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_pipe_without_an_end_is_read_to_a_bound() {
    let folder = folder("unused");
    // Only the uses with the argument `@` have a small limit on the size of the file. A trace may have 1 GiB, and `show` prints files of any length.
    let bounded = USES.iter().filter(|it| it.contains(&"@"));
    for (arguments, number) in bounded.zip(0..) {
        let pipe = pipe(&folder, number);
        let arguments = with(arguments, &pipe);
        let child = folder.shell("", &arguments, "").spawn().unwrap();
        let path = folder.path(&pipe);
        let writer = thread::spawn(move || {
            let mut pipe = opened(&path);
            rustix::io::ioctl_fionbio(&pipe, false).unwrap();
            while pipe.write_all(&[b'a'; 1 << 16]).is_ok() {}
        });
        let ended = ended(child);
        writer.join().unwrap();
        assert!(matches!(ended.code, Some(1 | 10)), "{arguments:?}: {:?} {}", ended.code, ended.stderr);
        assert!(ended.stderr.contains("bytes, the most that is read"), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn a_shell_may_give_a_pipe() {
    let folder = folder("unused");
    let ended = ended(folder.shell("", &["render"], "-f <(cat run.yaml)").spawn().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = folder("unused");
    File::create(folder.path("large")).unwrap().set_len(1 << 40).unwrap();
    for arguments in USES.iter().filter(|it| it.contains(&"@")) {
        let arguments = with(arguments, "large");
        let ended = ended(folder.shell("ulimit -v 4000000;", &arguments, "").spawn().unwrap());
        assert!(ended.stderr.contains("bytes, the most that is read"), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn a_signal_ends_a_run_that_reads_a_pipe() {
    for (signal, number) in [(Signal::TERM, 0), (Signal::INT, 1)] {
        let folder = folder("pipe0");
        folder.write("url.yaml", &at("http://127.0.0.1:9", 60, &profile(20, 1)));
        let pipe = pipe(&folder, 0);
        for arguments in [&["run", "-f", "url.yaml", "--token-file", &pipe][..], &["run", "-f", "trace.yaml"]] {
            let child = folder.shell("", arguments, "").spawn().unwrap();
            let writer = opened(&folder.path(&pipe));
            kill_process(Pid::from_child(&child), signal).unwrap();
            let ended = ended(child);
            drop(writer);
            assert_eq!(ended.code, Some(20), "{number} {arguments:?}: {}", ended.stderr);
            assert_eq!(fs::read_dir(folder.path("results")).unwrap().count(), 0);
        }
    }
}

/// Opens a pipe for writing, as soon as it has a reader, which then waits for data.
fn opened(pipe: &Path) -> File {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let mut file = None;
    until("a reader of the pipe", || {
        file = match File::options().write(true).custom_flags(nonblocking).open(pipe) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => None,
            opened => Some(opened.unwrap()),
        };
        file.is_some()
    });
    file.unwrap()
}

fn pipe(folder: &Folder, number: u32) -> String {
    let name = format!("pipe{number}");
    assert!(Command::new("mkfifo").arg(folder.path(&name)).status().unwrap().success());
    name
}

#[test]
fn a_termination_message_that_nobody_reads_holds_up_no_run() {
    let folder = folder("unused");
    let pipe = pipe(&folder, 0);
    let arguments = ["run", "-f", "run.yaml", "--termination-log", &pipe];
    let ended = ended(folder.shell("", &arguments, "").spawn().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("the termination message was not written"), "{}", ended.stderr);
}

/// Other users may write next to a run's folder. Neither pipes there, nor a lock that is never released, block the run or its figures.
#[test]
fn what_others_leave_beside_a_results_folder_holds_up_no_run() {
    let folder = folder("unused");
    let pipe = |name: &str| {
        fs::create_dir_all(folder.path(name).parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(folder.path(name)).status().unwrap().success());
    };
    let table = |folder: &Folder, what: &str| {
        fs::remove_file(folder.path("out")).ok();
        let ended = ended(folder.shell("", &["run", "-f", "run.yaml"], "> out").spawn().unwrap());
        assert_eq!(ended.code, Some(0), "{what}: {}", ended.stderr);
        assert!(folder.text("out").contains("TTFT"), "{what}: {}", folder.text("out"));
        ended.stderr
    };
    for name in ["report.json", "repeats.json", "summary.json"] {
        pipe(&format!("results/of-others-{name}/{name}"));
    }
    table(&folder, "pipes in folders of others");
    let ended = ended(folder.shell("", &["index", "results"], "").spawn().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let failed = folder.benchwright(&["compare", "results/of-others-report.json", "results/latest"]).assert().failure();
    failed.stderr(predicates::str::contains("no regular file"));

    let held = File::options().append(true).open(folder.path("results/index.md")).unwrap();
    held.lock().unwrap();
    assert!(table(&folder, "a lock").contains("another process has locked "));
    drop(held);
    for name in ["index.md", "index.html"] {
        fs::remove_file(folder.path("results").join(name)).unwrap();
        pipe(&format!("results/{name}"));
        assert!(table(&folder, name).contains("not all brought up to date"), "{name}");
        fs::remove_file(folder.path("results").join(name)).unwrap();
    }
}

/// The device names are symbolic links, so that a bug deletes a link and not a device of this machine.
#[test]
fn a_result_that_is_written_to_a_device_or_a_pipe_leaves_it_there() {
    let folder = folder("unused");
    for results in ["results", "others"] {
        folder.benchwright(&["run", "-f", "run.yaml", "--results", results]).assert().success();
    }
    for (name, device) in [("null", "/dev/null"), ("full", "/dev/full")] {
        std::os::unix::fs::symlink(device, folder.path(name)).unwrap();
    }
    let page: &[&str] = &["page", "results/latest", "--output"];
    let compare = |option| ["compare", "results/latest", "others/latest", option];
    for arguments in [page, &compare("--html"), &compare("--markdown"), &compare("--json")] {
        let to = |file| [arguments, &[file]].concat();
        let code = |file| ended(folder.shell("", &to(file), "").spawn().unwrap()).code;
        assert_eq!((code("null"), code("/dev/stdout")), (Some(0), Some(0)), "{arguments:?}");
        assert!(code("full").is_some_and(|it| it != 0), "{arguments:?}");
        assert!(folder.path("null").is_symlink() && folder.path("full").is_symlink(), "{arguments:?}");
        let piped = ended(folder.shell("", &to("/dev/fd/7"), "7> >(cat > piped)").spawn().unwrap());
        assert_eq!(piped.code, Some(0), "{arguments:?}: {}", piped.stderr);
        until("what went through the pipe", || !folder.text("piped").is_empty());
    }
}
