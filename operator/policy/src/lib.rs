//! The limits that the administrators of an installation set. The operator reads them from a file when it starts. No user of the Kubernetes API can
//! change that file. [`check`] is a pure function that checks a run against the limits, in the operator and in `benchwright validate`. The operator
//! additionally checks the Services of the cluster.

mod amount;
mod check;
mod pattern;
mod server;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use crds::{
    AnyValue, Settings,
    resolve::{Egress, FieldError},
    schema::is_quantity,
};
use serde::Deserialize;

pub use check::{UNKNOWN_TARGET, Violation, called_services, check, remote_files};
pub use pattern::Pattern;
pub use server::Server;

/// Maximum number of entries per list. Each run is compared with all of them.
const MAX_ENTRIES: usize = 256;
/// Default of `maxQueueSeconds`: how long an attempt can wait for its queue while other runs wait for the attempt, in seconds.
const QUEUE_SECONDS: u32 = 1_800;

/// Limits for all namespaces, and different limits for some namespaces. The default allows everything that Kubernetes allows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Policy {
    /// The default limits. `limits` and `namespaces` replace some of them.
    pub preset: Preset,
    /// Limits for all namespaces.
    pub limits: Limits,
    /// Different limits for some namespaces. All entries that match a namespace apply, in their order: a limit in a later entry replaces the same
    /// limit of an earlier entry.
    pub namespaces: Vec<Override>,
}

/// A named set of default limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Preset {
    /// No limits, for tenants that trust each other.
    #[default]
    Trusted,
    /// [`Limits::shared`], for tenants that do not trust each other.
    Shared,
}

/// Different limits for some namespaces.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Override {
    /// The names of the namespaces, in which `*` stands for any text.
    pub names: Vec<Pattern>,
    /// The limits for these namespaces. Absent limits stay unchanged.
    pub limits: Limits,
}

/// The limits for runs. An absent field sets no limit, but a list without entries allows no value.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    /// The allowed values of `launcher.image`, such as `registry.example/benchwright/*`. Launchers and the simulator may always use the image of the
    /// operator.
    pub images: Option<Vec<Pattern>>,
    /// The hosts to which the launcher may connect, such as `*.svc.cluster.local`. They apply to target, metrics, files behind URLs, and the bucket
    /// for the results.
    pub target_hosts: Option<Vec<Pattern>>,
    /// The claims that runs may mount, for results and for data.
    pub claims: Option<Vec<Pattern>>,
    /// The allowed values of `launcher.scheduling.priorityClassName`.
    pub priority_classes: Option<Vec<Pattern>>,
    /// The allowed values of `launcher.serviceAccountName`.
    pub service_accounts: Option<Vec<Pattern>>,
    /// The allowed keys in the tolerations of the launcher and of the server. A toleration without a key, which tolerates all taints, is only allowed
    /// by the entry `*`.
    pub tolerations: Option<Vec<Pattern>>,
    /// The allowed values of `runtimeClassName`, for the launcher and for the server.
    pub runtime_classes: Option<Vec<Pattern>>,
    /// The allowed values of `schedulerName`, for the launcher and for the server.
    pub schedulers: Option<Vec<Pattern>>,
    /// The allowed keys of `nodeSelector`, for the launcher and for the server.
    pub node_selectors: Option<Vec<Pattern>>,
    /// The allowed values of `target.server.lifecycle`. `PerRun` is always allowed.
    pub lifecycles: Option<Vec<Pattern>>,
    /// The allowed values of `storage.pvc.storageClassName`.
    pub storage_classes: Option<Vec<Pattern>>,
    /// The allowed values of `queueName`. If this list is set, every run needs a queue.
    pub queues: Option<Vec<Pattern>>,
    /// The allowed keys of `launcher.labels`.
    pub labels: Option<Vec<Pattern>>,
    /// The allowed keys of `launcher.annotations`.
    pub annotations: Option<Vec<Pattern>>,
    /// Maximum rate of a stage in requests per second; above 0. `maxConcurrency` limits loads without a rate.
    pub max_requests_per_second: Option<f64>,
    /// Maximum number of concurrent requests in a stage, for loads without a rate; from 1.
    pub max_concurrency: Option<u32>,
    /// Maximum time in seconds for which an attempt can send load, including all repeats and the waits between them; from 1.
    pub max_run_seconds: Option<u32>,
    /// Maximum value of `storage.pvc.size`.
    pub max_claim_size: Option<AnyValue>,
    /// Whether runs can use `storage.pvc.retention`, which deletes the results folders of other runs on the claim. If absent, runs can use it.
    pub retention: Option<bool>,
    /// Maximum value of `execution.deadlines.startSeconds`, in seconds; from 1. A run occupies its target during this time.
    pub max_start_seconds: Option<u32>,
    /// Maximum time in seconds that an attempt can wait for its queue while other runs wait for its target or for its slot in the namespace; from 1.
    /// If absent, the maximum is [`QUEUE_SECONDS`].
    pub max_queue_seconds: Option<u32>,
    /// Maximum resource requests and limits of a launcher. Resources that are missing here may not be requested.
    pub max_resources: Option<BTreeMap<String, AnyValue>>,
    /// Maximum resource requests and limits of one replica of a server that is started for a run. If absent, `maxResources` applies.
    pub max_server_resources: Option<BTreeMap<String, AnyValue>>,
    /// Maximum number of replicas of a server that is started for a run; from 1.
    pub max_server_replicas: Option<u32>,
    /// Maximum number of concurrent attempts in a namespace; from 1. Further runs wait, and the oldest starts first.
    pub max_concurrent_attempts: Option<u32>,
    /// Networks that launchers may not connect to, in addition to the networks that are always blocked. Also exceptions from both.
    pub egress: Option<Egress>,
}

impl Policy {
    /// Parses a policy from YAML.
    ///
    /// # Errors
    /// The first field that cannot be parsed, or if all can be parsed, all invalid values.
    pub fn parse(text: &str) -> Result<Policy, String> {
        let policy: Policy = match text.trim() {
            "" | "{}" => Policy::default(),
            text => serde_saphyr::from_str(text).map_err(|error| error.to_string())?,
        };
        let problems: Vec<_> = policy.problems().iter().map(FieldError::to_string).collect();
        if problems.is_empty() { Ok(policy) } else { Err(problems.join("\n")) }
    }

    /// Parses a policy from a policy file, or from the values of the chart, which contain the policy under `policy` and the preset in a separate
    /// field.
    ///
    /// # Errors
    /// The errors of [`Policy::parse`].
    pub fn parse_file(text: &str) -> Result<Policy, String> {
        let values = serde_saphyr::from_str::<serde_json::Value>(text).ok();
        match values.as_ref().and_then(|it| it.get("policy")) {
            Some(serde_json::Value::Null) => Ok(Policy { preset: Preset::Shared, ..Policy::default() }),
            Some(policy) => {
                let mut policy = policy.clone();
                if let Some(fields) = policy.as_object_mut() {
                    fields.entry("preset").or_insert("shared".into());
                }
                // `parse` accepts this, because JSON is valid YAML.
                Policy::parse(&policy.to_string())
            }
            None => Policy::parse(text),
        }
    }

    fn problems(&self) -> Vec<FieldError> {
        let mut all = self.limits.problems("limits");
        check_length("namespaces", self.namespaces.len(), &mut all);
        for (index, entry) in self.namespaces.iter().enumerate() {
            let field = format!("namespaces[{index}]");
            if entry.names.is_empty() {
                add(&mut all, &format!("{field}.names"), "is empty; name a namespace, such as team-a or team-*");
            }
            check_patterns(&format!("{field}.names"), &entry.names, &mut all);
            all.extend(entry.limits.problems(&format!("{field}.limits")));
        }
        all
    }

    /// The limits of a namespace.
    pub fn limits(&self, namespace: &str) -> Limits {
        let mut limits = Limits::default();
        self.limits_in(namespace).for_each(|it| limits.replace(it));
        limits
    }

    /// `maxConcurrentAttempts` of a namespace. Only this limit is computed, because every watch event calls this function.
    pub fn max_concurrent_attempts(&self, namespace: &str) -> Option<u32> {
        self.limits_in(namespace).rev().find_map(|it| it.max_concurrent_attempts)
    }

    /// The limits for all namespaces, followed by the overrides that match this namespace.
    fn limits_in(&self, namespace: &str) -> impl DoubleEndedIterator<Item = &Limits> {
        let named = move |it: &&Override| it.names.iter().any(|it| it.matches(namespace));
        std::iter::once(self.preset.limits())
            .chain(std::iter::once(&self.limits))
            .chain(self.namespaces.iter().filter(named).map(|it| &it.limits))
    }

    /// The settings for runs in a namespace: the installation's settings plus the networks that this policy blocks.
    pub fn settings(&self, settings: &Settings, namespace: &str) -> Settings {
        let mut settings = settings.clone();
        if let Some(more) = self.limits_in(namespace).rev().find_map(|it| it.egress.as_ref()) {
            let egress = settings.egress.get_or_insert_default();
            egress.blocked.extend_from_slice(&more.blocked);
            egress.allowed_hosts.extend_from_slice(&more.allowed_hosts);
        }
        settings
    }
}

impl Preset {
    fn limits(self) -> &'static Limits {
        static NONE: LazyLock<Limits> = LazyLock::new(Limits::default);
        static SHARED: LazyLock<Limits> = LazyLock::new(Limits::shared);
        match self {
            Preset::Trusted => &NONE,
            Preset::Shared => &SHARED,
        }
    }
}

impl Limits {
    /// Limits for tenants that do not trust each other. Limits on hosts, rates, images and resources depend on the cluster, so administrators must
    /// set them themselves.
    pub fn shared() -> Limits {
        Limits {
            priority_classes: Some(Vec::new()),
            annotations: Some(Vec::new()),
            tolerations: Some(Vec::new()),
            runtime_classes: Some(Vec::new()),
            schedulers: Some(Vec::new()),
            retention: Some(false),
            max_run_seconds: Some(14_400),
            max_start_seconds: Some(QUEUE_SECONDS),
            max_queue_seconds: Some(QUEUE_SECONDS),
            ..Limits::default()
        }
    }

    /// How long an attempt can wait for its queue while other runs wait for this attempt, in seconds.
    pub fn queue_seconds(&self) -> u32 {
        self.max_queue_seconds.unwrap_or(QUEUE_SECONDS)
    }

    fn replace(&mut self, newer: &Limits) {
        // The pattern names every field, so that the compiler reports a limit that is not handled here.
        let Limits {
            images,
            target_hosts,
            claims,
            priority_classes,
            service_accounts,
            tolerations,
            runtime_classes,
            schedulers,
            node_selectors,
            lifecycles,
            storage_classes,
            queues,
            labels,
            annotations,
            max_requests_per_second,
            max_concurrency,
            max_run_seconds,
            max_claim_size,
            retention,
            max_start_seconds,
            max_queue_seconds,
            max_resources,
            max_server_resources,
            max_server_replicas,
            max_concurrent_attempts,
            egress,
        } = newer.clone();
        self.images = images.or(self.images.take());
        self.target_hosts = target_hosts.or(self.target_hosts.take());
        self.claims = claims.or(self.claims.take());
        self.priority_classes = priority_classes.or(self.priority_classes.take());
        self.service_accounts = service_accounts.or(self.service_accounts.take());
        self.tolerations = tolerations.or(self.tolerations.take());
        self.runtime_classes = runtime_classes.or(self.runtime_classes.take());
        self.schedulers = schedulers.or(self.schedulers.take());
        self.node_selectors = node_selectors.or(self.node_selectors.take());
        self.lifecycles = lifecycles.or(self.lifecycles.take());
        self.storage_classes = storage_classes.or(self.storage_classes.take());
        self.queues = queues.or(self.queues.take());
        self.labels = labels.or(self.labels.take());
        self.annotations = annotations.or(self.annotations.take());
        self.max_requests_per_second = max_requests_per_second.or(self.max_requests_per_second);
        self.max_concurrency = max_concurrency.or(self.max_concurrency);
        self.max_run_seconds = max_run_seconds.or(self.max_run_seconds);
        self.max_claim_size = max_claim_size.or(self.max_claim_size.take());
        self.retention = retention.or(self.retention);
        self.max_start_seconds = max_start_seconds.or(self.max_start_seconds);
        self.max_queue_seconds = max_queue_seconds.or(self.max_queue_seconds);
        self.max_resources = max_resources.or(self.max_resources.take());
        self.max_server_resources = max_server_resources.or(self.max_server_resources.take());
        self.max_server_replicas = max_server_replicas.or(self.max_server_replicas);
        self.max_concurrent_attempts = max_concurrent_attempts.or(self.max_concurrent_attempts);
        self.egress = egress.or(self.egress.take());
    }

    fn problems(&self, field: &str) -> Vec<FieldError> {
        let mut all = Vec::new();
        for (name, patterns) in [
            ("images", &self.images),
            ("targetHosts", &self.target_hosts),
            ("claims", &self.claims),
            ("priorityClasses", &self.priority_classes),
            ("serviceAccounts", &self.service_accounts),
            ("tolerations", &self.tolerations),
            ("runtimeClasses", &self.runtime_classes),
            ("schedulers", &self.schedulers),
            ("nodeSelectors", &self.node_selectors),
            ("lifecycles", &self.lifecycles),
            ("storageClasses", &self.storage_classes),
            ("queues", &self.queues),
            ("labels", &self.labels),
            ("annotations", &self.annotations),
        ] {
            check_patterns(&format!("{field}.{name}"), patterns.as_deref().unwrap_or_default(), &mut all);
        }
        for (index, image) in self.images.iter().flatten().enumerate().filter(|(_, it)| !it.ends_a_name()) {
            let remedy =
                "write a /, : or @ before the last *, because `registry.example*` means registry.example.org too";
            add(&mut all, &format!("{field}.images[{index}]"), &format!("is {:?}; {remedy}", image.as_str()));
        }
        if let Some(rate) = self.max_requests_per_second.filter(|it| !it.is_finite() || *it <= 0.0) {
            add(&mut all, &format!("{field}.maxRequestsPerSecond"), &format!("is {rate}; write a rate above 0"));
        }
        for (name, count) in [
            ("maxConcurrency", self.max_concurrency),
            ("maxRunSeconds", self.max_run_seconds),
            ("maxStartSeconds", self.max_start_seconds),
            ("maxQueueSeconds", self.max_queue_seconds),
            ("maxServerReplicas", self.max_server_replicas),
            ("maxConcurrentAttempts", self.max_concurrent_attempts),
        ] {
            if count == Some(0) {
                add(&mut all, &format!("{field}.{name}"), "is 0; write at least 1");
            }
        }
        let of_launchers = self.max_resources.iter().flatten().map(|it| ("maxResources", it));
        let of_servers = self.max_server_resources.iter().flatten().map(|it| ("maxServerResources", it));
        let resources = of_launchers.chain(of_servers);
        for (list, (name, amount)) in resources.filter(|(_, it)| !is_quantity(&it.1.text())) {
            let found = amount.text();
            add(
                &mut all,
                &format!("{field}.{list}.{name}"),
                &format!("is {found:?}; write a quantity, such as 2, 500m or 8Gi"),
            );
        }
        if let Some(size) = self.max_claim_size.as_ref().map(AnyValue::text).filter(|it| !is_quantity(it)) {
            let why = format!("is {size:?}; write a quantity, such as 100Gi");
            add(&mut all, &format!("{field}.maxClaimSize"), &why);
        }
        if let Some(egress) = &self.egress {
            let field = format!("{field}.egress");
            all.extend(egress.rules(&field).err().unwrap_or_default());
            let (found, own) = (egress.blocked.len(), Egress::cluster_default().blocked.len());
            let most = MAX_ENTRIES.saturating_sub(own);
            // The launcher accepts at most MAX_ENTRIES networks. With more, every run would fail.
            if found > most && found <= MAX_ENTRIES {
                let why = format!("has {found} entries; write at most {most}, because {own} are blocked in any case");
                add(&mut all, &format!("{field}.blocked"), &why);
            }
        }
        all
    }
}

fn check_patterns(field: &str, patterns: &[Pattern], all: &mut Vec<FieldError>) {
    check_length(field, patterns.len(), all);
    let mut seen = BTreeSet::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let at = format!("{field}[{index}]");
        if let Some(problem) = pattern.problem() {
            add(all, &at, &problem);
        } else if !seen.insert(pattern.as_str()) {
            add(all, &at, &format!("is {:?}, as an entry before it; take one of them out", pattern.as_str()));
        }
    }
}

fn check_length(field: &str, found: usize, all: &mut Vec<FieldError>) {
    if found > MAX_ENTRIES {
        add(all, field, &format!("has {found} entries; write at most {MAX_ENTRIES}"));
    }
}

fn add(all: &mut Vec<FieldError>, path: &str, message: &str) {
    all.push(FieldError { path: path.to_owned(), message: message.to_owned() });
}
