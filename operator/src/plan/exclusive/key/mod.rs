//! The key of a target. Runs with the same key load the same server.

use std::{fmt, net::IpAddr};

use crds::{
    BenchmarkRun, BenchmarkRunSpec, ResolvedRun, Settings,
    benchmark_run::{ServiceRef, Target as TargetSpec},
    hex,
    resolve::Endpoint,
};
use kube::ResourceExt as _;
use policy::Server;
use sha2::{Digest as _, Sha256};

/// Number of hash bytes in a key. It is large enough that no two targets in a cluster share a key, and small enough for a label.
const BYTES: usize = 10;

/// A short hash of the host and port of a target. All names of a target have the same hash. It prints as 20 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetKey([u8; BYTES]);

/// The target of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The key of the target's server.
    pub key: TargetKey,
    /// Whether runs of other namespaces count. Runs in different namespaces wait for each other only if this is set for both. For a server outside of
    /// the cluster, which may serve many users, only `target.exclusive: true` in the spec sets it.
    pub is_cluster_wide: bool,
}

impl Target {
    /// The target that an attempt loads. `None` if the attempt sends no load.
    pub fn of_input(spec: &BenchmarkRunSpec, run: &ResolvedRun, settings: &Settings) -> Option<Self> {
        if run.collect.is_some() {
            return None;
        }
        Target::of_endpoint(&run.endpoint, &run.run.namespace, asks_cluster_wide(&spec.target), settings)
    }

    /// The target behind an endpoint. `None` for a simulator, which runs inside the launcher. `asks_cluster_wide` states whether runs of all
    /// namespaces wait for each other even if the server is outside of the cluster.
    fn of_endpoint(endpoint: &Endpoint, namespace: &str, asks_cluster_wide: bool, settings: &Settings) -> Option<Self> {
        match endpoint {
            Endpoint::Url(url) => of_url(url, namespace, asks_cluster_wide, settings),
            Endpoint::Simulator(_) | Endpoint::Server(_) => None,
        }
    }

    /// The key of a run's target. It derives from the spec, or, if the spec names a Gateway, from the status. `None` for a simulator, for a Gateway
    /// whose URL is not in the status yet, and for a run that sends no load.
    pub fn of_run(run: &BenchmarkRun, settings: &Settings) -> Option<Self> {
        let namespace = run.namespace().unwrap_or_default();
        let target = &run.spec.target;
        if run.spec.execution.collect.is_some() {
            return None;
        }
        if let Some(service) = &target.service_ref {
            return Some(Target { key: of_service(service, &namespace, settings), is_cluster_wide: true });
        }
        // The URL of a Gateway or of a managed server is not in the spec, but in the status.
        let is_found = target.gateway_ref.is_some() || target.server.is_some();
        let found = || Some(run.status.as_ref()?.resolved.as_ref()?.endpoint.as_str());
        let url = target.url.as_deref().or_else(|| found().filter(|_| is_found))?;
        of_url(url, &namespace, asks_cluster_wide(target), settings)
    }
}

impl TargetKey {
    fn new(host: &str, port: u16) -> Self {
        let digest = Sha256::digest(format!("{host}:{port}"));
        let mut key = [0; BYTES];
        key.copy_from_slice(&digest[..BYTES]);
        TargetKey(key)
    }
}

impl fmt::Display for TargetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

fn of_service(service: &ServiceRef, namespace: &str, settings: &Settings) -> TargetKey {
    let host = host_name(&format!("{}.{namespace}.svc", service.name), namespace, &settings.service_domain);
    TargetKey::new(&host, service.port.unwrap_or(80))
}

/// Whether runs of all namespaces wait for each other regardless of the target's address. It is always so for a Gateway and a managed server, because
/// they are in the cluster even if their addresses are public.
fn asks_cluster_wide(target: &TargetSpec) -> bool {
    target.exclusive == Some(true) || target.gateway_ref.is_some() || target.server.is_some()
}

/// The target behind a URL. `None` if the text is not the URL of a server.
fn of_url(url: &str, namespace: &str, asks_cluster_wide: bool, settings: &Settings) -> Option<Target> {
    let server = Server::parse(url)?;
    let domain = settings.service_domain.trim_matches('.').to_ascii_lowercase();
    let (host, is_inside) = match server.address() {
        Some(address) => (address.to_string(), is_private(address)),
        None => {
            let host = host_name(&server.host, namespace, &settings.service_domain);
            // With two labels and port 443, a host such as `example.com` is a public name, and not the Service `example` in the namespace `com`.
            let is_public = server.host.split('.').count() == 2 && server.port == 443;
            let is_inside = !is_public && host.strip_suffix(&domain).is_some_and(|it| it.ends_with('.'));
            (host, is_inside)
        }
    };
    Some(Target { key: TargetKey::new(&host, server.port), is_cluster_wide: is_inside || asks_cluster_wide })
}

/// Whether an address can belong to the cluster: it is private, or local to the machine.
fn is_private(address: IpAddr) -> bool {
    match address {
        // 100.64.0.0/10 is the shared address range of RFC 6598, which cloud providers use for pods.
        IpAddr::V4(it) => {
            it.is_private()
                || it.is_loopback()
                || it.is_link_local()
                || (it.octets()[0] == 100 && it.octets()[1] & 0xc0 == 64)
        }
        IpAddr::V6(it) => it.is_unique_local() || it.is_loopback() || it.is_unicast_link_local(),
    }
}

/// The full name of a host. Like the resolver in a pod, it completes the short names of a Service: `name`, `name.namespace` and `name.namespace.svc`.
/// A public name with two labels is completed as well, which is harmless because it happens to every spelling of the name.
fn host_name(host: &str, namespace: &str, service_domain: &str) -> String {
    let host = host.to_ascii_lowercase();
    let domain = service_domain.trim_matches('.').to_ascii_lowercase();
    match host.split('.').count() {
        1 if host.is_empty() => host,
        1 => format!("{host}.{namespace}.{domain}"),
        2 => format!("{host}.{domain}"),
        _ => host.strip_suffix(".svc").map(|it| format!("{it}.{domain}")).unwrap_or(host),
    }
}

#[cfg(test)]
mod tests;
