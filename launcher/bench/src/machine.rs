//! [I/O] Describes the machine that measures.

use std::{fs, thread};

use serde::Serialize;

use ::document::TOOL_VERSION;

/// The machine, and the build that ran on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Machine {
    /// The model of the processor, as the system reports it.
    pub(super) cpu: String,
    /// Number of cores that this process can use.
    pub(super) cores: usize,
    /// The release of the kernel.
    pub(super) kernel: String,
    /// The release of this program.
    pub(super) version: &'static str,
    /// `release` or `debug`. The figures of a debug build mean nothing.
    pub(super) build: &'static str,
}

impl Machine {
    /// Describes this machine.
    pub(super) fn detect() -> Machine {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let unknown = |text: Option<&str>| text.map_or("unknown", str::trim).to_owned();
        Machine {
            cpu: unknown(model(&read("/proc/cpuinfo"))),
            cores: thread::available_parallelism().map_or(1, usize::from),
            kernel: unknown(Some(read("/proc/sys/kernel/osrelease").as_str()).filter(|it| !it.is_empty())),
            version: TOOL_VERSION,
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
        }
    }
}

/// The model of the first processor.
fn model(cpuinfo: &str) -> Option<&str> {
    cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.trim_start().strip_prefix(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_tells_its_model() {
        assert_eq!(model("processor\t: 0\nmodel name\t: Fast 9000\n").map(str::trim), Some("Fast 9000"));
        assert_eq!(model("processor\t: 0\n"), None);
        assert!(Machine::detect().cores >= 1);
    }
}
