//! Tests that the token of a run can be read nowhere except in its Secret.

use std::collections::BTreeMap;

use anyhow::Context;
use crds::{Outcome, status::Phase};
use e2e::{Cluster, ModelServer, Namespace, cluster::SYSTEM_NAMESPACE, processes::Process, tools};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::{
    Api,
    api::{ListParams, LogParams, PostParams},
};
use serde_json::json;

use crate::runs::{SOON, against};

const CANARY: &str = "canary-7f3a9c52e1d84b06";
/// The base64 encoding of `canary-7f3a9c52e1d84b06`, without the last letters, which depend on the text that follows.
const ENCODED: &str = "Y2FuYXJ5LTdmM2E5YzUyZTFkODRiMD";

/// Counts how often the canary appears in each text, plain or encoded.
fn hits(places: &BTreeMap<&str, String>) -> Vec<String> {
    let found = |text: &str| text.matches(CANARY).count() + text.matches(ENCODED).count();
    places.iter().map(|(place, text)| format!("{place}: {} in {} bytes", found(text), text.len())).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_bearer_token_leaves_no_trace() -> anyhow::Result<()> {
    let cluster = Cluster::with_operator().await?;
    let namespace = Namespace::new(&cluster, "canary").await?;
    let secret: Secret =
        serde_json::from_value(json!({"metadata": {"name": "api-key"}, "stringData": {"token": CANARY}}))?;
    namespace.api::<Secret>().create(&PostParams::default(), &secret).await?;
    ModelServer::start(&namespace, "serves", &[]).await?;
    ModelServer::start(&namespace, "refuses", &["--fail-status", "401"]).await?;
    let mut places = BTreeMap::new();
    let runs = [("serves", Outcome::Passed), ("refuses", Outcome::Invalid)];
    for (name, _) in runs {
        let auth = "auth: {secretKeyRef: {name: api-key, key: token}}, readiness: {probe: Models}";
        let target = format!("{{serviceRef: {{name: {name}}}, {auth}}}");
        namespace
            .create_run(name, &against(&target, 5.0, 5, "storage: {pvc: {claimName: results, size: 1Gi}}"))
            .await?;
    }
    // Checks the arguments and the environment of a launcher that is measuring, if its node is this machine.
    if std::env::var_os("KUBECONFIG").is_none() {
        namespace.wait_for("serves", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
        let pod = namespace.pods("serves").await?.into_iter().next().context("a run that measures has a pod")?;
        let process = Process::of_pod(&pod.metadata.uid.context("a stored pod has a UID")?)?;
        places.insert("/proc", process.arguments_and_environment()?);
    }
    for (name, outcome) in runs {
        let status = namespace.wait_finished(name, SOON).await?;
        assert_eq!(status.outcome, Some(outcome), "{status:?}");
    }

    for (place, kinds) in [
        ("runs", "benchmarkruns"),
        ("pods and Jobs", "pods,jobs"),
        ("events", "events,events.events.k8s.io"),
        ("ConfigMaps and claims", "configmaps,persistentvolumeclaims"),
    ] {
        places.insert(place, tools::kubectl(&["get", kinds, "--namespace", &namespace.name, "-o", "json"])?);
    }
    let mut logs = String::new();
    for pod in [namespace.pods("serves").await?, namespace.pods("refuses").await?].concat() {
        logs += &namespace.api::<Pod>().logs(&pod.metadata.name.unwrap_or_default(), &LogParams::default()).await?;
    }
    places.insert("logs of the launchers", logs);
    let operators: Api<Pod> = Api::namespaced(cluster.client.clone(), SYSTEM_NAMESPACE);
    let mut log = String::new();
    for pod in operators.list(&ListParams::default().labels("app.kubernetes.io/component=operator")).await? {
        log += &operators.logs(&pod.metadata.name.unwrap_or_default(), &LogParams::default()).await?;
    }
    places.insert("log of the operator", log);
    // Prints one line per file: its name, and the number of lines with the token.
    let search = format!("grep -rcF -e {CANARY} -e {ENCODED} /data; true");
    let files = namespace.shell_on_claim("results", &search).await?;
    assert!(files.lines().count() >= 10 && files.lines().all(|it| it.ends_with(":0")), "{files}");

    for line in hits(&places) {
        println!("{line}");
        assert!(line.contains(": 0 in "), "the token is in {line}");
    }
    assert!(places.values().all(|it| !it.is_empty()), "something was not read: {:?}", hits(&places));
    // The same search finds the token in the Secret itself, which shows that the search works.
    let stored = tools::kubectl(&["get", "secret", "api-key", "--namespace", &namespace.name, "-o", "json"])?;
    assert_eq!(hits(&[("the Secret", stored.clone())].into()), [format!("the Secret: 1 in {} bytes", stored.len())]);
    Ok(())
}
