//! [I/O] The URL of `target.gatewayRef` and of `target.server.gatewayRef`: reads the Gateway, its routes and the InferencePool, and dials
//! none of them.

mod url;

use crds::{
    BenchmarkRun, Reason,
    benchmark_run::{GatewayRef, is_object_name},
    resolve::InferenceStack,
    wording::quoted,
};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams},
};
use serde::de::DeserializeOwned;

use self::url::Named;
use super::objects::{GROUP, Gateway, Grant, INFERENCE_GROUP, Pool, Route};
use crate::plan::InputError;

/// Maximum number of routes read per namespace, and of grants. Users with more routes have to name the route.
const MOST: u32 = 500;

/// The field in which most runs name a Gateway, and the prefix of every message.
const FIELD: &str = "spec.target.gatewayRef";

/// A Gateway that a run names.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The field that names the Gateway.
    field: &'static str,
    reference: &'a GatewayRef,
    /// If llm-d is installed for the run: how many pods of the InferencePool have to be ready.
    ready_pods: Option<u32>,
}

impl<'a> Asked<'a> {
    /// The Gateway that is the run's target.
    pub fn as_target(reference: &'a GatewayRef) -> Self {
        Asked { field: FIELD, reference, ready_pods: None }
    }

    /// The Gateway of the llm-d that is installed for the run.
    pub fn of_stack(stack: &'a InferenceStack) -> Self {
        let field = "spec.target.server.gatewayRef";
        Asked { field, reference: stack.gateway(), ready_pods: Some(stack.replicas()) }
    }

    /// Whether llm-d is installed for the run.
    pub fn is_of_stack(&self) -> bool {
        self.ready_pods.is_some()
    }

    /// The name of the Gateway.
    pub fn name(&self) -> &'a str {
        &self.reference.name
    }
}

/// Why there is no URL.
enum Failure {
    /// The turn failed; the next one tries again.
    Api(kube::Error),
    /// An object is missing or not ready, or the reference is wrong.
    Target(String),
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        Failure::Api(error)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::Target(message)
    }
}

/// The base URL behind a run's Gateway. The inner error describes what is missing.
///
/// # Errors
/// The API server's.
pub async fn find(
    client: &Client,
    run: &BenchmarkRun,
    asked: &Asked<'_>,
) -> Result<Result<String, InputError>, kube::Error> {
    match read(client, &run.namespace().unwrap_or_default(), asked).await {
        Ok(url) => Ok(Ok(url)),
        Err(Failure::Target(message)) => {
            let message = message.replacen(FIELD, asked.field, 1);
            Ok(Err(InputError { reason: Reason::TargetNotFound, message }))
        }
        Err(Failure::Api(error)) => Err(error),
    }
}

async fn read(client: &Client, own: &str, asked: &Asked<'_>) -> Result<String, Failure> {
    let reference = asked.reference;
    let namespace = reference.namespace.as_deref().unwrap_or(own);
    // The answer must not reveal whether another tenant's Gateway exists.
    if namespace != own {
        check_grant(client, own, namespace, &reference.name).await?;
    }
    let field = "spec.target.gatewayRef.name";
    let gateway: Gateway = get(client, &GATEWAY, namespace, &reference.name).await?.ok_or_else(|| {
        let name = quoted(&reference.name);
        format!("{field}: is {name}, and namespace {namespace} has no such Gateway; create it")
    })?;
    let named = Named { reference, namespace, gateway: &gateway };
    let listener = url::listener(&named)?;
    let mut routes = routes(client, own).await?;
    if namespace != own {
        routes.extend(self::routes(client, namespace).await?);
    }
    let route = url::route(&named, listener, &routes)?;
    let pool = pool(client, route).await?;
    let url = url::url(&named, listener, route)?;
    if let Some(wanted) = asked.ready_pods {
        url::check_alone(&named, listener, route, &routes)?;
        // Only a pool in the run's own namespace is checked. The launcher finds out whether a pool in another namespace is ready.
        if let Some((name, pool)) = pool.filter(|_| route.namespace == own) {
            check_pods(client, own, route, &name, &pool, wanted).await?;
        }
    }
    Ok(url)
}

/// The InferencePool behind a route, with its name. `None`: the route leads to a Service, or to another namespace. For another namespace
/// the route's condition ResolvedRefs reports problems.
async fn pool(client: &Client, route: &Route) -> Result<Option<(String, Pool)>, Failure> {
    let backend = url::backend(route).map(|(_, backend)| backend);
    let here = backend.filter(|it| it.namespace.as_ref().is_none_or(|it| *it == route.namespace));
    let Some(backend) = here.filter(|it| it.kind.as_deref() == Some("InferencePool")) else { return Ok(None) };
    match get(client, &POOL, &route.namespace, &backend.name).await? {
        Some(found) => Ok(Some((backend.name.clone(), found))),
        None => Err(Failure::Target(format!(
            "{FIELD}: leads by HTTPRoute {} to InferencePool {}, which does not exist; create it",
            quoted(&route.name),
            quoted(&backend.name)
        ))),
    }
}

/// Checks that the InferencePool has as many ready pods as the run has model servers.
async fn check_pods(
    client: &Client,
    namespace: &str,
    route: &Route,
    name: &str,
    pool: &Pool,
    wanted: u32,
) -> Result<(), Failure> {
    let (route, name) = (quoted(&route.name), quoted(name));
    let selector = pool.selector();
    if selector.is_empty() {
        return Err(Failure::Target(format!(
            "{FIELD}: leads by HTTPRoute {route} to InferencePool {name}, which selects no pods; see its selector"
        )));
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let found = pods.list(&ListParams::default().labels(&selector).limit(MOST)).await?;
    let ready = found.items.iter().filter(|it| is_ready(it)).count();
    if ready >= wanted as usize {
        return Ok(());
    }
    Err(Failure::Target(format!(
        "{FIELD}: leads by HTTPRoute {route} to InferencePool {name}, and {ready} of the {wanted} model servers of the run are ready; see its \
         pods: kubectl get pods -n {namespace} -l {selector}"
    )))
}

fn is_ready(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|it| it.conditions.iter().flatten());
    pod.metadata.deletion_timestamp.is_none() && conditions.any(|it| it.type_ == "Ready" && it.status == "True")
}

async fn check_grant(client: &Client, own: &str, namespace: &str, gateway: &str) -> Result<(), Failure> {
    let grants: Vec<(String, Grant)> = list(client, &GRANT, namespace).await?;
    if grants.iter().any(|(_, it)| it.allows(own, gateway)) {
        return Ok(());
    }
    Err(Failure::Target(format!(
        "spec.target.gatewayRef.namespace: is {}, and no ReferenceGrant there lets BenchmarkRuns of namespace {own} refer to Gateway {}; \
         create one, or name a Gateway of the run's own namespace",
        quoted(namespace),
        quoted(gateway)
    )))
}

async fn routes(client: &Client, namespace: &str) -> Result<Vec<Route>, Failure> {
    let found: Vec<(String, Route)> = list(client, &ROUTE, namespace).await?;
    let named = found.into_iter().map(|(name, route)| Route { name, namespace: namespace.to_owned(), ..route });
    Ok(named.collect())
}

/// A kind of object to read.
struct Kind {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
}

const GATEWAY: Kind = Kind { group: GROUP, version: "v1", kind: "Gateway", plural: "gateways" };
const ROUTE: Kind = Kind { group: GROUP, version: "v1", kind: "HTTPRoute", plural: "httproutes" };
const GRANT: Kind = Kind { group: GROUP, version: "v1beta1", kind: "ReferenceGrant", plural: "referencegrants" };
const POOL: Kind = Kind { group: INFERENCE_GROUP, version: "v1", kind: "InferencePool", plural: "inferencepools" };

impl Kind {
    fn api(&self, client: &Client, namespace: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(self.group, self.version, self.kind);
        Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk_with_plural(&kind, self.plural))
    }

    /// Explains a refusal of the API server, if a user or an administrator can fix its cause.
    fn explain(&self, error: kube::Error) -> Failure {
        let Kind { group, version, plural, .. } = self;
        let code = match &error {
            kube::Error::Api(status) => status.code,
            _ => 0,
        };
        match code {
            403 => Failure::Target(format!(
                "spec.target.gatewayRef: needs {plural}, which the operator may not read there; install its chart with gatewayAPI=true, or set url"
            )),
            404 => Failure::Target(format!(
                "spec.target.gatewayRef: needs {plural} of {group}/{version}, which this cluster does not have; install their definitions, or set url"
            )),
            _ => Failure::Api(error),
        }
    }

    fn parse<T: DeserializeOwned>(&self, object: DynamicObject) -> Result<T, Failure> {
        let name = object.name_any();
        serde_json::from_value(object.data).map_err(|error| {
            let Kind { kind, .. } = self;
            Failure::Target(format!(
                "spec.target.gatewayRef: needs {kind} {}, which cannot be read: {error}; set url",
                quoted(&name)
            ))
        })
    }
}

async fn get<T: DeserializeOwned>(
    client: &Client,
    kind: &Kind,
    namespace: &str,
    name: &str,
) -> Result<Option<T>, Failure> {
    if !is_object_name(name) {
        // The name becomes part of a URL, and the definition of a route accepts any text.
        return Ok(None);
    }
    match kind.api(client, namespace).get(name).await {
        Ok(found) => kind.parse(found).map(Some),
        // If the definition of the kind is missing, the answer has another reason.
        Err(kube::Error::Api(status)) if status.code == 404 && status.reason == "NotFound" => Ok(None),
        Err(error) => Err(kind.explain(error)),
    }
}

/// The objects of a namespace, with their names.
async fn list<T: DeserializeOwned>(client: &Client, kind: &Kind, namespace: &str) -> Result<Vec<(String, T)>, Failure> {
    let found = kind.api(client, namespace).list(&ListParams::default().limit(MOST)).await;
    let found = found.map_err(|it| kind.explain(it))?;
    found.items.into_iter().map(|it| Ok((it.name_any(), kind.parse(it)?))).collect()
}

#[cfg(test)]
mod tests;
