//! Tests servers as real processes: the end of a server is detected whatever its cause, and no process is left behind.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::{self, Receiver},
};

use crate::common::{SOON, wait_until};
use managed_server::{Ended, Exit, Exited, Order, ReplicaOrder, Server, StartError, choose, state, sweep};
use tempfile::TempDir;

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("log")).unwrap();
        state::make(&folder.path().join("state")).unwrap();
        Place { folder }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// An order with one replica for each shell script.
    fn order(&self, scripts: &[&str]) -> Order {
        let ports = choose(None, u32::try_from(scripts.len()).unwrap()).unwrap();
        let shell = |it: &&str| ["sh", "-c", it].map(str::to_owned).to_vec();
        let replica = |(command, port)| ReplicaOrder { command, env: [].into(), port };
        Order {
            name: format!("test-{}", self.folder.path().file_name().unwrap().to_str().unwrap()),
            key: "key".into(),
            replicas: scripts.iter().map(shell).zip(ports).map(replica).collect(),
            log_folder: self.folder.path().join("log"),
            grace_ms: 20_000,
            state_folder: self.state(),
        }
    }

    fn start(&self, order: &Order) -> (Server, Receiver<Exited>) {
        let (told, exits) = mpsc::channel();
        let server = Server::start(&program(), order, move |it| drop(told.send(it.clone()))).unwrap();
        (server, exits)
    }

    fn log(&self, replica: usize) -> String {
        fs::read_to_string(self.folder.path().join(format!("log/{replica}.log"))).unwrap()
    }

    /// Waits until a log contains a text.
    fn wait_for_log(&self, replica: usize, text: &str) {
        wait_until(text, || self.log(replica).contains(text));
    }
}

fn program() -> PathBuf {
    let tests = env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples/keeper")
}

/// The processes that have the mark of a server in their environment.
fn marked(name: &str) -> Vec<String> {
    let wanted = format!("{}={name}", managed_server::MARK);
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|it| it.path());
    let has = |it: &PathBuf| {
        let environment = fs::read(it.join("environ")).unwrap_or_default();
        environment.split(|it| *it == 0).any(|it| it == wanted.as_bytes())
    };
    processes.filter(has).map(|it| it.display().to_string()).collect()
}

fn assert_nothing_is_left(place: &Place, order: &Order, ended: &Ended) {
    assert_eq!(ended.leftovers.remains, Vec::<String>::new());
    assert_nothing_runs(place, order);
}

fn assert_nothing_runs(place: &Place, order: &Order) {
    assert_eq!(marked(&order.name), Vec::<String>::new());
    assert_eq!(state::all(&place.state()), Vec::new());
}

#[test]
fn a_server_writes_its_log_and_ends_at_sigterm() {
    let place = Place::new();
    let order = place.order(&["echo out; echo err >&2; exec sleep 1000"]);
    let (server, exits) = place.start(&order);
    place.wait_for_log(0, "err");
    let [started] = server.started() else { panic!("{:?}", server.started()) };
    assert_eq!(started.port, order.replicas[0].port);
    assert_eq!(state::all(&place.state())[0].runs(), [true]);
    let pid = started.pid;
    let ended = server.end();
    assert_eq!((ended.replicas[0].pid, ended.replicas[0].exit), (pid, Exit::Signal(15)));
    assert_eq!((place.log(0).as_str(), ended.replicas[0].log.bytes), ("out\nerr\n", 8));
    assert!(ended.leftovers.killed.is_empty() && ended.leftovers.left_behind.is_empty(), "{ended:?}");
    assert!(exits.try_recv().is_err(), "it was asked to end");
    assert_nothing_is_left(&place, &order, &ended);
}

#[test]
fn a_program_that_does_not_exist_is_refused_and_the_others_are_ended() {
    let place = Place::new();
    let text = place.folder.path().join("text");
    fs::write(&text, "").unwrap();
    for (program, expected) in [
        (
            "no-such-program-at-all",
            "is in no folder of PATH; install it, or write its path into spec.target.server.command",
        ),
        ("/no/such/program", "does not exist; correct spec.target.server.command"),
        (text.to_str().unwrap(), "may not be executed"),
    ] {
        let mut order = place.order(&["exec sleep 1000", ""]);
        order.replicas[1].command = vec![program.to_owned()];
        let refused = Server::start(&self::program(), &order, |_| {}).err().unwrap();
        let StartError::NotStarted { replica: 1, message } = refused else { panic!("{refused}") };
        assert!(message.contains(expected), "{message}");
        assert_nothing_is_left(&place, &order, &Ended::default());
    }
}

#[test]
fn a_server_that_dies_is_reported_with_its_last_words() {
    let place = Place::new();
    let script = "echo one; echo 'key hf_abcdefghijklmnopqrst' >&2; printf 'no newline'; exit 3";
    let order = place.order(&["exec sleep 1000", script]);
    let (server, exits) = place.start(&order);
    let exited = exits.recv_timeout(SOON).unwrap();
    assert_eq!((exited.replica, exited.exit), (1, Exit::Status(3)));
    assert_eq!(exited.last_words, ["one", "key <redacted>", "no newline"]);
    assert!(exited.message().contains("ended with exit status 3 (replica 1, process "), "{}", exited.message());
    assert_eq!(server.exited(), [exited]);
    let ended = server.end();
    assert_eq!([ended.replicas[0].exit, ended.replicas[1].exit], [Exit::Signal(15), Exit::Status(3)]);
    assert_eq!(ended.replicas[1].log.redacted_lines, 1);
    assert_nothing_is_left(&place, &order, &ended);
}

#[test]
fn a_server_that_is_killed_is_reported_with_the_signal() {
    let place = Place::new();
    let order = place.order(&["kill -9 $$"]);
    let (server, exits) = place.start(&order);
    let exited = exits.recv_timeout(SOON).unwrap();
    assert_eq!(exited.exit, Exit::Signal(9));
    assert!(exited.message().contains("signal 9 (SIGKILL)") && exited.message().ends_with("it wrote nothing"));
    assert_nothing_is_left(&place, &order, &server.end());
}

#[test]
fn a_server_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let place = Place::new();
    let mut order = place.order(&["trap '' TERM; echo deaf; while :; do sleep 1000; done"]);
    order.grace_ms = 300;
    let (server, _exits) = place.start(&order);
    place.wait_for_log(0, "deaf");
    let ended = server.end();
    assert_eq!(ended.replicas[0].exit, Exit::Signal(9));
    assert!(!ended.leftovers.killed.is_empty(), "{ended:?}");
    assert_nothing_is_left(&place, &order, &ended);
}

/// A child in a new session whose parent has exited and whose environment is empty.
const ESCAPED: &str = r#"python3 -c '
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("child", os.getpid(), flush=True)
        os.execve("/bin/sleep", ["sleep", "1000"], {})
    os._exit(0)
os.wait()
time.sleep(1000)
'"#;

/// The `/proc` folder of the process that [`ESCAPED`] writes to its log.
fn escaped(place: &Place) -> PathBuf {
    place.wait_for_log(0, "child ");
    let pid = place.log(0).trim().rsplit(' ').next().unwrap().to_owned();
    PathBuf::from(format!("/proc/{pid}"))
}

#[test]
fn a_child_that_left_the_group_and_the_session_is_ended_too() {
    let place = Place::new();
    let order = place.order(&[ESCAPED]);
    let (server, _exits) = place.start(&order);
    let child = escaped(&place);
    wait_until("the child's own program", || fs::read(child.join("environ")).is_ok_and(|it| it.is_empty()));
    let ended = server.end();
    assert!(ended.leftovers.left_behind.len() == 1 && ended.leftovers.left_behind[0].ends_with("(sleep)"), "{ended:?}");
    assert!(!child.exists());
    assert_nothing_is_left(&place, &order, &ended);
}

#[test]
fn a_line_without_end_does_not_fill_the_disk_and_does_not_stop_the_server() {
    let place = Place::new();
    let order = place.order(&["head -c 200000000 /dev/zero; echo; echo done"]);
    let (server, exits) = place.start(&order);
    let exited = exits.recv_timeout(SOON).unwrap();
    assert_eq!((exited.exit, exited.last_words.last().unwrap().as_str()), (Exit::Status(0), "done"));
    let ended = server.end();
    assert_eq!(ended.replicas[0].log.bytes, 200_000_006);
    assert!(place.log(0).len() < 100_000 && place.log(0).ends_with("bytes of this line left out]\ndone\n"));
    assert_nothing_is_left(&place, &order, &ended);
}

#[test]
fn shared_memory_that_a_server_leaves_is_deleted() {
    let place = Place::new();
    let file = format!("/dev/shm/{}", place.folder.path().file_name().unwrap().to_str().unwrap());
    let order = place.order(&[&format!("exec 3>{file}; echo open; exec sleep 1000")]);
    let (server, _exits) = place.start(&order);
    place.wait_for_log(0, "open");
    assert!(Path::new(&file).exists());
    let ended = server.end();
    assert_eq!(ended.leftovers.deleted_shared_memory, std::slice::from_ref(&file));
    assert!(!Path::new(&file).exists());
    assert_nothing_is_left(&place, &order, &ended);
}

#[test]
fn a_server_ends_with_its_launcher_however_that_dies() {
    let place = Place::new();
    let order = place.order(&["echo up; exec sleep 1000"]);
    let path = place.folder.path().join("order.json");
    fs::write(&path, serde_json::to_vec(&order).unwrap()).unwrap();
    let mut launcher = Command::new(program()).arg("start-and-wait").arg(path).spawn().unwrap();
    wait_until("the log", || place.folder.path().join("log/0.log").exists());
    place.wait_for_log(0, "up");
    launcher.kill().unwrap();
    launcher.wait().unwrap();
    wait_until("the end of the server", || marked(&order.name).is_empty());
    wait_until("the end of its state", || state::all(&place.state()).is_empty());
    assert_nothing_runs(&place, &order);
}

#[test]
fn what_a_killed_keeper_leaves_is_found_by_its_mark() {
    let place = Place::new();
    let mut order = place.order(&["trap '' TERM; echo up; sleep 1000 & wait"]);
    order.grace_ms = 300;
    let (server, exits) = place.start(&order);
    place.wait_for_log(0, "up");
    let state = state::all(&place.state()).remove(0);
    let killed = Command::new("kill").args(["-9", &state.keeper_pid().to_string()]).status().unwrap();
    assert!(killed.success());
    let exited = exits.recv_timeout(SOON).unwrap();
    assert_eq!(exited.exit, Exit::Unknown);
    assert!(exited.message().contains("the process that keeps the managed server was killed"), "{}", exited.message());
    assert!(!marked(&order.name).is_empty(), "the server outlives its keeper");
    let ended = server.end();
    assert_nothing_is_left(&place, &order, &ended);
}

#[test]
fn a_server_that_was_let_go_is_found_and_ended_by_its_state() {
    let place = Place::new();
    let order = place.order(&["echo up; exec sleep 1000"]);
    let (server, _exits) = place.start(&order);
    place.wait_for_log(0, "up");
    server.let_go().unwrap();
    let state = state::all(&place.state()).remove(0);
    assert!(state.lasting && state.is_kept() && state.runs() == [true], "{state:?}");
    let ended = sweep(&state, &place.state()).unwrap();
    assert_eq!(ended.replicas[0].exit, Exit::Signal(15));
    assert_nothing_is_left(&place, &order, &ended);
}

#[test]
fn a_replica_that_dies_takes_the_others_of_a_server_that_was_let_go_and_the_keeper_along() {
    let place = Place::new();
    let order = place.order(&["read line < \"$FIFO\"; exit 4", "exec sleep 1000"]);
    let fifo = place.folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut order = order;
    order.replicas[0].env.insert("FIFO".into(), fifo.display().to_string());
    let (server, _exits) = place.start(&order);
    server.let_go().unwrap();
    let state = state::all(&place.state()).remove(0);
    fs::write(&fifo, "go\n").unwrap();
    wait_until("the end of the keeper", || !state.is_kept());
    let ended = state.take_end(&place.state()).unwrap();
    assert_eq!([ended.replicas[0].exit, ended.replicas[1].exit], [Exit::Status(4), Exit::Signal(15)]);
    assert_nothing_is_left(&place, &order, &ended);
}
