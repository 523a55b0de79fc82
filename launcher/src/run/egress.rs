//! [I/O] Blocked addresses. In a cluster these are the addresses in the operator's settings, and the API server.

use std::{net::IpAddr, time::Duration};

use crds::{
    benchmark_run::BenchmarkRunSpec,
    resolve::{FieldError, MetricsEndpoint, ResolvedRun, without_credentials},
};
use futures::future::join_all;
use reqwest::Url;

use super::Failure;
use engine::client::{AddressError, Resolver};

/// The environment variable with the address of the API server. Kubernetes sets it in every pod.
const API_SERVER: &str = "KUBERNETES_SERVICE_HOST";
const REMEDY: &str = "name a server at another address; the operator's settings say which addresses a run may call";
/// Timeout for looking up metrics hosts before the load. A name whose lookup takes longer is checked when it is called.
const METRICS_LIMIT: Duration = Duration::from_secs(5);

/// Returns the resolver that resolves and checks all hosts that the run names.
pub(super) fn resolver(run: &ResolvedRun) -> Result<Resolver, Failure> {
    let Some(egress) = &run.egress else { return Ok(Resolver::default()) };
    let rules = egress.rules("egress").map_err(|errors| {
        let all: Vec<String> = errors.iter().map(FieldError::to_string).collect();
        Failure::configuration(format!("the operator's settings cannot be used: {}", all.join("; ")))
    })?;
    let api_server = std::env::var(API_SERVER).ok().and_then(|it| it.parse::<IpAddr>().ok());
    Ok(Resolver::in_cluster(rules.with_api_server(api_server)))
}

/// The error for a blocked target.
pub(super) fn refused_target(spec: &BenchmarkRunSpec, base_url: &str, error: &AddressError) -> Failure {
    let target = &spec.target;
    let field = match () {
        () if target.url.is_some() => "target.url",
        () if target.service_ref.is_some() => "target.serviceRef",
        () if target.gateway_ref.is_some() => "target.gatewayRef",
        () => "target",
    };
    refused(field, base_url, error)
}

/// Checks the metrics sources of a run. A failed lookup is not an error here, because each scrape checks the name again.
pub(super) async fn check_metrics(sources: &[MetricsEndpoint], resolver: &Resolver) -> Result<(), Failure> {
    let checks = join_all(sources.iter().enumerate().map(|(index, it)| check_source(index, &it.url, resolver)));
    let Ok(checked) = clock::limit(METRICS_LIMIT, checks).await else { return Ok(()) };
    checked.into_iter().collect()
}

async fn check_source(index: usize, url: &str, resolver: &Resolver) -> Result<(), Failure> {
    // An invalid URL is never called, so there is nothing to check.
    let Some((host, port)) = host_and_port(url) else { return Ok(()) };
    match resolver.addresses(&host, port).await {
        Err(error) if error.is_refusal() => Err(refused(&format!("target.metrics[{index}]"), url, &error)),
        _ => Ok(()),
    }
}

/// Returns the host and the port of a URL. `None` if the URL is invalid.
pub(super) fn host_and_port(url: &str) -> Option<(String, u16)> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
    Some((host, url.port_or_known_default()?))
}

fn refused(field: &str, url: &str, error: &AddressError) -> Failure {
    Failure::configuration(format!("{field}: {} {error}; {REMEDY}", without_credentials(url)))
}
