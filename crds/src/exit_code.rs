//! The exit codes of the launcher's commands.

use crate::outcome::Outcome;

/// An exit code of a command of the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ExitCode {
    /// There is a result: Passed, SLOViolated, Inconclusive, or Invalid.
    Done = 0,
    /// The command failed for a reason that has no exit code of its own: the operating system refused threads, memory or files, the launcher has a
    /// bug, or `sut` could not answer all samples.
    Failed = 1,
    /// The configuration cannot be run.
    Configuration = 10,
    /// The target did not become ready.
    Target = 11,
    /// The results could not be stored.
    Storage = 12,
    /// A signal stopped the run.
    Cancelled = 20,
}

impl ExitCode {
    /// All exit codes.
    pub const ALL: [ExitCode; 6] = [
        ExitCode::Done,
        ExitCode::Failed,
        ExitCode::Configuration,
        ExitCode::Target,
        ExitCode::Storage,
        ExitCode::Cancelled,
    ];

    /// The exit code as a number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl Outcome {
    /// The exit code that reports this outcome to a CI pipeline.
    pub fn gate_code(self) -> u8 {
        match self {
            Outcome::Passed => 0,
            Outcome::SLOViolated => 1,
            Outcome::Invalid | Outcome::Inconclusive => 2,
            Outcome::Error => 3,
            Outcome::Cancelled => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_do_not_change() {
        assert_eq!(ExitCode::ALL.map(ExitCode::code), [0, 1, 10, 11, 12, 20]);
    }
}
