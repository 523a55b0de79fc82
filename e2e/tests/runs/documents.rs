//! Sends every YAML text in README, docs and examples to the API server.

use std::fs;

use anyhow::{Context, ensure};
use crds::yaml;
use e2e::{Cluster, Namespace, documents, tools};
use serde_json::json;

/// API groups that no test cluster has: the groups of Argo CD, Flux and the Prometheus Operator, of kustomize's own files, and of the wrapped parts
/// of objects.
const OF_OTHERS: [&str; 5] =
    ["argoproj.io", "toolkit.fluxcd.io", "monitoring.coreos.com", "kustomize.config.k8s.io", "example.dev"];

fn no_definition(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("no matches for kind")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn the_api_server_takes_every_documented_yaml() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "documents").await?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("document.json");
    let file = path.to_str().context("the temporary folder's path is no UTF-8")?;
    let (mut taken, mut others) = (Vec::new(), Vec::new());
    for (place, text) in documents::all()? {
        let document = yaml::read(&text).ok().flatten().with_context(|| format!("{place} is no YAML document"))?;
        let mut object = document.root.to_json();
        let group = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        if OF_OTHERS.iter().any(|it| group.contains(it)) {
            others.push(format!("{group} {place}"));
            continue;
        }
        // The namespaces in the documents do not exist in the test cluster.
        object["metadata"]["namespace"] = json!(namespace.name);
        fs::write(&path, object.to_string())?;
        let strict = ["create", "--dry-run=server", "--validate=strict", "--filename", file];
        match tools::kubectl(&strict) {
            Ok(_) => taken.push(place),
            // The cluster is not our own, and does not have the Gateway API.
            Err(error) if group.contains("gateway.networking.k8s.io") && no_definition(&error) => {
                others.push(format!("{group} {place}"));
            }
            Err(error) => return Err(error.context(place)),
        }
    }
    println!(
        "{} documents are taken; {} are of tools that are not here, or no objects: {others:#?}",
        taken.len(),
        others.len()
    );
    ensure!(taken.len() >= 10, "only these documents were found: {taken:?}");
    Ok(())
}
