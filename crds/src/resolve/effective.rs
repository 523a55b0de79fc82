//! A spec with its defaults filled in. The only place that defaults a field of the spec.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ProfileSource, Settings, managed_server, server::is_of_charts};
use crate::{
    AnyValue,
    benchmark_run::{
        self as written, BenchmarkRunSpec, Distribution, Enforcement, Harness, HttpVersion, Lifecycle,
        PerRequestRecords, ReadinessProbe, Resources, RetryCause, Scheme, ServerEngine, SimulatorPreset,
    },
    units::Seed,
};

/// The seed of a run without one in earlier releases. A run of this release draws its own.
const SEED_OF_EARLIER_RELEASES: u64 = 42;
/// How long a server that is started for a run is waited for at least, where the spec does not say.
const SERVER_START_SECONDS: u32 = 900;

/// The fields of a spec that have defaults, with the values that an attempt is given. Names are those of the spec. Only
/// cleanup is missing, because it may change at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct EffectiveSpec {
    /// How the target is reached.
    pub target: Target,
    /// Whose profile format the profile is written in.
    pub harness: Harness,
    /// The workload.
    pub profile: Profile,
    /// Every random draw of the run derives from it.
    pub seed: u64,
    /// How many times the load is run.
    pub repeat: u32,
    /// The pod that issues the load.
    pub launcher: Launcher,
    /// Where the results folder is kept.
    pub storage: Storage,
    /// Bounds past which the figures do not count.
    pub validity: Validity,
    /// What an objective that is missed does; absent where the spec has no objectives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// Retries, deadlines and the time to drain.
    pub execution: Execution,
}

/// How the target is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Target {
    /// The embedded simulated vLLM, where it is the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulator: Option<Simulator>,
    /// How the Service is spoken to, where one is the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ref: Option<Service>,
    /// The managed server, where one is the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Server>,
    /// The version of HTTP.
    pub http_version: HttpVersion,
    /// How the launcher finds out that the server is ready to be measured.
    pub readiness: Readiness,
    /// Whether the run has the target to itself.
    pub exclusive: bool,
}

/// The embedded simulated vLLM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Simulator {
    /// Which server it simulates.
    pub preset: SimulatorPreset,
}

/// A managed server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Server {
    /// The port on which it listens in a cluster.
    pub port: u16,
    /// How many servers share the load.
    pub replicas: u32,
    /// Which replica a request goes to.
    pub distribution: Distribution,
    /// How long it lives.
    pub lifecycle: Lifecycle,
    /// Whether a program of Benchwright's starts it in a cluster, which keeps its log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrapper: bool,
}

/// How a Service is spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Service {
    /// Port of the Service.
    pub port: u16,
    /// HTTP or HTTPS.
    pub scheme: Scheme,
    /// The part of every request's path before `/v1`.
    #[cfg_attr(feature = "kube", schemars(length(max = 1024)))]
    pub path: String,
}

/// How the launcher finds out that the server is ready to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Readiness {
    /// What counts as ready.
    pub probe: ReadinessProbe,
    /// How long it is waited for, in seconds.
    pub timeout_seconds: u32,
}

/// The workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Profile {
    /// Where the profile's text comes from: the name of a shipped profile, `inline`, or `configMap/<name>/<key>`.
    #[cfg_attr(feature = "kube", schemars(length(max = 640)))]
    pub source: String,
}

/// The pod that issues the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Launcher {
    /// The image.
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub image: String,
    /// When the image is pulled: Always, IfNotPresent or Never.
    #[cfg_attr(feature = "kube", schemars(length(max = 16)))]
    pub image_pull_policy: String,
    /// CPU and memory.
    pub resources: Resources,
}

/// Where the results folder is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Storage {
    /// The PersistentVolumeClaim of the results; absent where no results folder is kept on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pvc: Option<Claim>,
    /// The bucket of the results; absent where they are kept in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3>,
    /// Whether a results folder that cannot be written fails the run.
    pub required: bool,
    /// Whether every request leaves a row.
    pub per_request_records: PerRequestRecords,
}

/// The PersistentVolumeClaim of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Claim {
    /// The name of the claim.
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub claim_name: String,
    /// The size to ask for when it is created.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub size: String,
    /// The StorageClass when it is created. Absent: that of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub storage_class_name: Option<String>,
}

/// The bucket of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct S3 {
    /// The name of the bucket.
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub bucket: String,
    /// What the keys of all objects begin with; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub prefix: Option<String>,
    /// The URL of the server, without a slash at its end.
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub endpoint: String,
    /// The region that requests are signed for.
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub region: String,
    /// The longest that the upload may take, in seconds.
    pub upload_timeout_seconds: u32,
}

/// Bounds past which the figures do not count. Shares are decimal text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Validity {
    /// The fewest requests that must succeed.
    pub min_successful_requests: u64,
    /// The largest share of failed requests.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_error_ratio: String,
    /// The largest 99th percentile of the send lag, in milliseconds.
    pub max_send_lag_p99_milliseconds: u32,
    /// The largest 99th percentile of the receive delay, in milliseconds.
    pub max_receive_delay_p99_milliseconds: u32,
    /// The largest share of its time that a load thread may use a CPU or wait for one.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_cpu_share: String,
    /// The largest share of periods in which the CPU limit was reached.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_throttled_share: String,
    /// The largest share of the machine's CPU time that its hypervisor may give to others.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_steal_share: String,
    /// The largest share of reads that held several tokens and came late.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_coalesced_read_share: String,
    /// The largest share of time in which the launcher could not run.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_stalled_share: String,
    /// The largest step of the clock, and the longest sleep of the machine, in milliseconds.
    pub max_clock_step_milliseconds: u32,
}

/// What an objective that is missed does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Slo {
    /// Fail: the run fails. Report: nothing else changes.
    pub enforcement: Enforcement,
    /// The comparison with an earlier run; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

/// The comparison with an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Baseline {
    /// By how many percent of the earlier value a figure may be worse.
    pub max_regression_percent: u32,
}

/// Retries, deadlines and the time to drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Execution {
    /// Which failures start another attempt, and how many times.
    pub retry: Retry,
    /// How long each part of an attempt may take.
    pub deadlines: Deadlines,
    /// How long the launcher has to drain and to write its report after it was asked to stop, in seconds.
    pub grace_period_seconds: u32,
}

/// Which failures start another attempt, and how many times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Retry {
    /// How many times at most.
    pub limit: u32,
    /// After which failures.
    #[cfg_attr(feature = "kube", schemars(length(max = 3)))]
    pub reasons: Vec<RetryCause>,
}

/// How long each part of an attempt may take, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Deadlines {
    /// Until ConfigMap, volume and Job exist.
    pub prepare_seconds: u32,
    /// From the creation of the Job until the launcher measures.
    pub start_seconds: u32,
    /// From the start of the measurement until the launcher ends.
    pub run_seconds: u32,
    /// From the end of the launcher until its result is read.
    pub collect_seconds: u32,
}

/// How long something of a finished run stays. It is no part of [`EffectiveSpec`], because it may change at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Seconds from the completion of a run that succeeded.
    pub after_success_seconds: u32,
    /// Seconds from the completion of a run that failed or was cancelled.
    pub after_failure_seconds: u32,
}

impl EffectiveSpec {
    /// Fills in the defaults: the value of llm-d-benchmark wherever it has one. The default seed derives from the UID of the run.
    pub fn new(spec: &BenchmarkRunSpec, uid: &str, settings: &Settings) -> Self {
        EffectiveSpec {
            target: target(&spec.target, harness(spec), settings),
            harness: harness(spec),
            profile: Profile { source: ProfileSource::from_spec(spec).name() },
            seed: spec.seed.unwrap_or_else(|| Seed::drawn(uid).0),
            repeat: spec.repeat.unwrap_or(1),
            launcher: launcher(&spec.launcher, settings),
            storage: Storage {
                pvc: claim(&spec.storage),
                s3: spec.storage.s3.as_ref().filter(|_| spec.storage.none.is_none()).map(s3),
                required: spec.storage.required.unwrap_or(true),
                per_request_records: spec.storage.per_request_records.unwrap_or(PerRequestRecords::Full),
            },
            validity: validity(&spec.validity),
            slo: slo(&spec.slo),
            execution: execution(&spec.execution),
        }
    }

    /// The longest that an attempt may send load, from the start of its first load on, in seconds: each run of a series has the whole
    /// deadline and grace period, and each but the first may wait for the target again.
    pub fn measuring_seconds(&self) -> u32 {
        let each = self.execution.deadlines.run_seconds.saturating_add(self.execution.grace_period_seconds);
        let waits = self.target.readiness.timeout_seconds.saturating_mul(self.repeat.saturating_sub(1));
        each.saturating_mul(self.repeat.max(1)).saturating_add(waits)
    }

    /// The longest that the launcher may take from the start of its first load to its end, in seconds: the upload of its results comes
    /// after the load.
    pub fn launcher_seconds(&self) -> u32 {
        let upload = self.storage.s3.as_ref().map_or(0, |it| it.upload_timeout_seconds);
        self.measuring_seconds().saturating_add(upload)
    }

    /// Reads stored values. A field that is missing, because the release that stored them did not have it, gets its default.
    pub(crate) fn from_stored(stored: Value) -> Option<Self> {
        let mut defaults = EffectiveSpec::new(&BenchmarkRunSpec::default(), "", &Settings::default());
        defaults.seed = SEED_OF_EARLIER_RELEASES;
        // Absent means that no results folder is kept.
        defaults.storage.pvc = None;
        let mut values = serde_json::to_value(defaults).ok()?;
        overlay(&mut values, stored);
        serde_json::from_value(values).ok()
    }

    /// Writes into a spec the values that the launcher measures with, so that a release with other defaults measures the same.
    /// The number of repeats, exclusive, the launcher's pod, the claim, retries and the operator's deadlines stay as they were written.
    pub fn write_into(&self, spec: &mut BenchmarkRunSpec) {
        spec.harness = Some(self.harness);
        spec.seed = Some(self.seed);
        if let (Some(written), Some(simulator)) = (&mut spec.target.simulator, &self.target.simulator) {
            written.preset = Some(simulator.preset);
        }
        if let (Some(written), Some(service)) = (&mut spec.target.service_ref, &self.target.service_ref) {
            written.port = Some(service.port);
            written.scheme = Some(service.scheme);
            written.path = Some(service.path.clone());
        }
        // Its port stays as it was written: outside of a cluster one that is left out is any free one.
        if let (Some(written), Some(server)) = (&mut spec.target.server, &self.target.server) {
            written.replicas = Some(server.replicas);
            // llm-d's charts decide both.
            if !is_of_charts(written) {
                written.distribution = Some(server.distribution);
                written.lifecycle = Some(server.lifecycle);
                written.wrapper = Some(server.wrapper);
            }
        }
        spec.target.http_version = Some(self.target.http_version);
        spec.target.readiness = written::Readiness {
            probe: Some(self.target.readiness.probe),
            timeout_seconds: Some(self.target.readiness.timeout_seconds),
        };
        spec.storage.required = Some(self.storage.required);
        spec.storage.per_request_records = Some(self.storage.per_request_records);
        let share = |text: &String| Some(AnyValue::from(text.as_str()));
        spec.validity = written::Validity {
            min_successful_requests: Some(self.validity.min_successful_requests),
            max_error_ratio: share(&self.validity.max_error_ratio),
            max_send_lag_p99_milliseconds: Some(self.validity.max_send_lag_p99_milliseconds),
            max_receive_delay_p99_milliseconds: Some(self.validity.max_receive_delay_p99_milliseconds),
            max_cpu_share: share(&self.validity.max_cpu_share),
            max_throttled_share: share(&self.validity.max_throttled_share),
            max_steal_share: share(&self.validity.max_steal_share),
            max_coalesced_read_share: share(&self.validity.max_coalesced_read_share),
            max_stalled_share: share(&self.validity.max_stalled_share),
            max_clock_step_milliseconds: Some(self.validity.max_clock_step_milliseconds),
        };
        if let Some(slo) = &self.slo {
            spec.slo.enforcement = Some(slo.enforcement);
            if let (Some(written), Some(baseline)) = (&mut spec.slo.baseline, &slo.baseline) {
                written.max_regression_percent = Some(baseline.max_regression_percent);
            }
        }
        spec.execution.deadlines.run_seconds = Some(self.execution.deadlines.run_seconds);
        spec.execution.grace_period_seconds = Some(self.execution.grace_period_seconds);
    }
}

/// Puts the fields of one value over those of another.
fn overlay(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (name, value) in above {
                overlay(below.entry(name).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

/// Whose profile format the profile is written in.
pub fn harness(spec: &BenchmarkRunSpec) -> Harness {
    spec.harness.unwrap_or(Harness::InferencePerf)
}

fn target(written: &written::Target, harness: Harness, settings: &Settings) -> Target {
    let readiness = &written.readiness;
    // An engine loads and compiles for minutes, wherever it starts.
    let timeout = settings.readiness_timeout_seconds;
    let timeout = if written.server.is_some() { timeout.max(SERVER_START_SECONDS) } else { timeout };
    // The first completion of a server whose start is measured is that of the run.
    let probe = if harness == Harness::Nop { ReadinessProbe::Models } else { ReadinessProbe::Generate };
    Target {
        simulator: written.simulator.as_ref().map(|it| Simulator { preset: preset(it) }),
        service_ref: written.service_ref.as_ref().map(service),
        server: written.server.as_ref().map(server),
        http_version: written.http_version.unwrap_or(HttpVersion::Auto),
        readiness: Readiness {
            probe: readiness.probe.unwrap_or(probe),
            timeout_seconds: readiness.timeout_seconds.unwrap_or(timeout),
        },
        exclusive: exclusive(written),
    }
}

/// Whether a run has its target to itself.
pub fn exclusive(written: &written::Target) -> bool {
    written.exclusive.unwrap_or(true)
}

/// Which server a simulator simulates.
pub(super) fn preset(simulator: &written::Simulator) -> SimulatorPreset {
    simulator.preset.unwrap_or(SimulatorPreset::Gpu)
}

/// Port, number, distribution, lifecycle and wrapper of a managed server.
pub(super) fn server(written: &written::Server) -> Server {
    let sets = u32::try_from(written.devices.len()).unwrap_or(u32::MAX).max(1);
    Server {
        port: written.port.unwrap_or(8000),
        replicas: written.replicas.unwrap_or(sets),
        distribution: written.distribution.unwrap_or_default(),
        lifecycle: written.lifecycle.unwrap_or_default(),
        // The entry point of an image is not known.
        wrapper: written.wrapper.unwrap_or(written.engine != ServerEngine::Custom || !written.command.is_empty()),
    }
}

/// Scheme, port and path of a Service.
pub(super) fn service(written: &written::ServiceRef) -> Service {
    Service {
        port: written.port.unwrap_or(80),
        scheme: written.scheme.unwrap_or(Scheme::Http),
        path: written.path.clone().unwrap_or_else(|| "/".into()),
    }
}

fn launcher(written: &written::Launcher, settings: &Settings) -> Launcher {
    let image = written.image.clone().filter(|it| !it.is_empty());
    Launcher {
        image: image.unwrap_or_else(|| settings.launcher_image.clone()),
        image_pull_policy: settings.launcher_pull_policy.clone(),
        resources: written.resources.clone().unwrap_or_else(|| settings.launcher_resources.clone()),
    }
}

/// The claim that holds the results, or `None` where none are kept, or in a bucket.
pub fn claim(storage: &written::Storage) -> Option<Claim> {
    if storage.none.is_some() || storage.s3.is_some() {
        return None;
    }
    let written = storage.pvc.clone().unwrap_or_default();
    Some(Claim {
        claim_name: written.claim_name.unwrap_or_else(|| "workload-pvc".into()),
        size: written.size.map_or("20Gi".to_owned(), |it| it.text()),
        storage_class_name: written.storage_class_name.filter(|it| !it.is_empty()),
    })
}

/// The bucket of the results.
pub(super) fn s3(written: &written::S3) -> S3 {
    let region = written.region.clone().unwrap_or_else(|| "us-east-1".into());
    let endpoint = written.endpoint.as_ref().map(|it| it.trim_end_matches('/').to_owned());
    S3 {
        bucket: written.bucket.clone(),
        prefix: written.prefix.clone(),
        endpoint: endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com")),
        region,
        upload_timeout_seconds: written.upload_timeout_seconds.unwrap_or(600),
    }
}

/// Bounds with their defaults.
pub(super) fn validity(written: &written::Validity) -> Validity {
    let share = |written: &Option<AnyValue>, default: &str| written.as_ref().map_or(default.to_owned(), AnyValue::text);
    Validity {
        min_successful_requests: written.min_successful_requests.unwrap_or(1),
        max_error_ratio: share(&written.max_error_ratio, "0.01"),
        max_send_lag_p99_milliseconds: written.max_send_lag_p99_milliseconds.unwrap_or(10),
        // As much as the send lag: TTFT errs by both.
        max_receive_delay_p99_milliseconds: written.max_receive_delay_p99_milliseconds.unwrap_or(10),
        // Past it requests and tokens queue for the thread for several times as long as one of them takes.
        max_cpu_share: share(&written.max_cpu_share, "0.9"),
        // Past a twentieth, p95 is the launcher's and not the server's; the same for reads and stalls.
        max_throttled_share: share(&written.max_throttled_share, "0.05"),
        // Of all CPUs, and so not all of it is the launcher's loss.
        max_steal_share: share(&written.max_steal_share, "0.1"),
        max_coalesced_read_share: share(&written.max_coalesced_read_share, "0.05"),
        max_stalled_share: share(&written.max_stalled_share, "0.05"),
        // Figures do not depend on the time of day. Only a step as large as that of a machine that was paused matters.
        max_clock_step_milliseconds: written.max_clock_step_milliseconds.unwrap_or(1_000),
    }
}

/// What an objective that is missed does; `None` where there is none.
pub(super) fn slo(written: &written::Slo) -> Option<Slo> {
    (!written.objectives.is_empty()).then(|| Slo {
        enforcement: written.enforcement.unwrap_or(Enforcement::Fail),
        baseline: written.baseline.as_ref().map(|it| Baseline { max_regression_percent: max_regression_percent(it) }),
    })
}

/// By how many percent a figure may be worse than an earlier one.
pub(super) fn max_regression_percent(written: &written::Baseline) -> u32 {
    written.max_regression_percent.unwrap_or(5)
}

fn execution(written: &written::Execution) -> Execution {
    let (retry, deadlines) = (&written.retry, &written.deadlines);
    Execution {
        retry: Retry {
            limit: retry.limit.unwrap_or(1),
            // Not TargetUnavailable: the first attempt has waited for the target for readiness.timeoutSeconds already.
            reasons: retry.reasons.clone().unwrap_or_else(|| vec![RetryCause::Disrupted, RetryCause::StartTimeout]),
        },
        deadlines: Deadlines {
            prepare_seconds: deadlines.prepare_seconds.unwrap_or(900),
            start_seconds: deadlines.start_seconds.unwrap_or(1_800),
            run_seconds: deadlines.run_seconds.unwrap_or(3_600),
            collect_seconds: deadlines.collect_seconds.unwrap_or(300),
        },
        grace_period_seconds: written.grace_period_seconds.unwrap_or(60),
    }
}

/// When the run is deleted after it has finished; `None`: never.
pub fn run_cleanup(spec: &BenchmarkRunSpec) -> Option<Retention> {
    spec.cleanup.run.as_ref().map(|written| Retention {
        after_success_seconds: written.after_success_seconds.unwrap_or(604_800),
        after_failure_seconds: written.after_failure_seconds.unwrap_or(2_592_000),
    })
}

/// When the Jobs of the run are deleted after it has finished; `None`: with the run.
pub fn jobs_cleanup(spec: &BenchmarkRunSpec) -> Option<Retention> {
    spec.cleanup.jobs.as_ref().map(|written| Retention {
        after_success_seconds: written.after_success_seconds.unwrap_or(3_600),
        after_failure_seconds: written.after_failure_seconds.unwrap_or(604_800),
    })
}

/// How long a server that outlives its run stays where spec.cleanup.server is absent, in seconds: a day.
const SERVER_STAYS_SECONDS: u32 = 86_400;

/// When the server of the run is removed after it has finished; `None`: with the run's end, or never, if somebody else started it. A
/// server that outlives its run has an end also where nobody set one: it may have GPUs.
pub fn server_cleanup(spec: &BenchmarkRunSpec) -> Option<Retention> {
    let outlives = managed_server(spec).is_some_and(|it| !matches!(it.lifecycle, None | Some(Lifecycle::PerRun)));
    match &spec.cleanup.server {
        Some(written) => Some(Retention {
            after_success_seconds: written.after_success_seconds.unwrap_or(3_600),
            after_failure_seconds: written.after_failure_seconds.unwrap_or(3_600),
        }),
        None => outlives.then_some(Retention {
            after_success_seconds: SERVER_STAYS_SECONDS,
            after_failure_seconds: SERVER_STAYS_SECONDS,
        }),
    }
}
