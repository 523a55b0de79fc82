//! [I/O] A server in pods that the operator started. Its logs, its start and its profiler traces come from the wrapper in each pod. Missing data is
//! noted in the report, and does not fail the run.

mod asked;
mod traces;

use std::{
    fs,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use crds::{
    benchmark_run::Harness,
    resolve::{ResolvedRun, ServerInPods},
    units::Span,
};
use jiff::tz::{Offset, TimeZone};
use managed_server::{END_KEPT, START_KEPT, wrapper::WrappedStart};
use tracing::warn;

use super::{Described, log_note, starts};
use asked::{Asked, token};
use clock::Clock;
use document::{ManagedServerDocument, PodStart, ReplicaDocument, ServerStart, SleepCycle};
use engine::client::Resolver;

pub(in crate::run) use traces::fetch as fetch_traces;

/// Maximum number of logs. Each can have 52 MiB, and the folder for temporary files in a pod is limited.
const MAX_LOGS: usize = 8;
/// Maximum size of a log in bytes, including the note about omitted parts.
const MAX_LOG: u64 = START_KEPT + END_KEPT as u64 + (1 << 20);

/// The data for each pod, sorted by the addresses of the pods.
pub(in crate::run) struct ByReplica<'a> {
    /// The addresses that received the load. `None` if it was sent to one name for all pods, or if there is one pod.
    pub(in crate::run) addresses: Option<Vec<IpAddr>>,
    /// The number of requests per pod. Empty if it is unknown.
    pub(in crate::run) requests: &'a [u64],
    /// The sleep measurements per pod. Empty if there were none.
    pub(in crate::run) sleep_cycles: Vec<Vec<SleepCycle>>,
}

/// What a pod returned about its server.
struct Found {
    /// The index of this pod among all pods, sorted by address. Pods that returned nothing are counted, too.
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
        // If it is unknown which addresses received the load, it is also unknown which of several pods slept.
        let is_known = is_single || self.addresses.is_some();
        self.sleep_cycles.get(pod.place).filter(|_| is_known).cloned().unwrap_or_default()
    }

    /// Returns the sleep measurements of pods that returned nothing about their start, with one entry per pod.
    fn slept_elsewhere(&self, found: &[Found]) -> Vec<ServerStart> {
        let is_missing = |place: &usize| !found.iter().any(|it| it.place == *place);
        let cycles = self.sleep_cycles.iter().enumerate();
        let missing = cycles.filter(|(place, cycles)| is_missing(place) && !cycles.is_empty());
        let start = |(index, (_, cycles)): (usize, (usize, &Vec<SleepCycle>))| ServerStart {
            server: (found.len() + index).to_string(),
            log: None,
            observed_ready_seconds: None,
            pod: None,
            startup: startup::Startup::default(),
            sleep_cycles: cycles.clone(),
        };
        missing.enumerate().map(start).collect()
    }
}

/// Returns the report data of a server in pods. `None` if the run has no such server. `limit` is how long the pods can take to respond.
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
            "its log was not read, because its pods do not keep it: target.server.wrapper is off, or engine Custom has no command"
                .to_owned(),
        ),
        Some(address) => {
            let read = fs::create_dir_all(&folder)
                .map_err(|error| format!("{} cannot be created: {error}", folder.display()))
                .and_then(|()| {
                    let known = by_replica.addresses.as_deref();
                    let asked = Asked { address, known, replicas: about.server.replicas, token: token() };
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
            "the container of its pod at {ip} has started {} times; the log and the start time are of the last start, and `kubectl logs --previous` has the output before",
            start.starts
        ));
    }
    let pod_start = |it: &Found| about.pods.filter(|_| is_single).map(|times| PodStart::new(times, it.start.ready));
    notes.extend(found.first().and_then(pod_start).and_then(|it| it.remark()));
    if about.sleep_mode && by_replica.sleep_cycles.iter().all(Vec::is_empty) {
        notes.push("its sleep and wake were not measured; the log of the launcher says why".to_owned());
    }
    notes.iter().for_each(|it| warn!("the server: {it}"));
    let documents = found.iter().enumerate().map(|(index, it)| {
        let requests = by_replica.requests(it);
        ReplicaDocument { requests, ..replica(run, about, index, it) }
    });
    let documents: Vec<_> = documents.collect();
    let mut starts: Vec<_> = found
        .iter()
        .zip(&documents)
        .enumerate()
        .filter_map(|(index, (it, document))| {
            let start = start(index, document, it, by_replica.slept(it, is_single), run.harness == Harness::Nop)?;
            // With several pods, only the times of one pod are known, but not which pod it is. So the times are omitted.
            Some(ServerStart { pod: pod_start(it), ..start })
        })
        .collect();
    starts.extend(by_replica.slept_elsewhere(&found));
    Some(Described {
        starts,
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
    let command = about.server.in_pod(port, run.profiling.as_ref().map(|it| it.kind), about.sleep_mode);
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

/// Reads how a server started. The log uses the clock and the time zone of its pod.
fn start(
    index: usize,
    document: &ReplicaDocument,
    Found { start, log, .. }: &Found,
    sleep_cycles: Vec<SleepCycle>,
    measures_start: bool,
) -> Option<ServerStart> {
    let zone = Offset::from_seconds(start.utc_offset_seconds).map_or(TimeZone::UTC, TimeZone::fixed);
    starts::read_start(index, document, log, Some(&start.now.to_zoned(zone)), sleep_cycles, measures_start)
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
    let mut pods = clock.within(Some(limit), asked.pods(resolver)).await.map_err(late)??;
    notes.extend(asked.missing(pods.len(), "their logs were read"));
    if pods.len() > MAX_LOGS {
        notes.push(format!("the logs of {MAX_LOGS} of its {} pods were read, which is the maximum", pods.len()));
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

fn blocking<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map(|it| it.block_on(work)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
