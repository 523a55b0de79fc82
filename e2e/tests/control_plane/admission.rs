//! Tests of the chart's admission policies on a real API server: the limits in the value `policy`, operators of several releases, and a second
//! release in the same namespaces.

use std::{fs, time::Duration};

use anyhow::{Context as _, ensure};
use crds::{
    BenchmarkRunSpec, EffectiveSpec, Settings,
    resolve::{Endpoint, RunIdentity, resolve},
};
use e2e::{
    Cluster, Namespace,
    control_plane::{ControlPlane, runs},
    tools,
};
use k8s_openapi::api::{apps::v1::Deployment, rbac::v1::Role};
use kube::api::PostParams;
use policy::{Policy, Violation};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);
/// A user who may create runs, schedules and pods.
const TENANT: &str = "tenant";
const IMAGE: &str = "registry.example/operator:one";
/// The label of the namespaces to which the policies of these tests apply.
const JUDGED: &str = "admission-test";

/// Policies: name, content, and the name prefixes of the namespaces to which the policy applies.
const POLICIES: [(&str, &str, &[&str]); 2] = [
    ("shared", "{preset: shared}", &["plain"]),
    (
        "listed",
        r#"
preset: trusted
limits:
  images: ["registry.example/benchwright/*", busybox]
  targetHosts: ["*.svc.cluster.local", Model.Example., "fd00::*", "*.amazonaws.com"]
  claims: [workload-pvc, "data-*-x"]
  priorityClasses: [batch, "system-*"]
  serviceAccounts: [puller]
  tolerations: [nvidia.com/gpu, "spot*"]
  runtimeClasses: [nvidia]
  schedulers: [volcano]
  nodeSelectors: ["topology.kubernetes.io/*"]
  lifecycles: [Keep]
  storageClasses: [fast]
  labels: [team, "a.b/*"]
  annotations: ["prometheus.io/*"]
  retention: false
  maxRunSeconds: 7200
  maxStartSeconds: 1800
  maxClaimSize: 100Gi
  maxServerReplicas: 2
namespaces:
  - names: ["team-*", strict]
    limits: {images: ["*"], tolerations: ["*"], retention: true, priorityClasses: ["*"], maxRunSeconds: 8220, maxClaimSize: 20Gi}
  - names: ["t*m-*"]
    limits: {images: []}
  - names: ["strict-*"]
    limits: {queues: [load, "x*"], claims: [], maxStartSeconds: 1799, maxRunSeconds: 3660, tolerations: []}
"#,
        &["plain", "team", "strict"],
    ),
];

/// For each limit: its name, a spec that the second policy allows, and a spec that it refuses. Both are for a namespace without an entry in
/// `namespaces`.
const CASES: [(&str, &str, &str); 34] = [
    ("images", "launcher: {image: registry.example/benchwright/a}", "launcher: {image: registry.example/benchwright}"),
    ("images", "launcher: {image: 'registry.example/operator:one'}", "launcher: {image: 'busybox:1'}"),
    (
        "images",
        "target: {server: {engine: Simulator, image: 'registry.example/operator:one'}}",
        "target: {server: {engine: Custom, command: [a], image: 'registry.example/operator:one'}}",
    ),
    (
        "images",
        "target: {server: {engine: VLLM, model: m, image: busybox}}",
        "target: {server: {engine: VLLM, model: m, image: other}}",
    ),
    (
        "images",
        "target: {server: {engine: VLLM, method: ModelService, gatewayRef: {name: g}, model: m, image: other}}",
        "target: {server: {engine: Simulator, preprocess: x, image: 'registry.example/operator:one'}}",
    ),
    ("serviceAccounts", "launcher: {serviceAccountName: puller}", "launcher: {serviceAccountName: other}"),
    (
        "serviceAccounts",
        "target: {server: {engine: Simulator, serviceAccountName: puller}}",
        "target: {server: {engine: Simulator, serviceAccountName: pullers}}",
    ),
    ("labels", "launcher: {labels: {team: x, a.b/c: z}}", "launcher: {labels: {team: x, a.b: z}}"),
    ("annotations", "launcher: {annotations: {prometheus.io/scrape: 'x'}}", "launcher: {annotations: {other: x}}"),
    ("claims", "storage: {pvc: {claimName: data-1-x}}", "storage: {pvc: {claimName: data-x}}"),
    ("claims", "storage: {none: {}}", "storage: {pvc: {claimName: other}}"),
    (
        "claims",
        "profile: {files: [{claim: {claimName: data--x}}]}",
        "profile: {files: [{configMapRef: {name: c, key: k}}, {claim: {claimName: other}}]}",
    ),
    (
        "claims",
        "target: {server: {engine: VLLM, image: busybox, modelClaim: {claimName: data-a-x}}}",
        "target: {server: {engine: VLLM, image: busybox, modelClaim: {claimName: other}}}",
    ),
    ("storageClasses", "storage: {pvc: {storageClassName: fast}}", "storage: {pvc: {storageClassName: slow}}"),
    ("maxClaimSize", "storage: {pvc: {size: 100Gi}}", "storage: {pvc: {size: 101Gi}}"),
    ("maxClaimSize", "storage: {pvc: {size: 1000}}", "storage: {pvc: {size: 107374182401}}"),
    ("maxClaimSize", "storage: {pvc: {}}", "storage: {pvc: {size: 1.5T}}"),
    ("retention", "storage: {pvc: {}}", "storage: {pvc: {retention: {keepRuns: 3}}}"),
    ("targetHosts", "target: {url: 'http://a.b.svc.cluster.local:80/x'}", "target: {url: 'http://svc.cluster.local'}"),
    ("targetHosts", "target: {url: 'https://MODEL.example..'}", "target: {url: 'http://model.example.org'}"),
    ("targetHosts", "target: {url: 'http://[FD00::1]:80'}", "target: {url: 'http://[fe80::1]:80'}"),
    ("maxStartSeconds", "seed: 1", "execution: {deadlines: {startSeconds: 1801}}"),
    ("maxRunSeconds", "execution: {deadlines: {runSeconds: 7140}}", "execution: {deadlines: {runSeconds: 7141}}"),
    ("maxRunSeconds", "repeat: 1", "repeat: 2"),
    (
        "maxRunSeconds",
        "repeat: 2\nexecution: {deadlines: {runSeconds: 3000}, gracePeriodSeconds: 5}",
        "repeat: 2\nexecution: {deadlines: {runSeconds: 3000}, gracePeriodSeconds: 5}\ntarget: {simulator: {}, readiness: {timeoutSeconds: 1191}}",
    ),
    (
        "maxServerReplicas",
        "target: {server: {engine: Simulator, replicas: 2}}",
        "target: {server: {engine: Simulator, replicas: 3}}",
    ),
    (
        "priorityClasses",
        "launcher: {scheduling: {priorityClassName: batch}}",
        "launcher: {scheduling: {priorityClassName: other}}",
    ),
    (
        "system",
        "launcher: {scheduling: {priorityClassName: batch}}",
        "launcher: {scheduling: {priorityClassName: system-x}}",
    ),
    (
        "runtimeClasses, schedulers",
        "launcher: {scheduling: {runtimeClassName: nvidia, schedulerName: volcano}}",
        "launcher: {scheduling: {runtimeClassName: kata}}",
    ),
    (
        "schedulers of servers",
        "target: {server: {engine: Simulator, scheduling: {schedulerName: volcano}}}",
        "target: {server: {engine: Simulator, scheduling: {schedulerName: other}}}",
    ),
    (
        "nodeSelectors",
        "launcher: {scheduling: {nodeSelector: {topology.kubernetes.io/zone: a}}}",
        "launcher: {scheduling: {nodeSelector: {topology.kubernetes.io/zone: a, disk: b}}}",
    ),
    (
        "nodeSelectors of servers",
        "target: {server: {engine: Simulator, scheduling: {nodeSelector: {topology.kubernetes.io/zone: a}}}}",
        "target: {server: {engine: Simulator, scheduling: {nodeSelector: {disk: b}}}}",
    ),
    (
        "lifecycles",
        "target: {server: {engine: Simulator, lifecycle: Keep}}",
        "target: {server: {engine: Simulator, lifecycle: Reuse}}",
    ),
    (
        "tolerations",
        "launcher: {scheduling: {tolerations: [{key: nvidia.com/gpu, operator: Exists}, {key: spot-1}]}}",
        "launcher: {scheduling: {tolerations: [{key: spot}, {operator: Exists}]}}",
    ),
];

/// Specs at the bounds of the preset and of the entries in `namespaces`. Fields that they do not set have the operator's defaults.
const MORE: [&str; 12] = [
    "queueName: load\nexecution: {deadlines: {startSeconds: 1799}}\nstorage: {none: {}}",
    "queueName: load\nexecution: {deadlines: {startSeconds: 1799}, gracePeriodSeconds: 61}\nstorage: {none: {}}",
    "queueName: load\nexecution: {deadlines: {startSeconds: 1799}}\nstorage: {s3: {bucket: abc, secretRef: {name: s}}}",
    "queueName: load\nexecution: {deadlines: {startSeconds: 1799}}",
    "queueName: load\nstorage: {none: {}}",
    "queueName: other\nexecution: {deadlines: {startSeconds: 1799}}\nstorage: {none: {}}",
    "execution: {deadlines: {startSeconds: 1799}}\nstorage: {none: {}}",
    "queueName: xy\nexecution: {deadlines: {startSeconds: 1800}}\nstorage: {none: {}}",
    "execution: {deadlines: {runSeconds: 14340}}",
    "execution: {deadlines: {runSeconds: 14341}}",
    "repeat: 2\ntarget: {simulator: {}, readiness: {timeoutSeconds: 901}}",
    "storage: {pvc: {size: 20481Mi}}",
];

fn spec(text: &str) -> anyhow::Result<Value> {
    let mut spec: Value = serde_saphyr::from_str(text)?;
    let fields = spec.as_object_mut().context("a spec is a mapping")?;
    fields.entry("target").or_insert(json!({"simulator": {}}));
    Ok(spec)
}

fn run(spec: &Value) -> Value {
    json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "chat"}, "spec": spec,
    })
}

fn schedule(spec: &Value, at: &str) -> Value {
    json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkSchedule", "metadata": {"name": "chat"},
        "spec": {"schedule": at, "runTemplate": {"spec": spec}},
    })
}

/// A sweep of two rates. `set` are further fields that one level sets.
fn sweep(spec: &Value, set: Value) -> Value {
    let levels = json!([{"name": "a", "set": set}, {"name": "b"}]);
    let factors = json!([
        {"name": "rate", "field": "profile.variables.rate", "values": [1, 2]}, {"name": "more", "levels": levels},
    ]);
    json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkSweep", "metadata": {"name": "chat"},
        "spec": {"factors": factors, "runTemplate": {"spec": spec}},
    })
}

fn path(namespace: &Namespace, resource: &str) -> String {
    format!("/apis/benchwright.dev/v1alpha1/namespaces/{}/{resource}", namespace.name)
}

/// The violations for which the operator refuses a spec.
fn violations(policy: &Policy, namespace: &str, spec: &Value) -> anyhow::Result<Vec<Violation>> {
    let spec: BenchmarkRunSpec = serde_json::from_value(spec.clone())?;
    let settings = Settings::default();
    let identity = RunIdentity::first_attempt("chat", namespace, "u");
    let effective = EffectiveSpec::new(&spec, &identity.uid, &settings);
    let mut resolved = resolve(identity, &spec, &settings).map_err(|it| anyhow::anyhow!("{it:?}"))?;
    // The URL of a Gateway is only known from objects in the cluster.
    if spec.target.url.is_none() && resolved.endpoint.name().is_empty() {
        resolved.endpoint = Endpoint::Url(policy::UNKNOWN_TARGET.into());
    }
    Ok(policy::check(&policy.limits(namespace), IMAGE, &spec, &effective, &resolved, None))
}

/// Renders a template of the chart, and creates its objects. If `label` is set, the policies only apply to namespaces with this label.
fn create(release: &str, template: &str, values: &Value, label: Option<&str>) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("values.yaml");
    fs::write(&file, values.to_string())?;
    let chart = tools::repository().join("charts/benchwright");
    let [file, chart] = [&file, &chart].map(|it| it.to_string_lossy().into_owned());
    let text = tools::helm(&[
        "template",
        release,
        &chart,
        "--namespace",
        release,
        "--values",
        &file,
        "--kube-version",
        "1.34.0",
        "--set",
        "image.repository=registry.example/operator",
        "--set",
        "image.tag=one",
        "--show-only",
        template,
    ])?;
    // Each document begins with a comment, and some documents contain only the comment.
    for document in text.split("---\n").filter(|it| it.contains("kind: ")) {
        let mut object: Value = serde_saphyr::from_str(document)?;
        if let (Some(label), "ValidatingAdmissionPolicyBinding") = (label, object["kind"].as_str().unwrap_or_default())
        {
            object["spec"]["matchResources"] = json!({"namespaceSelector": {"matchLabels": {JUDGED: label}}});
        }
        tools::apply(&object)?;
    }
    Ok(())
}

/// Grants a user these rights in a namespace.
async fn grant(namespace: &Namespace, user: &str, rules: Value) -> anyhow::Result<()> {
    let role = json!({"metadata": {"name": user}, "rules": rules});
    let binding = json!({
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    });
    let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{}", namespace.name);
    runs::create(&namespace.client, &format!("{path}/roles"), &role).await?;
    runs::create(&namespace.client, &format!("{path}/rolebindings"), &binding).await?;
    Ok(())
}

/// The rights of a tenant: all rights on this project's resources, and the right to create pods.
fn rights_of_tenant() -> Value {
    json!([
        {"apiGroups": ["benchwright.dev"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]},
    ])
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make admission"]
async fn the_api_server_refuses_what_the_operator_refuses() -> anyhow::Result<()> {
    let plane = ControlPlane::connect().await?;
    let cluster = Cluster { client: plane.client.clone() };
    let (mut allowed, mut refused) = (0, 0);
    for (label, text, names) in POLICIES {
        create(
            label,
            "templates/limits.yaml",
            &json!({"policy": serde_saphyr::from_str::<Value>(text)?}),
            Some(label),
        )?;
        let policy = Policy::parse(text).map_err(anyhow::Error::msg)?;
        for name in names {
            let namespace = Namespace::labelled(&cluster, name, &[(JUDGED, label)]).await?;
            grant(&namespace, TENANT, rights_of_tenant()).await?;
            let of_system = run(&spec("launcher: {scheduling: {priorityClassName: system-x}}")?);
            namespace
                .until("the policy", SOON, || async {
                    let message = namespace.refusal(TENANT, &path(&namespace, "benchmarkruns"), &of_system).await?;
                    Ok(message.contains(&format!("{label}-operator-policy")).then_some(()))
                })
                .await?;
            for text in CASES.iter().flat_map(|it| [it.1, it.2]).chain(MORE) {
                let spec = spec(text)?;
                let by_operator = violations(&policy, &namespace.name, &spec)?;
                for (resource, object, prefix) in [
                    ("benchmarkruns", run(&spec), "spec."),
                    ("benchmarkschedules", schedule(&spec, "0 4 * * *"), "spec.runTemplate.spec."),
                    ("benchmarksweeps", sweep(&spec, json!({})), "spec.runTemplate.spec."),
                ] {
                    let message = namespace.refusal(TENANT, &path(&namespace, resource), &object).await?;
                    let place = format!("{label}, {}, {resource}, {text}: {message:?}", namespace.name);
                    assert_eq!(message.is_empty(), by_operator.is_empty(), "{place}; the operator: {by_operator:?}");
                    let is_named = |it: &Violation| {
                        let field = it.field.replacen("spec.", prefix, 1);
                        let rule = it.rule.split([' ', ';', ')', '(']).find(|it| it.starts_with("limits."));
                        message.contains(&field) && message.contains(rule.unwrap_or(&it.rule))
                    };
                    assert!(by_operator.is_empty() || by_operator.iter().any(is_named), "{place}: {by_operator:?}");
                    *if message.is_empty() { &mut allowed } else { &mut refused } += 1;
                }
            }
            if (label, *name) != ("listed", "plain") {
                continue;
            }
            for (limit, right, wrong) in CASES {
                let of = |text: &str| violations(&policy, &namespace.name, &spec(text)?);
                assert!(
                    of(right)?.is_empty() && !of(wrong)?.is_empty(),
                    "{limit}: {right} is refused, or {wrong} is allowed"
                );
            }
        }
    }
    println!(
        "figure 30: {} runs, schedules and sweeps: API server and operator both refuse {refused} and accept {allowed}",
        allowed + refused
    );
    Ok(())
}

/// The template of a schedule is checked when it is written. The runs that an operator creates from it are not checked again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make admission"]
async fn operators_of_all_releases_and_nobody_else_are_exempt() -> anyhow::Result<()> {
    const OPERATOR: &str = "system:serviceaccount:second:operator";
    let plane = ControlPlane::connect().await?;
    let namespace =
        Namespace::labelled(&Cluster { client: plane.client.clone() }, "exempt", &[(JUDGED, "exempt")]).await?;
    for template in ["secret-access", "limits", "admission"] {
        create("exempt", &format!("templates/{template}.yaml"), &json!({}), Some("exempt"))?;
    }
    // The user gets the rights of an operator, but is not the service account of the installed release's operator.
    let of_operator = json!([
        {"apiGroups": ["benchwright.dev"], "resources": ["benchmarkruns"], "verbs": ["create"]},
        {"apiGroups": ["operator.benchwright.dev"], "resources": ["benchmarkruns"], "verbs": ["create", "update"]},
    ]);
    grant(&namespace, OPERATOR, of_operator).await?;
    grant(&namespace, TENANT, json!([{"apiGroups": ["benchwright.dev"], "resources": ["*"], "verbs": ["*"]}])).await?;
    let runs = path(&namespace, "benchmarkruns");
    let plain = run(&spec("seed: 1")?);
    let reference = run(&spec("storage: {pvc: {claimName: other}}")?);
    let mut large = plain.clone();
    large["metadata"]["labels"] =
        (0..65).map(|it| (format!("k{it}"), json!(""))).collect::<serde_json::Map<_, _>>().into();
    let beyond = run(&spec("launcher: {annotations: {a: b}}")?);
    let mut of_schedule = beyond.clone();
    of_schedule["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkSchedule", "name": "s", "uid": "u"}]);
    for (object, message) in [
        (&reference, "requires the right to create pods"),
        (&large, "metadata.labels: has 65 entries"),
        (&of_schedule, "spec.launcher.annotations: is \"a\"; limits.annotations allows none; take it out"),
    ] {
        let refusal = || async {
            let refused = namespace.refusal(TENANT, &runs, object).await?;
            Ok(refused.contains(message).then_some(()))
        };
        namespace.until(message, SOON, refusal).await?;
        let refused = namespace.refusal(OPERATOR, &runs, object).await?;
        // Only the operator of the installed release is exempt from the limit on metadata.
        let is_exempt = !message.starts_with("metadata.");
        assert!(if is_exempt { refused.is_empty() } else { refused.contains(message) }, "{message}: {refused}");
    }
    assert_eq!(namespace.refusal(TENANT, &runs, &plain).await?, "");
    // A run without a schedule comes from no template that was checked, so it is not exempt.
    let refused = namespace.refusal(OPERATOR, &runs, &beyond).await?;
    assert!(refused.contains("limits.annotations allows none"), "{refused:?}");

    // The levels of a sweep change its template, so a run that the operator creates from it is judged like a run of a user.
    let mut of_sweep = beyond.clone();
    of_sweep["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkSweep", "name": "s", "uid": "u"}]);
    let refused = namespace.refusal(OPERATOR, &runs, &of_sweep).await?;
    assert!(refused.contains("limits.annotations allows none"), "{refused:?}");
    let sweeps = path(&namespace, "benchmarksweeps");
    let plain = spec("seed: 1")?;
    for (object, message) in [
        (
            sweep(&spec("storage: {pvc: {claimName: other}}")?, json!({})),
            "spec.runTemplate.spec.storage.pvc.claimName: is \"other\"",
        ),
        (
            sweep(&spec("launcher: {annotations: {a: b}}")?, json!({})),
            "spec.runTemplate.spec.launcher.annotations: is \"a\"",
        ),
        (
            sweep(&plain, json!({"launcher.image": "other"})),
            "spec.factors: a level sets launcher.image, which requires the right to create pods",
        ),
        (sweep(&plain, json!({"storage.pvc.claimName": "other"})), "a level sets storage.pvc.claimName"),
    ] {
        let refused = namespace.refusal(TENANT, &sweeps, &object).await?;
        assert!(refused.contains(message), "{message}: {refused:?}");
    }
    assert_eq!(namespace.refusal(TENANT, &sweeps, &sweep(&plain, json!({"validity.maxErrorRatio": 0.5}))).await?, "");

    // This schedule was stored before the policy existed.
    let schedules = path(&namespace, "benchmarkschedules");
    let before = json!({"launcher": {"annotations": {"a": "b"}}, "target": {"simulator": {}}});
    let stored = || async {
        let mut object = schedule(&before, "0 4 * * *");
        object["metadata"]["name"] = json!("stored");
        runs::create(&namespace.client, &schedules, &object).await
    };
    let refused = stored().await.err().context("a template beyond the limits was accepted")?.to_string();
    assert!(refused.contains("spec.runTemplate.spec.launcher.annotations: is \"a\""), "{refused}");
    tools::kubectl(&["label", "namespace", &namespace.name, &format!("{JUDGED}-")])?;
    namespace.until("a namespace without the policy", SOON, || async { Ok(stored().await.ok()) }).await?;
    tools::kubectl(&["label", "namespace", &namespace.name, &format!("{JUDGED}=exempt")])?;
    let stored = format!("{schedules}/stored");
    let change = |to: &str| json!({"spec": {"runTemplate": {"spec": {"launcher": {"annotations": {"c": to}}}}}});
    let mut tries = 0;
    let refused = loop {
        tries += 1;
        ensure!(tries < 100, "a template that changes is not judged");
        match runs::merge(&namespace.client, &stored, &change(&tries.to_string())).await {
            Ok(()) => tokio::time::sleep(Duration::from_millis(200)).await,
            Err(error) => break error.to_string(),
        }
    };
    assert!(refused.contains("spec.runTemplate.spec.launcher.annotations"), "{refused}");
    runs::merge(&namespace.client, &stored, &json!({"spec": {"schedule": "0 5 * * *"}})).await?;
    Ok(())
}

/// Installs a release into the namespace with the same name, without waiting for its pods.
fn install(release: &str, values: &[&str]) -> anyhow::Result<String> {
    let chart = tools::repository().join("charts/benchwright");
    let chart = chart.to_string_lossy();
    let own = "crds.install=false,image.repository=registry.example/benchwright";
    // The policies are disabled, because they would apply to the runs of other tests.
    let policies =
        "admission.secretAccess.enabled=false,admission.objectSize.enabled=false,admission.policy.enabled=false";
    let mut arguments = vec!["upgrade", "--install", release, &chart, "--namespace", release, "--create-namespace"];
    [&[own, policies], values].concat().iter().for_each(|it| arguments.extend(["--set", it]));
    tools::helm(&arguments)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make admission"]
async fn a_second_release_in_the_same_namespaces_is_refused() -> anyhow::Result<()> {
    let plane = ControlPlane::connect().await?;
    let cluster = Cluster { client: plane.client.clone() };
    let (a, b) = (Namespace::new(&cluster, "team-a").await?, Namespace::new(&cluster, "team-b").await?);
    let watch = |all: &[&Namespace]| {
        format!("watchNamespaces={{{}}}", all.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(","))
    };
    let refused = |values: &str, both: &str| -> anyhow::Result<()> {
        let message = install("second", &[values]).err().context("a second release was installed")?.to_string();
        let expected = format!("the release first/first also watches {both}, and each run");
        ensure!(message.contains(&expected), "{values}: {message}");
        Ok(())
    };
    // The annotation is removed because the operators of other tests are processes, and their objects belong to no release.
    let others = "app.kubernetes.io/instance=benchwright";
    tools::kubectl(&["annotate", "clusterroles", "--selector", others, "benchwright.dev/release-"])?;
    // A tenant may create any object in its own namespace, even one that looks like an operator.
    let labels = json!({
        "app.kubernetes.io/name": "benchwright", "app.kubernetes.io/component": "operator",
        "app.kubernetes.io/instance": "decoy",
    });
    let annotations = json!({"benchwright.dev/release": "decoy/decoy", "benchwright.dev/watch-namespaces": ""});
    let metadata = json!({"name": "decoy", "labels": labels, "annotations": annotations});
    let pod = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 0, "selector": {"matchLabels": labels}, "template": pod});
    let decoy: Deployment = serde_json::from_value(json!({"metadata": metadata, "spec": spec}))?;
    a.api::<Deployment>().create(&PostParams::default(), &decoy).await?;
    let decoy: Role = serde_json::from_value(json!({"metadata": metadata, "rules": []}))?;
    a.api::<Role>().create(&PostParams::default(), &decoy).await?;
    install("first", &[])?;
    install("first", &["logLevel=debug"]).context("an upgrade of the only release")?;
    refused("logLevel=info", "all namespaces")?;
    refused(&watch(&[&a]), &format!("namespace {}", a.name))?;
    install("first", &[&watch(&[&a, &b])])?;
    refused("logLevel=info", &format!("namespace {}, {}", a.name, b.name))?;
    refused(&watch(&[&b]), &format!("namespace {}", b.name))?;
    install("first", &[&watch(&[&a])])?;
    install("second", &[&watch(&[&b])])?;
    for release in ["first", "second"] {
        tools::helm(&["uninstall", release, "--namespace", release])?;
        plane.delete_namespace(release).await?;
    }
    Ok(())
}
