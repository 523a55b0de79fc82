//! The chart on a real cluster: install, upgrade, test, uninstall.

use std::time::Duration;

use anyhow::Context;
use e2e::{
    Cluster, Namespace, PATIENT,
    cluster::{OPERATOR, RELEASE, SYSTEM_NAMESPACE, install},
    tools,
};
use k8s_openapi::{
    api::apps::v1::Deployment, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api,
    api::{Patch, PatchParams},
};

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn the_chart_installs_upgrades_tests_and_uninstalls() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let chart = tools::repository().join("charts/benchwright");
    tools::helm(&["lint", "--strict", chart.to_str().context("the repository's path is no UTF-8")?])?;
    install(&[])?;
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), SYSTEM_NAMESPACE);
    let generation =
        |deployment: Deployment| deployment.metadata.generation.context("a stored object has a generation");
    let installed = generation(deployments.get(OPERATOR).await?)?;

    let namespace = Namespace::new(&cluster, "writes").await?;
    let before = cluster.operator_writes().await?;
    let spec =
        format!("target: {{simulator: {{}}}}\nprofile: {{variables: {{rate: '5', duration: '3'}}}}\n{PATIENT}\n");
    namespace.create_run("alone", &spec).await?;
    namespace.wait_finished("alone", Duration::from_secs(90)).await?;
    let writes = cluster.operator_writes().await? - before;
    println!("API writes for one run: {writes}");
    assert!((5..=12).contains(&writes), "one run took {writes} writes");

    install(&["logLevel=debug"])?;
    let upgraded = generation(deployments.get(OPERATOR).await?)?;
    assert!(upgraded > installed, "the upgrade changed nothing");

    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let older = serde_json::json!({"metadata": {"annotations": {"benchwright.dev/schema-version": "0"}}});
    let patch = Patch::Merge(&older);
    let refused = crds.patch("benchmarkruns.benchwright.dev", &PatchParams::default(), &patch).await.err();
    let message = refused.context("the CRD of an older release was accepted")?.to_string();
    assert!(message.contains("would remove fields of stored runs"), "{message}");

    let log = tools::helm(&["test", RELEASE, "--namespace", SYSTEM_NAMESPACE, "--logs", "--timeout", "120s"])?;
    assert!(log.contains("Phase:          Succeeded") && log.contains("TTFT"), "helm test printed no figures:\n{log}");

    tools::helm(&["uninstall", RELEASE, "--namespace", SYSTEM_NAMESPACE, "--wait"])?;
    assert!(deployments.get_opt(OPERATOR).await?.is_none());
    assert!(
        crds.get_opt("benchmarkruns.benchwright.dev").await?.is_some(),
        "the CRD went with the release, and every run with it"
    );
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn the_chart_refuses_a_value_that_it_does_not_know() -> anyhow::Result<()> {
    let error = install(&["replicaz=3"]).err().context("an unknown value was accepted")?;
    assert!(error.to_string().contains("replicaz"), "{error}");
    Ok(())
}
