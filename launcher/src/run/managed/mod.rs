//! [I/O] The server of a run with `target.server`. It is started before the first load, watched, and ended after the last load. Its processes are
//! children of the keeper, a separate process that ends them even if the launcher is killed.

pub mod commands;
mod find;
mod pods;
mod starts;
mod watch;

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crds::{
    benchmark_run::{Lifecycle, ProfilerKind},
    resolve::{Endpoint, ManagedServer, ResolvedRun},
    units::Span,
};
use jiff::{SignedDuration, Timestamp};
use managed_server::{Ended, Exited, LogEnd, Order, ReplicaEnd, ReplicaOrder, Server, Started, state};
use tracing::{info, warn};

use super::{Failure, server_extras::Extras};
use document::{ManagedServerDocument, ReplicaDocument, ServerStart, SleepCycle};
use engine::stop::{Stop, StopReason};
pub(super) use pods::{ByReplica, describe as describe_pods, fetch_traces};
use watch::{Death, Watch};

/// How long a server can take to end after SIGTERM. Engines need time to release their GPUs.
const GRACE: Duration = Duration::from_secs(30);

/// The server for the runs of this process. Empty until it is started.
#[derive(Default)]
pub(super) struct Servers(RefCell<Option<Managed>>);

/// The data about a server for the report, and the folder with the logs of its replicas.
pub(super) struct Described {
    pub(super) document: ManagedServerDocument,
    pub(super) logs: Vec<PathBuf>,
    /// How the replicas started, if the log format of their engine is known.
    pub(super) starts: Vec<ServerStart>,
    /// The folder of the logs. `None` while the server still writes to them.
    finished: Option<PathBuf>,
}

impl Described {
    /// Deletes the logs, after they have been copied to the results folder.
    pub(super) fn forget_logs(&self) {
        if let Some(folder) = &self.finished
            && let Err(error) = fs::remove_dir_all(folder)
        {
            warn!(%error, folder = %folder.display(), "the server's logs also stay in this folder");
        }
    }
}

impl Servers {
    /// Returns the base URLs of the replicas. The first call starts the replicas, which are not ready yet.
    pub(super) fn urls(&self, run: &ResolvedRun, extras: &Extras, stop: &Stop) -> Result<Option<Vec<String>>, Failure> {
        let Endpoint::Server(server) = &run.endpoint else { return Ok(None) };
        let mut managed = self.0.borrow_mut();
        if let Some(managed) = &*managed {
            return Ok(Some(managed.urls()));
        }
        let started = Managed::of_run(server, run, extras, stop)?;
        let urls = started.urls();
        *managed = Some(started);
        Ok(Some(urls))
    }

    /// Records when each replica became ready. From now on, the keeper alone watches a server that outlives the run.
    pub(super) fn ready(&self, at: &[Timestamp], stop: &Stop) -> Result<(), Failure> {
        match &mut *self.0.borrow_mut() {
            Some(managed) => managed.ready(at, stop),
            None => Ok(()),
        }
    }

    /// The folder with the logs of the replicas on this machine. Each log's name is the index of its replica.
    pub(super) fn log_folder(&self) -> Option<PathBuf> {
        self.0.borrow().as_ref().map(|it| it.log_folder.clone())
    }

    /// How a replica ended unexpectedly, if one did.
    pub(super) fn death(&self) -> Option<Exited> {
        self.0.borrow().as_ref()?.death.get()
    }

    /// Adds the location of the server's log to a failure of the run. If a replica has ended, the message names this as the cause.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        let managed = self.0.borrow();
        let Some(managed) = managed.as_ref() else { return failure };
        let logs = managed.log_folder.display();
        match managed.death.get() {
            Some(exited) => {
                Failure::target(format!("{}\nthe whole log is in {logs}{}", exited.message(), managed.reader(&exited)))
                    .shown_as(format!("{}; the launcher's log has the last lines of the server", exited.headline()))
            }
            None => failure.followed_by(&format!("\nthe log of the server is in {logs}")),
        }
    }

    /// Returns the data for the report. `last`: no further load follows, so a server that belongs to the run is ended now.
    ///
    /// `sleep_cycles` are the sleep measurements of each replica. `measures_start` states whether the run measures the start.
    pub(super) fn describe(
        &self,
        last: bool,
        with_logs: bool,
        sleep_cycles: Vec<Vec<SleepCycle>>,
        measures_start: bool,
    ) -> Option<Described> {
        let mut managed = self.0.borrow_mut();
        let managed = managed.as_mut()?;
        if last {
            managed.end();
        }
        Some(managed.described(with_logs, sleep_cycles, measures_start))
    }

    /// Forgets the server, so that the next run starts a new one.
    pub(super) fn renew(&self) {
        drop(self.0.take());
    }

    /// Ends a server that must not outlive the run, and logs the result.
    pub(super) fn end(&self) {
        if let Some(managed) = &mut *self.0.borrow_mut() {
            managed.end();
        }
    }
}

/// Who keeps the server running.
enum Hold {
    /// This process, through its keeper.
    Own(Box<Server>),
    /// Only the server's keeper, a separate process. The server outlives this process.
    Lasting(#[expect(dead_code, reason = "its end ends the watch")] Watch),
    /// The server has been ended.
    Gone,
}

pub(super) struct Managed {
    server: ManagedServer,
    commands: Vec<Vec<String>>,
    started: Vec<Started>,
    ready: Vec<Timestamp>,
    log_folder: PathBuf,
    reused: bool,
    death: Death,
    hold: Hold,
    ended: Option<Ended>,
}

impl Managed {
    /// Returns the server for a run: a new server, or one that is already running.
    fn of_run(server: &ManagedServer, run: &ResolvedRun, extras: &Extras, stop: &Stop) -> Result<Managed, Failure> {
        let folder = prepared_folder()?;
        let key = find::key(server);
        let lock = state::lock(&folder, &key);
        if let Err(error) = &lock {
            warn!(%error, "waiting, because another run may be starting the same server");
        }
        find::sweep_stale(&folder, &key);
        let running = find::running(&folder, &key);
        match (running, server.lifecycle) {
            (Some(running), Lifecycle::Reuse) => {
                info!(server = running.name, "the server runs already");
                let death = Death::new(stop);
                let watch = Watch::start(running.clone(), folder.clone(), death.clone());
                let ports = running.replicas.iter().map(|it| it.port);
                Ok(Managed {
                    commands: commands_shown(&replicas(server, ports, None, false)?),
                    server: server.clone(),
                    started: running.replicas.clone(),
                    ready: Vec::new(),
                    log_folder: log_folder(&folder, &running.name),
                    reused: true,
                    death,
                    hold: Hold::Lasting(watch),
                    ended: None,
                })
            }
            (Some(running), _) => Err(Failure::configuration(format!(
                "spec.target.server: a server with the same settings runs already, {} since {}; set lifecycle: Reuse to measure it, or end it by \
                 `benchwright server stop {}`",
                running.name, running.since, running.name
            ))),
            (None, _) => {
                // A shared server is not profiled, because it would write the traces of other runs into this run's folder, too.
                let kind = run.profiling.as_ref().map(|it| it.kind).filter(|_| server.can_be_profiled());
                let profiler = kind.zip(extras.traces.as_deref());
                Managed::start(server, profiler, extras.sleep_mode, &run.run.attempt_name(), folder, key, stop)
            }
        }
    }

    fn start(
        server: &ManagedServer,
        profiler: Option<(ProfilerKind, &Path)>,
        sleep_mode: bool,
        name: &str,
        folder: PathBuf,
        key: String,
        stop: &Stop,
    ) -> Result<Managed, Failure> {
        let ports = managed_server::choose(server.port, server.replicas)
            .map_err(|error| Failure::configuration(format!("spec.target.server.port: {error}")))?;
        let replicas = replicas(server, ports, profiler, sleep_mode)?;
        let log_folder = log_folder(&folder, name);
        let cannot = |error: std::io::Error| {
            let shown = log_folder.display();
            let remedy = format!("free space there, or name another folder in {}", state::FOLDER_VARIABLE);
            Failure::configuration(format!("the logs of the server cannot be written to {shown}: {error}; {remedy}"))
        };
        fs::create_dir_all(&log_folder).map_err(cannot)?;
        let commands = commands_shown(&replicas);
        let order = Order {
            name: name.to_owned(),
            key,
            replicas,
            log_folder: log_folder.clone(),
            grace_ms: u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX),
            state_folder: folder,
        };
        let death = Death::new(stop);
        let told = death.clone();
        let started = Server::start(&own_program()?, &order, move |exited| told.set(exited.clone()));
        let running = started.map_err(|error| {
            // The folder can be deleted, because no log has been written to it yet.
            let _ = fs::remove_dir_all(&log_folder);
            Failure::configuration(format!("spec.target.server: {error}"))
        })?;
        for (replica, (it, command)) in running.started().iter().zip(&commands).enumerate() {
            let command = command.join(" ");
            info!(replica, pid = it.pid, port = it.port, log = %it.log.display(), command, "the server is started");
        }
        Ok(Managed {
            server: server.clone(),
            commands,
            started: running.started().to_vec(),
            ready: Vec::new(),
            log_folder,
            reused: false,
            death,
            hold: Hold::Own(Box::new(running)),
            ended: None,
        })
    }

    fn urls(&self) -> Vec<String> {
        self.started.iter().map(|it| format!("http://127.0.0.1:{}", it.port)).collect()
    }

    fn ready(&mut self, at: &[Timestamp], stop: &Stop) -> Result<(), Failure> {
        if !self.ready.is_empty() || self.reused {
            return Ok(());
        }
        self.ready = at.to_vec();
        if self.server.lifecycle == Lifecycle::PerRun {
            return Ok(());
        }
        let Hold::Own(server) = std::mem::replace(&mut self.hold, Hold::Gone) else { return Ok(()) };
        let name = server.name().to_owned();
        server.let_go().map_err(|error| Failure::target(format!("the server cannot be left running: {error}")))?;
        let folder = state::folder();
        let state = state::all(&folder).into_iter().find(|it| it.name == name);
        let gone = || Failure::target(format!("the server {name} ended when it should have been left running"));
        self.death = self.death.again(stop);
        self.hold = Hold::Lasting(Watch::start(state.ok_or_else(gone)?, folder, self.death.clone()));
        info!(server = name, "the server outlives this run: `benchwright server stop {name}` ends it");
        Ok(())
    }

    fn end(&mut self) {
        let Hold::Own(server) = std::mem::replace(&mut self.hold, Hold::Gone) else { return };
        info!("the server is being ended; it has {} before it is killed", Span(GRACE));
        let ended = server.end();
        for note in ended.leftovers.notes() {
            warn!("the server has ended: {note}");
        }
        self.ended = Some(ended);
    }

    fn described(&self, with_logs: bool, sleep_cycles: Vec<Vec<SleepCycle>>, measures_start: bool) -> Described {
        let logs: Vec<PathBuf> = self.started.iter().map(|it| it.log.clone()).collect();
        let replicas: Vec<_> = (0..self.started.len()).map(|index| self.replica(index, with_logs)).collect();
        let mut sleep_cycles = sleep_cycles.into_iter();
        let starts = replicas.iter().zip(&logs).enumerate();
        let starts = starts.filter_map(|(index, (document, log))| {
            starts::read_start(index, document, log, None, sleep_cycles.next().unwrap_or_default(), measures_start)
        });
        let starts = starts.collect();
        let document = ManagedServerDocument {
            engine: self.server.engine,
            lifecycle: self.server.lifecycle,
            reused: self.reused,
            distribution: self.server.distribution,
            unknown_options: self.server.unknown_options.clone(),
            replicas,
            end: self.ended.as_ref().map(|it| it.leftovers.clone()),
            in_pods: false,
            notes: Vec::new(),
        };
        let finished = self.ended.as_ref().map(|_| self.log_folder.clone());
        Described { document, logs: if with_logs { logs } else { Vec::new() }, starts, finished }
    }

    /// A hint on how to read a replica's log, if the log format of its engine is known.
    fn reader(&self, exited: &Exited) -> String {
        let log = self.started.get(exited.replica).map(|it| it.log.display());
        match (self.server.engine.row().startup_log, log) {
            (Some(_), Some(log)) if !exited.is_of_keeper() => {
                format!("; `benchwright startup {log}` shows the steps of the start, and why it failed")
            }
            _ => String::new(),
        }
    }

    fn replica(&self, index: usize, with_logs: bool) -> ReplicaDocument {
        let started = &self.started[index];
        let death = self.death.get().filter(|it| it.replica == index && !it.is_of_keeper());
        let end: Option<&ReplicaEnd> = self.ended.as_ref().and_then(|it| it.replicas.get(index));
        let exit = death.as_ref().map(|it| it.exit).or(end.map(|it| it.exit));
        let since = |ready: &Timestamp| {
            let elapsed: SignedDuration = ready.duration_since(started.at);
            u64::try_from(elapsed.as_millis()).unwrap_or(0)
        };
        ReplicaDocument {
            url: format!("http://127.0.0.1:{}", started.port),
            command: self.commands.get(index).cloned().unwrap_or_default(),
            pid: started.pid,
            started: started.at,
            ready_ms: self.ready.get(index).map(since),
            exit: exit.map(|it| it.to_string()),
            died: death.is_some(),
            out_of_memory: death.as_ref().and_then(|it| it.out_of_memory.clone()),
            last_words: death.map(|it| it.last_words).unwrap_or_default(),
            requests: None,
            log: with_logs.then(|| report::server_log(index)),
            log_note: end.and_then(|it| log_note(&it.log)),
        }
    }
}

/// Ends the server, because it must not outlive a failed run. Processes that remain are reported.
impl Drop for Managed {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns a note if parts of a log are missing or hidden.
fn log_note(log: &LogEnd) -> Option<String> {
    let mut notes = Vec::new();
    if log.bytes_left_out > 0 {
        notes.push(format!("{} of {} bytes are left out", log.bytes_left_out, log.bytes));
    }
    if log.redacted_lines > 0 {
        notes.push(format!("in {} lines something that looks like a secret is replaced", log.redacted_lines));
    }
    notes.extend(log.error.clone());
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::configuration(format!(
            "this program does not find its own file, which must also watch the server: {error}; start this program by its path"
        ))
    })
}

/// Returns how to start each replica. Only the first replica is profiled: `profiler` contains the kind of profiler, and the folder for the traces.
fn replicas(
    server: &ManagedServer,
    ports: impl IntoIterator<Item = u16>,
    profiler: Option<(ProfilerKind, &Path)>,
    sleep_mode: bool,
) -> Result<Vec<ReplicaOrder>, Failure> {
    let program = own_program()?.display().to_string();
    if let Some((_, folder)) = profiler {
        fs::create_dir_all(folder).map_err(|error| {
            let shown = folder.display();
            Failure::configuration(format!("the folder of traces {shown} cannot be created: {error}; free space there"))
        })?;
    }
    let one = |(index, port): (u32, u16)| {
        let mut start = server.replica(index, port, &program);
        if let Some((kind, folder)) = profiler.filter(|_| index == 0) {
            start = start.profiled(server.engine, kind, &folder.to_string_lossy());
        }
        if sleep_mode {
            start = start.with_sleep_mode(server.engine);
        }
        ReplicaOrder { command: [start.command, start.args].concat(), env: start.env, port }
    };
    Ok((0..).zip(ports).map(one).collect())
}

fn commands_shown(replicas: &[ReplicaOrder]) -> Vec<Vec<String>> {
    replicas.iter().map(|it| managed_server::arguments(&it.command)).collect()
}

/// Returns the folder of the state files. Creates it if it does not exist.
fn prepared_folder() -> Result<PathBuf, Failure> {
    let folder = state::folder();
    state::make(&folder).map_err(|error| {
        let shown = folder.display();
        let remedy = format!("name another folder in {}", state::FOLDER_VARIABLE);
        Failure::configuration(format!(
            "the folder {shown}, which records running servers, cannot be created: {error}; {remedy}"
        ))
    })?;
    find::delete_old_logs(&folder);
    Ok(folder)
}

/// The folder with a server's logs while the server runs.
fn log_folder(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", find::LOGS))
}

impl Death {
    /// Creates a record of the first unexpected end of a replica. When it happens, the load is aborted, because its open requests will never be
    /// answered.
    fn new(stop: &Stop) -> Death {
        let stop = stop.clone();
        Death::telling(Arc::new(move || stop.abort(StopReason::TargetLost)))
    }

    /// Creates a record like [`Death::new`], for a server that another thread will watch. It shares the first unexpected end with this record.
    fn again(&self, stop: &Stop) -> Death {
        let stop = stop.clone();
        self.telling_too(Arc::new(move || stop.abort(StopReason::TargetLost)))
    }
}
