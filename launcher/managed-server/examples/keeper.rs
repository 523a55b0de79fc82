//! Tests start this program instead of `benchwright`. It acts as the keeper of a server, or as a launcher that starts a server and waits until it is
//! killed.

use std::{env, fs, path::PathBuf, process::ExitCode, thread};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("server-keeper") => ExitCode::from(managed_server::keep()),
        Some("start-and-wait") => {
            let order = args.get(2).map(PathBuf::from).and_then(|it| fs::read(it).ok());
            let order = order.and_then(|it| serde_json::from_slice(&it).ok());
            let (Some(order), Ok(own)) = (order, env::current_exe()) else { return ExitCode::FAILURE };
            let Ok(_server) = managed_server::Server::start(&own, &order, |_| {}) else { return ExitCode::FAILURE };
            loop {
                thread::park();
            }
        }
        _ => ExitCode::FAILURE,
    }
}
