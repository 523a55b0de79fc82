//! Installs the wrapper in the container of a server, and builds its command. The wrapper stores the log, which the operator has no right to read,
//! and the traces of a profiler.

use crds::{
    BenchmarkRun, Settings,
    benchmark_run::{Resources, Server},
    pod::container_security,
    resolve::{ManagedServer, OWN_PROGRAM, ReplicaStart, log_port, mounts},
};
use k8s_openapi::api::core::v1::{Container, EmptyDirVolumeSource, ResourceRequirements, Volume, VolumeMount};

use super::objects::probe_path;
use crate::plan::job::quantities;

/// Name of the init container that installs the wrapper.
pub const CONTAINER: &str = "install-wrapper";
const TOOLS: &str = "tools";
const OUTPUT: &str = "output";

fn program() -> String {
    format!("{}{OWN_PROGRAM}", mounts::SERVER_TOOLS)
}

/// The command of a server's container: the server's own command, inside the wrapper if it has one, with the options that the run's measurements
/// need.
pub(super) fn start(
    run: &BenchmarkRun,
    server: &Server,
    managed: &ManagedServer,
    port: u16,
    sleep_mode: bool,
) -> ReplicaStart {
    let Some(log_port) = log_port(server) else { return managed.in_pod(port, None, sleep_mode) };
    let profiler = run.spec.profiling.as_ref().map(|it| it.kind);
    let mut start = managed.in_pod(port, profiler, sleep_mode);
    let mut wrapper = vec![program(), "server-wrapper".to_owned()];
    let mut option = |name: &str, value: String| wrapper.extend([format!("--{name}"), value]);
    option("log-port", log_port.to_string());
    option("log", format!("{}/server.log", mounts::SERVER_OUTPUT));
    if profiler.is_some() && managed.can_be_profiled() {
        option("traces", mounts::SERVER_TRACES.to_owned());
    }
    option("ready-port", port.to_string());
    option("ready-path", probe_path(managed.engine).to_owned());
    wrapper.push("--".to_owned());
    start.command.splice(0..0, wrapper);
    start
}

/// The init container that copies the wrapper into the pod. `None` if the server has no wrapper.
pub(super) fn container(server: &Server, settings: &Settings) -> Option<Container> {
    log_port(server)?;
    // The container gets the server's resources, except devices. So it satisfies a quota, and the pod requests no more than without this container.
    let Resources { requests, limits } = server.resources.clone().unwrap_or_default();
    let plain = |mut amounts: std::collections::BTreeMap<_, _>| {
        amounts.retain(|name: &String, _| !name.contains('/') && !name.starts_with("hugepages-"));
        quantities(&amounts)
    };
    Some(Container {
        name: CONTAINER.into(),
        image: Some(settings.launcher_image.clone()),
        image_pull_policy: Some(settings.launcher_pull_policy.clone()),
        args: Some(vec!["install-wrapper".into(), program()]),
        resources: Some(ResourceRequirements {
            requests: plain(requests),
            limits: plain(limits),
            ..ResourceRequirements::default()
        }),
        security_context: Some(container_security()),
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        volume_mounts: Some(vec![mount(TOOLS, mounts::SERVER_TOOLS, false)]),
        ..Container::default()
    })
}

/// The volumes of the wrapper, with their mounts in the server's container. They have no size limit, because the kubelet would evict a pod that
/// exceeds it during a run. The wrapper itself limits the log.
pub(super) fn volumes(server: &Server) -> Vec<(Volume, VolumeMount)> {
    if log_port(server).is_none() {
        return Vec::new();
    }
    let empty = |name: &str| Volume {
        name: name.into(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    };
    vec![
        (empty(TOOLS), mount(TOOLS, mounts::SERVER_TOOLS, true)),
        (empty(OUTPUT), mount(OUTPUT, mounts::SERVER_OUTPUT, false)),
    ]
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.into(),
        mount_path: path.into(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}
