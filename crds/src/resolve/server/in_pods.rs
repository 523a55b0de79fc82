//! The data that the launcher needs about a server that the operator started in pods.

use serde::{Deserialize, Serialize};

use super::{
    ManagedServer, Place, PodTimes, ReplicaStart,
    check::resolve_server,
    cluster::{ServerNames, host},
    starter::managed_server,
};
use crate::{
    benchmark_run::{BenchmarkRunSpec, Lifecycle, ProfilerKind, Server},
    resolve::{RunIdentity, Settings, effective, mounts},
};

/// The port on which a server's pods serve their log and their traces, unless the server itself uses this port.
pub const LOG_PORT: u16 = 8099;

/// The environment variable with the bearer token for [`LOG_PORT`]. The operator sets it for the server and for the launchers that use the server.
/// The token is in no file, so it cannot get into the results.
pub const LOG_TOKEN: &str = "BENCHWRIGHT_LOG_TOKEN";

/// The path of Benchwright's program in its own image.
pub const OWN_PROGRAM: &str = "/benchwright";

/// A server that the operator started for the run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerInPods {
    /// The server that was started.
    pub server: ManagedServer,
    /// The address of its pods' logs. It is absent if no log is kept.
    pub log: Option<LogAddress>,
    /// When its pods were created and started. It is absent if it is not known yet.
    pub pods: Option<PodTimes>,
    /// Whether the run measures the server's sleep mode. If the engine's sleep mode is known, the server is started with it and with its endpoints.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sleep_mode: bool,
}

/// The address at which a server's pods serve their logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogAddress {
    /// A host name that resolves to the addresses of all pods.
    pub host: String,
    /// The port of the logs.
    pub port: u16,
}

impl ManagedServer {
    /// The command of a pod's container, without the wrapper. `profiler` is the profiler that the run requests; it is only used if the wrapper serves
    /// the traces. `sleep_mode` states whether the run measures the server's sleep mode.
    pub fn in_pod(&self, port: u16, profiler: Option<ProfilerKind>, sleep_mode: bool) -> ReplicaStart {
        let mut start = self.replica(0, port, OWN_PROGRAM);
        if sleep_mode {
            start = start.with_sleep_mode(self.engine);
        }
        match profiler.filter(|_| self.can_be_profiled()) {
            Some(kind) => start.profiled(self.engine, kind, mounts::SERVER_TRACES),
            None => start,
        }
    }

    /// Whether the operator can start the server with a profiler. A shared server is excluded, because other runs would use it with the profiler as
    /// well.
    pub fn can_be_profiled(&self) -> bool {
        self.lifecycle != Lifecycle::Reuse
    }
}

/// The port on which a server's pods serve their log. `None` if no log is kept.
pub fn log_port(server: &Server) -> Option<u16> {
    let effective::Server { port, wrapper, .. } = effective::server(server);
    wrapper.then_some(if port == LOG_PORT { LOG_PORT + 1 } else { LOG_PORT })
}

/// The server of a run in a cluster. `None` if the run has another target.
pub(in crate::resolve) fn in_pods(
    run: &RunIdentity,
    spec: &BenchmarkRunSpec,
    settings: &Settings,
) -> Option<Box<ServerInPods>> {
    let server = managed_server(spec).filter(|_| !run.namespace.is_empty())?;
    let names = ServerNames::new(run, server, settings);
    // With a single pod, the Service that receives the load also leads to this pod.
    let service = if effective::server(server).replicas > 1 { names.pods } else { names.server };
    let log = log_port(server).map(|port| LogAddress { host: host(&service, &run.namespace, settings), port });
    // Errors in the description of the server are ignored here, because resolving the endpoint reports the same errors.
    let server = resolve_server(server, Place::Cluster).ok()?;
    Some(Box::new(ServerInPods { server, log, pods: None, sleep_mode: false }))
}
