//! [I/O] The keeper: a process that is the parent of a server's replicas.

use std::{
    collections::BTreeSet,
    fs, io,
    io::{BufRead as _, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use crds::leftovers::Leftovers;
use rustix::process::WaitOptions;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{mpsc, oneshot},
};

use crate::{
    MARK,
    log::{self, Log, Stream},
    order::{Ended, Event, Exit, Exited, LogEnd, Order, ReplicaEnd, ReplicaOrder, Request, Started},
    ports,
    processes::{self, OutOfMemory, Process},
    shared_memory, state,
    sweep::{self, Swept},
};

/// Maximum length in bytes of the order that the launcher sends.
const MAX_ORDER: u64 = 16 << 20;
/// How long to wait for the rest of a replica's output after its process has ended.
const LOG_ENDS: Duration = Duration::from_secs(1);
/// How long the state file shows that a replica has ended. A run that uses the server reads the file within this time. Then the keeper ends the other
/// replicas and removes the file.
const EXIT_IS_READ: Duration = Duration::from_secs(2);
/// The delay before the first scan of processes and their shared memory.
const FIRST_LOOK_AT_PROCESSES: Duration = Duration::from_secs(1);
/// The interval between later scans.
const LOOK_AT_PROCESSES_EVERY: Duration = Duration::from_secs(5);
/// Maximum number of processes that the keeper watches.
const MOST_WATCHED: usize = 256;
/// The stack size of each watching thread, in bytes.
const WATCH_STACK: usize = 64 << 10;
/// Maximum number of killed processes in a report.
const MOST_KILLED: usize = 16;
/// How long a port can stay in use after the processes have ended, before it is reported.
const PORT_ENDS: Duration = Duration::from_secs(2);

/// Starts the server that is ordered on stdin. Keeps it until stdin requests its end or is closed. Returns the exit status of this process.
pub fn keep() -> u8 {
    // Detaches from the terminal, so that only the launcher receives Ctrl-C. The launcher then requests the end through stdin.
    let _ = rustix::process::setsid();
    // Makes orphans children of this process. Otherwise a process that forks twice would escape the keeper, and could only be found by its mark.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return 1 };
    match runtime.block_on(kept()) {
        Ok(()) => 0,
        Err(error) => {
            say(&Event::NotStarted { replica: 0, message: format!("the server cannot be kept: {error}") });
            1
        }
    }
}

/// Sends an event to the launcher. If the launcher is gone, that is no error.
fn say(event: &Event) {
    let Ok(mut line) = serde_json::to_vec(event) else { return };
    line.push(b'\n');
    let mut out = io::stdout().lock();
    let _ = out.write_all(&line).and_then(|()| out.flush());
}

async fn kept() -> io::Result<()> {
    let mut child_ended = signal(SignalKind::child())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    let (mut requests, order) = listen().await?;
    let mut server = match Running::start(order) {
        Ok(server) => server,
        Err(refused) => {
            let Refused { replica, message, server } = *refused;
            if let Some(mut server) = server {
                server.end().await;
            }
            say(&Event::NotStarted { replica, message });
            return Ok(());
        }
    };
    say(&Event::Started(server.state.replicas.clone()));
    let clock = clock::Clock::start();
    let sleeper = clock.sleeper();
    let mut next_look = FIRST_LOOK_AT_PROCESSES;
    loop {
        tokio::select! {
            () = sleeper.until(next_look) => {
                server.look_at_processes();
                next_look = clock.now() + LOOK_AT_PROCESSES_EVERY;
            }
            _ = child_ended.recv() => {
                server.tell_exits().await;
                // The remaining replicas cannot serve a run any more, but they still occupy their devices. So they are ended.
                if server.state.lasting && server.replicas.iter().any(|it| it.exit.is_some()) {
                    let _ = clock::limit(EXIT_IS_READ, terminated.recv()).await;
                    break;
                }
            }
            request = requests.recv(), if !server.state.lasting => match request {
                Some(Request::LetGo) => server.let_go(),
                Some(Request::End) | None => break,
            },
            _ = terminated.recv() => break,
            _ = interrupted.recv() => break,
            _ = hung_up.recv() => {}
        }
    }
    let ended = server.end().await;
    say(&Event::Ended(ended));
    Ok(())
}

/// Reads the order, and returns a channel with the launcher's further requests.
async fn listen() -> io::Result<(mpsc::Receiver<Request>, Order)> {
    let (requests, received) = mpsc::channel(4);
    let (ordered, order) = oneshot::channel();
    let body = move || {
        let mut input = io::BufReader::new(io::stdin());
        let mut line = String::new();
        let read = input.by_ref().take(MAX_ORDER).read_line(&mut line);
        let order = read.and_then(|_| serde_json::from_str(&line).map_err(io::Error::other));
        if ordered.send(order).is_err() {
            return;
        }
        for line in input.lines() {
            let Ok(request) = line.and_then(|it| serde_json::from_str(&it).map_err(io::Error::other)) else { return };
            if requests.blocking_send(request).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("requests".into()).spawn(body)?;
    let order = order.await.map_err(io::Error::other)??;
    Ok((received, order))
}

struct Replica {
    pid: i32,
    log: Arc<Mutex<Log>>,
    /// Resolves when the replica's output has ended.
    log_ended: Option<oneshot::Receiver<()>>,
    exit: Option<(Exit, jiff::Timestamp)>,
    told: bool,
}

struct Running {
    order: Order,
    state: state::State,
    replicas: Vec<Replica>,
    memory: OutOfMemory,
    shared_memory: shared_memory::Before,
    /// Files of shared memory that its processes used.
    used_memory: BTreeSet<PathBuf>,
    /// The watched descendants of the replicas: (process id, start time).
    watched: BTreeSet<(i32, u64)>,
    /// (process group, sentence) for watched processes that were killed by a signal. The exit status of a replica does not show such a kill.
    killed: Arc<Mutex<Vec<(i32, String)>>>,
}

/// The replica that could not be started.
struct Refused {
    replica: usize,
    message: String,
    server: Option<Running>,
}

impl Running {
    fn start(order: Order) -> Result<Running, Box<Refused>> {
        let state = state::State::of_keeper(&order.name, &order.key, order.grace_ms);
        let mut server = Running {
            state,
            replicas: Vec::new(),
            memory: OutOfMemory::read(),
            shared_memory: shared_memory::Before::read(),
            used_memory: BTreeSet::new(),
            watched: BTreeSet::new(),
            killed: Arc::default(),
            order,
        };
        // If the state file could not be written, nobody would find a server that outlives its keeper. So the start fails.
        if let Err(error) = server.state.write(&server.order.state_folder) {
            let folder = server.order.state_folder.display();
            let message = format!(
                "the file of the server cannot be written in {folder}: {error}; free space there, or name another folder in {}",
                state::FOLDER_VARIABLE
            );
            return Err(Box::new(Refused { replica: 0, message, server: None }));
        }
        for index in 0..server.order.replicas.len() {
            match server.start_one(index) {
                Ok((started, replica)) => {
                    server.state.add(started);
                    server.replicas.push(replica);
                }
                Err(message) => return Err(Box::new(Refused { replica: index, message, server: Some(server) })),
            }
        }
        server.write_state();
        Ok(server)
    }

    fn start_one(&self, index: usize) -> Result<(Started, Replica), String> {
        let ReplicaOrder { command, env, port } = &self.order.replicas[index];
        let path = self.order.log_folder.join(format!("{index}.log"));
        let log = Log::create(&path)
            .map_err(|error| format!("its log {} cannot be written: {error}; free space there", path.display()))?;
        let log = Arc::new(Mutex::new(log));
        let [program, args @ ..] = command.as_slice() else { return Err("has no program".to_owned()) };
        let cannot = |error: io::Error| refusal(program, &error);
        let (reader, writer) = io::pipe().map_err(cannot)?;
        let mut process = Command::new(program);
        process.args(args).envs(env).env(MARK, &self.order.name).process_group(0);
        process.stdin(Stdio::null()).stdout(writer.try_clone().map_err(cannot)?).stderr(writer);
        let at = clock::now();
        // The child is not waited for here: `reap` does so by its id, as for orphans that the keeper adopts.
        let child = process.spawn().map_err(cannot)?;
        drop(process);
        let (ended, log_ended) = oneshot::channel();
        let into = Arc::clone(&log);
        let body = move || {
            log::read(reader, |part| into.lock().unwrap_or_else(PoisonError::into_inner).push(Stream::Out, part));
            let _ = ended.send(());
        };
        let pid = i32::try_from(child.id()).unwrap_or_default();
        let replica = Replica { pid, log, log_ended: Some(log_ended), exit: None, told: false };
        thread::Builder::new().name(format!("log-{index}")).spawn(body).map_err(|error| {
            // Nobody reads the output of this process any more, so it would die at its first line. It is killed instead.
            Process::find(pid).iter().for_each(|it| it.signal(rustix::process::Signal::KILL));
            format!("no thread for its log: {error}")
        })?;
        Ok((Started { pid, at, port: *port, log: path }, replica))
    }

    /// Records which shared memory the processes use, because a killed process no longer shows it. Also begins to watch new processes.
    fn look_at_processes(&mut self) {
        let groups: Vec<i32> = self.replicas.iter().map(|it| it.pid).collect();
        let keeper = i32::try_from(std::process::id()).ok();
        let members = processes::members(&self.order.name, &groups, keeper);
        self.used_memory.extend(shared_memory::used_by(&members));
        let key = |it: &Process| (it.pid, it.began);
        let present: BTreeSet<_> = members.iter().map(key).collect();
        self.watched.retain(|it| present.contains(it));
        for process in members.into_iter().filter(|it| !groups.contains(&it.pid)) {
            if self.watched.len() < MOST_WATCHED && self.watched.insert(key(&process)) {
                let killed = Arc::clone(&self.killed);
                let body = move || {
                    let Some(signal) = process.killing_signal() else { return };
                    let said = format!("process {} was killed by signal {signal}", process.shown());
                    let mut killed = killed.lock().unwrap_or_else(PoisonError::into_inner);
                    if killed.len() < MOST_KILLED {
                        killed.push((process.group, said));
                    }
                };
                // Ignores an error: without this thread, the last words do not mention a kill of this process.
                let _ = thread::Builder::new().name("watch".into()).stack_size(WATCH_STACK).spawn(body);
            }
        }
    }

    fn write_state(&self) {
        // Ignores an error: the server runs nevertheless, and `sweep` can find its processes by their mark.
        let _ = self.state.write(&self.order.state_folder);
    }

    fn let_go(&mut self) {
        self.state.lasting = true;
        self.write_state();
        // Leaves the launcher's working directory, which can have to be deleted or unmounted.
        let _ = std::env::set_current_dir("/");
        say(&Event::LetGo);
    }

    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let pid = pid.as_raw_nonzero().get();
            let exit = match (status.exit_status(), status.terminating_signal()) {
                (Some(status), _) => Exit::Status(status),
                (_, Some(signal)) => Exit::Signal(signal),
                _ => continue,
            };
            if let Some(replica) = self.replicas.iter_mut().find(|it| it.pid == pid && it.exit.is_none()) {
                replica.exit = Some((exit, clock::now()));
            }
        }
    }

    /// Reports the replicas that have ended without a stop request.
    async fn tell_exits(&mut self) {
        self.reap();
        let memory = OutOfMemory::read();
        let groups: Vec<i32> = self.replicas.iter().map(|it| it.pid).collect();
        for (index, replica) in self.replicas.iter_mut().enumerate() {
            let Some((exit, at)) = replica.exit.filter(|_| !replica.told) else { continue };
            replica.told = true;
            replica.wait_for_log().await;
            let killed = self.killed.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // A process outside all groups could belong to any replica, so the report of every replica mentions it.
            let own = |group: i32| group == replica.pid || !groups.contains(&group);
            let killed = killed.into_iter().filter(|(group, _)| own(*group)).map(|(_, said)| said);
            let last_words = killed.chain(replica.log().last_words()).collect();
            let exited = Exited {
                replica: index,
                pid: replica.pid,
                exit,
                at,
                out_of_memory: memory.since(self.memory),
                last_words,
            };
            self.state.exited.push(exited.clone());
            say(&Event::Exited(exited));
        }
        self.write_state();
    }

    async fn end(&mut self) -> Ended {
        let groups: Vec<i32> = self.replicas.iter().map(|it| it.pid).collect();
        let name = self.order.name.clone();
        let keeper = i32::try_from(std::process::id()).ok();
        let grace = Duration::from_millis(self.order.grace_ms);
        let Swept { killed, left_behind, remaining, used } =
            sweep::processes(&name, &groups, keeper, grace, || self.reap()).await;
        self.reap();
        let mut remains: Vec<String> = remaining.iter().map(|it| format!("process {}", it.shown())).collect();
        let clock = clock::Clock::start();
        let sleeper = clock.sleeper();
        for port in self.order.replicas.iter().take(self.replicas.len()).map(|it| it.port) {
            while ports::listens(port) && clock.now() < PORT_ENDS {
                sleeper.until(clock.now() + Duration::from_millis(50)).await;
            }
            if ports::listens(port) {
                remains.push(format!("port {port}, where {} listens", ports::holder(port)));
            }
        }
        let mut replicas = Vec::new();
        for replica in &mut self.replicas {
            replica.wait_for_log().await;
            let (exit, at) = replica.exit.unwrap_or((Exit::Unknown, clock::now()));
            let log: LogEnd = replica.log().close();
            replicas.push(ReplicaEnd { pid: replica.pid, exit, at, log });
        }
        self.used_memory.extend(used);
        let deleted_shared_memory = self.shared_memory.clean(&self.used_memory);
        let ended = Ended { replicas, leftovers: Leftovers { killed, left_behind, deleted_shared_memory, remains } };
        if self.state.lasting {
            let _ = self.state.leave_end(&self.order.state_folder, &ended);
        }
        if ended.leftovers.remains.iter().all(|it| !it.starts_with("process")) {
            self.state.forget(&self.order.state_folder);
        }
        ended
    }
}

impl Replica {
    fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the replica's output has ended. A left-over process can keep the pipe open, so the wait is limited.
    async fn wait_for_log(&mut self) {
        if let Some(ended) = &mut self.log_ended
            && clock::limit(LOG_ENDS, ended).await.is_ok()
        {
            self.log_ended = None;
        }
    }
}

/// Describes why a program cannot be started, and the remedy.
pub(crate) fn refusal(program: &str, error: &io::Error) -> String {
    let shown = crds::wording::quoted(program);
    let path = PathBuf::from(program);
    match error.kind() {
        io::ErrorKind::NotFound if !program.contains('/') => {
            format!(
                "the program {shown} is in no folder of PATH; install it, or write its path into spec.target.server.command"
            )
        }
        // The system reports the same error if the interpreter of a script is missing.
        io::ErrorKind::NotFound if fs::exists(&path).unwrap_or(false) => {
            format!("the program {shown} needs an interpreter that does not exist; correct its first line")
        }
        io::ErrorKind::NotFound => format!("the program {shown} does not exist; correct spec.target.server.command"),
        io::ErrorKind::PermissionDenied => {
            format!(
                "the program {shown} may not be executed; name a program in spec.target.server.command, or chmod +x it"
            )
        }
        _ => format!("the program {shown} cannot be started: {error}; correct spec.target.server.command"),
    }
}
