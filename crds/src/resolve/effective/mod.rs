//! Fills in the defaults of a spec. No other module does.

mod values;

use serde_json::Value;

pub use values::{
    Baseline, Claim, Deadlines, EffectiveSpec, Execution, Launcher, Profile, Readiness, Retry, S3, Server, Service,
    Simulator, Slo, Storage, Target, Validity,
};

use super::{
    ProfileSource, Settings,
    server::{is_of_charts, managed_server},
};
use crate::{
    AnyValue,
    benchmark_run::{
        self as written, BenchmarkRunSpec, Enforcement, Harness, HttpVersion, Lifecycle, PerRequestRecords,
        ReadinessProbe, RetryCause, Scheme, SimulatorPreset,
    },
    units::Seed,
};

/// The default seed in earlier releases. In this release every run without a seed draws its own.
const SEED_OF_EARLIER_RELEASES: u64 = 42;
/// Minimum time to wait for a server that is started for a run, if the spec does not set one.
const SERVER_START_SECONDS: u32 = 900;

/// How long an object of a finished run is kept. It is not part of [`EffectiveSpec`], because users can change it at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Seconds to keep the object after the completion of a run that succeeded.
    pub after_success_seconds: u32,
    /// Seconds to keep the object after the completion of a run that failed or was cancelled.
    pub after_failure_seconds: u32,
}

impl EffectiveSpec {
    /// Fills in the defaults. They equal llm-d-benchmark's defaults where it has any. The default seed derives from the UID of the run.
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

    /// Maximum time in seconds from the start of the first load of an attempt until the end of the last. Each repeat can use the whole deadline and
    /// grace period, and each repeat but the first can wait again until the target is ready.
    pub fn measuring_seconds(&self) -> u32 {
        let each = self.execution.deadlines.run_seconds.saturating_add(self.execution.grace_period_seconds);
        let waits = self.target.readiness.timeout_seconds.saturating_mul(self.repeat.saturating_sub(1));
        each.saturating_mul(self.repeat.max(1)).saturating_add(waits)
    }

    /// Maximum time in seconds from the start of the launcher's first load until the launcher ends. It includes the upload of the results.
    pub fn launcher_seconds(&self) -> u32 {
        let upload = self.storage.s3.as_ref().map_or(0, |it| it.upload_timeout_seconds);
        self.measuring_seconds().saturating_add(upload)
    }

    /// Reads stored values. A field gets its default if the release that stored the values did not have it.
    pub(crate) fn from_stored(stored: Value) -> Option<Self> {
        let mut defaults = EffectiveSpec::new(&BenchmarkRunSpec::default(), "", &Settings::default());
        defaults.seed = SEED_OF_EARLIER_RELEASES;
        // In stored values, an absent `pvc` means that no results folder is kept on a claim.
        defaults.storage.pvc = None;
        let mut values = serde_json::to_value(defaults).ok()?;
        overlay(&mut values, stored);
        serde_json::from_value(values).ok()
    }

    /// Writes the values that affect a measurement into a spec, so that a release with other defaults measures the same. These fields stay as they
    /// are: the number of repeats, `exclusive`, the launcher's pod, the claim, retries and the operator's deadlines.
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
        // The server's port stays as written: outside of a cluster an absent port means any free port.
        if let (Some(written), Some(server)) = (&mut spec.target.server, &self.target.server) {
            written.replicas = Some(server.replicas);
            // llm-d's charts determine distribution and lifecycle, so these fields stay as written.
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

/// Overwrites fields of `below` with the fields of `above`, recursively.
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

/// The harness of a run, with its default.
pub fn harness(spec: &BenchmarkRunSpec) -> Harness {
    spec.harness.unwrap_or(Harness::InferencePerf)
}

fn target(written: &written::Target, harness: Harness, settings: &Settings) -> Target {
    let readiness = &written.readiness;
    // An engine needs minutes to load and compile a model, both in a cluster and outside, so the timeout is longer than for other targets.
    let timeout = settings.readiness_timeout_seconds;
    let timeout = if written.server.is_some() { timeout.max(SERVER_START_SECONDS) } else { timeout };
    // If a run measures the start of a server, the server's first completion must be a request of the run.
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

/// Whether a run needs its target to itself.
pub fn exclusive(written: &written::Target) -> bool {
    written.exclusive.unwrap_or(true)
}

/// The kind of server that a simulator simulates.
pub(super) fn preset(simulator: &written::Simulator) -> SimulatorPreset {
    simulator.preset.unwrap_or(SimulatorPreset::Gpu)
}

/// The defaults of a managed server: port, replicas, distribution, lifecycle and wrapper.
pub(super) fn server(written: &written::Server) -> Server {
    let sets = u32::try_from(written.devices.len()).unwrap_or(u32::MAX).max(1);
    Server {
        port: written.port.unwrap_or(8000),
        replicas: written.replicas.unwrap_or(sets),
        distribution: written.distribution.unwrap_or_default(),
        lifecycle: written.lifecycle.unwrap_or_default(),
        // The wrapper needs a known command, and the entry point of an image is not known.
        wrapper: written.wrapper.unwrap_or(written.engine.is_known() || !written.command.is_empty()),
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

/// The claim for the results. `None` if no results are kept, or if they are in a bucket.
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

/// The bucket for the results.
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

/// The validity bounds with their defaults.
pub(super) fn validity(written: &written::Validity) -> Validity {
    let share = |written: &Option<AnyValue>, default: &str| written.as_ref().map_or(default.to_owned(), AnyValue::text);
    Validity {
        min_successful_requests: written.min_successful_requests.unwrap_or(1),
        max_error_ratio: share(&written.max_error_ratio, "0.01"),
        max_send_lag_p99_milliseconds: written.max_send_lag_p99_milliseconds.unwrap_or(10),
        // The default is the same as for the send lag, because both delays add the same error to TTFT.
        max_receive_delay_p99_milliseconds: written.max_receive_delay_p99_milliseconds.unwrap_or(10),
        // With a larger share, requests and tokens wait for the thread several times as long as the thread works on them.
        max_cpu_share: share(&written.max_cpu_share, "0.9"),
        // If more than 5 % of the values are affected, p95 describes the launcher and not the server. The limits for reads and stalls are 5 % for the
        // same reason.
        max_throttled_share: share(&written.max_throttled_share, "0.05"),
        // The share of stolen time refers to all CPUs of the machine, so only a part of it delays the launcher.
        max_steal_share: share(&written.max_steal_share, "0.1"),
        max_coalesced_read_share: share(&written.max_coalesced_read_share, "0.05"),
        max_stalled_share: share(&written.max_stalled_share, "0.05"),
        // Figures do not depend on the time of day. Only a large step matters, such as after a suspended machine resumes.
        max_clock_step_milliseconds: written.max_clock_step_milliseconds.unwrap_or(1_000),
    }
}

/// The effect of a missed objective. `None` if the spec has no objectives.
pub(super) fn slo(written: &written::Slo) -> Option<Slo> {
    (!written.objectives.is_empty()).then(|| Slo {
        enforcement: written.enforcement.unwrap_or(Enforcement::Fail),
        baseline: written.baseline.as_ref().map(|it| Baseline { max_regression_percent: max_regression_percent(it) }),
    })
}

/// Maximum percentage by which a figure can be worse than the baseline's figure.
pub(super) fn max_regression_percent(written: &written::Baseline) -> u32 {
    written.max_regression_percent.unwrap_or(5)
}

fn execution(written: &written::Execution) -> Execution {
    let (retry, deadlines) = (&written.retry, &written.deadlines);
    Execution {
        retry: Retry {
            limit: retry.limit.unwrap_or(1),
            // TargetUnavailable is not a default, because the first attempt has already waited for the target for readiness.timeoutSeconds.
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

/// How long a finished run is kept. `None` if it is never deleted.
pub fn run_cleanup(spec: &BenchmarkRunSpec) -> Option<Retention> {
    spec.cleanup.run.as_ref().map(|written| Retention {
        after_success_seconds: written.after_success_seconds.unwrap_or(604_800),
        after_failure_seconds: written.after_failure_seconds.unwrap_or(2_592_000),
    })
}

/// How long the Jobs of a finished run are kept. `None` if they are deleted together with the run.
pub fn jobs_cleanup(spec: &BenchmarkRunSpec) -> Option<Retention> {
    spec.cleanup.jobs.as_ref().map(|written| Retention {
        after_success_seconds: written.after_success_seconds.unwrap_or(3_600),
        after_failure_seconds: written.after_failure_seconds.unwrap_or(604_800),
    })
}

/// How long a server that outlives its run is kept if spec.cleanup.server is absent: one day, in seconds.
const SERVER_STAYS_SECONDS: u32 = 86_400;

/// How long the server of a finished run is kept. `None` if the server is removed at the end of the run, or if Benchwright did not start it. A server
/// that outlives its run always has a time limit, even if the spec sets none, because it can occupy GPUs.
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
