//! The target of the load, and the checks of the spec's target fields.

use serde::{Deserialize, Serialize};

use super::{
    Errors, RunIdentity, Settings,
    credentials::without_credentials,
    effective,
    server::{ManagedServer, Place, ServerNames, is_of_charts, served_model},
    service_url::service_url,
    url::{local_url_problem, url_problem},
};
use crate::{
    benchmark_run::{BenchmarkRunSpec, Server, ServiceRef, SimulatorPreset, Target},
    wording::{listed, quoted},
};

/// Maximum length of a socket path on Linux, in bytes.
const MAX_SOCKET_PATH: usize = 107;

/// The target of the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Endpoint {
    /// The base URL of a server, without `/v1` and without a slash at its end. Or `unix:` and the path of its socket.
    Url(String),
    /// The embedded simulated vLLM.
    Simulator(SimulatorPreset),
    /// A server that the launcher starts itself. Its URLs are only known after its start.
    Server(Box<ManagedServer>),
}

impl Endpoint {
    /// The name of the target in statuses and reports.
    pub fn name(&self) -> &str {
        match self {
            Endpoint::Url(url) => url,
            Endpoint::Simulator(_) => "simulator",
            Endpoint::Server(server) => server.engine.row().managed_title,
        }
    }
}

/// The members of the target union, as messages list them.
const MEMBERS: &str = "url, serviceRef, gatewayRef, simulator and server";

pub(super) fn endpoint(
    spec: &BenchmarkRunSpec,
    run: &RunIdentity,
    settings: &Settings,
    errors: &mut Errors,
) -> Endpoint {
    let (target, namespace) = (&spec.target, run.namespace.as_str());
    // Placeholder for an unusable target. The reported errors prevent its use.
    let none = Endpoint::Simulator(SimulatorPreset::Gpu);
    match (&target.url, &target.service_ref, &target.gateway_ref, &target.simulator, &target.server) {
        (Some(url), None, None, None, None) => url_endpoint(url, namespace, errors),
        (None, Some(service), None, None, None) => service_endpoint(service, namespace, settings, errors),
        (None, None, Some(_), None, None) => gateway_endpoint(namespace, errors),
        (None, None, None, Some(simulator), None) => Endpoint::Simulator(effective::preset(simulator)),
        (None, None, None, None, Some(server)) => server_endpoint(server, run, settings, errors),
        (None, None, None, None, None) => {
            errors.add("spec.target", &format!("names no server; set exactly one of {MEMBERS}"));
            none
        }
        _ => {
            errors.add(
                "spec.target",
                &format!("names more than one server: {}; keep one of them", listed(&members(target))),
            );
            none
        }
    }
}

/// The members of the target union that a spec sets.
fn members(target: &Target) -> Vec<&'static str> {
    let all = [
        ("url", target.url.is_some()),
        ("serviceRef", target.service_ref.is_some()),
        ("gatewayRef", target.gateway_ref.is_some()),
        ("simulator", target.simulator.is_some()),
        ("server", target.server.is_some()),
    ];
    all.into_iter().filter(|it| it.1).map(|it| it.0).collect()
}

fn url_endpoint(url: &str, namespace: &str, errors: &mut Errors) -> Endpoint {
    if let Some(path) = unix_socket(url) {
        check_socket(url, path, namespace, errors);
        return Endpoint::Url(format!("unix:{path}"));
    }
    let problem = if namespace.is_empty() { local_url_problem(url) } else { url_problem(url) };
    if let Some(problem) = problem {
        let found = quoted(&without_credentials(url));
        errors.add("spec.target.url", &format!("is {found}; {problem}"));
    }
    Endpoint::Url(url.trim_end_matches('/').to_owned())
}

fn server_endpoint(server: &Server, run: &RunIdentity, settings: &Settings, errors: &mut Errors) -> Endpoint {
    let in_cluster = !run.namespace.is_empty();
    let managed = super::server::resolve(server, if in_cluster { Place::Cluster } else { Place::Laptop }, errors);
    if is_of_charts(server) {
        // llm-d's charts start this server. As with any Gateway, the URL is read from objects of the cluster later.
        return Endpoint::Url(String::new());
    }
    if in_cluster {
        // The operator starts the server, and the launcher calls its Service.
        return Endpoint::Url(ServerNames::new(run, server, settings).url(&run.namespace, server, settings));
    }
    Endpoint::Server(Box::new(managed))
}

fn service_endpoint(service: &ServiceRef, namespace: &str, settings: &Settings, errors: &mut Errors) -> Endpoint {
    if namespace.is_empty() {
        errors.add("spec.target.serviceRef", "needs a cluster; outside one, set url or simulator");
    }
    Endpoint::Url(service_url(service, "spec.target.serviceRef", namespace, settings, errors))
}

/// Checks that the run is in a cluster. The URL of a Gateway is read from objects of the cluster: [`super::resolve`] leaves it empty, and its caller
/// fills it in.
fn gateway_endpoint(namespace: &str, errors: &mut Errors) -> Endpoint {
    if namespace.is_empty() {
        errors.add("spec.target.gatewayRef", "needs a cluster; outside one, set url to the address of the Gateway");
    }
    Endpoint::Url(String::new())
}

/// The socket path of a URL such as `unix:/run/vllm.sock` or `unix:///run/vllm.sock`.
pub fn unix_socket(url: &str) -> Option<&str> {
    url.strip_prefix("unix:").map(|it| it.strip_prefix("//").unwrap_or(it))
}

fn check_socket(url: &str, path: &str, namespace: &str, errors: &mut Errors) {
    let problem = if !path.starts_with('/') || path.ends_with('/') {
        "write the whole path of the socket's file after unix:, from the root on"
    } else if path.len() > MAX_SOCKET_PATH {
        "a path of a socket has at most 107 bytes; give it a shorter one, for example a symbolic link"
    } else if !namespace.is_empty() {
        "a launcher's pod cannot reach the socket of another process; write http:// or https://, or set serviceRef"
    } else {
        return;
    };
    errors.add("spec.target.url", &format!("is {}; {problem}", quoted(url)));
}

/// Checks that a target has exactly one source of certificate authorities.
pub(super) fn check_ca(spec: &BenchmarkRunSpec, errors: &mut Errors) {
    let Some(ca) = spec.target.tls.as_ref().map(|it| &it.ca) else { return };
    if ca.config_map_ref.is_some() == ca.secret_key_ref.is_some() {
        errors.add("spec.target.tls.ca", "needs exactly one of configMapRef and secretKeyRef");
    }
}

/// The model to request: the model in the spec, or the only model that the managed server can serve. `None` if the request uses the profile's model,
/// or the model that the server reports.
pub(super) fn model(spec: &BenchmarkRunSpec) -> Option<String> {
    let written = spec.target.model.clone().filter(|it| !it.is_empty());
    written.or_else(|| spec.target.server.as_ref().and_then(served_model).filter(|it| is_plain(it)))
}

/// Whether the name of a model is safe to insert into the text of a profile.
fn is_plain(model: &str) -> bool {
    let plain = |it: char| it.is_alphanumeric() || " ._/:@+-".contains(it);
    let begins = model.starts_with(|it: char| it.is_alphanumeric() || "._/".contains(it));
    begins && model.chars().all(plain) && !model.contains(": ") && !model.ends_with([' ', ':'])
}

pub(super) fn check_model(spec: &BenchmarkRunSpec, errors: &mut Errors) {
    let model = spec.target.model.as_deref().unwrap_or_default();
    if !model.is_empty() && !is_plain(model) {
        let remedy = "use letters, digits, inner blanks and ._/:@+-, and begin with a letter or digit, because templates put it \
                      into a profile's text; let the server list the model under such a name, in vLLM with --served-model-name";
        errors.add("spec.target.model", &format!("is {}; {remedy}", quoted(model)));
    }
}
