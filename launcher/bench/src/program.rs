//! [I/O] Runs the launcher as a user does.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use super::BenchError;

/// The name of the launcher's binary.
const NAME: &str = "benchwright";
/// Time between two checks whether the program has ended.
const POLL: Duration = Duration::from_millis(1);

/// A child process that is killed when this value is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // The process might have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The path of the launcher's binary in the folder of this program.
///
/// # Errors
/// The system does not report the path of this program.
pub(super) fn beside() -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(NAME))
}

/// Checks that a program exists.
///
/// # Errors
/// The path is not a file.
pub(super) fn check(program: &Path) -> Result<(), BenchError> {
    if program.is_file() { Ok(()) } else { Err(BenchError::NoProgram(program.to_owned())) }
}

/// Runs a program until it ends. It is killed after `limit`.
///
/// # Errors
/// The program cannot be started, fails, or does not end in time.
pub(super) fn run(program: &Path, arguments: &[&str], limit: Duration) -> Result<(), BenchError> {
    let mut command = Command::new(program);
    command.args(arguments).env("BENCHWRIGHT_LOG", "warn").stdin(Stdio::null()).stdout(Stdio::null());
    let end = clock::monotonic() + limit;
    let mut process = Process(command.spawn()?);
    let name = || format!("{} {arguments:?}", program.display());
    loop {
        match process.0.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(BenchError::Program(format!("{} ended with {status}", name()))),
            None if clock::monotonic() >= end => {
                let text = format!("{} was killed after {limit:?}; measure again while the machine is at rest", name());
                return Err(BenchError::Program(text));
            }
            None => thread::sleep(POLL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_script(script: &str, limit: Duration) -> Result<(), String> {
        run(Path::new("/bin/sh"), &["-c", script], limit).map_err(|error| error.to_string())
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(50));
        assert_eq!(check_script("echo one; echo two", long), Ok(()));
        assert!(check_script("exit 3", long).unwrap_err().contains("ended with exit status: 3"));
        assert!(check_script("exec sleep 600", short).unwrap_err().contains("was killed after 50ms"));
    }

    #[test]
    fn a_program_that_is_not_there_has_a_remedy() {
        let error = check(Path::new("/nowhere/benchwright")).unwrap_err().to_string();
        assert_eq!(
            error,
            "/nowhere/benchwright is no file; build it with `cargo build --release -p launcher`, or name it with --program"
        );
    }
}
