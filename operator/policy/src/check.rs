//! Checks a run against the limits of its namespace.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crds::{
    AnyValue, BenchmarkRunSpec, EffectiveSpec, ResolvedRun,
    benchmark_run::{Lifecycle, Resources, Scheduling, Server as ManagedServer},
    resolve::{Endpoint, llm_d_server},
    wording::quoted,
};
use workload_profiles::{
    Workload,
    loadgen::Scenario,
    workload::{FileSource, Load},
};

use super::{Limits, Pattern, amount::nano, server::Server};

/// Prefix of the priority classes for the cluster's own pods. A pod with such a class may evict other pods of the cluster.
const SYSTEM: &str = "system-";
/// Maximum number of violations in one message.
const MAX_NAMED: usize = 16;

/// Placeholder for the URL of a target that is not installed yet. It receives no load, so the lists of allowed hosts do not apply to it.
pub const UNKNOWN_TARGET: &str = "http://gateway.invalid";

/// A value in the spec that the policy does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The field, such as `spec.launcher.image`.
    pub field: String,
    /// The value of the field.
    pub value: String,
    /// The allowed values, and the remedy.
    pub rule: String,
}

/// Prints for example `spec.launcher.image: is "a/b"; limits.images allows only "c/*"; ...`.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: is {}; {}", self.field, self.value, self.rule)
    }
}

impl Violation {
    /// All violations as one message with one line per violation.
    pub fn message(all: &[Violation]) -> String {
        let mut lines: Vec<_> = all.iter().take(MAX_NAMED).map(Violation::to_string).collect();
        if all.len() > MAX_NAMED {
            lines.push(format!("and {} more", all.len() - MAX_NAMED));
        }
        lines.join("\n")
    }
}

/// Returns all values of a run that the policy does not allow. `own_image` is the image of the operator, which launchers and the simulator may always
/// use. `workload` is `None` if the profile is not known; the load and the profile's files are then not checked.
pub fn check(
    limits: &Limits,
    own_image: &str,
    spec: &BenchmarkRunSpec,
    effective: &EffectiveSpec,
    resolved: &ResolvedRun,
    workload: Option<&Workload>,
) -> Vec<Violation> {
    let mut all = Violations(Vec::new());
    let launcher = &spec.launcher;
    let class = launcher.scheduling.priority_class_name.as_deref();
    let image = launcher.image.as_deref().filter(|it| *it != own_image);
    all.check_name("spec.launcher.image", image, &limits.images, "images");
    all.check_class("spec.launcher.scheduling.priorityClassName", class, limits);
    all.check_scheduling("spec.launcher.scheduling", &launcher.scheduling, limits);
    check_queue(limits, spec, &mut all);
    let account = launcher.service_account_name.as_deref();
    all.check_name("spec.launcher.serviceAccountName", account, &limits.service_accounts, "serviceAccounts");
    for key in launcher.labels.keys() {
        all.check_name("spec.launcher.labels", Some(key), &limits.labels, "labels");
    }
    for key in launcher.annotations.keys() {
        all.check_name("spec.launcher.annotations", Some(key), &limits.annotations, "annotations");
    }
    if let Some(server) = own_server(spec) {
        check_server(limits, own_image, server, &mut all);
    }
    if let (Some(most), Some(server)) = (limits.max_server_replicas, &effective.target.server)
        && own_server(spec).is_some()
        && server.replicas > most
    {
        let rule = format!("at most {most} replicas of a server are allowed (limits.maxServerReplicas); lower it");
        all.add("spec.target.server.replicas", server.replicas.to_string(), &rule);
    }
    check_claims(limits, spec, effective, &mut all);
    check_hosts(limits, spec, resolved, workload, &mut all);
    if let Some(workload) = workload {
        check_load(limits, workload, &mut all);
    }
    if let Some(most) = limits.max_run_seconds
        && effective.measuring_seconds() > most
    {
        let rule = format!(
            "with gracePeriodSeconds and all repeats an attempt may send load for at most {most} seconds (limits.maxRunSeconds); lower runSeconds or repeat"
        );
        let found =
            format!("{}, in all {} seconds", effective.execution.deadlines.run_seconds, effective.measuring_seconds());
        all.add("spec.execution.deadlines.runSeconds", found, &rule);
    }
    let start_seconds = effective.execution.deadlines.start_seconds;
    if let Some(most) = limits.max_start_seconds.filter(|it| start_seconds > *it) {
        let rule = format!("a run may take at most {most} seconds to start (limits.maxStartSeconds); lower it");
        all.add("spec.execution.deadlines.startSeconds", start_seconds.to_string(), &rule);
    }
    if let (Some(most), Some(asked)) = (&limits.max_resources, &launcher.resources) {
        check_resources("spec.launcher", asked, most, "maxResources", &mut all);
        if let Some(amount) = most.get("memory").filter(|_| !asked.limits.contains_key("memory")) {
            let rule = format!(
                "a launcher may have at most {} (limits.maxResources.memory); write a limit up to this",
                amount.text()
            );
            all.add("spec.launcher.resources.limits.memory", "absent".into(), &rule);
        }
    }
    all.0
}

/// The server that Benchwright starts for a run. Servers of llm-d's charts are not checked: they start with the rights of the user who installs them.
fn own_server(spec: &BenchmarkRunSpec) -> Option<&ManagedServer> {
    spec.target.server.as_ref().filter(|_| llm_d_server(spec).is_none())
}

/// Checks a server that is started for the run against the limits for launchers. Its resources can have limits of their own. Only the simulator can
/// use the operator's image regardless of `images`: with a user's command, this image could send any load to any host.
fn check_server(limits: &Limits, own_image: &str, server: &ManagedServer, all: &mut Violations) {
    let field = |name: &str| format!("spec.target.server.{name}");
    let is_simulator = server.engine.is_own() && server.command.is_empty() && server.preprocess.is_none();
    let image = server.image.as_deref().filter(|it| !(is_simulator && *it == own_image));
    all.check_name(&field("image"), image, &limits.images, "images");
    let class = server.scheduling.priority_class_name.as_deref();
    all.check_class(&field("scheduling.priorityClassName"), class, limits);
    all.check_scheduling(&field("scheduling"), &server.scheduling, limits);
    let account = server.service_account_name.as_deref();
    all.check_name(&field("serviceAccountName"), account, &limits.service_accounts, "serviceAccounts");
    let lifecycle = match server.lifecycle {
        Some(Lifecycle::Keep) => Some("Keep"),
        Some(Lifecycle::Reuse) => Some("Reuse"),
        Some(Lifecycle::PerRun) | None => None,
    };
    all.check_name(&field("lifecycle"), lifecycle, &limits.lifecycles, "lifecycles");
    let claim = server.model_claim.as_ref().map(|it| it.claim_name.as_str());
    all.check_name(&field("modelClaim.claimName"), claim, &limits.claims, "claims");
    let (most, name) = match (&limits.max_server_resources, &limits.max_resources) {
        (Some(most), _) => (most, "maxServerResources"),
        (None, Some(most)) => (most, "maxResources"),
        (None, None) => return,
    };
    let asked = server.resources.clone().unwrap_or_default();
    check_resources("spec.target.server", &asked, most, name, all);
    if let Some(amount) = most.get("memory").filter(|_| !asked.limits.contains_key("memory")) {
        let rule =
            format!("a server may have at most {} (limits.{name}.memory); write a limit up to this", amount.text());
        all.add(&field("resources.limits.memory"), "absent".into(), &rule);
    }
}

fn check_queue(limits: &Limits, spec: &BenchmarkRunSpec, all: &mut Violations) {
    all.check_name("spec.queueName", spec.queue_name.as_deref(), &limits.queues, "queues");
    if let (Some(queues), None) = (&limits.queues, &spec.queue_name) {
        let names: Vec<_> = queues.iter().take(MAX_NAMED).map(|it| quoted(it.as_str())).collect();
        let rule = match names.is_empty() {
            true => "limits.queues allows none, so that no run can start; ask an administrator".to_owned(),
            false => format!("limits.queues requires one of {}; set it", names.join(", ")),
        };
        all.add("spec.queueName", "absent".into(), &rule);
    }
}

fn check_claims(limits: &Limits, spec: &BenchmarkRunSpec, effective: &EffectiveSpec, all: &mut Violations) {
    if let Some(pvc) = &spec.storage.pvc {
        let class = pvc.storage_class_name.as_deref();
        all.check_name("spec.storage.pvc.storageClassName", class, &limits.storage_classes, "storageClasses");
        let asked = effective.storage.pvc.as_ref().map(|it| it.size.clone());
        let too_large =
            |asked: &str, most: &AnyValue| nano(asked).zip(nano(&most.text())).is_none_or(|(asked, most)| asked > most);
        if let (Some(asked), Some(most)) = (&asked, &limits.max_claim_size)
            && too_large(asked, most)
        {
            let rule = format!("at most {} is allowed (limits.maxClaimSize); lower it", most.text());
            all.add("spec.storage.pvc.size", quoted(asked), &rule);
        }
        if pvc.retention.is_some() && limits.retention == Some(false) {
            let rule = "retention deletes folders of other runs, and limits.retention is false; take it out";
            all.add("spec.storage.pvc.retention", "set".into(), rule);
        }
    }
    let results = effective.storage.pvc.as_ref().map(|it| it.claim_name.as_str());
    all.check_name("spec.storage.pvc.claimName", results, &limits.claims, "claims");
    for (index, file) in spec.profile.files.iter().enumerate() {
        let field = format!("spec.profile.files[{index}].claim.claimName");
        all.check_name(&field, file.claim.as_ref().map(|it| it.claim_name.as_str()), &limits.claims, "claims");
    }
}

/// Checks all hosts to which the launcher connects.
fn check_hosts(
    limits: &Limits,
    spec: &BenchmarkRunSpec,
    resolved: &ResolvedRun,
    workload: Option<&Workload>,
    all: &mut Violations,
) {
    let allowed = limits.target_hosts.as_ref().map(|it| it.iter().map(Pattern::of_host).collect());
    for (field, url) in called(spec, resolved, workload) {
        match Server::parse(&url) {
            Some(server) => {
                all.check_name(&format!("{field}, the host"), Some(&server.host), &allowed, "targetHosts");
            }
            // The URL cannot be parsed here. It is refused, because another parser could still find a host in it.
            None if allowed.is_some() => {
                let rule = "it has no host to compare with limits.targetHosts; write a URL such as http://host:80";
                all.add(&field, quoted(&url), rule);
            }
            None => {}
        }
    }
}

/// Returns the path and the value of every field with a URL to which the launcher connects.
fn called(spec: &BenchmarkRunSpec, resolved: &ResolvedRun, workload: Option<&Workload>) -> Vec<(String, String)> {
    let target = match (&resolved.endpoint, &spec.target.url) {
        (Endpoint::Simulator(_) | Endpoint::Server(_), _) => None,
        (Endpoint::Url(url), Some(_)) => Some(("spec.target.url".to_owned(), url.clone())),
        // A server that is started for the run, and the metrics of its pods, belong to the run and need no permission.
        (Endpoint::Url(_), None) if own_server(spec).is_some() => None,
        (Endpoint::Url(url), None) if url == UNKNOWN_TARGET => None,
        (Endpoint::Url(url), None) => Some(("spec.target".to_owned(), url.clone())),
    };
    let written = own_server(spec).is_none() || spec.target.metrics.is_some();
    let metrics = resolved.metrics.iter().flatten().filter(|_| written).enumerate();
    let metrics = metrics.map(|(index, it)| (format!("spec.target.metrics[{index}]"), it.url.clone()));
    let upload = resolved.upload.iter().map(|it| ("spec.storage.s3.endpoint".to_owned(), it.server()));
    target.into_iter().chain(metrics).chain(upload).chain(workload.into_iter().flat_map(remote_files)).collect()
}

/// The names of the Services in a namespace to which the spec can send the launcher. Every host that could be the name of a Service is included.
pub fn called_services(
    spec: &BenchmarkRunSpec,
    resolved: &ResolvedRun,
    workload: &Workload,
    namespace: &str,
) -> BTreeSet<String> {
    let hosts =
        called(spec, resolved, Some(workload)).into_iter().filter_map(|(_, url)| Some(Server::parse(&url)?.host));
    hosts.filter_map(|it| Some(service_name(&it, namespace)?.to_owned())).collect()
}

/// The name of the Service in `namespace` that a host can refer to. The host has the form `model`, `model.bench` or `model.bench.svc.cluster.local`.
fn service_name<'a>(host: &'a str, namespace: &str) -> Option<&'a str> {
    let mut labels = host.split('.');
    let name = labels.next()?;
    let own = labels.next().is_none_or(|it| it == namespace) && labels.next().is_none_or(|it| it == "svc");
    let valid = !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    Some(name).filter(|_| own && valid)
}

/// The purpose and the URL of each file that the workload reads from a URL.
pub fn remote_files(workload: &Workload) -> Vec<(String, String)> {
    // The workload is cloned because its files are only accessible through `sources_mut`.
    let mut workload = workload.clone();
    let sources = workload.sources_mut().into_iter();
    let remote = sources.filter_map(|(what, source)| match source {
        FileSource::Url(file) => Some((format!("profile, the {what}"), file.url.clone())),
        FileSource::Path(_) => None,
    });
    remote.collect()
}

fn check_load(limits: &Limits, workload: &Workload, all: &mut Violations) {
    for stage in &workload.stages {
        let (rate, at_once) = match &stage.load {
            // A measured rate derives from the results of earlier stages, so it is not known before the run.
            Load::Open { .. } if stage.load.has_measured_rate() => (None, None),
            Load::Open { rate, .. } => (Some(rate.peak().per_second()), None),
            Load::Users { rate, .. } => (Some(rate.per_second()), None),
            Load::Burst { count, max_concurrency, .. } => {
                (None, Some(max_concurrency.map_or(*count, |it| u64::from(it).min(*count))))
            }
            Load::Closed { concurrency, .. } => (None, Some(u64::from(*concurrency))),
            Load::LoadGen { scenario: Scenario::Server, test, .. } => (server_rate(workload, *test), None),
            Load::Trace { .. } | Load::LoadGen { .. } => (None, None),
        };
        let field = format!("profile, stage {}", stage.name);
        if let (Some(most), Some(rate)) = (limits.max_requests_per_second, rate)
            && rate > most
        {
            let rule =
                format!("at most {most} requests per second are allowed (limits.maxRequestsPerSecond); lower the rate");
            all.add(&field, format!("{rate} requests per second"), &rule);
        }
        if let (Some(most), Some(at_once)) = (limits.max_concurrency, at_once)
            && at_once > u64::from(most)
        {
            let rule = format!(
                "at most {most} concurrent requests are allowed (limits.maxConcurrency); lower the concurrency"
            );
            all.add(&field, format!("{at_once} concurrent requests"), &rule);
        }
    }
}

/// The rate in the settings of a LoadGen test. `None` if the test searches for its rate, which is then not known before the run.
fn server_rate(workload: &Workload, test: u32) -> Option<f64> {
    let tests = &workload.loadgen.as_ref()?.tests;
    Some(tests.get(usize::try_from(test).ok()?)?.settings.server_target_qps)
}

/// Checks requests and limits. `owner` is the path of the field with the resources, and `list` is the name of the limit that applies.
fn check_resources(
    owner: &str,
    asked: &Resources,
    most: &BTreeMap<String, AnyValue>,
    list: &str,
    all: &mut Violations,
) {
    let groups = [("requests", &asked.requests), ("limits", &asked.limits)];
    for (group, (name, amount)) in groups.into_iter().flat_map(|(group, all)| all.iter().map(move |it| (group, it))) {
        let field = format!("{owner}.resources.{group}.{name}");
        let Some(limit) = most.get(name) else {
            let known = most.keys().cloned().collect::<Vec<_>>().join(", ");
            let rule = format!("limits.{list} allows only {known}; take it out");
            all.add(&field, quoted(&amount.text()), &rule);
            continue;
        };
        // A quantity that cannot be parsed counts as exceeding the limit.
        let within = nano(&amount.text()).zip(nano(&limit.text())).is_some_and(|(asked, most)| asked <= most);
        if !within {
            let rule = format!("at most {} is allowed (limits.{list}.{name}); lower it", limit.text());
            all.add(&field, quoted(&amount.text()), &rule);
        }
    }
}

struct Violations(Vec<Violation>);

impl Violations {
    fn add(&mut self, field: &str, value: String, rule: &str) {
        self.0.push(Violation { field: field.to_owned(), value, rule: rule.to_owned() });
    }

    /// Checks a priority class against the allowed ones. The classes of the cluster's own pods are always refused.
    fn check_class(&mut self, field: &str, class: Option<&str>, limits: &Limits) {
        self.check_name(field, class, &limits.priority_classes, "priorityClasses");
        if let Some(class) = class.filter(|it| it.starts_with(SYSTEM)) {
            self.add(field, quoted(class), "system-* classes are only for the cluster itself; name another one");
        }
    }

    /// Checks a pod's scheduling fields against the allowed values.
    fn check_scheduling(&mut self, field: &str, scheduling: &Scheduling, limits: &Limits) {
        let runtime = scheduling.runtime_class_name.as_deref();
        self.check_name(&format!("{field}.runtimeClassName"), runtime, &limits.runtime_classes, "runtimeClasses");
        let scheduler = scheduling.scheduler_name.as_deref();
        self.check_name(&format!("{field}.schedulerName"), scheduler, &limits.schedulers, "schedulers");
        for key in scheduling.node_selector.keys() {
            self.check_name(&format!("{field}.nodeSelector"), Some(key), &limits.node_selectors, "nodeSelectors");
        }
        for (index, toleration) in scheduling.tolerations.iter().enumerate() {
            let field = format!("{field}.tolerations[{index}].key");
            let key = toleration.key.as_deref().filter(|it| !it.is_empty());
            self.check_name(&field, key, &limits.tolerations, "tolerations");
            let allows_all = limits.tolerations.as_ref().is_none_or(|it| it.iter().any(|it| it.as_str() == "*"));
            if key.is_none() && !allows_all {
                let rule = "without a key it tolerates every taint; set a key that limits.tolerations allows";
                self.add(&field, "absent".into(), rule);
            }
        }
    }

    /// Checks a name against a list. Without a name or a list there is nothing to check.
    fn check_name(&mut self, field: &str, name: Option<&str>, allowed: &Option<Vec<Pattern>>, list: &str) {
        let (Some(name), Some(allowed)) = (name.filter(|it| !it.is_empty()), allowed) else { return };
        if allowed.iter().any(|it| it.matches(name)) {
            return;
        }
        let rule = match allowed.as_slice() {
            [] => format!("limits.{list} allows none; take it out"),
            some => {
                let names: Vec<_> = some.iter().take(MAX_NAMED).map(|it| quoted(it.as_str())).collect();
                format!("limits.{list} allows only {}; name one of these", names.join(", "))
            }
        };
        self.add(field, quoted(name), &rule);
    }
}
