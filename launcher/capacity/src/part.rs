//! [I/O] What a child process does.

use std::io;

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{
    child_messages::Part,
    children::{self, json},
    engine_client,
    error::TrialError,
    server,
};
use engine::issue;

/// Does the part of a trial that this child process has. Returns the text that the child must print for its parent, or an empty text if the part
/// prints its output itself.
///
/// # Errors
/// The part cannot be parsed, or it failed. The child then prints nothing for its parent.
pub fn run_part(part: &str) -> Result<String, TrialError> {
    let part = crds::json::read(part).map_err(|error| children::unreadable_part(&error))?;
    do_part(part)
}

/// Like [`run_part`], for a part that is already parsed.
///
/// # Errors
/// The part failed.
pub fn do_part(part: Part) -> Result<String, TrialError> {
    let core = match &part {
        Part::Server(spec) => spec.core,
        Part::Engine(spec) => spec.core,
    };
    prepare_process(core)?;
    match part {
        Part::Server(spec) => Ok(server::serve(&spec).map(|()| String::new())?),
        Part::Engine(spec) => json(&engine_client::run(&spec)?),
    }
}

/// Pins this thread, and all threads that it will start, to `core` if that is given. Also raises the limit of open files.
///
/// # Errors
/// The system refuses the core.
pub fn prepare_process(core: Option<usize>) -> io::Result<()> {
    core.map_or(Ok(()), keep_to_core)?;
    issue::raise_file_limit();
    Ok(())
}

/// Pins this thread, and all threads that it will start, to one core.
///
/// # Errors
/// The system refuses the core.
pub fn keep_to_core(core: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}
