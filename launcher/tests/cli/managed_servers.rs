//! `target.server` on this machine, with real processes: from their start until no process is left.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{self, Folder, HEAD, LATE, profile};

/// Returns a run file for a server. `server` contains the fields of `spec.target.server`.
fn file(server: &str, seconds: u32) -> String {
    let (head, rest) = common::at("http://x", 60, &profile(10, seconds))
        .split_once("  target:")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    assert_eq!(head, format!("{HEAD}spec:\n"));
    let (_, rest) = rest.split_once('\n').unwrap();
    format!("{head}  target: {{server: {{{server}}}, readiness: {{timeoutSeconds: 60}}}}\n{rest}")
}

trait Managed {
    /// Returns the command, with its state files in a folder of this test.
    fn managed(&self, arguments: &[&str]) -> Command;
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String);
    fn servers(&self) -> Vec<String>;
}

impl Managed for Folder {
    fn managed(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.env("BENCHWRIGHT_STATE_DIR", self.path("state"));
        command
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let done = self.managed(arguments).output().unwrap();
        let text = |it: Vec<u8>| String::from_utf8(it).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }

    /// Returns the state files, and the processes whose environment names this test's state folder.
    fn servers(&self) -> Vec<String> {
        let wanted = format!("BENCHWRIGHT_STATE_DIR={}", self.path("state").display());
        let processes = fs::read_dir("/proc").unwrap().flatten().map(|it| it.path());
        let has = |it: &std::path::PathBuf| {
            let environment = fs::read(it.join("environ")).unwrap_or_default();
            environment.split(|it| *it == 0).any(|it| it == wanted.as_bytes())
        };
        let processes = processes.filter(has).map(|it| it.display().to_string());
        let files = fs::read_dir(self.path("state")).into_iter().flatten().flatten();
        let files = files.map(|it| it.file_name().into_string().unwrap()).filter(|it| it.ends_with(".json"));
        processes.chain(files).collect()
    }
}

const SIMULATOR: &str = "engine: Simulator, model: org/m, args: [--preset, instant]";

#[test]
fn a_server_is_started_for_the_run_and_nothing_of_it_is_left() {
    let folder = Folder::new();
    folder.write("run.yaml", &file(SIMULATOR, 1));
    let (code, out, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    let report = folder.report();
    let server = &report["managedServer"];
    let replica = &server["replicas"][0];
    assert_eq!((&server["engine"], &server["lifecycle"]), (&"Simulator".into(), &"PerRun".into()), "{server}");
    assert_eq!(replica["log"], "server/0.log");
    assert!(replica["readyMs"].is_u64() && replica["exit"].is_string() && replica["died"].is_null(), "{replica}");
    assert_eq!(server["end"], serde_json::json!({}), "nothing was left");
    assert!(err.contains("the server is being ended; it has 30s before it is killed"), "{err}");
    let log = fs::read_to_string(folder.path("results/latest/server/0.log")).unwrap();
    assert!(log.contains(replica["url"].as_str().unwrap()), "{log}");
    let page = fs::read_to_string(folder.path("results/latest/report.md")).unwrap();
    assert!(
        page.contains("## Managed server") && page.contains("none of its processes, ports or shared memory was left")
    );
    let start = &report["startups"][0]["startup"];
    assert_eq!((&start["outcome"], &start["version"]), (&"ready".into(), &"0.32.0+simulator".into()), "{start}");
    let metrics = report["serverMetrics"]["endpoints"].to_string();
    assert!(metrics.contains(replica["url"].as_str().unwrap()), "its own metrics are read: {metrics}");
    assert_eq!(folder.servers(), Vec::<String>::new());
    let logs = fs::read_dir(folder.path("state")).unwrap().flatten().filter(|it| it.path().is_dir()).count();
    assert_eq!(logs, 0, "the results folder has the log");
}

#[test]
fn a_server_that_cannot_start_ends_the_run_with_its_last_words() {
    let folder = Folder::new();
    let script = "engine: Custom, command: [sh, -c, 'echo no GPU found; exit 3', $(PORT)]";
    folder.write("run.yaml", &file(script, 1));
    let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(11), "{err}");
    assert!(err.contains("benchwright: the managed server ended with exit status 3 (replica 0, process "), "{err}");
    assert!(err.contains("its last output:\n  | no GPU found\nthe whole log is in "), "{err}");
    assert_eq!(folder.servers(), Vec::<String>::new());
    let log = err.lines().find_map(|it| it.split_once("the whole log is in ")).unwrap().1;
    assert_eq!(fs::read_to_string(format!("{log}/0.log")).unwrap(), "no GPU found\n");
}

#[test]
fn a_process_that_a_signal_killed_is_named_though_the_server_ended_in_order() {
    let folder = Folder::new();
    // vLLM ends in this way when its engine core was killed: with status 0, and some time later. The core runs for longer than the 5 s between two
    // scans of the processes, even if Python starts slowly.
    let script = r#"
import os, signal, subprocess, sys, time
core = subprocess.Popen(["sleep", "300"])
time.sleep(8)
core.send_signal(signal.SIGKILL)
time.sleep(2)
print("the engine core died", flush=True)
"#;
    folder.write("server.py", script);
    let server = format!("engine: Custom, command: [python3, '{}', $(PORT)]", folder.path("server.py").display());
    folder.write("run.yaml", &file(&server, 1));
    let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(11), "{err}");
    assert!(err.contains("ended with exit status 0") && err.contains("(sleep) was killed by signal 9"), "{err}");
    assert!(err.contains("the engine core died"), "{err}");
}

#[test]
fn a_script_prepares_the_server_before_it_starts() {
    let folder = Folder::new();
    let server = "engine: Simulator, model: sim-small, args: [--preset, instant], env: {FILE: prepared}";
    let script = r#"preprocess: 'echo "installing for $FILE"; touch "$FILE"; export VLLM_LOGGING_LEVEL=DEBUG'"#;
    folder.write("run.yaml", &nop(&format!("{server}, {script}"), "{}"));
    let (code, out, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    let log = fs::read_to_string(folder.path("results/latest/server/0.log")).unwrap();
    assert!(log.starts_with("installing for prepared\n"), "{log}");
    let command = folder.report()["managedServer"]["replicas"][0]["command"].to_string();
    assert!(command.contains("installing for $FILE") && command.contains("sim-small"), "{command}");
    assert!(folder.path("prepared").exists());

    folder.write("run.yaml", &nop(&format!("{server}, preprocess: 'echo no such package; false; echo started'"), "{}"));
    let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(11), "{err}");
    assert!(
        err.contains("ended with exit status 1") && err.contains("its last output:\n  | no such package\n"),
        "{err}"
    );
    assert_eq!(folder.servers(), Vec::<String>::new());
}

#[test]
fn a_server_that_hangs_is_given_up_and_its_log_is_named() {
    let folder = Folder::new();
    // This server accepts connections but does not respond.
    let hangs = "engine: Simulator, args: [--hang]";
    folder.write("run.yaml", &file(hangs, 1).replace("timeoutSeconds: 60", "timeoutSeconds: 2"));
    let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(11), "{err}");
    assert!(err.contains("was not ready within 2s") && err.contains("\nthe log of the server is in "), "{err}");
    assert_eq!(folder.servers(), Vec::<String>::new());
}

#[test]
fn what_cannot_be_started_says_what_to_do() {
    let folder = Folder::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let used = port.local_addr().unwrap().port();
    for (server, expected) in [
        (
            "engine: VLLM, model: m, command: [no-such-vllm]".to_owned(),
            "the program \"no-such-vllm\" is in no folder of PATH",
        ),
        (format!("{SIMULATOR}, port: {used}"), "spec.target.server.port: is"),
    ] {
        folder.write("run.yaml", &file(&server, 1));
        let (code, _, err) = folder.run(&["run", "-f", "run.yaml", "--no-results"]);
        assert_eq!(code, Some(10), "{err}");
        assert!(err.contains(expected), "{err}");
        assert_eq!(folder.servers(), Vec::<String>::new());
    }
}

#[test]
fn a_server_that_dies_during_the_load_ends_the_run() {
    let folder = Folder::new();
    let own = env!("CARGO_BIN_EXE_benchwright");
    // The server exits when the test creates the file `die`.
    let script = format!(
        "{own} sim --preset instant --port $(PORT) & until test -e die; do sleep 0.1; done; echo out of luck; exit 7"
    );
    folder.write("run.yaml", &file(&format!("engine: Custom, command: [sh, -c, '{script}', $(PORT)]"), 600));
    let mut child =
        folder.managed(&["run", "-f", "run.yaml"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    lines.by_ref().find(|it| it.contains("the target is ready")).unwrap();
    folder.write("die", "");
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|it| it.contains("ended with exit status 7")), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest:?}");
    let report = folder.report();
    assert_eq!(report["outcome"], "Invalid");
    assert_eq!(report["reasons"][0]["reason"], "TargetLost");
    assert!(report["reasons"][0]["message"].as_str().unwrap().contains("exit status 7"), "{}", report["reasons"]);
    let replica = &report["managedServer"]["replicas"][0];
    assert_eq!((&replica["died"], &replica["exit"]), (&true.into(), &"exit status 7".into()));
    assert_eq!(replica["lastWords"].as_array().unwrap().last().unwrap(), "out of luck");
    assert_eq!(folder.servers(), Vec::<String>::new());
}

#[test]
fn a_signal_and_a_killed_launcher_leave_no_server() {
    for signal in [Signal::TERM, Signal::KILL] {
        let folder = Folder::new();
        folder.write("run.yaml", &file(SIMULATOR, 600));
        let mut child =
            folder.managed(&["run", "-f", "run.yaml"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        lines.by_ref().find(|it| it.contains("the target is ready")).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let code = child.wait().unwrap().code();
        assert_eq!(code, (signal == Signal::TERM).then_some(20));
        for _ in 0..600 {
            if folder.servers().is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert_eq!(folder.servers(), Vec::<String>::new(), "{signal:?}");
    }
}

#[test]
fn a_signal_while_a_server_is_started_ends_it() {
    let folder = Folder::new();
    // This server accepts connections but does not respond.
    folder.write("run.yaml", &file("engine: Simulator, args: [--hang]", 1));
    for signal in [Signal::TERM, Signal::INT] {
        let mut command = folder.managed(&["server", "start", "-f", "run.yaml"]);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        lines.by_ref().find(|it| it.contains("waiting up to 60s")).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let rest: Vec<String> = lines.collect();
        assert_eq!(child.wait().unwrap().code(), Some(20), "{rest:?}");
        let said = |words: &str| rest.iter().any(|it| it.contains(words));
        assert!(said("benchwright: ended by a signal before the server was ready") && !said("requests"), "{rest:?}");
        assert_eq!(folder.servers(), Vec::<String>::new());
    }
}

/// Another command ends the server of a run: once while the run waits for the server, and once during its load.
#[test]
fn a_server_that_is_ended_from_elsewhere_ends_its_run() {
    let silent = "engine: Custom, command: [sh, -c, exec sleep 300, $(PORT)]";
    for (server, until, code) in [(silent, "waiting up to 60s", 11), (SIMULATOR, "the target is ready", 0)] {
        let folder = Folder::new();
        folder.write("run.yaml", &file(server, 60));
        let mut command = folder.managed(&["run", "-f", "run.yaml"]);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        lines.by_ref().find(|it| it.contains(until)).unwrap();
        let (status, stays, _) = folder.run(&["server", "stop", "--all"]);
        assert!(
            status == Some(0)
                && stays
                    .contains("still in use by a run; add --force to end the server and the run\nno other server runs"),
            "{stays}"
        );
        assert!(!folder.servers().is_empty());
        let (status, ended, _) = folder.run(&["server", "stop", "--all", "--force"]);
        assert!(status == Some(0) && ended.contains(": ended"), "{ended}");
        let rest: Vec<String> = lines.collect();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{rest:?}");
        assert!(rest.iter().any(|it| it.contains("the managed server was ended from elsewhere")), "{rest:?}");
        assert_eq!(folder.servers(), Vec::<String>::new());
        if code == 0 {
            let report = folder.report();
            assert_eq!(
                (&report["outcome"], &report["reasons"][0]["reason"]),
                (&"Invalid".into(), &"TargetLost".into())
            );
        }
    }
}

/// The state file of a server is damaged, has no end, or is a pipe.
#[test]
fn a_state_file_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    fs::create_dir(folder.path("state")).unwrap();
    let path = folder.path("state/damaged.json");
    let damage: [fn(&std::path::Path); 3] = [
        |it| fs::write(it, "{").unwrap(),
        |it| std::os::unix::fs::symlink("/dev/zero", it).unwrap(),
        |it| assert!(Command::new("mkfifo").arg(it).status().unwrap().success()),
    ];
    for make in damage {
        make(&path);
        for arguments in [&["server", "status"][..], &["server", "stop", "--all"]] {
            let (code, _, err) = folder.run(arguments);
            assert_eq!(code, Some(10), "{err}");
            assert!(err.contains("damaged.json") && err.contains("may still run"), "{err}");
        }
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn one_server_serves_several_runs() {
    let folder = Folder::new();
    let text = file(&format!("{SIMULATOR}, lifecycle: Reuse"), 1);
    folder.write("run.yaml", &text);
    folder.write("alone.yaml", &text.replace("lifecycle: Reuse", "lifecycle: PerRun"));
    assert_eq!(folder.run(&["server", "status"]).0, Some(1));
    let (code, out, err) = folder.run(&["server", "start", "-f", "run.yaml"]);
    assert_eq!(code, Some(0), "{err}");
    let url = out.split_whitespace().find(|it| it.starts_with("http://")).unwrap().to_owned();
    for _ in 0..2 {
        let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
        assert_eq!(code, Some(0), "{err}");
        let server = &folder.report()["managedServer"];
        assert_eq!((&server["reused"], &server["replicas"][0]["url"]), (&true.into(), &url.as_str().into()));
        assert!(server["replicas"][0]["exit"].is_null() && server["end"].is_null(), "{server}");
    }
    let (code, _, err) = folder.run(&["run", "-f", "alone.yaml"]);
    assert_eq!(code, Some(10));
    assert!(
        err.contains("a server with the same settings runs already") && err.contains("benchwright server stop"),
        "{err}"
    );
    for (file, how) in [("run.yaml", ""), ("alone.yaml", "set lifecycle: Reuse in alone.yaml, and ")] {
        let (code, _, err) = folder.run(&["server", "start", "-f", file]);
        assert_eq!(code, Some(10), "{err}");
        assert!(
            err.contains("this server runs already")
                && err.contains(&format!("; {how}`benchwright run -f {file}` measures it; ")),
            "{err}"
        );
    }
    let (code, out, _) = folder.run(&["server", "status", "-f", "run.yaml"]);
    assert!(code == Some(0) && out.contains("runs until it is stopped") && out.contains(&url), "{out}");
    let (code, out, err) = folder.run(&["server", "stop", "-f", "alone.yaml"]);
    assert!(code == Some(0) && out.contains(": ended"), "{out} {err}");
    let stopped = |arguments: &[&str]| folder.run(&[&["server", "stop"], arguments].concat()).1;
    assert_eq!(
        stopped(&["-f", "run.yaml"]),
        "the server of run.yaml does not run, or the file was changed since the server started\n"
    );
    assert_eq!(stopped(&["qwen"]), "no server qwen runs; `benchwright server status` lists those that do\n");
    assert_eq!(stopped(&["--all"]), "no server runs\n");
    assert_eq!(folder.servers(), Vec::<String>::new());
    assert_eq!(folder.run(&["server", "stop", "--all"]).0, Some(0));
}

#[test]
fn a_kept_server_outlives_its_run() {
    let folder = Folder::new();
    folder.write("run.yaml", &file(&format!("{SIMULATOR}, lifecycle: Keep"), 1));
    let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(0), "{err}");
    let server = &folder.report()["managedServer"];
    assert!(
        server["reused"] == false && server["replicas"][0]["readyMs"].is_u64() && server["end"].is_null(),
        "{server}"
    );
    assert!(fs::read_to_string(folder.path("results/latest/server/0.log")).unwrap().contains("http://"));
    assert_eq!(folder.run(&["server", "status"]).0, Some(0));
    assert_eq!(folder.run(&["server", "stop", "--all"]).0, Some(0));
    assert_eq!(folder.servers(), Vec::<String>::new());
}

/// Returns the report of one run in the only series.
fn report_of_series(folder: &Folder, run: &str) -> serde_json::Value {
    file_of_series(folder, &format!("{run}/report.json"))
}

fn file_of_series(folder: &Folder, name: &str) -> serde_json::Value {
    let series =
        fs::read_dir(folder.path("results")).unwrap().flatten().find(|it| it.path().join("repeats.json").exists());
    let text = fs::read_to_string(series.unwrap().path().join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn one_run_drives_several_replicas() {
    for (distribution, is_exact) in [("RoundRobin", true), ("LeastOutstanding", false)] {
        let folder = Folder::new();
        let server = format!("{SIMULATOR}, replicas: 3, devices: [['0'], ['1'], ['2']], distribution: {distribution}");
        folder.write("run.yaml", &file(&server, 3));
        let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
        assert_eq!(code, Some(0), "{err}");
        let report = folder.report();
        let replicas = report["managedServer"]["replicas"].as_array().unwrap();
        let requests: Vec<u64> = replicas.iter().map(|it| it["requests"].as_u64().unwrap()).collect();
        assert_eq!((requests.len(), requests.iter().sum::<u64>()), (3, 30), "{requests:?}");
        assert!(!is_exact || requests == [10, 10, 10], "{requests:?}");
        assert!(requests.iter().all(|it| *it > 0), "{requests:?}");
        assert_eq!(folder.requests_by_replica(), requests, "each request names its server");
        let endpoints = report["serverMetrics"]["endpoints"].to_string();
        for (index, replica) in replicas.iter().enumerate() {
            assert!(endpoints.contains(replica["url"].as_str().unwrap()), "{endpoints}");
            assert!(folder.path(&format!("results/latest/server/{index}.log")).exists());
        }
        assert_eq!(folder.servers(), Vec::<String>::new());
    }
}

#[test]
fn a_series_has_one_server() {
    let folder = Folder::new();
    folder.write("run.yaml", &file(SIMULATOR, 1));
    let (code, _, err) = folder.run(&["run", "-f", "run.yaml", "--repeat", "2"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(err.matches("the server is started").count(), 1, "{err}");
    let of = |run: &str| report_of_series(&folder, run)["managedServer"].clone();
    let (first, last) = (of("r1"), of("r2"));
    assert_eq!(first["replicas"][0]["pid"], last["replicas"][0]["pid"]);
    assert!(first["end"].is_null() && last["end"].is_object(), "{first} {last}");
    assert_eq!(folder.servers(), Vec::<String>::new());
}

#[test]
fn the_steps_of_the_simulator_s_start_are_in_the_report_and_in_its_log() {
    let folder = Folder::new();
    let start = "args: [--preset, instant, --load-time, 300ms, --compile-time, 200ms, --startup-log, vllm-0.16]";
    let server = format!("engine: Simulator, model: org/m, {start}, env: {{VLLM_LOGGING_LEVEL: DEBUG}}");
    let spec = format!("target: {{server: {{{server}}}}}, harness: nop, profile: {{inline: '{{}}'}}");
    folder.write("run.yaml", &format!("{HEAD}spec: {{{spec}}}\n"));
    let (code, out, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    let startup = &folder.report()["startups"][0]["startup"];
    assert_eq!((&startup["version"], &startup["model"]), (&"0.16.0+simulator".into(), &"org/m".into()), "{startup}");
    // The simulator takes at least the requested time for each step.
    let at_least = |name: &str, seconds: f64| startup["figures"][name].as_f64().is_some_and(|it| it >= seconds);
    assert!(at_least("weightsLoadSeconds", 0.3) && at_least("torchCompileSeconds", 0.2), "{startup}");
    let steps: Vec<&str> = startup["steps"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    for step in ["Detect Platform", "Model Loading", "Pytorch Compilation", "API Server Starts"] {
        assert!(steps.contains(&step), "no {step} in {steps:?}");
    }
    let (code, out, err) = folder.run(&["startup", "results/latest/server/0.log"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("vLLM 0.16.0+simulator") && out.contains("Model Loading"), "{out}");
}

/// Returns a run of the harness nop with this profile and server.
fn nop(server: &str, profile: &str) -> String {
    let spec = format!("target: {{server: {{{server}}}}}, harness: nop, profile: {{inline: '{profile}'}}");
    format!("{HEAD}spec: {{{spec}}}\n")
}

#[test]
fn nop_measures_sleep_and_wake_of_each_replica() {
    let folder = Folder::new();
    let times = "--load-time, 300ms, --sleep-time, 200ms, --wake-up-time, 100ms";
    let server = format!("engine: Simulator, model: org/m, replicas: 2, args: [--preset, instant, {times}]");
    folder.write("run.yaml", &nop(&server, "{sleep_levels: [1, 2]}"));
    let (code, out, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert!(out.contains("level 2: reload during wake"), "{out}");
    let report = folder.report();
    assert_eq!(report["startups"].as_array().unwrap().len(), 2);
    for start in report["startups"].as_array().unwrap() {
        // The simulator takes at least the requested time for each step.
        let at_least = |level: usize, name: &str, seconds: f64| {
            let found = &start["sleepCycles"][level - 1][name];
            assert!(found.as_f64().is_some_and(|it| it >= seconds), "level {level}, {name}: {start}");
        };
        for level in [1, 2] {
            assert_eq!(start["sleepCycles"][level - 1]["level"], level);
            at_least(level, "sleepSeconds", 0.2);
            at_least(level, "wakeSeconds", 0.1);
            at_least(level, "firstRequestSeconds", 0.0);
        }
        at_least(2, "reloadSeconds", 0.3);
        at_least(2, "wakeSeconds", 0.4);
        assert!(start["sleepCycles"][0]["reloadSeconds"].is_null() && start["sleepCycles"][0]["remark"].is_null());
        assert_eq!(start["startup"]["sleepMode"], true, "{start}");
        let kinds = start["startup"]["sleepWake"].as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap());
        assert_eq!(kinds.collect::<Vec<_>>(), ["sleep", "wake", "sleep", "wake", "wake"], "level 2 wakes in two parts");
    }
    let yaml = fs::read_to_string(folder.path("results/latest/result.yaml")).unwrap();
    assert!(yaml.contains("sleep_mode: true") && yaml.contains("type: wake"), "{yaml}");
    let page = fs::read_to_string(folder.path("results/latest/report.md")).unwrap();
    assert!(page.contains("| level 1: sleep |") && page.contains("| level 1: request after wake |"), "{page}");
    assert_eq!(folder.servers(), Vec::<String>::new());
}

#[test]
fn a_server_with_its_sleep_mode_is_put_to_sleep_as_the_original_does_it() {
    let folder = Folder::new();
    let server = "engine: Simulator, model: org/m, args: [--preset, instant, --enable-sleep-mode]";
    folder.write("run.yaml", &nop(server, "{}"));
    let (code, out, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    let cycles = folder.report()["startups"][0]["sleepCycles"].clone();
    assert_eq!((cycles.as_array().unwrap().len(), &cycles[0]["level"]), (1, &1.into()), "{cycles}");
    // In any other run, the endpoints for development are closed.
    folder.write("run.yaml", &file(server, 1));
    let (code, out, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    let report = folder.report();
    let start = &report["startups"][0];
    assert!(start["sleepCycles"].is_null() && start["startup"]["sleepWake"].is_null(), "{start}");
    let log = fs::read_to_string(folder.path("results/latest/server/0.log")).unwrap();
    assert!(!log.contains("Route: /sleep"), "{log}");
}

#[test]
fn a_server_that_cannot_sleep_says_how_to_start_it() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_benchwright");
    let server = format!("engine: Custom, command: ['{program}', sim, --preset, instant, --port, $(PORT)]");
    folder.write("run.yaml", &nop(&server, "{sleep_levels: [1]}"));
    let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(10), "{err}");
    let expected =
        "sleep_levels: the server (Custom) has no /is_sleeping; start a vLLM from 0.8 on with --enable-sleep-mode";
    assert!(err.contains(expected) && err.contains("VLLM_SERVER_DEV_MODE=1"), "{err}");
    assert_eq!(folder.servers(), Vec::<String>::new());
    folder.write("run.yaml", &nop(&server, "{sleep_levels: [4]}"));
    let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(10), "{err}");
    assert!(err.contains("sleep_levels: is [4]; write the levels 1 and 2"), "{err}");
    // Errors that are known before the start are reported before any process is started.
    for (engine, says) in [
        (
            "VLLM, model: m, config: {enable-sleep-mode: false}",
            "(VLLM) is started with --no-enable-sleep-mode by its config",
        ),
        ("Simulator, env: {VLLM_SERVER_DEV_MODE: '0'}", "(Simulator) has other than 1 in env.VLLM_SERVER_DEV_MODE"),
        ("SGLang, model: m", "(SGLang) has no sleep mode that is known here"),
    ] {
        folder.write("run.yaml", &nop(&format!("engine: {engine}"), "{sleep_levels: [1]}"));
        let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
        assert!(code == Some(10) && err.contains(says) && !err.contains("waiting"), "{err}");
    }
}

#[test]
fn a_server_of_other_words_has_the_time_of_its_start_and_its_first_request_is_that_of_the_run() {
    let folder = Folder::new();
    let script = r#"
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(b'{"data": [{"id": "m"}]}' if self.path == "/v1/models" else b"{}")
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        print("a completion", flush=True)
        self.answer(b'{"choices": [{"text": "a"}], "usage": {"prompt_tokens": 8, "completion_tokens": 1}}')
    def answer(self, body):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *about):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(__import__("sys").argv[1])), Handler).serve_forever()
"#;
    folder.write("server.py", script);
    let file = folder.path("server.py");
    let server = format!("engine: Custom, command: [python3, '{}', $(PORT)]", file.display());
    folder.write("run.yaml", &nop(&server, "{}"));
    let (code, out, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    let start = folder.report()["startups"][0].clone();
    assert!(start["observedReadySeconds"].is_f64() && start["startup"]["engine"].is_null(), "{start}");
    let yaml = fs::read_to_string(folder.path("results/latest/result.yaml")).unwrap();
    assert!(yaml.contains("pod_start:"), "{yaml}");
    let log = fs::read_to_string(folder.path("results/latest/server/0.log")).unwrap();
    assert_eq!(log.matches("a completion").count(), 1, "{log}");
}

/// A substitute for `vllm serve`. It prints the log of a real start, and then serves as the simulator.
fn like_vllm(folder: &Folder) -> String {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/startup/tests/logs/vllm-0.32.0-cold-compile-info.log");
    let program = env!("CARGO_BIN_EXE_benchwright");
    let script =
        format!("cat '{log}'\nexec '{program}' sim --model \"$1\" \"$2\" \"$3\" \"$4\" \"$5\" --preset instant\n");
    folder.write("vllm.sh", &script);
    format!("engine: VLLM, model: org/m, command: [sh, '{}']", folder.path("vllm.sh").display())
}

#[test]
fn nop_measures_each_start_of_a_server() {
    let folder = Folder::new();
    let server = like_vllm(&folder);
    let late = LATE.trim();
    let spec =
        format!("target: {{server: {{{server}}}}}, harness: nop, repeat: 2, profile: {{inline: '{{}}'}}, {late}");
    folder.write("run.yaml", &format!("{HEAD}spec: {{{spec}}}\n"));
    let (code, out, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert!(out.contains("how the server started:") && out.contains("launch to ready"), "{out}");
    let (first, second) = (report_of_series(&folder, "r1"), report_of_series(&folder, "r2"));
    for it in [&first, &second] {
        let start = &it["startups"][0];
        assert!(start["observedReadySeconds"].is_f64() && start["startup"]["outcome"] == "ready", "{start}");
        assert_eq!(it["stages"][0]["figures"]["requests"], 1, "{it}");
        assert!(it["managedServer"]["end"].is_object(), "each run ends its server: {it}");
    }
    let pid = |it: &serde_json::Value| it["managedServer"]["replicas"][0]["pid"].clone();
    assert_ne!(pid(&first), pid(&second), "each run starts a server of its own");
    assert_eq!(folder.servers(), Vec::<String>::new());
    assert!(out.contains("stage first request, 2 runs"), "{out}");
    let all = file_of_series(&folder, "repeats.json");
    let launch = &all["starts"][0];
    assert_eq!(
        (&launch["name"], launch["values"].as_array().unwrap().len()),
        (&"observedReadySeconds".into(), 2),
        "{all}"
    );
    assert_eq!(launch["values"][1], second["startups"][0]["observedReadySeconds"]);
    let reuse = spec.replace("engine: VLLM", "lifecycle: Reuse, engine: VLLM");
    folder.write("run.yaml", &format!("{HEAD}spec: {{{reuse}}}\n"));
    let (code, _, err) = folder.run(&["run", "-f", "run.yaml"]);
    assert_eq!(code, Some(10), "{err}");
    assert!(err.contains("spec.target.server.lifecycle") && err.contains("nop measures a start"), "{err}");
}
