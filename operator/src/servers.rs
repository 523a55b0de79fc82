//! [I/O] Removes servers: together with their run, with the last run that used a shared server, and when the operator is uninstalled.

use std::collections::{BTreeMap, HashSet};

use crds::BenchmarkRun;
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::Service, networking::v1::NetworkPolicy},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, ListParams, Preconditions},
};
use tracing::{debug, info};

use crate::{
    apply::{allow_refused, delete_policy, ignore_absent, stop},
    cached_run::PAGE,
    context::Context,
    error::{Error, FORBIDDEN},
    observe::server::{Use, uses},
    pages::each_metadata,
    plan::{Stop, meta, server::StopServer},
};

/// Maximum number of servers per namespace that the operator checks when it starts or is uninstalled. It is limited because users can create
/// Deployments with the same labels.
const MOST_SERVERS: usize = 64;

/// The names of servers in each namespace.
type ByNamespace = BTreeMap<String, HashSet<String>>;

/// Deletes the given objects of a server. If the API server refuses a deletion, the run still ends, and its status names the remaining object.
pub(crate) async fn stop_server(context: &Context, namespace: &str, what: &StopServer) -> Result<(), Error> {
    debug!(namespace, ?what, "removes a server");
    let services: Api<Service> = Api::namespaced(context.client.clone(), namespace);
    for service in &what.services {
        context.metrics.write("delete", "services");
        let deleted = services.delete(service, &DeleteParams::background()).await.map(drop);
        allow_refused(&format!("{namespace}/{service}"), ignore_absent(deleted))?;
    }
    if let Some((name, uid)) = &what.deployment {
        let of = format!("{namespace}/{name}");
        if context.settings.network_policy.is_some() {
            let is_its = |it: &NetworkPolicy| is_managed_server(&it.metadata, name);
            let deleted = delete_policy(context, namespace, name, is_its).await;
            allow_refused(&of, deleted)?;
        }
        let deployments: Api<Deployment> = Api::namespaced(context.client.clone(), namespace);
        let exactly = Preconditions { uid: uid.clone(), resource_version: None };
        context.metrics.write("delete", "deployments");
        let deleted = deployments.delete(name, &DeleteParams::foreground().preconditions(exactly)).await.map(drop);
        match deleted {
            // The object with this UID is gone; another server has its name now.
            Err(kube::Error::Api(status)) if status.is_conflict() => {}
            deleted => allow_refused(&of, ignore_absent(deleted))?,
        }
    }
    for pod in &what.pods {
        let stopped = stop(context, namespace, &Stop::Pod(pod.clone()), &[]).await;
        allow_refused(&format!("{namespace}/{pod}"), stopped)?;
    }
    Ok(())
}

/// Deletes the server of a deleted run, unless the server is shared. It is needed after a deletion with `--cascade=orphan`, because the server then
/// has no owner and would keep its GPUs. Shared servers are recognized by the missing label with the UID of a run.
pub(crate) async fn stop_deleted_server(context: &Context, run: &BenchmarkRun) -> Result<(), Error> {
    let noted = run.status.as_ref().and_then(|it| it.server.as_ref());
    let Some(server) = noted.filter(|it| it.gone_time.is_none()) else { return Ok(()) };
    let uid = run.uid().unwrap_or_default();
    let is_its =
        |it: &ObjectMeta| label(it, meta::SERVER) == Some(&server.name) && label(it, meta::RUN_UID) == Some(&uid);
    stop_where(context, &run.namespace().unwrap_or_default(), &server.name, is_its).await
}

/// Deletes the shared server with this name if no existing run uses it or has used it. So users who may delete runs can remove the runs' server in
/// this way.
///
/// # Errors
/// The error of the API server.
pub async fn stop_unused(context: &Context, namespace: &str, name: &str) -> Result<(), Error> {
    let is_its = |it: &ObjectMeta| is_managed_server(it, name) && label(it, meta::RUN_UID).is_none();
    let deployments: Api<Deployment> = Api::namespaced(context.client.clone(), namespace);
    // The metadata is read first, because most servers belong to their run and are deleted together with it.
    let found = match deployments.get_metadata_opt(name).await {
        Err(kube::Error::Api(status)) if status.code == FORBIDDEN => return Ok(()),
        found => found?,
    };
    if !found.is_some_and(|it| is_its(&it.metadata)) {
        return Ok(());
    }
    let _removing = context.shared_servers.lock(namespace, name).await;
    if uses(context, namespace).await?.contains_key(name) {
        return Ok(());
    }
    info!(namespace, server = name, "removes a shared server: no run uses it");
    stop_where(context, namespace, name, is_its).await
}

/// The shared servers in one namespace or in all. The operator checks them when it starts, because their last run might have been deleted while no
/// operator was running.
///
/// # Errors
/// The error of the API server.
pub async fn shared(client: &Client, namespace: Option<&str>) -> Result<ByNamespace, Error> {
    by_namespace(client, namespace, &format!("{},{},!{}", meta::MANAGED, meta::SERVER, meta::RUN_UID)).await
}

/// Deletes the servers that no unfinished run uses, in one namespace or in all, and prints one line per server. It is called before the operator is
/// uninstalled, because nothing removes the servers afterwards. An error of the API server is printed, and the next namespace follows.
pub async fn remove_idle(context: &Context, namespace: Option<&str>) {
    let selector = format!("{},{}", meta::MANAGED, meta::SERVER);
    let found = match by_namespace(&context.client, namespace, &selector).await {
        Ok(found) => found,
        Err(error) => return println!("the servers in {} stay: {error}", namespace.unwrap_or("all namespaces")),
    };
    for (namespace, names) in found {
        if let Err(error) = remove_idle_in(context, &namespace, &names).await {
            println!("servers in namespace {namespace} stay: {error}");
        }
    }
}

async fn remove_idle_in(context: &Context, namespace: &str, names: &HashSet<String>) -> Result<(), Error> {
    let uses = uses(context, namespace).await?;
    for name in names {
        if uses.get(name.as_str()) == Some(&Use::Now) {
            println!(
                "server {namespace}/{name} stays: a run that has not finished uses it; delete that run to remove it"
            );
            continue;
        }
        stop_where(context, namespace, name, |it| is_managed_server(it, name)).await?;
        println!("server {namespace}/{name} is being removed");
    }
    Ok(())
}

/// Lists the names of the Deployments that `selector` matches, at most [`MOST_SERVERS`] per namespace.
async fn by_namespace(client: &Client, namespace: Option<&str>, selector: &str) -> Result<ByNamespace, Error> {
    let deployments: Api<Deployment> =
        namespace.map_or_else(|| Api::all(client.clone()), |it| Api::namespaced(client.clone(), it));
    let mut all = ByNamespace::new();
    each_metadata(&deployments, selector, |it| {
        let names = all.entry(it.namespace.unwrap_or_default()).or_default();
        if names.len() < MOST_SERVERS {
            names.extend(it.name);
        }
    })
    .await?;
    Ok(all)
}

/// Deletes the Deployment and the Services of the server with this name, if `is_its` returns true for them and they are not being deleted already.
async fn stop_where(
    context: &Context,
    namespace: &str,
    name: &str,
    is_its: impl Fn(&ObjectMeta) -> bool,
) -> Result<(), Error> {
    let is_its = |it: &ObjectMeta| it.deletion_timestamp.is_none() && is_its(it);
    let deployments: Api<Deployment> = Api::namespaced(context.client.clone(), namespace);
    let found = match deployments.get_metadata_opt(name).await {
        // The operator has no rights on servers, because the administrator has disabled managed servers.
        Err(kube::Error::Api(status)) if status.code == FORBIDDEN => {
            return allow_refused(&format!("{namespace}/{name}"), Err(kube::Error::Api(status).into()));
        }
        found => found?.filter(|it| is_its(&it.metadata)),
    };
    let services: Api<Service> = Api::namespaced(context.client.clone(), namespace);
    let of_server = ListParams::default().labels(&format!("{}={name}", meta::SERVER));
    let own = services.list(&of_server.limit(PAGE)).await?.items.into_iter().filter(|it| is_its(&it.metadata));
    let left = StopServer {
        deployment: found.map(|it| (name.to_owned(), it.uid())),
        services: own.map(|it| it.name_any()).collect(),
        pods: Vec::new(),
    };
    if left == StopServer::default() { Ok(()) } else { stop_server(context, namespace, &left).await }
}

/// Whether an object belongs to the server with this name, and was created by the operator.
fn is_managed_server(metadata: &ObjectMeta, name: &str) -> bool {
    meta::is_managed(metadata) && label(metadata, meta::SERVER).is_some_and(|it| it == name)
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    metadata.labels.as_ref()?.get(key)
}
