//! Tests of the administrators' limits: how the file is parsed, and which values of a run are refused.

use std::collections::BTreeMap;

use crds::{BenchmarkRun, EffectiveSpec, ResolvedRun};
use k8s_openapi::api::core::v1::Service;
use operator::plan::policy::{Pattern, Policy, Violation, check, joined_services};
use workload_profiles::Workload;

use crate::behaviour::fixture::*;

const PROFILE: &str = "
load: {type: constant, stages: [{rate: 50, duration: 10}]}
data: {type: random, input_distribution: {min: 1, max: 2, mean: 1, std_dev: 0}, output_distribution: {min: 1, max: 2, mean: 1, std_dev: 0}}
";

fn workload(run: &ResolvedRun, profile: &str) -> Workload {
    let variables = workload_profiles::variables(run, &BTreeMap::new()).unwrap();
    workload_profiles::prepare(run, profile, &variables, &BTreeMap::new()).unwrap().workload
}

fn violations_of(policy: &str, run: &BenchmarkRun, profile: &str) -> Vec<Violation> {
    let policy = Policy::parse(policy).unwrap();
    let resolved = input(run, 1).run;
    let workload = workload(&resolved, profile);
    let effective = EffectiveSpec::new(&run.spec, run.metadata.uid.as_deref().unwrap_or_default(), &settings());
    check(&policy.limits("bench"), &settings().launcher_image, &run.spec, &effective, &resolved, Some(&workload))
}

/// Asserts that a run is refused, and that the violations begin with these texts, in this order.
#[track_caller]
fn assert_refused(policy: &str, spec: &str, expected: &[&str]) {
    let found: Vec<_> = violations_of(policy, &run(spec), PROFILE).iter().map(Violation::to_string).collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found:?} does not begin with {expected:?}");
    }
}

#[test]
fn a_policy_without_limits_allows_all_but_the_priority_of_the_cluster_itself() {
    for policy in ["", "{}", "limits: {}", "namespaces: []"] {
        let spec = "{target: {url: 'http://h'}, launcher: {image: a/b, labels: {a: b}, scheduling: {priorityClassName: high}}}";
        assert_refused(policy, spec, &[]);
        let system = "{target: {simulator: {}}, launcher: {scheduling: {priorityClassName: system-node-critical}}}";
        assert_refused(
            policy,
            system,
            &["spec.launcher.scheduling.priorityClassName: is \"system-node-critical\"; system-* classes"],
        );
    }
}

#[test]
fn what_a_pod_asks_of_its_node_its_claim_and_its_queue_are_limited() {
    let policy = "
limits:
  tolerations: [nvidia.com/gpu]
  runtimeClasses: []
  schedulers: [batch]
  storageClasses: ['fast*']
  maxClaimSize: 10Gi
  retention: false
  queues: [load, night]
  maxStartSeconds: 600
";
    let refused = "
target: {simulator: {}}
launcher: {scheduling: {runtimeClassName: kata, schedulerName: mine, tolerations: [{key: nvidia.com/gpu}, {key: a}, {operator: Exists}]}}
storage: {pvc: {storageClassName: slow, size: 11Gi, retention: {keepRuns: 1}}}
queueName: other
";
    let expected = [
        "spec.launcher.scheduling.runtimeClassName: is \"kata\"; limits.runtimeClasses allows none; take it out",
        "spec.launcher.scheduling.schedulerName: is \"mine\"; limits.schedulers allows only \"batch\"",
        "spec.launcher.scheduling.tolerations[1].key: is \"a\"; limits.tolerations allows only \"nvidia.com/gpu\"",
        "spec.launcher.scheduling.tolerations[2].key: is absent; without a key it tolerates every taint",
        "spec.queueName: is \"other\"; limits.queues allows only \"load\", \"night\"",
        "spec.storage.pvc.storageClassName: is \"slow\"; limits.storageClasses",
        "spec.storage.pvc.size: is \"11Gi\"; at most 10Gi is allowed (limits.maxClaimSize)",
        "spec.storage.pvc.retention: is set; retention deletes folders of other runs",
        "spec.execution.deadlines.startSeconds: is 1800; a run may take at most 600 seconds to start (limits.maxStartSeconds)",
    ];
    assert_refused(policy, refused, &expected);
    let absent = ["spec.queueName: is absent; limits.queues requires one of \"load\", \"night\"; set it"];
    assert_refused("limits: {queues: [load, night]}", SIMULATOR, &absent);
    let server = "{target: {server: {engine: Simulator, lifecycle: Reuse, scheduling: {nodeSelector: {disk: a}}}}}";
    let expected = [
        "spec.target.server.scheduling.nodeSelector: is \"disk\"; limits.nodeSelectors allows only \"zone\"",
        "spec.target.server.lifecycle: is \"Reuse\"; limits.lifecycles allows none",
    ];
    assert_refused("limits: {lifecycles: [], nodeSelectors: [zone]}", server, &expected);
    let server = "{target: {server: {engine: Simulator, scheduling: {tolerations: [{key: a}]}}}}";
    let expected = ["spec.target.server.scheduling.tolerations[0].key: is \"a\"; limits.tolerations allows none"];
    assert_refused("limits: {tolerations: []}", server, &expected);
}

#[test]
fn a_preset_is_replaced_by_what_administrators_set() {
    let spec = "{target: {simulator: {}}, launcher: {annotations: {a: b}, scheduling: {priorityClassName: high}}}";
    assert_refused("preset: trusted", spec, &[]);
    let all = [
        "spec.launcher.scheduling.priorityClassName: is \"high\"; limits.priorityClasses allows none",
        "spec.launcher.annotations: is \"a\"; limits.annotations allows none",
    ];
    assert_refused("preset: shared", spec, &all);
    assert_refused("preset: shared\nlimits: {annotations: ['*']}", spec, &all[..1]);
    let of_namespace = "preset: shared\nnamespaces: [{names: [bench], limits: {priorityClasses: [high]}}]";
    assert_refused(of_namespace, spec, &all[1..]);
    assert_refused(
        "preset: shared",
        "{target: {simulator: {}}, execution: {deadlines: {runSeconds: 14341}}}",
        &["spec.execution"],
    );
    assert!(Policy::parse("preset: open").is_err_and(|it| it.contains("preset")));
}

/// The violations concern hosts, registries, rates, claims, labels and priorities. One message names all of them.
#[test]
fn everything_that_is_not_allowed_is_named_at_once() {
    let policy = "
limits:
  images: ['registry.example/benchwright/*']
  targetHosts: ['*.bench.svc.cluster.local', models.example.com]
  claims: [results, 'data-*']
  priorityClasses: []
  serviceAccounts: ['pull-*']
  labels: [team]
  annotations: ['prometheus.io/*']
  maxRequestsPerSecond: 10
  maxRunSeconds: 600
  maxResources: {cpu: 2, memory: 4Gi}
";
    let refused = "
target: {url: 'http://Internal.example.com.:8080/v1x', metrics: [{url: 'http://epp:9090/metrics'}]}
profile: {files: [{claim: {claimName: database}}, {claim: {claimName: data-1}}]}
launcher:
  image: docker.io/evil/image
  labels: {team: a, app: b}
  annotations: {prometheus.io/scrape: 'true', k8s.v1.cni.cncf.io/networks: storage}
  resources: {requests: {cpu: 2001m, nvidia.com/gpu: 1}, limits: {cpu: 2}}
  scheduling: {priorityClassName: high}
  serviceAccountName: admin
storage: {pvc: {claimName: other}}
";
    let expected = [
        "spec.launcher.image: is \"docker.io/evil/image\"; limits.images allows only \"registry.example/benchwright/*\"; name one",
        "spec.launcher.scheduling.priorityClassName: is \"high\"; limits.priorityClasses allows none; take it out",
        "spec.launcher.serviceAccountName: is \"admin\"; limits.serviceAccounts allows only \"pull-*\"; name one of these",
        "spec.launcher.labels: is \"app\"; limits.labels allows only \"team\"",
        "spec.launcher.annotations: is \"k8s.v1.cni.cncf.io/networks\"; limits.annotations allows only \"prometheus.io/*\"",
        "spec.storage.pvc.claimName: is \"other\"; limits.claims allows only \"results\", \"data-*\"",
        "spec.profile.files[0].claim.claimName: is \"database\"; limits.claims",
        "spec.target.url, the host: is \"internal.example.com\"; limits.targetHosts",
        "spec.target.metrics[0], the host: is \"epp\"; limits.targetHosts",
        "profile, stage r50: is 50 requests per second; at most 10 requests per second are allowed (limits.maxRequestsPerSecond)",
        "spec.execution.deadlines.runSeconds: is 3600, in all 3660 seconds; with gracePeriodSeconds",
        "spec.launcher.resources.requests.cpu: is \"2001m\"; at most 2 is allowed (limits.maxResources.cpu); lower it",
        "spec.launcher.resources.requests.nvidia.com/gpu: is \"1\"; limits.maxResources allows only cpu, memory; take it out",
        "spec.launcher.resources.limits.memory: is absent; a launcher may have at most 4Gi (limits.maxResources.memory)",
    ];
    assert_refused(policy, refused, &expected);
    let allowed = "
target: {serviceRef: {name: model}}
profile: {files: [{claim: {claimName: data-1}}]}
launcher: {image: 'registry.example/benchwright/launcher@sha256:00', labels: {team: a}, serviceAccountName: pull-1, resources: {requests: {cpu: 500m}, limits: {memory: 4096Mi}}}
storage: {pvc: {claimName: results}}
execution: {deadlines: {runSeconds: 300}}
";
    let found = violations_of(policy, &run(allowed), &PROFILE.replace("50", "10"));
    assert_eq!(found, Vec::new());
}

#[test]
fn the_server_of_a_bucket_is_a_host_that_a_run_calls() {
    let policy = "limits: {targetHosts: [minio.storage, '*.eu-west-1.amazonaws.com']}";
    let with = |s3: &str| {
        let spec = format!(
            "{{target: {{simulator: {{}}}}, storage: {{s3: {{bucket: bench, secretRef: {{name: s}}, {s3}}}}}}}"
        );
        violations_of(policy, &run(&spec), PROFILE).iter().map(|it| it.field.clone()).collect::<Vec<_>>()
    };
    assert_eq!(with("endpoint: 'http://minio.storage:9000'"), Vec::<String>::new());
    assert_eq!(with("region: eu-west-1"), Vec::<String>::new());
    let refused = ["spec.storage.s3.endpoint, the host"];
    assert_eq!(with("endpoint: 'http://other.storage:9000'"), refused);
    assert_eq!(with("region: us-east-1"), refused);
}

#[test]
fn loads_without_a_rate_are_limited_by_their_requests_at_once() {
    let closed = PROFILE.replace(
        "type: constant, stages: [{rate: 50, duration: 10}]",
        "type: concurrent, stages: [{num_requests: 100, concurrency_level: 64}]",
    );
    let limits = "limits: {maxRequestsPerSecond: 1, maxConcurrency: 63}";
    let found = violations_of(limits, &run(SIMULATOR), &closed);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].value, "64 concurrent requests");
    assert_eq!(violations_of("limits: {maxConcurrency: 64}", &run(SIMULATOR), &closed), Vec::new());
}

#[test]
fn a_later_entry_of_a_namespace_replaces_only_what_it_sets() {
    let policy = Policy::parse(
        "
limits: {maxRequestsPerSecond: 1, maxRunSeconds: 10}
namespaces:
- {names: ['team-*'], limits: {maxRequestsPerSecond: 2, claims: [a]}}
- {names: [team-b, other], limits: {maxRequestsPerSecond: 3}}
",
    )
    .unwrap();
    let of = |namespace: &str| {
        let limits = policy.limits(namespace);
        (limits.max_requests_per_second, limits.max_run_seconds, limits.claims.map(|it| it.len()))
    };
    assert_eq!(of("default"), (Some(1.0), Some(10), None));
    assert_eq!(of("team-a"), (Some(2.0), Some(10), Some(1)));
    assert_eq!(of("team-b"), (Some(3.0), Some(10), Some(1)));
    assert_eq!(of("other"), (Some(3.0), Some(10), None));
}

#[test]
fn blocked_networks_are_added_to_those_of_the_installation() {
    let policy = Policy::parse(
        "namespaces: [{names: [bench], limits: {egress: {blocked: [10.0.0.0/8], allowedHosts: [10.1.2.3]}}}]",
    )
    .unwrap();
    let usual = settings();
    assert_eq!(policy.settings(&usual, "other"), usual);
    let (before, after) = (usual.egress.clone().unwrap(), policy.settings(&usual, "bench").egress.unwrap());
    assert!(!before.blocked.is_empty());
    assert_eq!(after.blocked, [before.blocked, vec!["10.0.0.0/8".to_owned()]].concat());
    assert_eq!(after.allowed_hosts, ["10.1.2.3"]);
}

/// The list must stay short enough for a launcher, even after the networks that are always blocked are added.
#[test]
fn a_list_of_blocked_networks_leaves_room_for_those_of_the_installation() {
    let parse = |count: usize| {
        let networks: Vec<_> = (0..count).map(|it| format!("10.0.{it}.0/24")).collect();
        Policy::parse(&format!("limits: {{egress: {{blocked: [{}]}}}}", networks.join(", ")))
    };
    let own = settings().egress.unwrap().blocked.len();
    let most = 256 - own;
    let merged = parse(most).unwrap().settings(&settings(), "bench").egress.unwrap();
    assert!(merged.blocked.len() == 256 && merged.rules("egress").is_ok());
    let problem = parse(most + 1).unwrap_err();
    assert!(problem.contains(&format!("has {} entries; write at most {most}", most + 1)), "{problem}");
}

#[test]
fn patterns_of_hosts_have_no_case() {
    let policy = "limits: {targetHosts: ['*.Example.com']}";
    let of = |host: &str| violations_of(policy, &run(&format!("target: {{url: 'http://{host}', model: m}}")), PROFILE);
    assert_eq!(of("models.example.com"), []);
    assert_eq!(of("Models.EXAMPLE.com."), []);
    assert_eq!(of("models.example.org").len(), 1);
}

#[test]
fn the_limits_hold_for_a_server_that_is_started_for_the_run() {
    let limits = "
limits:
  images: ['registry.example/*']
  targetHosts: ['*.example.com']
  claims: ['data-*']
  priorityClasses: [low]
  serviceAccounts: ['pull-*']
  maxResources: {cpu: 2, memory: 4Gi}
";
    let server = "
target:
  server:
    engine: VLLM
    image: docker.io/vllm/vllm-openai:v0.11.0
    modelClaim: {claimName: weights}
    replicas: 2
    resources: {requests: {cpu: 8}, limits: {nvidia.com/gpu: 1}}
    scheduling: {priorityClassName: system-node-critical}
    serviceAccountName: admin
storage: {none: {}}
";
    let own = [
        "spec.target.server.image: is \"docker.io/vllm/vllm-openai:v0.11.0\"; limits.images allows only",
        "spec.target.server.scheduling.priorityClassName: is \"system-node-critical\"; limits.priorityClasses",
        "spec.target.server.scheduling.priorityClassName: is \"system-node-critical\"; system-* classes are only for",
        "spec.target.server.serviceAccountName: is \"admin\"; limits.serviceAccounts",
        "spec.target.server.modelClaim.claimName: is \"weights\"; limits.claims",
    ];
    let of_launchers = [
        "spec.target.server.resources.requests.cpu: is \"8\"; at most 2 is allowed (limits.maxResources.cpu)",
        "spec.target.server.resources.limits.nvidia.com/gpu: is \"1\"; limits.maxResources allows only cpu, memory",
        "spec.target.server.resources.limits.memory: is absent; a server may have at most 4Gi (limits.maxResources.memory)",
    ];
    // The run's own server is always an allowed host.
    assert_refused(limits, server, &[&own[..], &of_launchers].concat());
    let more = format!("{limits}  maxServerResources: {{cpu: 64, nvidia.com/gpu: 8}}\n");
    assert_refused(&more, server, &own);
    let few = format!("{more}  maxServerReplicas: 1\n");
    let replicas = "spec.target.server.replicas: is 2; at most 1 replicas of a server are allowed (limits.maxServerReplicas); lower it";
    assert_refused(&few, server, &[&own[..], &[replicas]].concat());
    assert_refused(&few.replace("Replicas: 1", "Replicas: 2"), server, &own);
    let allowed = "
target: {server: {engine: VLLM, image: registry.example/vllm, modelClaim: {claimName: data-llama}, resources: {limits: {memory: 4Gi}}}}
storage: {none: {}}
";
    assert_eq!(violations_of(limits, &run(allowed), &PROFILE.replace("50", "10")), Vec::new());
    assert_eq!(
        violations_of("limits: {images: []}", &run("{target: {server: {engine: Simulator}}}"), PROFILE),
        Vec::new()
    );
}

#[test]
fn a_file_that_cannot_be_used_says_everything_that_is_wrong() {
    let wrong = "
limits: {images: ['registry.example*', ''], maxRequestsPerSecond: 0, maxRunSeconds: 0, maxConcurrentAttempts: 0, maxServerReplicas: 0, maxResources: {cpu: lots}, maxServerResources: {memory: some}, labels: [a, a], egress: {blocked: [x]}}
namespaces: [{limits: {claims: ['a b']}}]
";
    let found = Policy::parse(wrong).unwrap_err();
    for part in [
        "limits.images[0]: is \"registry.example*\"; write a /, : or @ before the last *",
        "limits.images[1]: is empty",
        "limits.labels[1]: is \"a\", as an entry before it",
        "limits.maxRequestsPerSecond: is 0; write a rate above 0",
        "limits.maxRunSeconds: is 0; write at least 1",
        "limits.maxConcurrentAttempts: is 0; write at least 1",
        "limits.maxServerReplicas: is 0; write at least 1",
        "limits.maxResources.cpu: is \"lots\"; write a quantity",
        "limits.maxServerResources.memory: is \"some\"; write a quantity",
        "limits.egress.blocked[0]: is \"x\"",
        "namespaces[0].names: is empty",
        "namespaces[0].limits.claims[0]: is \"a b\"",
    ] {
        assert!(found.lines().any(|it| it.starts_with(part)), "{part:?} is not in\n{found}");
    }
    let unknown = Policy::parse("limits: {maxRate: 3}").unwrap_err();
    assert!(unknown.contains("maxRate"), "{unknown}");
}

#[test]
fn a_star_stands_for_any_text() {
    for (pattern, name, expected) in [
        ("a", "a", true),
        ("a", "A", false),
        ("*", "", true),
        ("*.b", "a.b", true),
        ("*.b", ".b", true),
        ("*.b", "b", false),
        ("a/*", "a/b/c", true),
        ("a/*", "ab/c", false),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-c-b", false),
        ("a**c", "abc", true),
    ] {
        assert_eq!(Pattern::from(pattern).matches(name), expected, "{pattern} {name}");
    }
}

#[test]
fn a_quantity_that_is_too_large_to_compare_is_above_the_limit() {
    for amount in ["64e4294967305", "1e99999999999999999999", "1e2147483647"] {
        let spec =
            format!("{{target: {{simulator: {{}}}}, launcher: {{resources: {{limits: {{memory: {amount:?}}}}}}}}}");
        let expected = format!("spec.launcher.resources.limits.memory: is {amount:?}; at most 8Gi is allowed");
        assert_refused("limits: {maxResources: {memory: 8Gi}}", &spec, &[&expected]);
    }
}

#[test]
fn the_operators_own_image_is_allowed_when_a_run_names_it() {
    let own = settings().launcher_image;
    let named = |image: &str| format!("{{target: {{simulator: {{}}}}, launcher: {{image: {image:?}}}}}");
    assert_refused("limits: {images: []}", &named(&own), &[]);
    assert_refused("limits: {images: []}", &named("evil/image"), &["spec.launcher.image: is \"evil/image\""]);
}

#[test]
fn the_operators_own_image_as_a_server_is_allowed_for_the_simulator_alone() {
    let own = settings().launcher_image;
    let server = |more: &str| format!("{{target: {{server: {{image: {own:?}, {more}}}}}, storage: {{none: {{}}}}}}");
    assert_refused("limits: {images: []}", &server("engine: Simulator"), &[]);
    // With a user's command, the operator's image could send any load to any host.
    for engine in [
        "engine: Custom, command: [/benchwright, run, --url, 'http://sim.team-b.svc']",
        "engine: Simulator, command: [/benchwright, run]",
        "engine: Simulator, preprocess: 'benchwright run'",
        "engine: VLLM, model: m, command: [/benchwright]",
    ] {
        assert_refused("limits: {images: []}", &server(engine), &["spec.target.server.image: is"]);
    }
}

/// With certain labels the launcher's pod would become an endpoint of another Service.
#[test]
fn labels_that_join_a_service_are_refused() {
    let service = |name: &str, selector: &str| -> Service {
        serde_saphyr::from_str(&format!("{{metadata: {{name: {name}}}, spec: {{selector: {selector}}}}}")).unwrap()
    };
    let services = [
        service("model", "{app: vllm}"),
        service("two", "{app: vllm, tier: gold}"),
        service("both", "{app: vllm, app.kubernetes.io/name: benchwright}"),
        service("launchers", "{app.kubernetes.io/component: launcher}"),
        service("by-hand", "{}"),
    ];
    let labels = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let joined = |chosen: &BTreeMap<String, String>| {
        let mut all = chosen.clone();
        all.extend(operator::plan::meta::labels(&run(SIMULATOR), 1));
        joined_services(chosen, &all, &services).iter().map(Violation::to_string).collect::<Vec<_>>()
    };
    let found = joined(&labels(&[("app", "vllm"), ("team", "a")]));
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(
        found[0].starts_with(
            "spec.launcher.labels.app: is \"vllm\"; with this label the launcher's pod would get requests"
        ),
        "{found:?}"
    );
    assert!(found[0].contains("Service \"model\"") && found[1].contains("Service \"both\""), "{found:?}");
    assert_eq!(joined(&labels(&[("app", "other")])), Vec::<String>::new());
}
