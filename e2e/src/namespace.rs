//! The namespace of a test, and the actions of a user in it: creating a run, waiting for it, reading its results.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, bail};
use crds::{BenchmarkRun, BenchmarkRunStatus};
use k8s_openapi::{
    api::{
        batch::v1::Job,
        core::v1::{Namespace as KubeNamespace, Pod, ServiceAccount},
        events::v1::Event,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, image};

/// Time between two checks while waiting.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The namespace of one test. It is deleted in the background when the test ends. If the test fails, its runs are printed before.
pub struct Namespace {
    /// The name of the namespace.
    pub name: String,
    /// A client with the administrator's rights.
    pub client: Client,
}

impl Namespace {
    /// Creates a namespace whose name begins with `purpose`.
    ///
    /// # Errors
    /// The error of the API server.
    pub async fn new(cluster: &Cluster, purpose: &str) -> anyhow::Result<Namespace> {
        Namespace::labelled(cluster, purpose, &[]).await
    }

    /// Creates a namespace with these labels.
    ///
    /// # Errors
    /// The error of the API server.
    pub async fn labelled(cluster: &Cluster, purpose: &str, labels: &[(&str, &str)]) -> anyhow::Result<Namespace> {
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let namespace = KubeNamespace {
            metadata: ObjectMeta {
                generate_name: Some(format!("{purpose}-")),
                labels: Some(labels),
                ..ObjectMeta::default()
            },
            ..KubeNamespace::default()
        };
        let api: Api<KubeNamespace> = Api::all(cluster.client.clone());
        let created = api.create(&PostParams::default(), &namespace).await?;
        let name = created.metadata.name.context("the API server names what it creates")?;
        let namespace = Namespace { name, client: cluster.client.clone() };
        // The default service account is created a moment after its namespace. Before that, pods are refused.
        namespace
            .until("the default service account", Duration::from_secs(120), || async {
                let accounts: Api<ServiceAccount> = namespace.api();
                Ok(accounts.get_opt("default").await?.map(drop))
            })
            .await?;
        Ok(namespace)
    }

    /// The API for objects of type `K` in this namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        <K as kube::Resource>::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// Creates a BenchmarkRun from a spec in YAML.
    ///
    /// # Errors
    /// The API server refuses the run.
    pub async fn create_run(&self, name: &str, spec: &str) -> anyhow::Result<()> {
        let run = json!({
            "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
            "spec": serde_saphyr::from_str::<serde_json::Value>(spec)?,
        });
        // The object is sent exactly as written, like kubectl does. The types of this crate would add fields.
        let request =
            kube::core::Request::new(format!("/apis/benchwright.dev/v1alpha1/namespaces/{}/benchmarkruns", self.name))
                .create(&PostParams::default(), serde_json::to_vec(&run)?)?;
        self.client.request::<serde_json::Value>(request).await?;
        Ok(())
    }

    /// Returns the message with which the API server refuses the creation of an object by this user. Empty if it accepts the object. It is a dry run,
    /// so nothing is stored.
    ///
    /// # Errors
    /// The API server does not respond.
    pub async fn refusal(&self, user: &str, path: &str, object: &serde_json::Value) -> anyhow::Result<String> {
        let request = http::Request::post(format!("{path}?dryRun=All"))
            .header("Content-Type", "application/json")
            .header("Impersonate-User", user)
            .body(serde_json::to_vec(object)?)?;
        match self.client.request::<serde_json::Value>(request).await {
            Ok(_) => Ok(String::new()),
            Err(kube::Error::Api(status)) => Ok(status.message),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes the spec of a run with a merge patch in YAML.
    ///
    /// # Errors
    /// The error of the API server.
    pub async fn patch_run(&self, name: &str, spec: &str) -> anyhow::Result<()> {
        let patch = json!({"spec": serde_saphyr::from_str::<serde_json::Value>(spec)?});
        self.api::<BenchmarkRun>().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// The status of a run.
    ///
    /// # Errors
    /// The error of the API server.
    pub async fn status(&self, name: &str) -> anyhow::Result<BenchmarkRunStatus> {
        Ok(self.api::<BenchmarkRun>().get(name).await?.status.unwrap_or_default())
    }

    /// Waits until the status of a run meets a condition, and returns the status.
    ///
    /// # Errors
    /// `limit` has passed. The error contains the status and the events.
    pub async fn wait_for(
        &self,
        name: &str,
        what: &str,
        limit: Duration,
        wanted: impl Fn(&BenchmarkRunStatus) -> bool,
    ) -> anyhow::Result<BenchmarkRunStatus> {
        let found = self.until(what, limit, || async { Ok(Some(self.status(name).await?).filter(&wanted)) }).await;
        match found {
            Ok(status) => Ok(status),
            Err(error) => {
                let status = serde_saphyr::to_string(&self.status(name).await?)?;
                let events = self.events(name).await?.join("\n");
                bail!("{error}\nstatus:\n{status}\nevents:\n{events}")
            }
        }
    }

    /// Waits until the run has finished.
    ///
    /// # Errors
    /// `limit` has passed. The error contains the status and the events.
    pub async fn wait_finished(&self, name: &str, limit: Duration) -> anyhow::Result<BenchmarkRunStatus> {
        self.wait_for(name, "a terminal phase", limit, |it| it.phase.is_some_and(|it| it.is_terminal())).await
    }

    /// Waits until `look` returns a value.
    ///
    /// # Errors
    /// `limit` has passed, or the error of `look`.
    pub async fn until<T, F, R>(&self, what: &str, limit: Duration, look: F) -> anyhow::Result<T>
    where
        F: Fn() -> R,
        R: Future<Output = anyhow::Result<Option<T>>>,
    {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(found) = look().await? {
                return Ok(found);
            }
            if Instant::now() > deadline {
                bail!("{what} did not come within {limit:?} in namespace {}", self.name);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// The events of a run, each as `Type Reason: note`.
    ///
    /// # Errors
    /// The error of the API server.
    pub async fn events(&self, run: &str) -> anyhow::Result<Vec<String>> {
        let events = self.api::<Event>().list(&ListParams::default()).await?;
        let of_run =
            events.into_iter().filter(|it| it.regarding.as_ref().is_some_and(|it| it.name.as_deref() == Some(run)));
        let text = |it: Event| {
            let [kind, reason, note] = [it.type_, it.reason, it.note].map(Option::unwrap_or_default);
            format!("{kind} {reason}: {note}")
        };
        Ok(of_run.map(text).collect())
    }

    /// All Jobs in the namespace.
    ///
    /// # Errors
    /// The error of the API server.
    pub async fn jobs(&self) -> anyhow::Result<Vec<Job>> {
        Ok(self.api::<Job>().list(&ListParams::default()).await?.items)
    }

    /// The pods of a run.
    ///
    /// # Errors
    /// The error of the API server.
    pub async fn pods(&self, run: &str) -> anyhow::Result<Vec<Pod>> {
        let of_run = ListParams::default().labels(&format!("benchwright.dev/run={run}"));
        Ok(self.api::<Pod>().list(&of_run).await?.items)
    }

    /// Runs a shell script as root in a pod that mounts a claim at /data. Returns its output.
    ///
    /// # Errors
    /// The pod does not succeed within 90 seconds.
    pub async fn shell_on_claim(&self, claim: &str, script: &str) -> anyhow::Result<String> {
        self.print_from_pod(json!({
            "restartPolicy": "Never",
            "containers": [{
                "name": "shell", "image": "localhost/busybox:1", "command": ["sh", "-c", script],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        }))
        .await
    }

    /// Runs the launcher's image with these arguments in a pod that mounts a claim at /results. Returns its output.
    ///
    /// # Errors
    /// The pod does not succeed within 90 seconds.
    pub async fn print_from_claim(&self, claim: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let (repository, tag) = image();
        self.print_from_pod(json!({
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "reader", "image": format!("{repository}:{tag}"), "args": arguments,
                "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"name": "results", "mountPath": "/results", "readOnly": true}],
            }],
            "volumes": [{"name": "results", "persistentVolumeClaim": {"claimName": claim, "readOnly": true}}],
        }))
        .await
    }

    async fn print_from_pod(&self, spec: serde_json::Value) -> anyhow::Result<String> {
        let pod: Pod = serde_json::from_value(json!({"metadata": {"generateName": "reader-"}, "spec": spec}))?;
        let pods: Api<Pod> = self.api();
        // The creation is retried, because the pod security admission reads the labels of the namespace from a cache that may be outdated.
        let created = self
            .until("the admission of the reader pod", Duration::from_secs(30), || async {
                match pods.create(&PostParams::default(), &pod).await {
                    Err(kube::Error::Api(it)) if it.code == 403 => {
                        eprintln!("{}", it.message);
                        Ok(None)
                    }
                    created => Ok(Some(created?)),
                }
            })
            .await?;
        let name = created.metadata.name.context("a created pod has a name")?;
        let phase = self
            .until("the end of the reader pod", Duration::from_secs(90), || async {
                let phase = pods.get(&name).await?.status.and_then(|it| it.phase);
                Ok(phase.filter(|it| it == "Succeeded" || it == "Failed"))
            })
            .await?;
        let log = pods.logs(&name, &LogParams::default()).await?;
        if phase != "Succeeded" {
            bail!("the reader pod ended {phase}: {log}");
        }
        Ok(log)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let (client, name) = (self.client.clone(), self.name.clone());
        // A separate thread sends the request, because the runtime of the test is shutting down. It does not wait until the namespace is gone.
        let deletion = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                let Ok(cluster) = Cluster::connect().await else { return };
                drop(client);
                let api: Api<KubeNamespace> = Api::all(cluster.client);
                if let Err(error) = api.delete(&name, &DeleteParams::background()).await {
                    eprintln!("namespace {name} was not deleted: {error}");
                }
            });
        });
        if deletion.join().is_err() {
            eprintln!("namespace {} was not deleted", self.name);
        }
    }
}
