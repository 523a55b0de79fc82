//! Tests of the chart on a real cluster: install, upgrade, test, uninstall.

use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use crds::Outcome;
use e2e::{
    Cluster, Namespace, PATIENT,
    cluster::{OPERATOR, RELEASE, SYSTEM_NAMESPACE, install},
    tools,
};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        rbac::v1::{ClusterRoleBinding, Subject},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};

/// Ensures that only one test at a time installs the chart.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn the_chart_installs_upgrades_tests_and_uninstalls() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
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
    let applied = (SystemTime::now(), Instant::now());
    namespace.create_run("alone", &spec).await?;
    let status = namespace.wait_finished("alone", Duration::from_secs(90)).await?;
    let whole = applied.1.elapsed();
    let writes = cluster.operator_writes().await? - before;
    println!("API writes for one run: {writes}");
    let load_start = status.load_start_time.context("a run that measured has a time zero")?;
    let until_load = SystemTime::from(load_start).duration_since(applied.0)?;
    let load = status.summary.context("a run that measured has figures")?.duration_microseconds;
    let load = Duration::from_micros(load.into());
    println!(
        "from apply to time zero {until_load:?}, load {load:?}, then to the status {:?}",
        whole - until_load - load
    );
    // A run whose steps follow quickly takes twelve writes. The claim of the namespace takes one more. A step that is slow enough to be reported
    // takes two more writes, for a status and an event.
    assert!((5..=15).contains(&writes), "one run took {writes} writes");

    install(&["logLevel=debug"])?;
    let upgraded = generation(deployments.get(OPERATOR).await?)?;
    assert!(upgraded > installed, "the upgrade changed nothing");

    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let older = serde_json::json!({"metadata": {"annotations": {"benchwright.dev/schema-version": "0"}}});
    let patch = Patch::Merge(&older);
    let refused = crds.patch("benchmarkruns.benchwright.dev", &PatchParams::default(), &patch).await.err();
    let message = refused.context("the CRD of an older release was accepted")?.to_string();
    assert!(message.contains("would remove fields of stored objects"), "{message}");

    let log = tools::helm(&["test", RELEASE, "--namespace", SYSTEM_NAMESPACE, "--logs", "--timeout", "120s"])?;
    assert!(
        log.contains("Phase:          Succeeded") && log.contains("RunSucceeded") && log.contains("TTFT"),
        "helm test printed no figures:\n{log}"
    );

    let servers = || async {
        let params = ListParams::default().labels("app.kubernetes.io/component=server");
        anyhow::Ok(namespace.api::<Deployment>().list(&params).await?.items)
    };
    for (name, lifecycle) in [("kept", "Keep"), ("shared", "Reuse")] {
        let target = format!("{{server: {{engine: Simulator, lifecycle: {lifecycle}, args: [--preset, tiny]}}}}");
        let spec = format!(
            "target: {target}\nprofile: {{variables: {{rate: '5', duration: '3'}}}}\nstorage: {{none: {{}}}}\n{PATIENT}\n"
        );
        namespace.create_run(name, &spec).await?;
        let status = namespace.wait_finished(name, Duration::from_secs(90)).await?;
        assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    }
    assert_eq!(servers().await?.len(), 2);

    tools::helm(&["uninstall", RELEASE, "--namespace", SYSTEM_NAMESPACE, "--wait"])?;
    assert!(deployments.get_opt(OPERATOR).await?.is_none());
    let gone = || async { Ok(servers().await?.is_empty().then_some(())) };
    namespace.until("the end of kept and shared servers", Duration::from_secs(60), gone).await?;
    assert!(
        crds.get_opt("benchmarkruns.benchwright.dev").await?.is_some(),
        "the CRD went with the release, and every run with it"
    );
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn an_operator_of_some_namespaces_needs_no_cluster_role() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let cluster = Cluster::connect().await?;
    // The CRD must exist before a run can be created. The other test of this file keeps it.
    let namespace = Namespace::new(&cluster, "watched").await?;
    install(&[&format!("watchNamespaces={{{}}}", namespace.name)])?;
    let of_operator = |subjects: Option<Vec<Subject>>| {
        subjects.into_iter().flatten().any(|it| it.namespace.as_deref() == Some(SYSTEM_NAMESPACE))
    };
    let bindings: Api<ClusterRoleBinding> = Api::all(cluster.client.clone());
    let cluster_wide: Vec<_> = bindings
        .list(&ListParams::default())
        .await?
        .into_iter()
        .filter(|it| of_operator(it.subjects.clone()))
        .collect();
    assert!(cluster_wide.is_empty(), "{cluster_wide:?}");
    let spec =
        format!("target: {{simulator: {{}}}}\nprofile: {{variables: {{rate: '5', duration: '3'}}}}\n{PATIENT}\n");
    namespace.create_run("chat", &spec).await?;
    let status = namespace.wait_finished("chat", Duration::from_secs(90)).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    tools::helm(&["uninstall", RELEASE, "--namespace", SYSTEM_NAMESPACE, "--wait"])?;
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn the_chart_refuses_a_value_that_it_does_not_know() -> anyhow::Result<()> {
    let error = install(&["replicaz=3"]).err().context("an unknown value was accepted")?;
    assert!(error.to_string().contains("replicaz"), "{error}");
    Ok(())
}

/// The rendered chart, or helm's error message.
fn rendered(values: &[&str]) -> anyhow::Result<String> {
    let chart = tools::repository().join("charts/benchwright");
    let chart = chart.to_str().context("the repository's path is no UTF-8")?;
    let mut arguments = vec!["template", "name", chart, "--kube-version", "1.34.0"];
    values.iter().for_each(|it| arguments.extend(["--set", it]));
    tools::helm(&arguments)
}

/// Tests figure 24 of docs/reliability.md.
#[test]
#[ignore = "needs helm: make e2e"]
fn each_value_does_what_it_says() -> anyhow::Result<()> {
    const IMAGE: &str = "image.repository=registry.example/benchwright";
    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let digest = format!("image.digest={DIGEST}");
    let by_digest = format!("image: registry.example/benchwright@{DIGEST}");
    let sets: [(&[&str], &[&str], &[&str]); 19] = [
        (
            &[],
            &["--policy=/etc/benchwright/policy.yaml", "--network-policy", "runAsUser: 65532", "-secret-access"],
            &["monitoring.coreos.com", "grafana_dashboard", "aggregate-to"],
        ),
        (&[&digest], &[&by_digest], &["benchwright:0"]),
        (
            &["launcher.podSecurity=OpenShift"],
            &["--pod-security=OpenShift", "runAsNonRoot: true"],
            &["runAsUser", "runAsGroup"],
        ),
        (
            &["launcher.networkPolicy.enabled=false"],
            &["--pod-security", "policyName: name-operator-operator-writes"],
            &["--network-policy", "networkpolicies"],
        ),
        (
            &["launcher.networkPolicy.scraper.podLabels.app=prometheus"],
            &["--scraper-label=app=prometheus"],
            &["--scraper-namespace-label"],
        ),
        (&["admission.secretAccess.enabled=false"], &["name-operator-schema"], &["-secret-access"]),
        (&["admission.policy.enabled=false"], &["-object-size"], &["failurePolicy: Ignore"]),
        (&["admission.objectSize.enabled=false"], &["-operator-writes"], &["-object-size"]),
        (&["admission.operatorWrites.enabled=false"], &["-object-size"], &["-operator-writes"]),
        (&["policy.limits.maxRequestsPerSecond=5"], &["maxRequestsPerSecond: 5"], &[]),
        (
            &["watchNamespaces={a,b}"],
            &["--watch-namespace=b", "request.namespace in [\"a\",\"b\"]"],
            &["kind: ClusterRole"],
        ),
        (&["aggregateRoles=true"], &["aggregate-to-view", "aggregate-to-edit"], &[]),
        (&["crds.install=false"], &["kind: Deployment"], &["kind: CustomResourceDefinition"]),
        (&["traces.headersSecret.name=otlp"], &["--log-level=info"], &["--otlp-endpoint", "OTEL_"]),
        (
            &["traces.endpoint=http://collector:4318", "traces.headersSecret.name=otlp", "traces.sampleRatio=0.1"],
            &[
                "--otlp-endpoint=http://collector:4318",
                "{secretKeyRef: {name: otlp, key: headers}}",
                "SAMPLER_ARG, value: \"0.1\"",
            ],
            &[],
        ),
        (
            &["metrics.podMonitors.enabled=true", "watchNamespaces={a,b}", "metrics.podMonitors.operatorInterval=7s"],
            &["kind: PodMonitor", "matchNames:", "interval: 7s", "interval: 5s"],
            &["any: true", "kind: PrometheusRule"],
        ),
        (&["metrics.podMonitors.enabled=true"], &["any: true", "port: status", "sampleLimit: 20000"], &["matchNames"]),
        (&["metrics.alerts.enabled=true"], &["kind: PrometheusRule", "BenchwrightNoLeader"], &["PodMonitor"]),
        (
            &["metrics.dashboard.enabled=true", "metrics.dashboard.annotations.folder=x"],
            &["grafana_dashboard: \"1\"", "folder: x", "benchwright.json: |"],
            &["monitoring.coreos.com"],
        ),
    ];
    let count = sets.len();
    for (values, present, absent) in sets {
        let text = rendered(&[values, &[IMAGE]].concat())?;
        let missing: Vec<_> = present.iter().filter(|it| !text.contains(**it)).collect();
        let left: Vec<_> = absent.iter().filter(|it| text.contains(**it)).collect();
        assert!(missing.is_empty() && left.is_empty(), "{values:?}: missing {missing:?}, left {left:?}");
    }
    // The annotation changes together with the policy, which restarts the operator.
    let annotation =
        |text: &str| text.lines().find(|it| it.contains("benchwright.dev/policy-sha256")).map(str::to_owned);
    let (before, after) = (rendered(&[IMAGE])?, rendered(&[IMAGE, "policy.limits.maxRunSeconds=60"])?);
    assert!(annotation(&before).is_some());
    assert_ne!(annotation(&before), annotation(&after));

    let refusals: [(&[&str], &str); 10] = [
        (&[], "image.repository is empty"),
        (&[IMAGE, "policy.limits.maxRate=3"], "maxRate"),
        (&[IMAGE, "policy.limits.maxRunSeconds=0"], "maxRunSeconds"),
        (&[IMAGE, "policy.namespaces[0].limits.maxRunSeconds=5"], "names"),
        (&[IMAGE, "launcher.podSecurity=Anything"], "podSecurity"),
        (&[IMAGE, "launcher.image=x"], "image"),
        (&[IMAGE, "traces.endpoint=collector:4318"], "endpoint"),
        (&[IMAGE, "traces.sampleRatio=1.5"], "sampleRatio"),
        (&[IMAGE, "metrics.podMonitors.launcherInterval=fast"], "launcherInterval"),
        (&[IMAGE, "metrics.dashboards.enabled=true"], "dashboards"),
    ];
    for (values, says) in refusals {
        let refused = rendered(values).err().with_context(|| format!("{values:?} was accepted"))?.to_string();
        assert!(refused.contains(says), "{values:?}: {refused}");
    }
    println!(
        "figure 24: {count} sets of values render correctly, {} wrong sets are refused; a change of the policy changes the pod",
        refusals.len()
    );
    Ok(())
}
