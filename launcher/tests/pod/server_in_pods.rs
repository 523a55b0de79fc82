//! A server that the operator started. Its log, its start and its traces come from the wrapper in its pod.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crds::{
    Outcome, ResolvedRun,
    resolve::{Endpoint, LOG_TOKEN, LogAddress, PodTimes},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::pod::fixture::{Pod, SERVER_TOKEN};

/// The log of a real start that took 70 seconds.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/startup/tests/logs/vllm-0.32.0-cold-compile-info.log");

/// A server on loopback, started like in its pod.
struct Server {
    process: Child,
    port: u16,
    log_port: u16,
}

fn free_port() -> u16 {
    free_ports()[0]
}

/// Returns two different free ports. Both are held until both have been chosen, so that they differ.
fn free_ports() -> [u16; 2] {
    let held = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|it| it.local_addr().unwrap().port())
}

impl Server {
    /// Starts a simulated server that first prints the log of a real one.
    fn start(pod: &Pod) -> Server {
        Server::with(pod, "")
    }

    /// Starts the same server with additional options.
    fn with(pod: &Pod, options: &str) -> Server {
        let program = env!("CARGO_BIN_EXE_benchwright");
        let [port, log_port] = free_ports();
        let traces = pod.path("pod/traces");
        fs::create_dir_all(&traces).unwrap();
        let sim = format!(
            "{program} sim --preset tiny --host 127.0.0.1 --port {port} --profiler-dir {} {options}",
            traces.display()
        );
        let script = format!("cat {LOG}; echo HF_TOKEN=canary7f3a9c52e1d84b06; exec {sim} 2>/dev/null");
        let process = Command::new(program)
            .args(["server-wrapper", "--log-port", &log_port.to_string(), "--ready-port", &port.to_string()])
            .args(["--ready-path", "/health", "--traces"])
            .arg(&traces)
            .arg("--log")
            .arg(pod.path("pod/server.log"))
            .args(["--", "sh", "-c", &script])
            .env("VLLM_SERVER_DEV_MODE", "1")
            .env(LOG_TOKEN, SERVER_TOKEN)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Server { process, port, log_port }
    }

    /// Sets the fields that the operator would have resolved, with addresses on this machine.
    fn be_target(&self, run: &mut ResolvedRun) {
        run.endpoint = Endpoint::Url(format!("http://127.0.0.1:{}", self.port));
        let about = run.server.as_mut().unwrap();
        about.log = Some(LogAddress { host: "127.0.0.1".into(), port: self.log_port });
        let at = |text: &str| Some(text.parse().unwrap());
        about.pods = Some(PodTimes {
            created: at("2026-01-02T03:04:05Z"),
            scheduled: at("2026-01-02T03:04:07Z"),
            container: at("2026-01-02T03:04:37Z"),
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Send a signal that the wrapper forwards to the server. With SIGKILL, the server would outlive the wrapper.
        let pid = Pid::from_raw(i32::try_from(self.process.id()).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::TERM);
        let _ = self.process.wait();
    }
}

fn target(more: &str) -> String {
    format!(
        "target: {{server: {{engine: Simulator, args: [--preset, tiny]{more}}}, readiness: {{timeoutSeconds: 60}}}}"
    )
}

fn results(pod: &Pod) -> PathBuf {
    pod.path("results").join(pod.envelope().core.folder.unwrap())
}

fn report(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap()
}

#[track_caller]
fn assert_passed(pod: &Pod) {
    let output = pod.run();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(pod.envelope().core.outcome, Outcome::Passed);
}

#[test]
fn the_report_has_the_log_and_the_start_of_a_server_in_a_pod() {
    let pod = Pod::new();
    let server = Server::start(&pod);
    pod.mount(&target(""), |run| server.be_target(run));
    assert_passed(&pod);
    let folder = results(&pod);
    let log = fs::read_to_string(folder.join("server/0.log")).unwrap();
    assert!(log.starts_with(&fs::read_to_string(LOG).unwrap()), "{log}");
    assert!(log.contains("<redacted>") && !log.contains("canary7f3a9c52e1d84b06"), "{log}");
    let report = report(&folder);
    let managed = &report["managedServer"];
    assert_eq!((&managed["inPods"], &managed["replicas"][0]["log"]), (&true.into(), &"server/0.log".into()));
    let url = format!("http://127.0.0.1:{}", server.port);
    assert_eq!(managed["replicas"][0]["url"], url.as_str());
    assert!(managed["replicas"][0]["readyMs"].is_u64() && managed.get("notes").is_none(), "{managed}");
    let start = &report["startups"][0];
    assert_eq!(start["startup"]["readySeconds"], 70.0, "{start}");
    assert_eq!((&start["pod"]["schedulingSeconds"], &start["pod"]["containerSeconds"]), (&2.0.into(), &30.0.into()));
    assert!(start["observedReadySeconds"].is_f64() && start["pod"]["readySeconds"].is_f64(), "{start}");
    let text = fs::read_to_string(folder.join("report.md")).unwrap();
    for part in ["It ran in a cluster", "| pod: node to container | 30 s |", "| start to ready | 70 s |"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn a_start_that_is_measured_has_its_steps_in_result_yaml() {
    let pod = Pod::new();
    let server = Server::start(&pod);
    pod.mount_profile("{}", &format!("{}\nharness: nop", target("")), |run| server.be_target(run));
    assert_passed(&pod);
    let text = fs::read_to_string(results(&pod).join("result.yaml")).unwrap();
    let result: Value = serde_saphyr::from_str(&text).unwrap();
    let metrics = &result["vllm_metrics"][0];
    let titles: Vec<_> = metrics["categories"].as_array().unwrap().iter().map(|it| &it["title"]).collect();
    assert!(titles.contains(&&Value::from("Model Loading")), "{text}");
    // The time from the pod's scheduling to the first answer. It is very long, because the times in the test's log are months in the past.
    assert!(metrics["pod_start"].as_f64().unwrap() > 1_000_000.0, "{text}");
}

#[test]
fn sleep_and_wake_are_measured() {
    const PROFILE: &str = "{sleep_levels: [2, 1]}";
    let pod = Pod::new();
    let server = Server::with(&pod, "--enable-sleep-mode --sleep-time 100ms");
    let spec = format!("{}\nharness: nop", target(""));
    pod.mount_profile(PROFILE, &spec, |run| server.be_target(run));
    assert_passed(&pod);
    let whole = report(&results(&pod))["startups"][0].clone();
    assert_eq!(whole["log"], "server/0.log", "{whole}");
    // Without a wrapper there is no log, but the sleep measurements are kept.
    fs::remove_dir_all(pod.path("results")).unwrap();
    pod.mount_profile(PROFILE, &spec, |run| {
        server.be_target(run);
        run.server.as_mut().unwrap().log = None;
    });
    assert_passed(&pod);
    let without_log = report(&results(&pod))["startups"][0].clone();
    assert!(without_log.get("log").is_none(), "{without_log}");
    for start in [whole, without_log] {
        let cycles = start["sleepCycles"].as_array().unwrap();
        let levels: Vec<_> = cycles.iter().map(|it| &it["level"]).collect();
        assert_eq!(levels, [2, 1], "{start}");
        for it in cycles {
            let is_whole = ["sleepSeconds", "wakeSeconds", "firstRequestSeconds"].iter().all(|name| it[name].is_f64());
            assert!(is_whole && it.get("remark").is_none() && it["sleepSeconds"].as_f64() >= Some(0.1), "{it}");
        }
    }
    drop(server);

    let server = Server::start(&pod);
    pod.mount_profile(PROFILE, &spec, |run| server.be_target(run));
    let output = pod.run();
    let message = pod.envelope().core.message;
    assert!(message.contains("sleep_levels: the server (Simulator) has no /is_sleeping"), "{message} {output:?}");
}

#[test]
fn a_log_that_cannot_be_read_is_said_and_fails_nothing() {
    let pod = Pod::new();
    let server = Server::start(&pod);
    for (log, says) in [(Some(free_port()), "was not read"), (None, "its pods do not keep it")] {
        pod.mount(&target(""), |run| {
            server.be_target(run);
            run.server.as_mut().unwrap().log = log.map(|port| LogAddress { host: "127.0.0.1".into(), port });
        });
        fs::remove_dir_all(pod.path("results")).unwrap();
        fs::create_dir_all(pod.path("results")).unwrap();
        assert_passed(&pod);
        let folder = results(&pod);
        let report = report(&folder);
        let notes = report["managedServer"]["notes"].to_string();
        assert!(notes.contains(says), "{notes}");
        assert!(report.get("startups").is_none() && !folder.join("server").exists());
        assert!(fs::read_to_string(folder.join("report.md")).unwrap().contains(says));
    }
}

#[test]
fn a_pod_that_the_dns_does_not_have_is_missed_and_clocks_that_disagree_are_said() {
    let pod = Pod::new();
    let server = Server::start(&pod);
    let managed = |replicas: u32, container: &str| {
        pod.mount(&target(""), |run| {
            server.be_target(run);
            let about = run.server.as_mut().unwrap();
            about.server.replicas = replicas;
            about.pods.as_mut().unwrap().container = Some(container.parse().unwrap());
        });
        fs::remove_dir_all(pod.path("results")).unwrap();
        fs::create_dir_all(pod.path("results")).unwrap();
        assert_passed(&pod);
        report(&results(&pod))
    };
    let report = managed(2, "2026-01-02T03:04:37Z");
    let about = &report["managedServer"];
    assert_eq!(about["replicas"].as_array().unwrap().len(), 1, "{about}");
    let notes = about["notes"].to_string();
    assert!(notes.contains("127.0.0.1 has addresses of only 1 of 2 pods"), "{notes}");
    let report = managed(1, "2026-01-02T03:04:06Z");
    let notes = report["managedServer"]["notes"].to_string();
    assert!(notes.contains("started 1 s before the control plane chose the node"), "{notes}");
    let times = &report["startups"][0]["pod"];
    assert!(times.get("containerSeconds").is_none() && times["readySeconds"].is_f64(), "{times}");
}

#[test]
fn traces_are_copied_from_the_pod() {
    let pod = Pod::new();
    let server = Server::start(&pod);
    let spec = format!("{}\nprofiling: {{kind: Torch, duration: 200ms}}", target(""));
    pod.mount(&spec, |run| server.be_target(run));
    assert_passed(&pod);
    let folder = results(&pod);
    let report = report(&folder);
    let files = report["profiling"]["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{}", report["profiling"]);
    let name = files[0]["name"].as_str().unwrap();
    assert!(name.starts_with("profiling/"), "{name}");
    let copied = fs::read(folder.join(name)).unwrap();
    let original = pod.path("pod/traces").join(name.strip_prefix("profiling/").unwrap());
    assert_eq!(copied, fs::read(original).unwrap());
    let remarks = report["profiling"]["remarks"].to_string();
    assert!(!remarks.contains("not collected"), "{remarks}");
}

#[test]
fn a_trace_that_nothing_gives_is_said_to_be_where_it_is() {
    let pod = Pod::new();
    let server = Server::start(&pod);
    let spec = format!("{}\nprofiling: {{kind: Torch, duration: 200ms}}", target(""));
    pod.mount(&spec, |run| {
        server.be_target(run);
        run.server.as_mut().unwrap().log = None;
    });
    assert_passed(&pod);
    let report = report(&results(&pod));
    let remarks = report["profiling"]["remarks"].to_string();
    assert!(remarks.contains("was not collected"), "{remarks}");
}
