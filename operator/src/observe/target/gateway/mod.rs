//! [I/O] The URL of `target.gatewayRef`: reads the Gateway, its routes and the InferencePool, and dials none of them.

mod url;

use crds::{
    BenchmarkRun, Reason,
    benchmark_run::{GatewayRef, is_object_name},
    wording::quoted,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams},
};
use serde::de::DeserializeOwned;

use self::url::Named;
use super::objects::{GROUP, Gateway, Grant, INFERENCE_GROUP, Route};
use crate::plan::InputError;

/// The most routes of a namespace that are looked at, and the most grants. With more, name the route.
const MOST: u32 = 500;

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

/// The base URL behind the Gateway of a run. The inner error says what is missing.
///
/// # Errors
/// The API server's.
pub async fn find(
    client: &Client,
    run: &BenchmarkRun,
    reference: &GatewayRef,
) -> Result<Result<String, InputError>, kube::Error> {
    match read(client, &run.namespace().unwrap_or_default(), reference).await {
        Ok(url) => Ok(Ok(url)),
        Err(Failure::Target(message)) => Ok(Err(InputError { reason: Reason::TargetNotFound, message })),
        Err(Failure::Api(error)) => Err(error),
    }
}

async fn read(client: &Client, own: &str, reference: &GatewayRef) -> Result<String, Failure> {
    let namespace = reference.namespace.as_deref().unwrap_or(own);
    // The answer must not tell whether a Gateway of another tenant exists.
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
    if let Some((_, backend)) = url::backend(route)
        && backend.kind.as_deref() == Some("InferencePool")
        // The route's condition ResolvedRefs tells about a pool elsewhere.
        && backend.namespace.as_ref().is_none_or(|it| *it == route.namespace)
        && get::<serde_json::Value>(client, &POOL, &route.namespace, &backend.name).await?.is_none()
    {
        let (route, pool) = (quoted(&route.name), quoted(&backend.name));
        return Err(Failure::Target(format!(
            "spec.target.gatewayRef: leads by HTTPRoute {route} to InferencePool {pool}, which does not exist; create it"
        )));
    }
    Ok(url::url(&named, listener, route)?)
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

/// A kind of object that is read.
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

    /// What a refusal of the API server means, if it is one that a user or an administrator can mend.
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
        // The name becomes part of a URL, and the definition of a route takes any text.
        return Ok(None);
    }
    match kind.api(client, namespace).get(name).await {
        Ok(found) => kind.parse(found).map(Some),
        // Without the definition there is no answer of this reason.
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
