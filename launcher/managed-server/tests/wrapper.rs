//! Tests the wrapper with real processes: how it ends, which output it forwards, and which requests it answers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::common::{SOON, wait_until};
use managed_server::{choose, wrapper::WrappedStart};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Wrapped {
    folder: TempDir,
    process: Child,
    out: BufReader<ChildStdout>,
    port: u16,
}

fn program() -> PathBuf {
    let tests = env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples/wrapper")
}

fn wrapper(folder: &Path, port: u16, ready: u16, command: &[&str]) -> Command {
    let mut wrapper = Command::new(program());
    wrapper.args([port.to_string(), folder.join("0.log").display().to_string()]);
    wrapper.args([folder.join("traces").display().to_string(), ready.to_string()]);
    wrapper.args(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    wrapper
}

/// Runs a command under the wrapper until it ends.
fn run(command: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let port = choose(None, 1).unwrap()[0];
    wrapper(folder.path(), port, 0, command).output().unwrap()
}

impl Wrapped {
    /// Starts a script under the wrapper. The script prints a first line when the test can continue.
    fn start(script: &str, ready: u16) -> Wrapped {
        let folder = tempfile::tempdir().unwrap();
        let port = choose(None, 1).unwrap()[0];
        let mut process = wrapper(folder.path(), port, ready, &["sh", "-c", script]).spawn().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        Wrapped { folder, process, out, port }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a request. Returns the status and the body of the response.
    fn ask(&self, request: &str) -> (u16, Vec<u8>) {
        let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        write!(socket, "{request} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let body = answer[end + 4..].to_vec();
        let length = format!("content-length: {}", body.len());
        assert!(head.to_lowercase().contains(&length), "{head:?} does not have {length}");
        (head[9..12].parse().unwrap(), body)
    }

    fn get(&self, path: &str) -> String {
        let (status, body) = self.ask(&format!("GET {path}"));
        assert_eq!(status, 200, "{path}");
        String::from_utf8(body).unwrap()
    }

    fn started(&self) -> WrappedStart {
        serde_json::from_str(&self.get("/start")).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(self.process.id()).unwrap()).unwrap(), signal).unwrap();
    }

    /// Waits until the wrapper has ended. Returns the exit status (`None` if a signal ended it) and the output that was not read before.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (self.process.wait().unwrap().code(), rest)
    }
}

impl Drop for Wrapped {
    fn drop(&mut self) {
        // If the test failed, the process may still run.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_there(pid: &str) -> bool {
    // A process that was not reaped is a zombie. In `stat`, its state Z follows the name in parentheses.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|it| !it.contains(") Z"))
}

#[test]
fn output_and_exit_status_are_those_of_the_engine() {
    let script = "printf 'to stdout\\nwithout end'; printf 'to stderr\\n' >&2; exit 37";
    let done = run(&["sh", "-c", script]);
    assert_eq!(done.status.code(), Some(37));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "to stdout\nwithout end");
    assert_eq!(String::from_utf8_lossy(&done.stderr), "to stderr\n");
    assert_eq!(run(&["true"]).status.code(), Some(0));
}

#[test]
fn an_engine_that_a_signal_ends_has_its_number_in_the_exit_status() {
    for (signal, status) in [("KILL", 137), ("SEGV", 139), ("TERM", 143)] {
        assert_eq!(run(&["sh", "-c", &format!("kill -{signal} $$")]).status.code(), Some(status), "{signal}");
    }
}

#[test]
fn the_log_is_for_those_who_have_its_token_and_the_engine_does_not_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let port = choose(None, 1).unwrap()[0];
    let script = "echo token=$BENCHWRIGHT_LOG_TOKEN; exec sleep 60";
    let mut process = wrapper(folder.path(), port, 0, &["sh", "-c", script]);
    let mut process = process.env("BENCHWRIGHT_LOG_TOKEN", "5ec2e7").spawn().unwrap();
    let out = BufReader::new(process.stdout.take().unwrap());
    let mut wrapped = Wrapped { folder, process, out, port };
    assert_eq!(wrapped.line(), "token=");
    for path in ["/log", "/start", "/traces", "/other"] {
        for header in
            ["", "\r\nAuthorization: Bearer 5ec2e8", "\r\nAuthorization: Bearer ", "\r\nAuthorization: 5ec2e7"]
        {
            let (status, body) = wrapped.ask(&format!("GET {path} HTTP/1.1{header}\r\nX: "));
            assert_eq!(
                (status, body.starts_with(b"the log of this server is for launchers")),
                (401, true),
                "{path} {header}"
            );
        }
    }
    let (status, body) = wrapped.ask("GET /log HTTP/1.1\r\nAuthorization: Bearer 5ec2e7\r\nX: ");
    assert_eq!((status, body.as_slice()), (200, b"token=\n".as_slice()));
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let missing = run(&["/no/such/engine", "serve"]);
    assert_eq!(missing.status.code(), Some(127));
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("the program \"/no/such/engine\" does not exist"), "{said}");
    let refused = run(&["/etc/hostname"]);
    assert_eq!(refused.status.code(), Some(126));
}

#[test]
fn large_output_arrives_whole() {
    let done = run(&["sh", "-c", "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2"]);
    assert_eq!((done.stdout.len(), done.stderr.len(), done.status.code()), (3_000_000, 2_000_000, Some(0)));
}

#[test]
fn output_that_is_read_late_arrives_whole() {
    // The output does not fit into a pipe, and the engine ends long before the output is read.
    let mut wrapped = Wrapped::start("head -c 150000 /dev/zero; echo over; exit 6", 0);
    thread::sleep(Duration::from_secs(2));
    assert!(wrapped.process.try_wait().unwrap().is_none(), "the wrapper waits for who reads");
    let (status, rest) = wrapped.end();
    assert_eq!((status, rest.len(), rest.ends_with("over\n")), (Some(6), 150_005, true));
}

#[test]
fn readers_that_take_nothing_do_not_keep_others_out() {
    let mut wrapped = Wrapped::start("echo there; sleep 600", 0);
    assert_eq!(wrapped.line(), "there");
    let traces = wrapped.folder.path().join("traces");
    fs::create_dir_all(&traces).unwrap();
    // The file does not fit into the buffers of a connection.
    fs::File::create(traces.join("long")).unwrap().set_len(64 << 20).unwrap();
    let stuck: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, wrapped.port)).unwrap();
            write!(socket, "GET /traces/long HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
            socket
        })
        .collect();
    assert!(wrapped.started().pid > 0);
    drop(stuck);
    wrapped.signal(Signal::TERM);
}

#[test]
fn the_output_of_a_crash_is_kept_when_the_container_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let port = choose(None, 1).unwrap()[0];
    let again = |script: &str| wrapper(folder.path(), port, 0, &["sh", "-c", script]).output().unwrap();
    assert_eq!(again("echo out of memory; printf 'last words'; exit 1").status.code(), Some(1));
    assert_eq!(again("echo fine").status.code(), Some(0));
    let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!((text("0.log.1").as_str(), text("0.log").as_str()), ("out of memory\nlast words\n", "fine\n"));
    assert_eq!(text("0.log.starts"), "2");
}

#[test]
fn signals_reach_the_engine_and_its_children() {
    let script = "trap 'wait; echo engine; exit 5' TERM; (trap 'echo child; exit' TERM; echo there; while :; do sleep 0.05; done) & wait; wait";
    let mut wrapped = Wrapped::start(script, 0);
    assert_eq!(wrapped.line(), "there");
    wrapped.signal(Signal::TERM);
    let (status, rest) = wrapped.end();
    assert_eq!((status, rest.as_str()), (Some(5), "child\nengine\n"));
}

#[test]
fn an_orphan_is_asked_for_and_one_that_holds_the_output_open_is_not_waited_for() {
    let mut wrapped = Wrapped::start("trap 'exit 4' TERM; sh -c 'sleep 0.2 & echo $!'; sleep 600 & echo $!; wait", 0);
    let (orphan, holder) = (wrapped.line(), wrapped.line());
    wait_until("the orphan is gone, and no zombie", || !Path::new(&format!("/proc/{orphan}")).exists());
    // Only the engine is killed.
    let engine = wrapped.started().pid;
    kill_process(Pid::from_raw(engine).unwrap(), Signal::TERM).unwrap();
    assert_eq!(wrapped.process.wait().unwrap().code(), Some(4));
    assert!(is_there(&holder));
    kill_process(Pid::from_raw(holder.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn the_log_is_answered_while_the_engine_runs_and_without_secrets() {
    let secret = "hf_abcdefghijklmnopqrstuv";
    let script = format!("echo token {secret}; echo on stderr >&2; printf 'not ended'; echo >&2; sleep 600");
    let mut wrapped = Wrapped::start(&script, 0);
    assert_eq!(wrapped.line(), format!("token {secret}"), "what is passed on is unchanged");
    wait_until("both lines", || wrapped.get("/log").contains("on stderr\n"));
    let log = wrapped.get("/log");
    assert!(log.contains("token <redacted>\n") && !log.contains(secret) && !log.contains("not ended"), "{log}");
    let started = wrapped.started();
    assert_eq!((started.log.redacted_lines, started.starts), (1, 1));
    assert!(started.started <= started.now && started.ready.is_none() && !started.host.is_empty(), "{started:?}");
    assert!(is_there(&started.pid.to_string()));
    assert_eq!(wrapped.ask("POST /log").0, 405);
    for path in ["/", "/logs", "/traces/", "/log/../start"] {
        assert_eq!(wrapped.ask(&format!("GET {path}")).0, 404, "{path}");
    }
    wrapped.signal(Signal::TERM);
}

#[test]
fn a_log_of_many_parts_is_answered_whole() {
    let mut wrapped = Wrapped::start("seq 1 200000; echo the end >&2; sleep 600", 0);
    for _ in 0..200_000 {
        wrapped.line();
    }
    wait_until("its end", || wrapped.get("/log").contains("the end\n"));
    let log = wrapped.get("/log");
    let lines: Vec<&str> = log.lines().filter(|it| *it != "the end").collect();
    assert!(lines.iter().zip(1_u32..).all(|(line, number)| *line == number.to_string()) && lines.len() == 200_000);
    wrapped.signal(Signal::TERM);
}

#[test]
fn it_is_seen_when_the_engine_is_ready() {
    let engine = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = engine.local_addr().unwrap().port();
    let mut wrapped = Wrapped::start("echo there; sleep 600", port);
    assert_eq!(wrapped.line(), "there");
    let (asked, was_asked) = mpsc::channel();
    let is_ready = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&is_ready);
    thread::spawn(move || {
        for socket in engine.incoming() {
            let mut socket = BufReader::new(socket.unwrap());
            let mut line = String::new();
            socket.read_line(&mut line).unwrap();
            assert_eq!(line, "GET /health HTTP/1.1\r\n");
            let answer = if answers.load(Ordering::SeqCst) { "200 OK" } else { "503 Service Unavailable" };
            // An error is ignored, because the probe may have timed out.
            let _ = write!(socket.get_mut(), "HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
            let _ = asked.send(());
        }
    });
    was_asked.recv_timeout(SOON).unwrap();
    assert_eq!(wrapped.started().ready, None);
    is_ready.store(true, Ordering::SeqCst);
    // The wrapper reports the time immediately. It does not wait for its next probe.
    let started = wrapped.started();
    assert!(started.ready.unwrap() >= started.started && started.ready_ms.is_some(), "{started:?}");
    wrapped.signal(Signal::TERM);
}

#[test]
fn traces_are_listed_and_answered_and_nothing_else_is() {
    let mut wrapped = Wrapped::start("echo there; sleep 600", 0);
    assert_eq!(wrapped.line(), "there");
    assert_eq!(wrapped.get("/traces"), "[]");
    let traces = wrapped.folder.path().join("traces");
    fs::create_dir_all(traces.join("host 1")).unwrap();
    fs::write(traces.join("a.pt.trace.json.gz"), b"abc").unwrap();
    fs::write(traces.join("host 1/b%c.json"), vec![7; 300_000]).unwrap();
    fs::write(wrapped.folder.path().join("secret"), b"s").unwrap();
    symlink(wrapped.folder.path().join("secret"), traces.join("link")).unwrap();
    symlink(wrapped.folder.path(), traces.join("folder")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, traces.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let listed: Value = serde_json::from_str(&wrapped.get("/traces")).unwrap();
    let expected = json!([{"name": "a.pt.trace.json.gz", "bytes": 3}, {"name": "host 1/b%c.json", "bytes": 300_000}]);
    assert_eq!(listed, expected);
    assert_eq!(wrapped.get("/traces/a.pt.trace.json.gz"), "abc");
    assert_eq!(wrapped.ask("GET /traces/host%201/b%25c.json"), (200, vec![7; 300_000]));
    for name in
        ["link", "folder/secret", "pipe", "../secret", "%2e%2e/secret", "..%2Fsecret", "/etc/passwd", "host 1", "%00"]
    {
        assert_eq!(wrapped.ask(&format!("GET /traces/{}", name.replace(' ', "%20"))).0, 404, "{name}");
    }
    wrapped.signal(Signal::TERM);
}

#[test]
fn a_port_that_is_taken_and_a_log_that_cannot_be_written_do_not_stop_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let done = wrapper(&folder.path().join("missing"), port, 0, &["sh", "-c", "echo hello; exit 3"]).output().unwrap();
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(3), b"hello\n".as_slice()));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("is not kept") && said.contains(&format!("port {port}")), "{said}");
}
