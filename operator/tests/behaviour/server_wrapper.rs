//! The wrapper in the pods of a server: how it is installed, which command it starts, and which launchers get its address.

use crds::{ServerStatus, Settings, benchmark_run::BenchmarkRunSpec, status::Phase};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Container, PodSpec, Service},
};
use operator::plan::{
    Child, LauncherInput, Turn,
    network_policy::{Reach, reach},
    plan,
    server::ServerState,
};

use crate::behaviour::fixture::*;

const VLLM: &str =
    "engine: VLLM, image: i, model: m, resources: {requests: {cpu: '8'}, limits: {memory: 64Gi, nvidia.com/gpu: 2}}";

fn target(server: &str, more: &str) -> String {
    format!("{{target: {{server: {{{server}}}}}{more}}}")
}

/// The Services and the Deployment of a server that is about to be created.
fn objects(spec: &str) -> (Vec<Service>, Deployment) {
    objects_with(spec, |_| ())
}

/// The objects of [`objects`], after a change of the launcher's input.
fn objects_with(spec: &str, change: impl FnOnce(&mut LauncherInput)) -> (Vec<Service>, Deployment) {
    let mut run = in_phase(spec, Phase::Preparing);
    let server = run.spec.target.server.clone().unwrap();
    let names = crds::resolve::ServerNames::new(&operator::plan::meta::identity(&run, 1), &server, &settings());
    run.status.as_mut().unwrap().server = Some(ServerStatus::new(names.server, server.replicas.unwrap_or(1), zero()));
    let mut observed = operator::plan::Observed { server: ServerState::default(), ..nothing(&run) };
    change(observed.input.as_mut().unwrap().as_mut().unwrap());
    let made = plan(&run, &observed, &Turn { settings: &settings(), now: at(1) });
    let mut services = Vec::new();
    let mut deployment = None;
    for child in made.create {
        match child {
            Child::Service(it) => services.push(*it),
            Child::Deployment(it) => deployment = Some(*it),
            other => panic!("{other:?}"),
        }
    }
    (services, deployment.unwrap())
}

fn pod(spec: &str) -> PodSpec {
    objects(spec).1.spec.unwrap().template.spec.unwrap()
}

fn command(pod: &PodSpec) -> String {
    let container = &pod.containers[0];
    [container.command.clone().unwrap_or_default(), container.args.clone().unwrap_or_default()].concat().join(" ")
}

fn wrapper(pod: &PodSpec) -> Option<&Container> {
    pod.init_containers.as_ref().map(|it| &it[0])
}

const WRAPPED: &str =
    "/benchwright-tools/benchwright server-wrapper --log-port 8099 --log /benchwright-output/server.log";

#[test]
fn a_server_whose_command_is_known_is_started_by_the_wrapper() {
    let vllm = pod(&target(VLLM, ""));
    let line =
        "--ready-port 8000 --ready-path /health -- vllm serve m --host 0.0.0.0 --port 8000 --tensor-parallel-size 2";
    assert_eq!(command(&vllm), format!("{WRAPPED} {line}"));
    let custom = pod(&target("engine: Custom, image: i, command: [serve], args: ['$(PORT)', '$']", ""));
    let line = "--ready-port 8000 --ready-path /v1/models -- serve 8000 $$";
    assert_eq!(command(&custom), format!("{WRAPPED} {line}"));
    let on_its_port = pod(&target("engine: Simulator, port: 8099", ""));
    assert!(command(&on_its_port).contains("--log-port 8100 "), "{}", command(&on_its_port));
}

#[test]
fn a_server_whose_sleep_is_measured_is_started_with_its_sleep_mode() {
    for wrapper in ["", ", wrapper: false"] {
        let spec = target(&format!("engine: VLLM, image: i, model: m{wrapper}"), ", harness: nop");
        let sleeps = |measured: bool| {
            let input = |it: &mut LauncherInput| it.run.server.as_mut().unwrap().sleep_mode = measured;
            let pod = objects_with(&spec, input).1.spec.unwrap().template.spec.unwrap();
            let mut variables = pod.containers[0].env.iter().flatten();
            let is_open = variables.any(|it| it.name == "VLLM_SERVER_DEV_MODE" && it.value.as_deref() == Some("1"));
            (command(&pod).ends_with(" --enable-sleep-mode"), is_open)
        };
        assert_eq!((sleeps(true), sleeps(false)), ((true, true), (false, false)), "{spec}");
    }
}

#[test]
fn its_program_is_copied_by_our_image_with_the_resources_of_the_server_and_without_its_devices() {
    let pod = pod(&target(VLLM, ""));
    let wrapper = wrapper(&pod).unwrap();
    assert_eq!(wrapper.image.as_deref(), Some(settings().launcher_image.as_str()));
    assert_eq!(wrapper.args.as_ref().unwrap().join(" "), "install-wrapper /benchwright-tools/benchwright");
    let resources = serde_json::to_value(&wrapper.resources).unwrap();
    assert_eq!(resources, serde_json::json!({"requests": {"cpu": "8"}, "limits": {"memory": "64Gi"}}));
    let writes = |container: &Container, path: &str| {
        let mounts = container.volume_mounts.iter().flatten();
        mounts.filter(|it| it.mount_path == path).map(|it| it.read_only != Some(true)).collect::<Vec<_>>()
    };
    assert_eq!(writes(wrapper, "/benchwright-tools"), [true]);
    let server = &pod.containers[0];
    assert_eq!(writes(server, "/benchwright-tools"), [false], "an engine cannot change what starts it");
    assert_eq!(writes(server, "/benchwright-output"), [true]);
}

#[test]
fn without_a_wrapper_the_pod_is_that_of_the_engine_alone() {
    for server in ["engine: VLLM, image: i, model: m, wrapper: false", "engine: Custom, image: i"] {
        let (services, deployment) = objects(&target(server, ""));
        let text = serde_json::to_string(&deployment).unwrap();
        assert!(!text.contains("wrapper") && !text.contains("/benchwright-"), "{text}");
        assert_eq!(services[0].spec.as_ref().unwrap().ports.as_ref().unwrap().len(), 1, "{server}");
    }
}

#[test]
fn the_services_lead_to_the_log_as_well() {
    for (server, count) in [("engine: Simulator", 1), ("engine: Simulator, replicas: 2", 2)] {
        let (services, _) = objects(&target(server, ""));
        assert_eq!(services.len(), count);
        for service in services {
            let ports = service.spec.unwrap().ports.unwrap();
            let ports: Vec<_> = ports.iter().map(|it| (it.name.as_deref().unwrap(), it.port)).collect();
            assert_eq!(ports, [("http", 8000), ("log", 8099)]);
        }
    }
}

#[test]
fn a_profiler_writes_where_the_wrapper_finds_its_traces() {
    let profiled = |server: &str, kind: &str| {
        command(&pod(&target(server, &format!(", profiling: {{kind: {kind}, duration: 5s}}"))))
    };
    let simulator = profiled("engine: Simulator", "Torch");
    assert!(simulator.contains(" --traces /benchwright-output/traces "), "{simulator}");
    assert!(simulator.ends_with(" --profiler-dir /benchwright-output/traces"), "{simulator}");
    let vllm = profiled(VLLM, "Nsys");
    assert!(
        vllm.contains(" -- nsys profile ") && vllm.contains(" -o /benchwright-output/traces/trace vllm serve "),
        "{vllm}"
    );
    for server in ["engine: Simulator, lifecycle: Reuse", "engine: Simulator, wrapper: false"] {
        let without = profiled(server, "Torch");
        assert!(!without.contains("traces") && !without.contains("profiler"), "{without}");
    }
}

#[test]
fn the_launcher_knows_where_the_log_is_and_may_go_there() {
    let reached = |spec: &str| {
        let run = run(spec);
        let input = input(&run, 1);
        let Reach::Pods { ports, .. } = reach(&run, &input, None, &Settings::default()) else { panic!("{spec}") };
        (ports, input.run.server.unwrap().log)
    };
    let (ports, log) = reached(&target("engine: Simulator", ""));
    let log = log.unwrap();
    assert_eq!((ports, log.port), (vec![8000, 8099], 8099));
    assert_eq!(log.host, "chat-2db482-server.bench.svc.cluster.local");
    let (_, log) = reached(&target("engine: Simulator, replicas: 2", ""));
    assert_eq!(log.unwrap().host, "chat-2db482-pods.bench.svc.cluster.local");
    let (ports, log) = reached(&target("engine: Simulator, wrapper: false", ""));
    assert_eq!((ports, log), (vec![8000], None));
}

#[test]
fn a_shared_server_is_another_one_with_a_wrapper_than_without() {
    let name = |server: &str| {
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(&target(server, "")).unwrap();
        let server = spec.target.server.unwrap();
        crds::resolve::ServerNames::new(&operator::plan::meta::identity(&run(SIMULATOR), 1), &server, &settings())
            .server
    };
    let shared = "engine: Simulator, lifecycle: Reuse";
    assert_eq!(name(shared), name(&format!("{shared}, wrapper: true")));
    assert_ne!(name(shared), name(&format!("{shared}, wrapper: false")));
}
