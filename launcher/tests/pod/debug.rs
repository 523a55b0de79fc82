//! `spec.launcher.debug`: everything is prepared, no load is sent, and a person can send it from the same pod.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use crds::{LauncherReason, Outcome};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    common::free_port,
    pod::fixture::{Pod, Server},
};

/// A launcher that waits, and its status port.
struct Waiting {
    child: Child,
    port: u16,
    pod: Pod,
}

impl Waiting {
    /// Starts a run with debug, and waits until everything is prepared.
    fn start(server: &Server, more: &str) -> Waiting {
        let pod = Pod::new();
        pod.mount(&format!("target: {{url: '{}'}}\n{more}", server.url()), |run| run.debug = true);
        let port = free_port();
        let log = fs::File::create(pod.path("log")).unwrap();
        let mut command = pod.command_with(&["--status-port", &port.to_string()]);
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let waiting = Waiting { child, port, pod };
        waiting.until("all is prepared", |it| it.ready().starts_with("HTTP/1.1 200"));
        waiting
    }

    fn log(&self) -> String {
        fs::read_to_string(self.pod.path("log")).unwrap()
    }

    /// Returns the response to a readiness probe. Empty if nothing listens yet.
    fn ready(&self) -> String {
        let mut answer = String::new();
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            write!(stream, "GET /ready HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
            stream.read_to_string(&mut answer).unwrap();
        }
        answer
    }

    fn until(&self, what: &str, is_so: impl Fn(&Waiting) -> bool) {
        for _ in 0..6_000 {
            if is_so(self) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{what}: not within a minute; {}", self.log());
    }

    /// Runs the command that a person would type in the pod.
    fn by_hand(&self, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright"));
        command.args(["run", "--now", "--mounted"]).arg(self.pod.path("input")).args(more);
        command.current_dir(self.pod.path("input")).env_remove("KUBERNETES_SERVICE_HOST").output().unwrap()
    }

    fn folders(&self) -> Vec<PathBuf> {
        fs::read_dir(self.pod.path("results")).unwrap().map(|it| it.unwrap().path()).collect()
    }

    /// Sends SIGTERM to the launcher. Returns the pod and the exit code.
    fn end(mut self) -> (Pod, Option<i32>) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        (self.pod, self.child.wait().unwrap().code())
    }
}

#[test]
fn a_run_for_debugging_waits_until_it_is_ended_and_sends_nothing() {
    let server = Server::model();
    let waiting = Waiting::start(&server, "");
    // Only the readiness probe has sent a prompt.
    assert_eq!(server.prompts(), 1);
    assert!(waiting.ready().ends_with("prepared; waiting for a load that is sent by hand\n"), "{}", waiting.ready());
    let log = waiting.log();
    for part in [
        "all is prepared, and no load is sent: spec.launcher.debug is true",
        &format!("target:   {}, model m", server.url()),
        "load:     10 requests in 1 stage: ",
        "send it:  kubectl exec -it -n bench job/chat-2db482-a1 -c launcher -- /benchwright run --now\n",
        "at most 3600s",
    ] {
        assert!(log.contains(part), "{part:?} is not in {log}");
    }
    assert!(waiting.folders().is_empty(), "{:?}", waiting.folders());
    let (pod, code) = waiting.end();
    let core = pod.envelope().core;
    assert_eq!((code, core.outcome, core.summary, core.folder), (Some(20), Outcome::Cancelled, None, None));
    assert!(core.message.contains("nothing was sent, as spec.launcher.debug says"), "{}", core.message);
    assert_eq!(server.prompts(), 1);
}

#[test]
fn a_person_sends_the_load_in_the_pod_and_the_run_has_none_of_its_figures() {
    let server = Server::model();
    let waiting = Waiting::start(&server, "");
    let before = waiting.pod.message();
    let results = waiting.pod.path("results");
    let sent = waiting.by_hand(&["--results", results.to_str().unwrap()]);
    assert_eq!(sent.status.code(), Some(0), "{sent:?}");
    assert!(String::from_utf8_lossy(&sent.stdout).contains("TTFT"), "{sent:?}");
    // Ten requests of the load, and one readiness probe from each of the two processes.
    assert_eq!(server.prompts(), 12);
    let folders = waiting.folders();
    assert!(folders.len() == 1 && folders[0].to_string_lossy().contains("-a1-2"), "{folders:?}");
    let again = fs::read_to_string(folders[0].join("benchmarkrun.yaml")).unwrap();
    assert!(!again.contains("debug"), "{again}");
    // The second process changed neither the readiness nor the termination message.
    assert_eq!(waiting.pod.message(), before);
    assert!(waiting.ready().starts_with("HTTP/1.1 200"));
    let (pod, code) = waiting.end();
    assert_eq!((code, pod.envelope().core.outcome), (Some(20), Outcome::Cancelled));
    assert_eq!(pod.envelope().core.summary, None);
}

#[test]
fn a_run_without_storage_keeps_the_results_of_a_person_where_they_are_asked_for() {
    let server = Server::model();
    let waiting = Waiting::start(&server, "storage: {none: {}}");
    assert!(waiting.log().contains("run --now --results /tmp/results\n"), "{}", waiting.log());
    let results = waiting.pod.path("elsewhere");
    let sent = waiting.by_hand(&["--results", results.to_str().unwrap()]);
    assert_eq!(sent.status.code(), Some(0), "{sent:?}");
    let folder = fs::read_dir(&results).unwrap().next().unwrap().unwrap().path();
    assert!(folder.join("report.json").is_file(), "{folder:?}");
    assert_eq!(waiting.end().1, Some(20));
}

#[test]
fn the_wait_ends_at_the_deadline_of_the_run() {
    let server = Server::model();
    let pod = Pod::new();
    let spec = format!("target: {{url: '{}'}}\nexecution: {{deadlines: {{runSeconds: 1}}}}", server.url());
    pod.mount(&spec, |run| run.debug = true);
    assert_eq!(pod.run().status.code(), Some(1));
    let core = pod.envelope().core;
    assert_eq!(core.outcome, Outcome::Error);
    assert_eq!(core.reason, LauncherReason::DeadlineExceeded);
    assert!(core.message.contains("execution.deadlines.runSeconds"), "{}", core.message);
    assert_eq!(server.prompts(), 1);
}

#[test]
fn what_cannot_be_prepared_ends_the_run_as_without_debug() {
    let pod = Pod::new();
    let port = free_port();
    pod.mount_url(&format!("http://127.0.0.1:{port}"), |run| run.debug = true);
    assert_eq!(pod.run().status.code(), Some(11));
    assert_eq!(pod.envelope().core.reason, LauncherReason::TargetUnavailable);
}

#[test]
fn a_load_by_hand_beside_a_load_is_refused() {
    let (pod, server) = (Pod::new(), Server::model());
    pod.mount_url(&server.url(), |_| {});
    let refused = pod.command_with(&["--now"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(10), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--now is given") && said.contains("leave --now out"), "{said}");
    assert_eq!(server.prompts(), 0);
}
