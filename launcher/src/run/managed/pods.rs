//! [I/O] A server that runs in pods, which the operator started: its logs, how it started, and the traces of a profiler, as the wrapper in
//! each pod gives them. What cannot be had is said in the report, and fails nothing.

use std::{
    fs::{self, File},
    io::Write,
    net::{IpAddr, SocketAddr},
    path::{Component, Path, PathBuf},
    time::Duration,
};

use crds::{
    resolve::{LogAddress, ResolvedRun, ServerInPods},
    units::Span,
};
use jiff::tz::{Offset, TimeZone};
use managed_server::{
    END_KEPT, START_KEPT,
    wrapper::{Trace, WrappedStart},
};
use reqwest::{Client, Response, Url};
use serde::de::DeserializeOwned;
use tracing::{info, warn};

use super::{Described, log_note, starts};
use crate::web_client;
use clock::Clock;
use engine::client::Resolver;
use report::{
    json::{ManagedServerDocument, ReplicaDocument},
    startup::{PodStart, ServerStart, SleepCycle},
};

/// The most logs that are read: each may have 52 MiB, and the folder of temporary files of a pod has a limit.
const MAX_LOGS: usize = 8;
/// The longest log, with what says how much of it is left out.
const MAX_LOG: u64 = START_KEPT + END_KEPT as u64 + (1 << 20);
/// The longest of the other answers.
const MAX_JSON: u64 = 1 << 20;
/// The most bytes of all traces together.
const MAX_TRACES: u64 = 1 << 30;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How often it is looked whether a trace still grows, and after how many looks without a change it does not.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const QUIET_LOOKS: u32 = 3;
/// How long a list of traces may take.
const LIST: Duration = Duration::from_secs(10);

/// A pod, by its own address.
struct Pod {
    ip: IpAddr,
    base: Url,
    client: Client,
}

/// What is known of each pod apart, in the order of their addresses.
pub(in crate::run) struct ByReplica<'a> {
    /// The addresses that the load went to; `None`: it went to one name for all pods, or there is one pod.
    pub(in crate::run) addresses: Option<Vec<IpAddr>>,
    /// The requests that each got; empty: it is not known.
    pub(in crate::run) requests: &'a [u64],
    /// The sleeps of each; empty: there were none.
    pub(in crate::run) sleep_cycles: Vec<Vec<SleepCycle>>,
}

/// What a pod gave of its server.
struct Found {
    /// Its place among the addresses of all pods, of which some may have given nothing.
    place: usize,
    ip: IpAddr,
    start: WrappedStart,
    log: PathBuf,
}

impl ByReplica<'_> {
    fn requests(&self, pod: &Found) -> Option<u64> {
        self.requests.get(pod.place).filter(|_| self.addresses.is_some()).copied()
    }

    fn slept(&self, pod: &Found, is_single: bool) -> Vec<SleepCycle> {
        // Without the addresses of the load it is not known which of several pods slept.
        let is_known = is_single || self.addresses.is_some();
        self.sleep_cycles.get(pod.place).filter(|_| is_known).cloned().unwrap_or_default()
    }
}

/// What the report says of a server in pods; `None`: the run has none. `limit`: how long its pods may take to answer.
pub(in crate::run) fn describe(
    run: &ResolvedRun,
    resolver: &Resolver,
    limit: Duration,
    by_replica: ByReplica<'_>,
) -> Option<Described> {
    let about = run.server.as_deref()?;
    let mut notes = Vec::new();
    let mut found = Vec::new();
    let folder = std::env::temp_dir().join(format!("benchwright-server-logs-{}", std::process::id()));
    match &about.log {
        None => notes.push(
            "its log was not read, because nothing in its pods keeps it: target.server.wrapper is off, or engine Custom has no command"
                .to_owned(),
        ),
        Some(address) => {
            let read = fs::create_dir_all(&folder)
                .map_err(|error| format!("{} cannot be made: {error}", folder.display()))
                .and_then(|()| {
                    let known = by_replica.addresses.as_deref();
                    let asked = Asked { address, known, replicas: about.server.replicas };
                    blocking(read_logs(asked, resolver, &folder, limit, &mut found, &mut notes))?
                });
            if let Err(why) = read {
                notes.push(format!("its log was not read: {why}"));
            }
        }
    }
    let is_single = about.server.replicas == 1;
    for Found { ip, start, .. } in found.iter().filter(|it| it.start.starts > 1) {
        notes.push(format!(
            "the container of its pod at {ip} has started {} times; log and start are those of the last, and `kubectl logs --previous` has the output before",
            start.starts
        ));
    }
    let pod_start = |it: &Found| about.pods.filter(|_| is_single).map(|times| PodStart::new(times, it.start.ready));
    notes.extend(found.first().and_then(pod_start).and_then(|it| it.remark()));
    notes.iter().for_each(|it| warn!("the server: {it}"));
    let documents = found.iter().enumerate().map(|(index, it)| {
        let requests = by_replica.requests(it);
        ReplicaDocument { requests, ..replica(run, about, index, it) }
    });
    let documents: Vec<_> = documents.collect();
    let starts = found.iter().zip(&documents).enumerate().filter_map(|(index, (it, document))| {
        let start = start(index, document, it, by_replica.slept(it, is_single))?;
        // Of several pods the times of the last one are known, which may be any of them.
        Some(ServerStart { pod: pod_start(it), ..start })
    });
    Some(Described {
        starts: starts.collect(),
        document: ManagedServerDocument {
            engine: about.server.engine,
            lifecycle: about.server.lifecycle,
            reused: false,
            distribution: about.server.distribution,
            unknown_options: about.server.unknown_options.clone(),
            replicas: documents,
            end: None,
            in_pods: true,
            notes,
        },
        logs: found.into_iter().map(|it| it.log).collect(),
        finished: folder.is_dir().then_some(folder),
    })
}

fn replica(run: &ResolvedRun, about: &ServerInPods, index: usize, Found { ip, start, .. }: &Found) -> ReplicaDocument {
    let port = about.server.port.unwrap_or_default();
    let url = match about.server.replicas {
        1 => run.endpoint.name().to_owned(),
        _ => format!("http://{}", SocketAddr::new(*ip, port)),
    };
    let command = about.server.in_pod(port, run.profiling.as_ref().map(|it| it.kind));
    ReplicaDocument {
        url,
        command: managed_server::arguments(&[command.command, command.args].concat()),
        pid: start.pid,
        started: start.started,
        ready_ms: start.ready_ms,
        requests: None,
        exit: None,
        died: false,
        out_of_memory: None,
        last_words: Vec::new(),
        log: Some(report::server_log(index)),
        log_note: log_note(&start.log),
    }
}

/// The log has the clock and the zone of its pod.
fn start(
    index: usize,
    document: &ReplicaDocument,
    Found { start, log, .. }: &Found,
    sleep_cycles: Vec<SleepCycle>,
) -> Option<ServerStart> {
    let zone = Offset::from_seconds(start.utc_offset_seconds).map_or(TimeZone::UTC, TimeZone::fixed);
    starts::of(index, document, log, Some(&start.now.to_zoned(zone)), sleep_cycles)
}

/// Which pods are asked.
struct Asked<'a> {
    address: &'a LogAddress,
    /// Their addresses; `None`: the DNS of the cluster is asked for them.
    known: Option<&'a [IpAddr]>,
    /// How many there should be.
    replicas: u32,
}

async fn read_logs(
    asked: Asked<'_>,
    resolver: &Resolver,
    folder: &Path,
    limit: Duration,
    found: &mut Vec<Found>,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let clock = Clock::start();
    let late = |_| format!("no answer within {}", Span(limit));
    let mut pods = clock.within(Some(limit), pods(&asked, resolver)).await.map_err(late)??;
    notes.extend(asked.missing(pods.len(), "their logs were read"));
    if pods.len() > MAX_LOGS {
        notes.push(format!("the logs of {MAX_LOGS} of its {} pods were read, which is the most", pods.len()));
        pods.truncate(MAX_LOGS);
    }
    for (place, pod) in pods.iter().enumerate() {
        let log = folder.join(format!("{place}.log"));
        let read = async {
            let start: WrappedStart = pod.json("start").await?;
            pod.save("log", &log, MAX_LOG).await?;
            Ok::<_, String>(start)
        };
        match clock.within(Some(limit), read).await.map_err(late).flatten() {
            Ok(start) => found.push(Found { place, ip: pod.ip, start, log }),
            Err(why) => notes.push(format!(
                "the log of its pod at {} was not read: {why}; `kubectl logs` has it while the pod exists",
                pod.ip
            )),
        }
    }
    Ok(())
}

/// Copies the traces of a profiler into a folder. Returns what a person should know of it. `settles`: how long a trace may still grow;
/// `limit`: how long all of it may take.
pub(in crate::run) fn fetch_traces(
    run: &ResolvedRun,
    resolver: &Resolver,
    folder: &Path,
    settles: Duration,
    limit: Duration,
) -> Vec<String> {
    let mut remarks = Vec::new();
    let Some(about) = run.server.as_ref() else { return remarks };
    let Some(address) = about.log.as_ref() else { return remarks };
    let asked = Asked { address, known: None, replicas: about.server.replicas };
    let copied = blocking(async {
        let late = |_| Err(format!("no answer within {}", Span(limit)));
        let copied = copy_traces(asked, resolver, folder, settles, &mut remarks);
        clock::limit(limit, copied).await.unwrap_or_else(late)
    });
    if let Err(why) = copied.flatten() {
        remarks.push(format!("the trace was not collected whole: {why}"));
    }
    remarks
}

async fn copy_traces(
    asked: Asked<'_>,
    resolver: &Resolver,
    folder: &Path,
    settles: Duration,
    remarks: &mut Vec<String>,
) -> Result<(), String> {
    let pods = pods(&asked, resolver).await?;
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
                "{name} with {bytes} bytes was not collected: {most} GiB of traces are, and names within their folder; it is in the pod while that exists"
            ));
            continue;
        }
        // Files of several pods may have one name.
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
                        "{name} grew from {bytes} to {length} bytes while it was collected, and may not be whole; it is in the pod while that exists"
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

/// The traces of each pod, when they grow no more: a profiler may write them after it has answered its stop.
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

/// What the folder of a pod is called, in which colons would be refused elsewhere.
fn folder_name(ip: IpAddr) -> String {
    ip.to_string().replace(':', "-")
}

fn blocking<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map(|it| it.block_on(work)).map_err(|error| error.to_string())
}

impl Asked<'_> {
    /// What is said where the DNS does not have all pods. `what`: what was done with those that it has.
    fn missing(&self, found: usize, what: &str) -> Option<String> {
        let Asked { address, replicas, .. } = self;
        let host = &address.host;
        (found < *replicas as usize).then(|| {
            format!(
                "{host} has the addresses of {found} of {replicas} pods, and {what}; `kubectl logs` has those of the others while their pods exist"
            )
        })
    }
}

/// The pods that are asked, each with a client of its own, in the order of their addresses.
async fn pods(asked: &Asked<'_>, resolver: &Resolver) -> Result<Vec<Pod>, String> {
    let LogAddress { host, port } = asked.address;
    let mut found: Vec<SocketAddr> = match asked.known {
        Some(known) => known.iter().map(|it| SocketAddr::new(*it, *port)).collect(),
        None => resolver.addresses(host, *port).await.map_err(|error| format!("{host} {error}"))?,
    };
    found.sort();
    found.dedup();
    let base = Url::parse(&format!("http://{host}:{port}/")).map_err(|error| format!("{host}: {error}"))?;
    let pod = |it: SocketAddr| {
        let client = web_client::builder(resolver)?.resolve(host, it).connect_timeout(CONNECT);
        let client = client.redirect(reqwest::redirect::Policy::none()).build().map_err(|error| error.to_string())?;
        Ok(Pod { ip: it.ip(), base: base.clone(), client })
    };
    found.into_iter().map(pod).collect()
}

impl Pod {
    async fn get(&self, path: &str) -> Result<Response, String> {
        let mut url = self.base.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.clear().extend(path.split('/'));
        }
        let response = self.client.get(url).send().await.map_err(in_words)?;
        response.error_for_status().map_err(in_words)
    }

    async fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T, String> {
        let mut body = Vec::new();
        read(self.get(path).await?, MAX_JSON, &mut body).await?;
        serde_json::from_slice(&body).map_err(|error| format!("/{path} is not as expected: {error}"))
    }

    async fn save(&self, path: &str, to: &Path, most: u64) -> Result<u64, String> {
        let response = self.get(path).await?;
        let mut file = File::create(to).map_err(|error| error.to_string())?;
        read(response, most, &mut file).await
    }
}

async fn read(mut response: Response, most: u64, to: &mut impl Write) -> Result<u64, String> {
    let mut length = 0;
    while let Some(part) = response.chunk().await.map_err(in_words)? {
        length += part.len() as u64;
        if length > most {
            return Err(format!("it has more than {most} bytes"));
        }
        to.write_all(&part).map_err(|error| error.to_string())?;
    }
    Ok(length)
}

fn in_words(error: reqwest::Error) -> String {
    crds::wording::with_causes(&error.without_url())
}

#[cfg(test)]
mod tests;
