//! Runs the wrapper as a process, for tests: `wrapper PORT LOG TRACES READY_PORT COMMAND...`. With 0 as READY_PORT, readiness is not probed.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match order(&arguments) {
        Some(order) => ExitCode::from(managed_server::wrapper::wrap(order)),
        None => {
            eprintln!(
                "wrapper: {arguments:?} are not PORT LOG TRACES READY_PORT COMMAND...; write them so, with ports as numbers"
            );
            ExitCode::from(2)
        }
    }
}

/// Parses the arguments. `None` if they are invalid.
#[cfg(target_os = "linux")]
fn order(arguments: &[String]) -> Option<managed_server::wrapper::WrapOrder> {
    use managed_server::wrapper::{ReadyPath, WrapOrder};
    let [port, log, traces, ready, command @ ..] = arguments else { return None };
    let ready = Some(ready.parse().ok()?).filter(|it| *it != 0);
    Some(WrapOrder {
        command: command.to_vec(),
        log: log.into(),
        traces: Some(traces.into()),
        port: port.parse().ok()?,
        ready: ready.map(|port| ReadyPath { port, path: "/health".into() }),
    })
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
