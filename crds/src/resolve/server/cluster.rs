//! Names and addresses of a managed server in a cluster.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    managed_server::{FIELD, REPLICA},
    starter::managed_server,
};
use crate::{
    benchmark_run::{BenchmarkRunSpec, Distribution, Lifecycle, Server},
    hex,
    resolve::{Errors, METRICS_PATH, MetricsEndpoint, RunIdentity, Settings, effective},
    wording::quoted,
};

/// Number of bytes in the server description's hash in the name of a shared server.
const KEY_BYTES: usize = 5;

/// The names of a managed server's objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerNames {
    /// The name of the Deployment, and of the Service that receives the load.
    pub server: String,
    /// The name of the Service that resolves to each pod. The launcher uses it to distribute requests over the pods and to read their metrics.
    pub pods: String,
    /// A hash of the server description if several runs share the server. `None` if the server belongs to one run.
    pub key: Option<String>,
}

impl ServerNames {
    /// The names for the server of a run. Each has at most 60 bytes.
    pub fn new(run: &RunIdentity, server: &Server, settings: &Settings) -> Self {
        let key = (effective::server(server).lifecycle == Lifecycle::Reuse).then(|| key(server, settings));
        let stem = match &key {
            Some(key) => format!("benchwright-{key}"),
            None => run.stem(),
        };
        ServerNames { server: format!("{stem}-server"), pods: format!("{stem}-pods"), key }
    }

    /// The base URL for the load.
    pub fn url(&self, namespace: &str, server: &Server, settings: &Settings) -> String {
        format!("http://{}:{}", host(&self.server, namespace, settings), effective::server(server).port)
    }
}

/// The image of a server. A simulator without an image uses the launcher's image.
pub fn server_image<'a>(server: &'a Server, settings: &'a Settings) -> &'a str {
    server.image.as_deref().unwrap_or(&settings.launcher_image)
}

/// The full host name of a Service.
pub(super) fn host(service: &str, namespace: &str, settings: &Settings) -> String {
    format!("{service}.{namespace}.{}", settings.service_domain)
}

/// A hash of a server description. Equal descriptions have the same key.
fn key(server: &Server, settings: &Settings) -> String {
    let defaults = effective::server(server);
    let mut whole = server.clone();
    whole.image = Some(server_image(server, settings).to_owned());
    (whole.replicas, whole.port) = (Some(defaults.replicas), Some(defaults.port));
    // Hash a server without wrapper settings as before wrappers existed, so that runs still share servers that were started back then. These servers
    // have no log, and a message reports this.
    whole.wrapper = None;
    let unwritten = effective::server(&whole).wrapper;
    whole.wrapper = Some(defaults.wrapper).filter(|it| *it != unwritten);
    // The distribution and the lifecycle do not change the server itself, so they are not part of the hash.
    (whole.distribution, whole.lifecycle) = (None, None);
    let text = serde_json::to_vec(&whole).expect("a description holds texts, numbers, lists and maps of them");
    hex(&Sha256::digest(text)[..KEY_BYTES])
}

/// The endpoint with the metrics of all replicas. `None` if there is only one replica; the metrics are then read at the target.
pub(in crate::resolve) fn metrics(
    run: &RunIdentity,
    spec: &BenchmarkRunSpec,
    settings: &Settings,
) -> Option<Vec<MetricsEndpoint>> {
    let server = managed_server(spec)?;
    let replicas = replicas(run, spec, settings)?;
    let url = format!("{}{METRICS_PATH}", replicas.url);
    Some(vec![MetricsEndpoint { url, kind: server.engine.row().metrics_kind }])
}

/// The replicas of a server in a cluster. The launcher calls each at its own address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerReplicas {
    /// The base URL of the Service. Its name resolves to the addresses of all replicas.
    pub url: String,
    /// Number of replicas, from 2 to 64.
    pub count: u32,
    /// How a replica is chosen for a request.
    pub distribution: Distribution,
}

/// The replicas that the launcher distributes its requests over. `None` if there is only one.
pub(in crate::resolve) fn replicas(
    run: &RunIdentity,
    spec: &BenchmarkRunSpec,
    settings: &Settings,
) -> Option<ServerReplicas> {
    let server = managed_server(spec).filter(|_| !run.namespace.is_empty())?;
    let defaults = effective::server(server);
    let pods = ServerNames::new(run, server, settings).pods;
    let url = format!("http://{}:{}", host(&pods, &run.namespace, settings), defaults.port);
    let all = ServerReplicas { url, count: defaults.replicas, distribution: defaults.distribution };
    Some(all).filter(|it| it.count > 1)
}

/// The host name of the Service. The launcher may call it even if the installation blocks the cluster's networks.
pub(in crate::resolve) fn called_host(
    run: &RunIdentity,
    spec: &BenchmarkRunSpec,
    settings: &Settings,
) -> Option<[String; 2]> {
    let server = managed_server(spec).filter(|_| !run.namespace.is_empty())?;
    let names = ServerNames::new(run, server, settings);
    Some([&names.server, &names.pods].map(|it| host(it, &run.namespace, settings)))
}

/// Refuses fields that a cluster does not support.
pub(super) fn check(server: &Server, errors: &mut Errors) {
    let lists = [("command", &server.command), ("args", &server.args)];
    let texts = lists.into_iter().flat_map(|(field, texts)| texts.iter().map(move |text| (field.to_owned(), text)));
    let env = server.env.iter().map(|(name, text)| (format!("env.{name}"), text));
    for (field, text) in texts.chain(env).filter(|(_, text)| text.contains(REPLICA)) {
        let remedy =
            "$(REPLICA) works outside of a cluster only, because the pods of a Deployment are alike; take it out";
        errors.add(&format!("{FIELD}.{field}"), &format!("holds {}; {remedy}", quoted(text)));
    }
}

/// Refuses fields of the run that do not work together with a managed server.
pub(in crate::resolve) fn check_run(run: &RunIdentity, spec: &BenchmarkRunSpec, errors: &mut Errors) {
    if managed_server(spec).is_some() && !run.namespace.is_empty() && spec.queue_name.is_some() {
        let remedy = "the queue would admit the launcher alone, after the server has taken its GPUs; take queueName or \
                      target.server out";
        errors.add("spec.queueName", &format!("is set beside target.server; {remedy}"));
    }
}
