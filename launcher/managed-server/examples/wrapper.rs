//! The wrapper as a process, for tests: `wrapper PORT LOG TRACES READY_PORT COMMAND...`; READY_PORT 0: it is not asked.

#![expect(
    clippy::unwrap_used,
    reason = "tests alone start this program; what they order wrongly is a fault of the test"
)]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use managed_server::wrapper::{ReadyPath, WrapOrder, wrap};
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, log, traces, ready, command @ ..] = arguments.as_slice() else {
        panic!("PORT LOG TRACES READY_PORT COMMAND... are asked for, and not {arguments:?}")
    };
    let ready = Some(ready.parse().unwrap()).filter(|it| *it != 0);
    ExitCode::from(wrap(WrapOrder {
        command: command.to_vec(),
        log: log.into(),
        traces: Some(traces.into()),
        port: port.parse().unwrap(),
        ready: ready.map(|port| ReadyPath { port, path: "/health".into() }),
    }))
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
