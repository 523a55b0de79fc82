//! The Deployment and the Services of a server. The pods have no API token, and no more privileges than the engine needs.

use crds::{
    BenchmarkRun, EffectiveSpec, Settings,
    benchmark_run::{Server, ServerEngine},
    pod::{USER, container_security, pod_security},
    resolve::{ManagedServer, Place, PodSecurity, ServerNames, log_port, mounts, resolve_server, server_image},
};
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
        core::v1::{
            Capabilities, Container, ContainerPort, EmptyDirVolumeSource, EnvVar, EnvVarSource, HTTPGetAction,
            PersistentVolumeClaimVolumeSource, PodSecurityContext, PodSpec, PodTemplateSpec, Probe,
            ResourceRequirements, SeccompProfile, SecretKeySelector, SecurityContext, Service, ServicePort,
            ServiceSpec, Volume, VolumeMount,
        },
        networking::v1::{NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicySpec},
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};

use super::wrapper;
use crate::plan::{
    Child,
    job::{STAY, log_token_variable, pull_secret, quantities},
    meta, network_policy,
};

/// Name of the server's container.
pub const CONTAINER: &str = "server";
/// Time for the engine to end after SIGTERM, in seconds.
const GRACE_SECONDS: i64 = 30;
/// Period of the readiness probe while the server starts, in seconds.
const STARTUP_PERIOD: i32 = 2;
/// Period of the readiness probe after the server was ready, in seconds. It is long so that probes do not disturb the load.
const READINESS_PERIOD: i32 = 10;
/// Number of consecutive probes that can fail. It is large because an engine under load answers late, and must not lose its connections.
const READINESS_FAILURES: i32 = 30;
/// Time limit of a probe, in seconds.
const PROBE_TIMEOUT: i32 = 5;
/// After the operator's time limit for the start of an engine, the kubelet waits this many more seconds. So normally the operator ends the engine,
/// and can report the reason.
const BACKSTOP_SECONDS: u32 = 120;

/// The path to which a server responds with 200 when it is ready.
pub fn probe_path(engine: ServerEngine) -> &'static str {
    engine.row().health_path
}

/// Number of Services of a server: one for the load, and with several replicas a second one that resolves to each replica.
pub fn services(effective: &EffectiveSpec) -> usize {
    let replicas = effective.target.server.as_ref().map_or(1, |it| it.replicas);
    if replicas > 1 { 2 } else { 1 }
}

/// Builds all objects of a server, in the order of their creation. Returns none if the server description is invalid, which the launcher's input has
/// already reported. `sleep_mode` states whether the run measures the server's sleep mode. `is_governed` states whether another policy of the
/// namespace restricts the ingress of the pods. `log_token` is the bearer token for the log.
pub fn build(
    run: &BenchmarkRun,
    names: &ServerNames,
    effective: &EffectiveSpec,
    settings: &Settings,
    sleep_mode: bool,
    is_governed: bool,
    log_token: Option<&str>,
) -> Vec<Child> {
    let Some(server) = &run.spec.target.server else { return Vec::new() };
    let Ok(managed) = resolve_server(server, Place::Cluster) else { return Vec::new() };
    let port = managed.port.unwrap_or(8000);
    let ports: Vec<(&str, u16)> = [("http", Some(port)), ("log", log_port(server))]
        .into_iter()
        .filter_map(|(name, it)| Some((name, it?)))
        .collect();
    let mut all = vec![Child::Service(Box::new(service(run, names, &names.server, &ports, false)))];
    if services(effective) > 1 {
        all.push(Child::Service(Box::new(service(run, names, &names.pods, &ports, true))));
    }
    if log_port(server).is_some() && settings.network_policy.is_some() {
        all.push(Child::NetworkPolicy(Box::new(policy(run, names, port, is_governed))));
    }
    let log_token = log_token.filter(|_| log_port(server).is_some());
    let started = Started { run, server, managed: &managed, port, effective, settings, sleep_mode, log_token };
    all.push(Child::Deployment(Box::new(started.deployment(names))));
    all
}

/// The NetworkPolicy for the ingress of a server's pods. All clients can reach the API. The launchers and the server's own pods can also reach the
/// log and all other ports. If another policy of the namespace already restricts the ingress of these pods (`is_governed`), this policy must not open
/// the API to all clients.
fn policy(run: &BenchmarkRun, names: &ServerNames, port: u16, is_governed: bool) -> NetworkPolicy {
    let own = meta::server_selector(run, names);
    let everybody =
        NetworkPolicyIngressRule { ports: Some(vec![network_policy::port("TCP", port.into())]), from: None };
    let inside = NetworkPolicyIngressRule {
        ports: None,
        from: Some(vec![network_policy::pods(meta::launcher_selector(run, names)), network_policy::pods(own.clone())]),
    };
    NetworkPolicy {
        metadata: meta::of_server(run, names, &names.server),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(network_policy::selector(own)),
            policy_types: Some(vec!["Ingress".into()]),
            ingress: Some(if is_governed { vec![inside] } else { vec![everybody, inside] }),
            egress: None,
        }),
    }
}

/// The inputs from which the pods of a server are built.
struct Started<'a> {
    run: &'a BenchmarkRun,
    server: &'a Server,
    managed: &'a ManagedServer,
    port: u16,
    effective: &'a EffectiveSpec,
    settings: &'a Settings,
    sleep_mode: bool,
    log_token: Option<&'a str>,
}

fn service(run: &BenchmarkRun, names: &ServerNames, name: &str, ports: &[(&str, u16)], headless: bool) -> Service {
    let port = |(name, port): &(&str, u16)| ServicePort {
        name: Some((*name).into()),
        port: (*port).into(),
        target_port: Some(IntOrString::Int((*port).into())),
        ..ServicePort::default()
    };
    Service {
        metadata: meta::of_server(run, names, name),
        spec: Some(ServiceSpec {
            cluster_ip: headless.then(|| "None".into()),
            selector: Some(meta::server_selector(run, names)),
            ports: Some(ports.iter().map(port).collect()),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

impl Started<'_> {
    fn deployment(&self, names: &ServerNames) -> Deployment {
        let Started { run, managed, .. } = *self;
        let annotations = STAY.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let token = self.log_token.map(|it| [(meta::LOG_TOKEN.to_owned(), it.to_owned())].into());
        Deployment {
            metadata: ObjectMeta { annotations: token, ..meta::of_server(run, names, &names.server) },
            spec: Some(DeploymentSpec {
                replicas: i32::try_from(managed.replicas).ok(),
                selector: LabelSelector {
                    match_labels: Some(meta::server_selector(run, names)),
                    ..LabelSelector::default()
                },
                // With a rolling update, the old and the new pod of a replica would occupy twice as many GPUs.
                strategy: Some(DeploymentStrategy { type_: Some("Recreate".into()), rolling_update: None }),
                template: PodTemplateSpec {
                    metadata: Some(ObjectMeta {
                        labels: Some(meta::server_labels(run, names)),
                        annotations: Some(annotations.into()),
                        ..ObjectMeta::default()
                    }),
                    spec: Some(self.pod()),
                },
                ..DeploymentSpec::default()
            }),
            ..Deployment::default()
        }
    }

    fn pod(&self) -> PodSpec {
        let Started { server, settings, .. } = *self;
        let scheduling = &server.scheduling;
        let (volumes, mounts): (Vec<_>, Vec<_>) = volumes(server).into_iter().unzip();
        let secrets = settings.launcher_pull_secrets.iter().map(|it| pull_secret(it));
        PodSpec {
            automount_service_account_token: Some(false),
            containers: vec![self.container(mounts)],
            enable_service_links: Some(false),
            image_pull_secrets: Some(secrets.collect()),
            init_containers: wrapper::container(server, settings).map(|it| vec![it]),
            node_selector: Some(scheduling.node_selector.clone()).filter(|it| !it.is_empty()),
            priority_class_name: scheduling.priority_class_name.clone().filter(|it| !it.is_empty()),
            runtime_class_name: scheduling.runtime_class_name.clone().filter(|it| !it.is_empty()),
            scheduler_name: scheduling.scheduler_name.clone().filter(|it| !it.is_empty()),
            security_context: Some(match server.engine {
                ServerEngine::Simulator => {
                    let user = (settings.pod_security == PodSecurity::Restricted).then_some(USER);
                    pod_security([user; 3])
                }
                // The user is not set, because the images of engines choose it, and most choose root.
                _ => PodSecurityContext {
                    seccomp_profile: Some(SeccompProfile {
                        type_: "RuntimeDefault".into(),
                        ..SeccompProfile::default()
                    }),
                    ..PodSecurityContext::default()
                },
            }),
            service_account_name: server.service_account_name.clone().filter(|it| !it.is_empty()),
            termination_grace_period_seconds: Some(GRACE_SECONDS),
            tolerations: Some(scheduling.tolerations.iter().map(Into::into).collect()),
            volumes: Some(volumes).filter(|it| !it.is_empty()),
            ..PodSpec::default()
        }
    }

    fn container(&self, mounts: Vec<VolumeMount>) -> Container {
        let Started { run, server, managed, port, effective, settings, sleep_mode, log_token } = *self;
        let start = wrapper::start(run, server, managed, port, sleep_mode);
        let resources = server.resources.clone().unwrap_or_default();
        let texts =
            |texts: &[String]| Some(texts.iter().map(|it| escaped(it)).collect::<Vec<_>>()).filter(|it| !it.is_empty());
        let mut env: Vec<_> = start
            .env
            .iter()
            .map(|(name, value)| EnvVar { name: name.clone(), value: Some(escaped(value)), value_from: None })
            .collect();
        if let Some(token) = &server.hub_token {
            let key = SecretKeySelector {
                name: token.secret_key_ref.name.clone(),
                key: token.secret_key_ref.key.clone(),
                optional: None,
            };
            let source = EnvVarSource { secret_key_ref: Some(key), ..EnvVarSource::default() };
            env.push(EnvVar { name: "HF_TOKEN".into(), value: None, value_from: Some(source) });
        }
        env.extend(log_token.map(log_token_variable));
        let ports = [("http", Some(port)), ("log", log_port(server))].into_iter().filter_map(|(name, port)| {
            Some(ContainerPort { container_port: port?.into(), name: Some(name.into()), ..ContainerPort::default() })
        });
        Container {
            name: CONTAINER.into(),
            image: Some(server_image(server, settings).to_owned()),
            image_pull_policy: server.image.is_none().then(|| settings.launcher_pull_policy.clone()),
            command: texts(&start.command),
            args: texts(&start.args),
            env: Some(env).filter(|it| !it.is_empty()),
            ports: Some(ports.collect()),
            resources: Some(ResourceRequirements {
                requests: quantities(&resources.requests),
                limits: quantities(&resources.limits),
                ..ResourceRequirements::default()
            }),
            startup_probe: Some(startup_probe(server.engine, port, effective.target.readiness.timeout_seconds)),
            readiness_probe: Some(Probe {
                http_get: Some(probe(server.engine, port)),
                period_seconds: Some(READINESS_PERIOD),
                timeout_seconds: Some(PROBE_TIMEOUT),
                failure_threshold: Some(READINESS_FAILURES),
                ..Probe::default()
            }),
            security_context: Some(match server.engine {
                ServerEngine::Simulator => container_security(),
                _ => SecurityContext {
                    allow_privilege_escalation: Some(false),
                    capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), ..Capabilities::default() }),
                    ..SecurityContext::default()
                },
            }),
            // Makes the kubelet report the last lines of the log, because the operator has no right to read the log.
            termination_message_policy: Some("FallbackToLogsOnError".into()),
            volume_mounts: Some(mounts).filter(|it| !it.is_empty()),
            ..Container::default()
        }
    }
}

/// The startup probe. The kubelet ends a container that does not become ready in time, but the operator ends it earlier and reports the reason.
fn startup_probe(engine: ServerEngine, port: u16, timeout_seconds: u32) -> Probe {
    let period = u32::try_from(STARTUP_PERIOD).unwrap_or(1);
    let tries = timeout_seconds.saturating_add(BACKSTOP_SECONDS).div_ceil(period);
    Probe {
        http_get: Some(probe(engine, port)),
        period_seconds: Some(STARTUP_PERIOD),
        timeout_seconds: Some(PROBE_TIMEOUT),
        failure_threshold: Some(i32::try_from(tries).unwrap_or(i32::MAX)),
        ..Probe::default()
    }
}

fn probe(engine: ServerEngine, port: u16) -> HTTPGetAction {
    HTTPGetAction {
        path: Some(probe_path(engine).into()),
        port: IntOrString::Int(port.into()),
        ..HTTPGetAction::default()
    }
}

fn volumes(server: &Server) -> Vec<(Volume, VolumeMount)> {
    let mut all = wrapper::volumes(server);
    if !server.engine.is_own() {
        // The processes of an engine exchange data in shared memory, and the default of 64 MiB is too small. The size counts toward the memory limit.
        let memory = EmptyDirVolumeSource { medium: Some("Memory".into()), size_limit: None };
        all.push((
            Volume { name: "shm".into(), empty_dir: Some(memory), ..Volume::default() },
            VolumeMount { name: "shm".into(), mount_path: "/dev/shm".into(), ..VolumeMount::default() },
        ));
    }
    if let Some(claim) = &server.model_claim {
        // The volume itself is read-only, and not only the mount. So pods on several nodes can mount it, and nobody can change the weights.
        let source = PersistentVolumeClaimVolumeSource { claim_name: claim.claim_name.clone(), read_only: Some(true) };
        all.push((
            Volume { name: "model".into(), persistent_volume_claim: Some(source), ..Volume::default() },
            VolumeMount {
                name: "model".into(),
                mount_path: mounts::MODEL.into(),
                read_only: Some(true),
                ..VolumeMount::default()
            },
        ));
    }
    all
}

/// Escapes a text for the kubelet, which expands `$(NAME)`, and reads two dollar signs as one.
fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}
