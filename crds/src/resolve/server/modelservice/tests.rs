use std::{env, fs, path::Path};

use super::*;
use crate::resolve::server::managed_server::FIELD;

/// A server description that uses every field that llm-d's charts support.
const WHOLE: &str = "
engine: VLLM
method: ModelService
gatewayRef: {name: inference-gateway, namespace: infra, sectionName: http, port: 80}
image: vllm/vllm-openai:v0.11.0
model: Qwen/Qwen3-32B
hubToken: {secretKeyRef: {name: hub, key: token}}
maxModelLen: 16384
gpuMemoryUtilization: 0.95
config: {max-num-batched-tokens: 8192, enable-prefix-caching: false}
args: ['--chat-template={{x}}', '--log=$(PORT)']
env: {VLLM_LOGGING_LEVEL: 'on', TEMPLATE: 'a {{ b }} $(HOME)'}
port: 8200
replicas: 8
resources: {requests: {cpu: 32, memory: 100Gi}, limits: {memory: 100Gi, nvidia.com/gpu: 2}}
serviceAccountName: engine
scheduling:
  nodeSelector: {gpu: h100}
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  priorityClassName: high
  runtimeClassName: nvidia
  schedulerName: volcano
";

const CLAIM: &str = "
engine: VLLM
method: ModelService
gatewayRef: {name: gateway, httpRoute: llama}
image: ghcr.io/llm-d/llm-d-cuda:v0.5.0
modelClaim: {claimName: weights, path: llama/8b}
";

fn stack(server: &str) -> InferenceStack {
    let server: Value = serde_saphyr::from_str(server).unwrap();
    let spec: BenchmarkRunSpec = serde_json::from_value(json!({"target": {"server": server}})).unwrap();
    let run = RunIdentity::first_attempt("qwen", "bench", "uid");
    InferenceStack::new(&run, &spec, &Settings::default()).unwrap()
}

fn text(server: &str, file: StackFile) -> String {
    stack(server).text(file, &|it| format!("print {it}"))
}

fn values(server: &str) -> Value {
    serde_saphyr::from_str(&text(server, StackFile::ModelService)).unwrap()
}

/// Compares `found` with the file `name` in golden/. With UPDATE_GOLDEN=1, writes the file instead.
#[track_caller]
fn assert_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/resolve/server/modelservice/golden").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), found, "{}", path.display());
}

#[test]
fn the_files_are_those_that_were_tried_with_the_charts() {
    for file in StackFile::ALL {
        assert_golden(&format!("whole-{file}"), &text(WHOLE, file));
    }
    assert_golden("claim-modelservice.yaml", &text(CLAIM, StackFile::ModelService));
    assert_golden("claim-httproute.yaml", &text(CLAIM, StackFile::HttpRoute));
}

#[test]
fn the_engine_is_started_as_the_operator_would_start_it() {
    for server in [WHOLE, CLAIM] {
        let mut standalone: Server = serde_saphyr::from_str(server).unwrap();
        (standalone.method, standalone.gateway_ref) = (None, None);
        let port = standalone.port.unwrap_or(8000);
        let start = resolve_server(&standalone, Place::Cluster).unwrap().replica(0, port, "");
        let container = values(server)["decode"]["containers"][0].clone();
        // The arguments as the kubelet passes them on.
        let texts = |key: &str| -> Vec<String> {
            container[key].as_array().unwrap().iter().map(|it| it.as_str().unwrap().replace("$$", "$")).collect()
        };
        assert_eq!((texts("command"), texts("args")), (start.command, start.args));
        assert_eq!(container["modelCommand"], "custom", "the chart would add arguments of its own");
    }
}

#[test]
fn gpus_stand_in_requests_and_limits_and_the_chart_adds_none() {
    let of = |resources: &str| {
        let server = format!(
            "{{engine: VLLM, method: ModelService, gatewayRef: {{name: g}}, image: i, model: o/m, config: {{pp: 2}}, resources: {resources}}}"
        );
        let values = values(&server);
        let found = &values["decode"]["containers"][0]["resources"];
        (values["accelerator"]["type"].clone(), found["requests"].clone(), found["limits"].clone())
    };
    for (resources, accelerator, requests, limits) in [
        ("{}", "cpu", json!({}), json!({})),
        ("{limits: {nvidia.com/gpu: 4}}", "nvidia", json!({"nvidia.com/gpu": "4"}), json!({"nvidia.com/gpu": "4"})),
        (
            "{requests: {amd.com/gpu: 2, cpu: 1}}",
            "amd",
            json!({"amd.com/gpu": "2", "cpu": "1"}),
            json!({"amd.com/gpu": "2"}),
        ),
        (
            "{limits: {nvidia.com/mig-1g.5gb: 2}}",
            "cpu",
            json!({"nvidia.com/mig-1g.5gb": "2"}),
            json!({"nvidia.com/mig-1g.5gb": "2"}),
        ),
    ] {
        assert_eq!(of(resources), (json!(accelerator), requests, limits), "{resources}");
    }
}

#[test]
fn the_chart_is_told_how_the_gpus_are_used() {
    let of = |rest: &str| {
        let gpus = "resources: {limits: {nvidia.com/gpu: 8}}";
        let server = format!(
            "{{engine: VLLM, method: ModelService, gatewayRef: {{name: g}}, image: i, model: o/m, {gpus}, {rest}}}"
        );
        let found = values(&server)["decode"]["parallelism"].clone();
        (found["tensor"].as_u64().unwrap(), found["data"].as_u64().unwrap())
    };
    assert_eq!(of("replicas: 1"), (8, 1));
    assert_eq!(of("tensorParallelSize: 4, config: {data_parallel_size: 2}"), (4, 2));
    assert_eq!(of("config: {tp: 2}"), (2, 1));
    assert_eq!(of("config: {dp: 2}"), (4, 2));
}

#[test]
fn a_model_of_the_image_and_a_cache_of_the_users_choice_need_no_volume() {
    let of = |rest: &str| {
        values(&format!("{{engine: VLLM, method: ModelService, gatewayRef: {{name: g}}, image: i, {rest}}}"))
    };
    for (rest, mounts, uri) in [
        ("model: o/m", true, json!("hf://o/m")),
        ("model: /models/m", false, Value::Null),
        ("model: o/m, env: {HF_HOME: /fast}", false, Value::Null),
        ("modelClaim: {claimName: w}", true, json!("pvc://w/")),
    ] {
        let values = of(rest);
        assert_eq!(values["decode"]["containers"][0]["mountModelVolume"], json!(mounts), "{rest}");
        assert_eq!(values["modelArtifacts"]["uri"], uri, "{rest}");
    }
}

#[test]
fn what_the_charts_cannot_have_is_refused_with_a_remedy() {
    let fine = "engine: VLLM, method: ModelService, gatewayRef: {name: g}, image: i, model: o/m";
    let errors = |place, server: &str| -> Vec<String> {
        let server: Server = serde_saphyr::from_str(server).unwrap();
        resolve_server(&server, place).err().unwrap_or_default().iter().map(ToString::to_string).collect()
    };
    assert_eq!(errors(Place::Cluster, &format!("{{{fine}}}")), Vec::<String>::new());
    for (place, server, expected) in [
        (Place::Laptop, fine.to_owned(), "method: is ModelService, which needs a cluster; outside one"),
        (Place::Cluster, fine.replace("VLLM", "SGLang"), "engine: is SGLang, and method ModelService is for VLLM"),
        (Place::Cluster, fine.replace("gatewayRef: {name: g}, ", ""), "gatewayRef: is missing; method ModelService"),
        (Place::Cluster, format!("{fine}, lifecycle: Keep"), "lifecycle: has no effect with method ModelService"),
        (
            Place::Cluster,
            format!("{fine}, distribution: RoundRobin"),
            "distribution: has no effect with method ModelService",
        ),
        (
            Place::Cluster,
            fine.replace("ModelService", "Standalone"),
            "gatewayRef: has no effect with method Standalone; take it out, or write method: ModelService",
        ),
        (Place::Cluster, format!("{fine}, devices: [['0']]"), "devices: works outside of a cluster only"),
        (Place::Cluster, format!("{fine}, offline: true"), "offline: works outside of a cluster only"),
    ] {
        let server = format!("{{{server}}}");
        let found = errors(place, &server);
        assert_eq!(found.len(), 1, "{server}: {found:?}");
        assert!(found[0].starts_with(&format!("{FIELD}.{expected}")), "{server}:\n{}\n{expected}", found[0]);
    }
}

#[test]
fn only_the_charts_start_such_a_server() {
    let spec = |method: &str, rest: Value| -> BenchmarkRunSpec {
        let server = json!({"engine": "VLLM", "method": method});
        let mut spec = json!({"target": {"server": server}});
        spec.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        serde_json::from_value(spec).unwrap()
    };
    let charts = spec("ModelService", json!({}));
    assert!(llm_d_server(&charts).is_some() && super::super::managed_server(&charts).is_none());
    let ours = spec("Standalone", json!({}));
    assert!(llm_d_server(&ours).is_none() && super::super::managed_server(&ours).is_some());
    let collect = json!({"execution": {"collect": {"folder": "chat-2db482-a1"}}});
    assert!(llm_d_server(&spec("ModelService", collect)).is_none());
}
