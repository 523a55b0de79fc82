//! [I/O] The commands of `benchwright server`, which manage one server for several runs.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use crds::{
    ExitCode,
    benchmark_run::Lifecycle,
    resolve::{Endpoint, ManagedServer},
    units::Span,
};
use managed_server::{state, state::State, sweep};
use tracing::{info, warn};

use super::{Managed, find};
use crate::{
    console,
    input::{self, Input, LocalOptions},
    run::{
        Failure, egress, ready,
        server_extras::Extras,
        signals::{self, Ended},
    },
};
use engine::stop::Stop;

/// Starts the server of a file, waits until it is ready, and leaves it running. Returns the exit code. If the server is not ready in time, or a
/// signal ends the wait, the exit code is the same as for a run.
///
/// # Errors
/// The file cannot be used.
pub fn start(file: &Path) -> anyhow::Result<u8> {
    let (input, server) = of_file(file)?;
    let done = runs_already(file, &server).and_then(|()| {
        let lasting = ManagedServer { lifecycle: Lifecycle::Keep, ..server };
        started(&input, &lasting, &Stop::default())
    });
    match done {
        Ok(started) => {
            let urls = started.urls().join(" ");
            let logs = started.log_folder.display();
            console::print(format!("the server is ready: {urls}\nlogs: {logs}\n"))?;
            Ok(0)
        }
        Err(failure) => {
            console::print_error(&failure.message);
            Ok(failure.exit.code())
        }
    }
}

/// Returns an error if a server with this description is already running.
fn runs_already(file: &Path, server: &ManagedServer) -> Result<(), Failure> {
    let Some(running) = find::running(&state::folder(), &find::key(server)) else { return Ok(()) };
    let State { name, since, .. } = running;
    let file = file.display();
    let how = match server.lifecycle {
        Lifecycle::Reuse => String::new(),
        Lifecycle::PerRun | Lifecycle::Keep => format!("set lifecycle: Reuse in {file}, and "),
    };
    Err(Failure::configuration(format!(
        "spec.target.server: this server runs already, {name} since {since}; {how}`benchwright run -f {file}` measures it; \
         `benchwright server stop {name}` ends it"
    )))
}

fn started(input: &Input, server: &ManagedServer, stop: &Stop) -> Result<Managed, Failure> {
    signals::listen(stop, input.run.grace_period.0, Ended::ServerStart)?;
    let resolver = egress::resolver(&input.run)?;
    let secrets = ready::Secrets::read(&input.run)?;
    let mut managed = Managed::of_run(server, &input.run, &Extras::default(), stop)?;
    let logs = managed.log_folder.display().to_string();
    let all = ready::wait(input, &secrets, &managed.urls(), &resolver, stop, Some(&managed.log_folder)).map_err(
        |failure| {
            let failure = match managed.death.get() {
                Some(exited) => Failure::target(exited.message()),
                None if failure.exit == ExitCode::Cancelled => Failure::cancelled_in_start(),
                None => failure,
            };
            failure.followed_by(&format!("\nthe log of the server is in {logs}"))
        },
    )?;
    managed.ready(&all.at, stop)?;
    Ok(managed)
}

/// Ends servers: the server of a file, the server with a name, or, if neither is given, all servers that were not started for a single run. `force`
/// includes the servers of single runs. Returns whether all of them have ended completely.
///
/// # Errors
/// The file cannot be used, or a state file cannot be read, so that an unknown server can still be running.
pub fn stop(file: Option<&Path>, name: Option<&str>, force: bool) -> anyhow::Result<bool> {
    let folder = state::folder();
    let mut chosen = chosen(&folder, file, name)?;
    let found = chosen.len();
    if file.is_none() && name.is_none() && !force {
        for of_run in chosen.extract_if(.., |it| !it.lasting && it.is_kept()) {
            console::print(format!(
                "{}: still in use by a run; add --force to end the server and the run\n",
                of_run.name
            ))?;
        }
    }
    if chosen.is_empty() {
        refuse_unreadable(&folder)?;
        let none = match (file, name) {
            (Some(file), _) => format!(
                "the server of {} does not run, or the file was changed since the server started",
                file.display()
            ),
            (None, Some(name)) => format!("no server {name} runs; `benchwright server status` lists those that do"),
            (None, None) if found > 0 => "no other server runs".to_owned(),
            (None, None) => "no server runs".to_owned(),
        };
        console::print(none + "\n")?;
        return Ok(true);
    }
    let mut nothing_left = true;
    for it in chosen {
        let grace = Span(Duration::from_millis(it.grace_ms));
        info!(server = it.name, "the server is being ended; it has {grace} before it is killed");
        let ended = sweep(&it, &folder)?;
        let mut line = format!("{}: ended\n", it.name);
        for note in ended.leftovers.notes() {
            line.push_str(&format!("  {note}\n"));
        }
        nothing_left &= ended.leftovers.remains.is_empty();
        console::print(line)?;
    }
    if file.is_none() && name.is_none() {
        refuse_unreadable(&folder)?;
    }
    Ok(nothing_left)
}

/// Returns an error if a state file cannot be read, because its server can still be running.
fn refuse_unreadable(folder: &Path) -> anyhow::Result<()> {
    let unreadable = state::unreadable(folder);
    let shown = |(path, error): &(PathBuf, io::Error)| format!("cannot read {}: {error}", path.display());
    let shown: Vec<String> = unreadable.iter().map(shown).collect();
    anyhow::ensure!(
        shown.is_empty(),
        "{}; the servers that these files describe may still run: end their processes, then remove the files",
        shown.join("; ")
    );
    Ok(())
}

/// The key of the server of a run; `None` if the run has no managed server. Runs whose servers have the same start configuration have equal keys.
pub fn key(input: &Input) -> Option<String> {
    let Endpoint::Server(server) = &input.run.endpoint else { return None };
    Some(find::key(server))
}

/// Whether a server with this key is running and outlives its run.
pub fn runs(key: &str) -> bool {
    find::running(&state::folder(), key).is_some()
}

/// Ends the servers with this key that outlive their runs. Problems are logged.
pub fn end(key: &str) {
    let folder = state::folder();
    for server in state::all(&folder).into_iter().filter(|it| it.key == key && it.lasting) {
        info!(server = server.name, "the server is being ended");
        match sweep(&server, &folder) {
            Ok(ended) => ended.leftovers.notes().iter().for_each(|it| warn!(server = server.name, "{it}")),
            Err(error) => warn!(server = server.name, %error, "the server could not be ended"),
        }
    }
}

/// Prints the servers. Returns whether there is any.
///
/// # Errors
/// The file cannot be used.
pub fn status(file: Option<&Path>) -> anyhow::Result<bool> {
    let folder = state::folder();
    let chosen = chosen(&folder, file, None)?;
    for it in &chosen {
        console::print(described(it, &folder))?;
    }
    refuse_unreadable(&folder)?;
    if chosen.is_empty() {
        console::print("no server runs\n")?;
    }
    Ok(!chosen.is_empty())
}

fn described(it: &State, folder: &Path) -> String {
    let how = match (it.is_kept(), it.lasting) {
        (true, true) => "runs until it is stopped".to_owned(),
        (true, false) => "runs until its run ends".to_owned(),
        (false, _) => match it.processes() {
            none if none.is_empty() => "is gone; the process that watched it was killed".to_owned(),
            left => {
                format!("the process that watched it was killed, and these processes are left: {}", left.join(", "))
            }
        },
    };
    let mut text =
        format!("{}: {how}, since {}; logs: {}\n", it.name, it.since, super::log_folder(folder, &it.name).display());
    for (replica, runs) in it.replicas.iter().zip(it.runs()) {
        let state = if runs { "runs" } else { "has ended" };
        text.push_str(&format!("  http://127.0.0.1:{}, process {}, {state}\n", replica.port, replica.pid));
    }
    text
}

fn chosen(folder: &Path, file: Option<&Path>, name: Option<&str>) -> anyhow::Result<Vec<State>> {
    let key = file.map(|it| of_file(it).map(|(_, server)| find::key(&server))).transpose()?;
    let wanted = |it: &State| key.as_ref().is_none_or(|key| it.key == *key) && name.is_none_or(|name| it.name == name);
    Ok(state::all(folder).into_iter().filter(wanted).collect())
}

fn of_file(path: &Path) -> anyhow::Result<(Input, ManagedServer)> {
    let input = input::from_file(path, &LocalOptions::default())?;
    let Endpoint::Server(server) = &input.run.endpoint else {
        let shown = path.display();
        anyhow::bail!("{shown}: spec.target.server is not set; set it, because this command starts that server");
    };
    let server = ManagedServer::clone(server);
    Ok((input, server))
}
