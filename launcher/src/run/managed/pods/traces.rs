//! [I/O] Copies the profiler traces from a server's pods into the results folder.

use std::{
    fs,
    net::IpAddr,
    path::{Component, Path},
    time::Duration,
};

use clock::Clock;
use crds::{resolve::ResolvedRun, units::Span};
use engine::client::Resolver;
use managed_server::wrapper::Trace;
use tracing::info;

use super::{
    asked::{Asked, Pod, token},
    blocking,
};

/// Maximum total size of all traces, in bytes.
const MAX_TRACES: u64 = 1 << 30;
/// How often to check whether a trace still grows.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Number of checks without a change after which a trace is complete.
const QUIET_LOOKS: u32 = 3;
/// Timeout for listing traces.
const LIST: Duration = Duration::from_secs(10);

/// Copies profiler traces into a folder. Returns remarks for the user. `settles` is how long a trace can still grow. `limit` is the timeout of the
/// whole operation.
pub(in crate::run) fn fetch(
    run: &ResolvedRun,
    resolver: &Resolver,
    folder: &Path,
    settles: Duration,
    limit: Duration,
) -> Vec<String> {
    let mut remarks = Vec::new();
    let Some(about) = run.server.as_ref() else { return remarks };
    let Some(address) = about.log.as_ref() else { return remarks };
    let asked = Asked { address, known: None, replicas: about.server.replicas, token: token() };
    let copied = blocking(async {
        let late = |_| Err(format!("no answer within {}", Span(limit)));
        let copied = copy(asked, resolver, folder, settles, &mut remarks);
        clock::limit(limit, copied).await.unwrap_or_else(late)
    });
    if let Err(why) = copied.flatten() {
        remarks.push(format!("the trace was not collected completely: {why}"));
    }
    remarks
}

pub(super) async fn copy(
    asked: Asked<'_>,
    resolver: &Resolver,
    folder: &Path,
    settles: Duration,
    remarks: &mut Vec<String>,
) -> Result<(), String> {
    let pods = asked.pods(resolver).await?;
    remarks.extend(asked.missing(pods.len(), "their traces were looked for"));
    let mut traces = Vec::new();
    for (pod, list) in pods.iter().zip(settled(&pods, settles).await) {
        match list {
            Ok(list) => traces.extend(list.into_iter().map(|it| (pod, it))),
            Err(why) => remarks.push(format!("the traces of the pod at {} were not collected: {why}", pod.ip)),
        }
    }
    let mut left = MAX_TRACES;
    for (pod, Trace { name, bytes }) in traces {
        let is_plain = Path::new(&name).components().all(|it| matches!(it, Component::Normal(_)));
        if bytes > left || !is_plain {
            let most = MAX_TRACES >> 30;
            remarks.push(format!(
                "{name} with {bytes} bytes was not collected: at most {most} GiB of traces are collected, and only files in their folder; the file stays in the pod while the pod exists"
            ));
            continue;
        }
        // The files of several pods can have the same names.
        let path = if pods.len() > 1 { folder.join(folder_name(pod.ip)).join(&name) } else { folder.join(&name) };
        let made = fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(|error| error.to_string());
        let saved = match made {
            Ok(()) => pod.save(&format!("traces/{name}"), &path, left).await,
            Err(error) => Err(error),
        };
        match saved {
            Ok(length) => {
                left -= length;
                info!(name, bytes = length, "a trace is collected");
                if length != bytes {
                    remarks.push(format!(
                        "{name} grew from {bytes} to {length} bytes while it was collected, and may be incomplete; the file stays in the pod while the pod exists"
                    ));
                }
            }
            Err(why) => {
                let _ = fs::remove_file(&path);
                remarks.push(format!("{name} was not collected: {why}"));
            }
        }
    }
    Ok(())
}

/// Returns the traces of each pod when they have stopped growing, because a profiler can still write them after it has confirmed the stop.
async fn settled(pods: &[Pod], settles: Duration) -> Vec<Result<Vec<Trace>, String>> {
    let clock = Clock::start();
    let mut before = Vec::new();
    let mut quiet = 0;
    loop {
        let mut now = Vec::new();
        for pod in pods {
            let late = |_| Err(format!("no answer within {}", Span(LIST)));
            now.push(clock::limit(LIST, pod.json::<Vec<Trace>>("traces")).await.unwrap_or_else(late));
        }
        let is_there = now.iter().flatten().any(|it| !it.is_empty());
        quiet = if is_there && before == now { quiet + 1 } else { 0 };
        if quiet >= QUIET_LOOKS || clock.now() >= settles {
            return now;
        }
        before = now;
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The name of a pod's folder. It has no colons, which some systems do not allow.
fn folder_name(ip: IpAddr) -> String {
    ip.to_string().replace(':', "-")
}
