//! [I/O] The work of a child process.

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

/// Runs the part of a child process and returns the text that the child prints for its parent. The text is empty if the part prints its own output.
///
/// # Errors
/// The part cannot be read, or it failed. The child then prints nothing for its parent.
pub fn run_part(part: &str) -> Result<String, TrialError> {
    let part = crds::json::read(part).map_err(|error| children::unreadable_part(&error))?;
    do_part(part)
}

/// Runs a part that was already parsed; otherwise like [`run_part`].
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

/// Pins this thread and all threads that it will start to `core`, if given, and raises the limit of open files.
///
/// # Errors
/// The system refuses the core.
pub fn prepare_process(core: Option<usize>) -> io::Result<()> {
    core.map_or(Ok(()), keep_to_core)?;
    issue::raise_file_limit();
    Ok(())
}

/// Pins this thread and all threads that it will start to one core.
///
/// # Errors
/// The system refuses the core.
pub fn keep_to_core(core: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}
