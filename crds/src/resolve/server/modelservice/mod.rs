//! A server that is started by llm-d's own charts. This module writes the values files with which the charts start the described server. Benchwright
//! only writes these files; it installs nothing.
//!
//! The values are for the charts of one release of llm-d, with the chart versions below. They only use what every 0.4 version of the chart
//! llm-d-modelservice supports. For example, the schema of 0.4 allows only two labels, and 0.4 renders environment variables as templates.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
};

use serde_json::{Map, Value, json};

use super::{
    ManagedServer, Place,
    check::{is_path, resolve_server},
    command_line, devices,
    starter::llm_d_server,
};
use crate::{
    AnyValue,
    benchmark_run::{BenchmarkRunSpec, GatewayRef, Server},
    resolve::{EffectiveSpec, RunIdentity, Settings, mounts},
};

/// Version of the model's chart servers.
const MODEL_SERVICE_VERSION: &str = "v0.4.5";
/// Version of the chart of the InferencePool and its endpoint picker.
const INFERENCE_POOL_VERSION: &str = "v1.3.0";
/// Version of the Gateway's chart.
const INFRA_VERSION: &str = "v1.3.6";
/// Registry, name and tag of the endpoint picker's image in the same release of llm-d.
const ENDPOINT_PICKER: [&str; 3] = ["ghcr.io/llm-d", "llm-d-inference-scheduler", "v0.5.0"];
/// The folder in the pod for a model that is downloaded from a hub.
const MODEL_CACHE: &str = "/model-cache";
/// The path to which vLLM responds with 200 when it is ready.
const HEALTH: &str = "/health";
/// Period of the startup probe, in seconds.
const STARTUP_PERIOD: u32 = 10;
/// How many seconds longer than the run the kubelet waits for an engine to start, so that normally the run's own time limit applies first.
const BACKSTOP_SECONDS: u32 = 120;

/// A file for the installation of llm-d's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackFile {
    /// The values of the chart llm-d-modelservice: the model servers.
    ModelService,
    /// The values of the chart inferencepool: the InferencePool and its endpoint picker.
    InferencePool,
    /// The manifest of the HTTPRoute from the Gateway to the InferencePool.
    HttpRoute,
    /// The commands that install and remove the whole stack.
    Install,
}

impl StackFile {
    /// All files.
    pub const ALL: [StackFile; 4] =
        [StackFile::ModelService, StackFile::InferencePool, StackFile::HttpRoute, StackFile::Install];

    /// The name of the file in the ConfigMap.
    pub fn name(self) -> &'static str {
        match self {
            StackFile::ModelService => "modelservice.yaml",
            StackFile::InferencePool => "inferencepool.yaml",
            StackFile::HttpRoute => "httproute.yaml",
            StackFile::Install => "install.txt",
        }
    }
}

impl fmt::Display for StackFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The llm-d stack that a run describes. All its names derive from the run's name, so that it can be installed before the run is created.
#[derive(Clone, Debug)]
pub struct InferenceStack {
    name: String,
    namespace: String,
    server: Server,
    managed: ManagedServer,
    gateway: GatewayRef,
    ready_seconds: u32,
}

impl InferenceStack {
    /// Returns `None` if llm-d's charts do not start the run's server, or if the server description has errors, which [`crate::resolve::resolve`]
    /// reports.
    pub fn new(run: &RunIdentity, spec: &BenchmarkRunSpec, settings: &Settings) -> Option<Self> {
        let server = llm_d_server(spec)?;
        let route = format!("llm-d-{}", run.name);
        let gateway = server.gateway_ref.clone()?;
        Some(InferenceStack {
            name: run.name.clone(),
            namespace: run.namespace.clone(),
            server: server.clone(),
            managed: resolve_server(server, Place::Cluster).ok()?,
            gateway: GatewayRef { http_route: gateway.http_route.clone().or(Some(route)), ..gateway },
            ready_seconds: EffectiveSpec::new(spec, &run.uid, settings).target.readiness.timeout_seconds,
        })
    }

    /// The Gateway whose HTTPRoute leads only to this server.
    pub fn gateway(&self) -> &GatewayRef {
        &self.gateway
    }

    /// Number of model servers.
    pub fn replicas(&self) -> u32 {
        self.managed.replicas
    }

    /// The name of the ConfigMap with all files, in the namespace of the run.
    pub fn config_map(&self) -> String {
        format!("{}-modelservice", self.name)
    }

    /// The text of a file. `print` returns the command that prints another file, for files that contain such commands.
    pub fn text(&self, file: StackFile, print: &dyn Fn(StackFile) -> String) -> String {
        let (about, content) = match file {
            StackFile::ModelService => {
                (format!("Values of llm-d-modelservice {MODEL_SERVICE_VERSION}"), self.model_service())
            }
            StackFile::InferencePool => (format!("Values of inferencepool {INFERENCE_POOL_VERSION}"), self.pool()),
            StackFile::HttpRoute => ("The route from the Gateway to the InferencePool".to_owned(), self.route()),
            StackFile::Install => return self.commands(print),
        };
        let yaml = serde_saphyr::to_string(&content).expect("text keys, texts and whole numbers always serialize");
        format!("# {about}, for BenchmarkRun {}, written by Benchwright.\n{yaml}", self.name)
    }

    /// The release name of the inferencepool chart. Its InferencePool has the same name.
    fn pool_name(&self) -> String {
        format!("gaie-{}", self.name)
    }

    fn port(&self) -> u16 {
        self.managed.port.unwrap_or(8000)
    }

    /// The labels of the model servers' pods. The InferencePool selects the pods by them. The chart's schema allows no other labels.
    fn labels(&self) -> Value {
        json!({"llm-d.ai/inferenceServing": "true", "llm-d.ai/model": self.name})
    }

    fn model_service(&self) -> Value {
        let server = &self.server;
        let gpus = devices::per_replica(server, Place::Cluster);
        let [tensor, data] = command_line::parallelism(server, gpus);
        let mut decode = json!({
            "create": true,
            "replicas": self.replicas(),
            "parallelism": {"tensor": tensor, "data": data, "dataLocal": data, "workers": 1},
            "extraConfig": {"automountServiceAccountToken": false, "enableServiceLinks": false},
            "podSecurityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            // The worker processes of an engine exchange data in shared memory, and some images have no writable home folder.
            "volumes": [
                {"name": "shm", "emptyDir": {"medium": "Memory"}},
                {"name": "config", "emptyDir": {}},
                {"name": "cache", "emptyDir": {}},
            ],
            "containers": [self.container()],
        });
        let scheduling = &server.scheduling;
        let named = |it: &Option<String>| it.clone().filter(|it| !it.is_empty());
        if !scheduling.node_selector.is_empty() {
            decode["nodeSelector"] = json!(scheduling.node_selector);
        }
        if !scheduling.tolerations.is_empty() {
            decode["tolerations"] = json!(scheduling.tolerations);
        }
        if let Some(name) = named(&scheduling.scheduler_name) {
            decode["schedulerName"] = json!(name);
        }
        for (key, name) in [
            ("priorityClassName", &scheduling.priority_class_name),
            ("runtimeClassName", &scheduling.runtime_class_name),
        ] {
            if let Some(name) = named(name) {
                decode["extraConfig"][key] = json!(name);
            }
        }
        let mut values = json!({
            "multinode": false,
            "modelArtifacts": self.artifacts(),
            "accelerator": {"type": self.accelerator()},
            "routing": {"servicePort": self.port(), "proxy": {"enabled": false, "targetPort": self.port()}},
            "decode": decode,
            "prefill": {"create": false},
        });
        if let Some(name) = named(&server.service_account_name) {
            values["serviceAccountOverride"] = json!(name);
        }
        values
    }

    /// The model artifacts that the chart mounts. The engine's arguments contain the model as well, because the chart does not add it to an explicit
    /// command.
    fn artifacts(&self) -> Value {
        let server = &self.server;
        let name = self.managed.model.as_deref().unwrap_or(&self.name);
        let mut artifacts = json!({"name": name, "labels": self.labels()});
        if let Some(claim) = &server.model_claim {
            let path = claim.path.as_deref().unwrap_or_default();
            artifacts["uri"] = json!(format!("pvc://{}/{path}", claim.claim_name));
            artifacts["mountPath"] = json!(mounts::MODEL);
        } else if self.has_cache() {
            artifacts["uri"] = json!(format!("hf://{name}"));
            artifacts["mountPath"] = json!(MODEL_CACHE);
            // The size of a model on a hub is not known, so the volume has no size limit.
            artifacts["size"] = json!("0");
        }
        artifacts
    }

    /// Whether the chart creates a volume for a model from a hub, and sets HF_HOME to it.
    fn has_cache(&self) -> bool {
        let chosen = ["HF_HOME", "HF_HUB_CACHE"].iter().any(|it| self.server.env.contains_key(*it));
        self.server.model.as_deref().is_some_and(|it| !is_path(it)) && !chosen
    }

    /// The accelerator type of the chart's values. With `cpu` the chart adds no GPUs, so the GPUs in `resources` stay unchanged.
    fn accelerator(&self) -> &'static str {
        let resources = self.server.resources.iter();
        let mut names = resources.flat_map(|it| it.limits.keys().chain(it.requests.keys()));
        let known = |name: &String| match name.as_str() {
            "nvidia.com/gpu" => Some("nvidia"),
            "amd.com/gpu" => Some("amd"),
            "habana.ai/gaudi" => Some("intel-gaudi"),
            "gpu.intel.com/i915" => Some("intel-i915"),
            "gpu.intel.com/xe" => Some("intel-xe"),
            "google.com/tpu" => Some("google"),
            _ => None,
        };
        names.find_map(known).unwrap_or("cpu")
    }

    /// The container, with the same settings as if the operator started it.
    fn container(&self) -> Value {
        let server = &self.server;
        let start = self.managed.replica(0, self.port(), "");
        let texts = |texts: &[String]| json!(texts.iter().map(|it| for_kubelet(it)).collect::<Vec<_>>());
        let mut env: Vec<_> = start
            .env
            .iter()
            .map(|(name, value)| json!({"name": name, "value": for_template(&for_kubelet(value))}))
            .collect();
        if let Some(token) = &server.hub_token {
            // The chart's authSecretName requires a Secret with the key HF_TOKEN, but a run may name any key.
            let key = json!({"name": token.secret_key_ref.name, "key": token.secret_key_ref.key});
            env.push(json!({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": key}}));
        }
        let probe = |period: u32, failures: u32| {
            let get = json!({"path": HEALTH, "port": self.port()});
            json!({"httpGet": get, "periodSeconds": period, "timeoutSeconds": 5, "failureThreshold": failures})
        };
        let startup = self.ready_seconds.saturating_add(BACKSTOP_SECONDS).div_ceil(STARTUP_PERIOD);
        json!({
            "name": "vllm",
            "image": server.image,
            "modelCommand": "custom",
            "command": texts(&start.command),
            "args": texts(&start.args),
            "env": env,
            "ports": [{"containerPort": self.port(), "name": "http", "protocol": "TCP"}],
            "resources": self.resources(),
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            "startupProbe": probe(STARTUP_PERIOD, startup),
            "readinessProbe": probe(10, 30),
            "mountModelVolume": server.model_claim.is_some() || self.has_cache(),
            "volumeMounts": [
                {"name": "shm", "mountPath": "/dev/shm"},
                {"name": "config", "mountPath": "/.config"},
                {"name": "cache", "mountPath": "/.cache"},
            ],
        })
    }

    /// Requests and limits. Both contain the GPUs, because the chart inserts a number of its own where GPUs are missing.
    fn resources(&self) -> Value {
        let resources = self.server.resources.clone().unwrap_or_default();
        let all = |own: &BTreeMap<String, AnyValue>, other: &BTreeMap<String, AnyValue>| {
            let gpus = other.iter().filter(|(name, _)| devices::is_gpu(name));
            let texts = gpus.chain(own).map(|(name, quantity)| (name.clone(), Value::from(quantity.text())));
            Value::Object(texts.collect::<Map<_, _>>())
        };
        json!({"requests": all(&resources.requests, &resources.limits), "limits": all(&resources.limits, &resources.requests)})
    }

    fn pool(&self) -> Value {
        let [hub, name, tag] = ENDPOINT_PICKER;
        json!({
            "inferenceExtension": {
                "replicas": 1,
                "extProcPort": 9002,
                "pluginsConfigFile": "default-plugins.yaml",
                "image": {"hub": hub, "name": name, "tag": tag},
                // The name of the metric since vLLM 0.10.
                "flags": {"kv-cache-usage-percentage-metric": "vllm:kv_cache_usage_perc"},
            },
            "inferencePool": {
                "modelServerType": "vllm",
                "targetPorts": [{"number": self.port()}],
                "modelServers": {"matchLabels": self.labels()},
            },
        })
    }

    fn route(&self) -> Value {
        let gateway = &self.gateway;
        let mut parent = json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": gateway.name});
        if let Some(namespace) = &gateway.namespace {
            parent["namespace"] = json!(namespace);
        }
        if let Some(section) = &gateway.section_name {
            parent["sectionName"] = json!(section);
        }
        if let Some(port) = gateway.port {
            parent["port"] = json!(port);
        }
        let backend = json!({"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": self.pool_name(), "weight": 1});
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": gateway.http_route},
            "spec": {
                "parentRefs": [parent],
                "rules": [{"backendRefs": [backend], "matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}],
            },
        })
    }

    fn commands(&self, print: &dyn Fn(StackFile) -> String) -> String {
        let (name, pool, gateway) = (&self.name, self.pool_name(), &self.gateway);
        let flag = |namespace: &str| if namespace.is_empty() { String::new() } else { format!(" -n {namespace}") };
        let own = flag(&self.namespace);
        let of_gateway = gateway.namespace.as_deref().map_or_else(|| own.clone(), flag);
        let route = gateway.http_route.as_deref().unwrap_or_default();
        let mut text = format!(
            "# llm-d for BenchmarkRun {name}, by the charts of llm-d. Benchwright installs nothing of it, and removes nothing.\n\n\
             helm repo add llm-d-infra https://llm-d-incubation.github.io/llm-d-infra/\n\
             helm repo add llm-d-modelservice https://llm-d-incubation.github.io/llm-d-modelservice/\n\n\
             # The Gateway, unless there is one of this name. Choose the class that your cluster has.\n\
             helm install infra-{name} llm-d-infra/llm-d-infra --version {INFRA_VERSION}{of_gateway} \\\n  \
             --set gateway.fullnameOverride={} --set gateway.gatewayClassName=istio\n\n\
             # The InferencePool with its endpoint picker. provider.name is istio, gke or none, as the class of the Gateway wants it.\n",
            gateway.name
        );
        let oci = "oci://registry.k8s.io/gateway-api-inference-extension/charts/inferencepool";
        let _ = write!(
            text,
            "{} | \\\n  helm install {pool} {oci} --version {INFERENCE_POOL_VERSION}{own} --set provider.name=istio -f -\n\n\
             # The route from the Gateway to the InferencePool.\n\
             {} | kubectl apply{own} -f -\n\n\
             # The model servers.\n\
             {} | \\\n  helm install ms-{name} llm-d-modelservice/llm-d-modelservice --version {MODEL_SERVICE_VERSION}{own} -f -\n\n\
             # After the run: the GPUs are free when this is done.\n\
             helm uninstall ms-{name} {pool}{own}\n\
             kubectl delete httproute {route}{own}\n",
            print(StackFile::InferencePool),
            print(StackFile::HttpRoute),
            print(StackFile::ModelService),
        );
        text
    }
}

/// Escapes a text for the kubelet, which expands `$(NAME)` in arguments, and reads two dollar signs as one.
fn for_kubelet(text: &str) -> String {
    text.replace('$', "$$")
}

/// Escapes a text for the chart, which renders the environment as a template.
fn for_template(text: &str) -> String {
    text.replace("{{", "{{ `{{` }}")
}

#[cfg(test)]
mod tests;
