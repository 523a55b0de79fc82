//! `release`: cancels the runs that occupy a target, so that the next run can start.

use std::net::IpAddr;

use clap::Args;
use crds::{
    BenchmarkRun,
    benchmark_run::{Cancel, GROUP},
    status::Phase,
    wording::one_line,
};
use http::Uri;
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
    core::DeserializeGuard,
};
use serde_json::json;

use crate::{
    connection::Connection,
    console,
    failure::{self, Failure, Right},
};

const LIST_RUNS: Right = Right::new("list", GROUP, "benchmarkruns", "view");
const CANCEL_RUN: Right = Right::new("patch", GROUP, "benchmarkruns", "edit");
/// Number of runs per page of a list request.
const PAGE: u32 = 100;

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright release http://gateway.llm-d.svc.cluster.local:80 --dry-run")]
pub(crate) struct ReleaseArgs {
    /// The target, as the message of a waiting run shows it, such as http://gateway.llm-d.svc.cluster.local:80
    target: String,
    /// Keep the figures measured so far: requests in flight may end within the grace period
    #[arg(long)]
    graceful: bool,
    /// Print which runs would be cancelled, but cancel none
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(args: &ReleaseArgs, connection: &Connection) -> Result<u8, Failure> {
    let server = Server::parse(&args.target).ok_or_else(|| {
        Failure::error(format!(
            "TARGET is {:?}; write the URL of a server, such as http://gateway.llm-d:80",
            args.target
        ))
    })?;
    let mut all = list(connection).await?;
    if !server.is_inside() {
        // A target outside of the cluster counts separately in each namespace, so only runs of this namespace can occupy it.
        all.retain(|it| it.namespace().as_deref() == Some(&connection.namespace));
    }
    let of_target = |it: &&BenchmarkRun| {
        let endpoint = it.status.as_ref().and_then(|it| it.resolved.as_ref()).map(|it| it.endpoint.as_str());
        !it.is_finished() && endpoint.and_then(Server::parse).is_some_and(|it| it.is(&server))
    };
    let (holding, waiting): (Vec<_>, Vec<_>) = all.iter().filter(of_target).partition(|it| holds(it));
    if holding.is_empty() {
        return Err(Failure::error(format!(
            "no run holds {} ({} waiting); run `kubectl get benchmarkruns -A -o wide` to list targets",
            args.target,
            waiting.len()
        )));
    }
    for run in holding {
        let name = format!("{}/{}", run.namespace().unwrap_or_default(), run.name_any());
        if args.dry_run {
            console::print(format_args!("{name} would be cancelled\n"));
            continue;
        }
        cancel(connection, run, args.graceful).await?;
        console::print(format_args!("{name} cancelled\n"));
    }
    console::say(format_args!("waiting for {}: {}", args.target, waiting.len()));
    Ok(0)
}

/// Whether a run occupies its target: an attempt is in progress, or another attempt will follow.
fn holds(run: &BenchmarkRun) -> bool {
    let Some(status) = &run.status else { return false };
    let is_open = status.attempts.last().is_some_and(|it| it.end_time.is_none());
    is_open || (!status.attempts.is_empty() && status.phase == Some(Phase::Preparing))
}

async fn cancel(connection: &Connection, run: &BenchmarkRun, graceful: bool) -> Result<(), Failure> {
    let (namespace, name) = (run.namespace().unwrap_or_default(), run.name_any());
    let runs: Api<BenchmarkRun> = Api::namespaced(connection.client.clone(), &namespace);
    let mode = if graceful { Cancel::Graceful } else { Cancel::Immediate };
    // The UID ensures that the patch applies to this run only, and not to a new run with the same name.
    let patch = json!({"metadata": {"uid": run.uid()}, "spec": {"cancel": mode}});
    let params = PatchParams { field_manager: Some("kubectl-benchwright".into()), ..PatchParams::default() };
    match runs.patch(&name, &params, &Patch::Merge(&patch)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::error(format!(
            "{}; if the run cannot be changed, delete it: kubectl delete benchmarkrun {name} -n {namespace}",
            failure::refused(&error, CANCEL_RUN, &name, &namespace)
        ))),
    }
}

/// The runs in all namespaces. If the user may not list runs in all namespaces, the runs in the command's namespace.
async fn list(connection: &Connection) -> Result<Vec<BenchmarkRun>, Failure> {
    let everywhere = Api::<DeserializeGuard<BenchmarkRun>>::all(connection.client.clone());
    match pages(&everywhere).await {
        Err(error) if failure::code_of(&error) == Some(403) => {
            let namespace = &connection.namespace;
            console::say(format_args!(
                "kubectl benchwright: searches only namespace {namespace}, because you may not list runs in all namespaces"
            ));
            let own = Api::namespaced(connection.client.clone(), namespace);
            pages(&own).await.map_err(|it| failure::refused(&it, LIST_RUNS, "", namespace))
        }
        found => found.map_err(|it| failure::refused(&it, LIST_RUNS, "", "of any name")),
    }
}

async fn pages(api: &Api<DeserializeGuard<BenchmarkRun>>) -> Result<Vec<BenchmarkRun>, kube::Error> {
    let mut params = ListParams::default().limit(PAGE);
    let mut all = Vec::new();
    loop {
        let page = api.list(&params).await?;
        for run in page.items {
            let name = format!("{}/{}", run.meta().namespace.as_deref().unwrap_or_default(), run.name_any());
            match run.0 {
                Ok(run) => all.push(run),
                Err(error) => console::say(format_args!(
                    "kubectl benchwright: {name} cannot be read and is skipped: {}",
                    one_line(&error.error)
                )),
            }
        }
        match page.metadata.continue_.filter(|it| !it.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(all),
        }
    }
}

/// Host and port of a URL.
#[derive(Debug, PartialEq, Eq)]
struct Server {
    host: String,
    port: u16,
}

impl Server {
    fn parse(url: &str) -> Option<Server> {
        let uri: Uri = url.parse().ok()?;
        let host = uri.host()?.trim_end_matches('.').to_ascii_lowercase();
        let standard = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        Some(Server { host, port: uri.port_u16().unwrap_or(standard) })
    }

    /// Whether the server may be in the cluster. The operator applies the same rule: the host is a Service or a private address.
    fn is_inside(&self) -> bool {
        let address: Option<IpAddr> = self.host.trim_matches(['[', ']']).parse().ok();
        match address {
            Some(IpAddr::V4(it)) => {
                let is_shared = it.octets()[0] == 100 && it.octets()[1] & 0xc0 == 64;
                it.is_private() || it.is_loopback() || it.is_link_local() || is_shared
            }
            Some(IpAddr::V6(it)) => it.is_unique_local() || it.is_loopback() || it.is_unicast_link_local(),
            None => self.host.split('.').count() < 3 || self.host.contains(".svc"),
        }
    }

    /// Whether both names refer to the same server, such as `gateway.llm-d` and `gateway.llm-d.svc.cluster.local`.
    fn is(&self, other: &Server) -> bool {
        let (short, long) = if self.host.len() <= other.host.len() { (self, other) } else { (other, self) };
        let ending = long.host.strip_prefix(&short.host);
        self.port == other.port
            && ending.is_some_and(|it| {
                it.is_empty() || it.starts_with(".svc") || (short.host.ends_with(".svc") && it.starts_with('.'))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_server_are_the_same() {
        let same = |a: &str, b: &str| Server::parse(a).unwrap().is(&Server::parse(b).unwrap());
        let whole = "http://gateway.llm-d.svc.cluster.local:80";
        for form in
            ["http://gateway.llm-d", "http://GATEWAY.llm-d.svc/v1", "https://gateway.llm-d.svc.cluster.local.:80"]
        {
            assert!(same(form, whole) && same(whole, form), "{form}");
        }
        for other in ["http://gateway", "http://gateway.llm", "http://gateway.llm-d:8000", "http://a.gateway.llm-d"] {
            assert!(!same(other, whole) && !same(whole, other), "{other}");
        }
        assert_eq!(Server::parse("gateway of llm-d"), None);
    }
}
