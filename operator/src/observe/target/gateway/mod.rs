//! [I/O] The URL for `target.gatewayRef` and `target.server.gatewayRef`. Reads the Gateway, its routes and the InferencePool from the API server, and
//! connects to none of them.

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

/// Maximum number of routes, and of grants, to read per namespace. A user with more routes must name the route.
const MOST: u32 = 500;

/// The field in which most runs name a Gateway. Every message begins with it.
const FIELD: &str = "spec.target.gatewayRef";

/// A reference to a Gateway in a spec.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The path of the field with the reference.
    field: &'static str,
    reference: &'a GatewayRef,
    /// Number of pods of the InferencePool that must be ready. Set only if llm-d is installed for the run.
    ready_pods: Option<u32>,
}

impl<'a> Asked<'a> {
    /// The Gateway in `target.gatewayRef`.
    pub fn as_target(reference: &'a GatewayRef) -> Self {
        Asked { field: FIELD, reference, ready_pods: None }
    }

    /// The Gateway of the llm-d stack that is installed for the run.
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

/// The reason why there is no URL.
enum Failure {
    /// The reconciliation failed, and the next reconciliation tries again.
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

/// Returns the base URL behind the Gateway of a run. The inner error names what is missing.
///
/// # Errors
/// The error of the API server.
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
    // The grant is checked before the Gateway is read, so that the message cannot reveal whether another tenant's Gateway exists.
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
        // Only a pool in the run's own namespace can be checked. For a pool in another namespace the launcher finds out whether it is ready.
        if let Some((name, pool)) = pool.filter(|_| route.namespace == own) {
            check_pods(client, own, route, &name, &pool, wanted).await?;
        }
    }
    Ok(url)
}

/// The InferencePool behind a route, with its name. `None` if the route leads to a Service or to another namespace. For another namespace, the
/// route's condition ResolvedRefs reports problems.
async fn pool(client: &Client, route: &Route) -> Result<Option<(String, Pool)>, Failure> {
    let backend = url::backend(route).map(|(_, backend)| backend);
    let here = backend.filter(|it| it.namespace.as_ref().is_none_or(|it| *it == route.namespace));
    let Some(backend) = here.filter(|it| it.kind.as_deref() == Some("InferencePool")) else { return Ok(None) };
    match get(client, &POOL, &route.namespace, &backend.name).await? {
        Some(found) => Ok(Some((backend.name.clone(), found))),
        None => Err(Failure::Target(format!(
            "{FIELD}: leads through HTTPRoute {} to InferencePool {}, which does not exist; create it",
            quoted(&route.name),
            quoted(&backend.name)
        ))),
    }
}

/// Checks that the InferencePool has at least as many ready pods as the run has model servers.
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
            "{FIELD}: leads through HTTPRoute {route} to InferencePool {name}, whose selector is empty; set it to the labels of the model servers' pods"
        )));
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let found = pods.list(&ListParams::default().labels(&selector).limit(MOST)).await?;
    let ready = found.items.iter().filter(|it| is_ready(it)).count();
    if ready >= wanted as usize {
        return Ok(());
    }
    Err(Failure::Target(format!(
        "{FIELD}: leads through HTTPRoute {route} to InferencePool {name}, and only {ready} of the run's {wanted} model servers are ready; see the pool's pods: kubectl get pods -n {namespace} -l {selector}"
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

    /// Adds an explanation to an error of the API server, if a user or an administrator can fix its cause.
    fn explain(&self, error: kube::Error) -> Failure {
        let Kind { group, version, plural, .. } = self;
        let code = match &error {
            kube::Error::Api(status) => status.code,
            _ => 0,
        };
        match code {
            403 => Failure::Target(format!(
                "spec.target.gatewayRef: needs {plural}, which the operator has no right to read; set gatewayAPI=true in its chart, or use target.url instead"
            )),
            404 => Failure::Target(format!(
                "spec.target.gatewayRef: needs {plural} of {group}/{version}, which this cluster does not have; install their definitions, or set target.url instead"
            )),
            _ => Failure::Api(error),
        }
    }

    fn parse<T: DeserializeOwned>(&self, object: DynamicObject) -> Result<T, Failure> {
        let name = object.name_any();
        serde_json::from_value(object.data).map_err(|error| {
            let Kind { kind, .. } = self;
            Failure::Target(format!(
                "spec.target.gatewayRef: needs {kind} {}, which cannot be read: {error}; set target.url instead",
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
        // The name becomes part of a URL, but the CRD of a route accepts any text.
        return Ok(None);
    }
    match kind.api(client, namespace).get(name).await {
        Ok(found) => kind.parse(found).map(Some),
        // If the kind itself were unknown, the reason of the response would be a different one.
        Err(kube::Error::Api(status)) if status.code == 404 && status.reason == "NotFound" => Ok(None),
        Err(error) => Err(kind.explain(error)),
    }
}

/// Lists the objects of a namespace, with their names.
async fn list<T: DeserializeOwned>(client: &Client, kind: &Kind, namespace: &str) -> Result<Vec<(String, T)>, Failure> {
    let found = kind.api(client, namespace).list(&ListParams::default().limit(MOST)).await;
    let found = found.map_err(|it| kind.explain(it))?;
    found.items.into_iter().map(|it| Ok((it.name_any(), kind.parse(it)?))).collect()
}

#[cfg(test)]
mod tests;
