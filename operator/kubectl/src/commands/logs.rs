//! [I/O] `logs`: the log of a launcher.

use std::io;

use clap::Args;
use futures::AsyncReadExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::LogParams};
use tokio::time::timeout;

use super::get;
use crate::{
    connection::Connection,
    console,
    failure::{self, Failure, Right},
};

/// The name of the launcher's container.
const CONTAINER: &str = "launcher";
pub(crate) const READ_LOG: Right = Right::new("get", "", "pods/log", "view");
const CHUNK: usize = 16 * 1024;

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright logs first-run --follow")]
pub(crate) struct LogsArgs {
    /// The run
    name: String,
    /// Print new lines until the launcher ends
    #[arg(short, long)]
    follow: bool,
    /// Number of the attempt [default: the newest]
    #[arg(long, value_name = "NUMBER")]
    attempt: Option<u32>,
    /// Print only this number of lines, from the end of the log
    #[arg(long, value_name = "LINES")]
    tail: Option<i64>,
}

pub(crate) async fn run(args: &LogsArgs, connection: &Connection) -> Result<u8, Failure> {
    let run = get(connection, &args.name).await?;
    let name = &args.name;
    let attempts = run.status.map(|it| it.attempts).unwrap_or_default();
    let attempt = match args.attempt {
        None => attempts.last(),
        Some(number) => attempts.iter().find(|it| it.number == number),
    };
    let attempt = attempt.ok_or_else(|| match args.attempt {
        Some(number) => {
            let known: Vec<String> = attempts.iter().map(|it| it.number.to_string()).collect();
            Failure::error(format!("--attempt is {number}, which does not exist; {name} has {}", list(&known)))
        }
        None => Failure::error(format!(
            "{name} has no attempt yet, and so no launcher; `kubectl describe benchmarkrun {name}` says what it waits for"
        )),
    })?;
    if attempt.pod_name.is_empty() {
        return Err(Failure::error(format!(
            "attempt {} of {name} has no pod yet; try again when it runs",
            attempt.number
        )));
    }
    let pods: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let wanted = LogParams {
        container: Some(CONTAINER.into()),
        follow: args.follow,
        tail_lines: args.tail,
        ..LogParams::default()
    };
    let pod = &attempt.pod_name;
    let mut log = pods.log_stream(pod, &wanted).await.map_err(|error| match failure::code_of(&error) {
        Some(404) => Failure::error(format!(
            "pod {pod} of attempt {} is gone, and so is its log; read the report in the results folder instead",
            attempt.number
        )),
        _ => failure::refused(&error, READ_LOG, pod, &connection.namespace),
    })?;
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = log.read(&mut chunk);
        let read = match args.follow {
            true => read.await,
            // A followed log may stay silent for any time. Otherwise each read has a time limit, because the log already exists.
            false => timeout(connection.request_timeout, read).await.unwrap_or_else(|late| Err(late.into())),
        };
        match read {
            Ok(0) => return Ok(0),
            Ok(read) => match console::copy(&chunk[..read]) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
                Err(error) => return Err(Failure::error(format!("cannot write to stdout: {error}"))),
                Ok(()) => {}
            },
            Err(error) => return Err(Failure::error(format!("the log of {pod} broke off: {error}; try again"))),
        }
    }
}

fn list(known: &[String]) -> String {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    crds::wording::listed(&names)
}
