//! A spec, the settings of the place where it runs, and the defaults: together a [`ResolvedRun`], which is what the
//! launcher gets as `run.yaml`. The only place that checks a field of the spec.

mod url;

use std::{borrow::Cow, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::url_problem;

use crate::{
    AnyValue,
    benchmark_run::{
        Api, BenchmarkRunSpec, Harness, HttpVersion, KeyRef, MAX_INLINE_PROFILE_BYTES, MAX_NAME_BYTES,
        MAX_PROMPT_SALT_BYTES, PerRequestRecords, Pvc, ReadinessProbe, Resources, Scheme, SimulatorPreset, Validity,
        files,
    },
    hex,
    units::{Seed, Span},
    wording::{cut, quoted},
};

/// The longest path that the address of a socket holds on Linux, in bytes.
const MAX_SOCKET_PATH: usize = 107;

/// What a place decides where the spec is silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The launcher's image.
    pub launcher_image: String,
    /// CPU and memory of the launcher.
    pub launcher_resources: Resources,
    /// When the image is pulled: Always, IfNotPresent or Never.
    pub launcher_pull_policy: String,
    /// Secrets in the run's namespace that the image is pulled with.
    pub launcher_pull_secrets: Vec<String>,
    /// Suffix of a Service's DNS name after `<service>.<namespace>`, such as `svc.cluster.local`.
    pub service_domain: String,
}

/// What a place decides that has no wishes: no image of the launcher, and the rest as Kubernetes has it.
impl Default for Settings {
    fn default() -> Self {
        Settings {
            launcher_image: String::new(),
            launcher_resources: Resources::default(),
            launcher_pull_policy: "IfNotPresent".into(),
            launcher_pull_secrets: Vec::new(),
            service_domain: "svc.cluster.local".into(),
        }
    }
}

/// Who the run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunIdentity {
    /// Name of the BenchmarkRun.
    pub name: String,
    /// Its namespace; empty where there is no cluster.
    #[serde(default)]
    pub namespace: String,
    /// Its UID: of the object in a cluster, made up elsewhere.
    pub uid: String,
    /// Counted from 1.
    pub attempt: u32,
}

impl RunIdentity {
    /// The name of the attempt: of its Job, its ConfigMap and its results folder in a cluster. It holds a part of the run's UID:
    /// a second run of the same name must not use the objects or the folder of the first one. At most 58 bytes,
    /// so that `<name>-<index>` is a host name.
    pub fn attempt_name(&self) -> String {
        let uid = Sha256::digest(&self.uid);
        format!("{}-{}-a{}", self.name, hex(&uid[..3]), self.attempt)
    }

    /// The salt of prompts that no other run or attempt sends.
    pub fn prompt_salt(&self) -> String {
        format!("{}-a{}", self.uid, self.attempt)
    }
}

/// All that the launcher needs to know beside the profile. No default is left open in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedRun {
    /// Who the run is.
    pub run: RunIdentity,
    /// Where the load goes.
    pub endpoint: Endpoint,
    /// The API to call; absent: the profile's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Api>,
    /// The version of HTTP to speak.
    #[serde(default)]
    pub http_version: HttpVersion,
    /// The model to ask for; absent: the profile's, else the one that the server serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The file with the bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// The file with further certificate authorities, PEM-encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// What counts as a server that is ready.
    pub readiness_probe: ReadinessProbe,
    /// How long to wait for it.
    pub readiness_timeout: Span,
    /// Whose format the profile is in.
    pub harness: Harness,
    /// Where the profile came from, for the report: a shipped profile's name, `inline`, or `configMap/<name>/<key>`.
    pub profile_source: String,
    /// Every random draw derives from it.
    pub seed: Seed,
    /// The texts of synthetic prompts derive from it as well. Empty in a file of a release before there were salts.
    #[serde(default)]
    pub prompt_salt: String,
    /// Whether every request leaves a row.
    pub per_request_records: PerRequestRecords,
    /// Whether a results folder is kept.
    pub store_results: bool,
    /// Whether the figures count although the results folder could not be written.
    pub storage_required: bool,
    /// Bounds past which the figures do not count.
    pub validity: ValidityBounds,
    /// The longest that issuing and draining may take together.
    pub run_deadline: Span,
    /// How long to drain and to write the report after a signal to stop.
    pub grace_period: Span,
}

/// Where the load goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Endpoint {
    /// A server: base URL without `/v1` and without a slash at its end, or `unix:` and the path of its socket.
    Url(String),
    /// The embedded simulated vLLM.
    Simulator(SimulatorPreset),
}

impl Endpoint {
    /// How a status and a report name it.
    pub fn name(&self) -> &str {
        match self {
            Endpoint::Url(url) => url,
            Endpoint::Simulator(_) => "simulator",
        }
    }
}

/// Bounds past which the figures do not count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValidityBounds {
    /// At least so many requests must succeed.
    pub min_successful_requests: u64,
    /// The largest share of requests that may fail, 0 to 1.
    pub max_error_ratio: f64,
    /// The largest 99th percentile of the send lag.
    pub max_send_lag_p99: Span,
    /// The largest 99th percentile of the receive delay.
    pub max_receive_delay_p99: Span,
    /// The largest share of its time that a load thread may use a CPU or wait for one; this and all shares: 0 to 1.
    pub max_cpu_share: f64,
    /// The largest share of periods in which the CPU limit was reached.
    pub max_throttled_share: f64,
    /// The largest share of the machine's CPU time that may go to others.
    pub max_steal_share: f64,
    /// The largest share of reads that held several tokens and came late.
    pub max_coalesced_read_share: f64,
    /// The largest share of time in which the launcher could not run.
    pub max_stalled_share: f64,
    /// The largest step of the clock, and the longest sleep of the machine.
    pub max_clock_step: Span,
}

/// Those of a spec that names none.
impl Default for ValidityBounds {
    fn default() -> Self {
        validity(&Validity::default(), &mut Errors::default())
    }
}

/// Where the profile's text comes from. Reading a ConfigMap or a shipped file is the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileSource {
    /// A profile that ships.
    Shipped(String),
    /// The text itself.
    Inline(String),
    /// A key of a ConfigMap.
    ConfigMap(KeyRef),
}

impl ProfileSource {
    /// The profile that a spec asks for; the first look of its harness when it asks for none.
    pub fn of(spec: &BenchmarkRunSpec) -> ProfileSource {
        let profile = &spec.profile;
        match (&profile.name, &profile.inline, &profile.config_map_ref) {
            (_, Some(text), _) => ProfileSource::Inline(text.clone()),
            (_, _, Some(key)) => ProfileSource::ConfigMap(key.clone()),
            (Some(name), _, _) => ProfileSource::Shipped(name.clone()),
            (None, None, None) => ProfileSource::Shipped(spec.harness.default_profile().into()),
        }
    }

    /// How a report names it.
    pub fn name(&self) -> String {
        match self {
            ProfileSource::Shipped(name) => name.clone(),
            ProfileSource::Inline(_) => "inline".into(),
            ProfileSource::ConfigMap(key) => format!("configMap/{}/{}", key.name, key.key),
        }
    }
}

/// One field that cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct FieldError {
    /// Where, such as `spec.target.url`.
    pub path: String,
    /// What was found and what to do.
    pub message: String,
}

/// Where the launcher's pod mounts the token and the certificate authorities.
pub mod mounts {
    /// The bearer token of the target.
    pub const TOKEN_FILE: &str = "/etc/benchwright/auth/token";
    /// Further certificate authorities.
    pub const CA_FILE: &str = "/etc/benchwright/tls/ca.crt";
    /// `run.yaml` and `profile.yaml`.
    pub const INPUT: &str = "/etc/benchwright/run";
    /// The volume that holds the results folders.
    pub const RESULTS: &str = "/results";
    /// Below it, under its name, each claim of the profile's files.
    pub const DATA: &str = "/data";
}

/// Checks a spec and fills in what it leaves out.
///
/// # Errors
/// Every field that is wrong, at once.
pub fn resolve(
    identity: RunIdentity,
    spec: &BenchmarkRunSpec,
    settings: &Settings,
) -> Result<ResolvedRun, Vec<FieldError>> {
    let mut errors = Errors::default();
    check_name(&identity.name, &mut errors);
    let endpoint = endpoint(spec, &identity.namespace, settings, &mut errors);
    check_model(&spec.target.model, &mut errors);
    check_profile(spec, &mut errors);
    errors.0.extend(files::errors(spec));
    if spec.storage.pvc.is_some() && spec.storage.none.is_some() {
        errors.add("spec.storage", "has both pvc and none; keep one of them");
    }
    let validity = validity(&spec.validity, &mut errors);
    for (path, seconds) in [
        ("spec.target.readiness.timeoutSeconds", spec.target.readiness.timeout_seconds),
        ("spec.execution.deadlines.prepareSeconds", spec.execution.deadlines.prepare_seconds),
        ("spec.execution.deadlines.startSeconds", spec.execution.deadlines.start_seconds),
        ("spec.execution.deadlines.runSeconds", spec.execution.deadlines.run_seconds),
        ("spec.execution.deadlines.collectSeconds", spec.execution.deadlines.collect_seconds),
        ("spec.validity.maxSendLagP99Milliseconds", spec.validity.max_send_lag_p99_milliseconds),
        ("spec.validity.maxReceiveDelayP99Milliseconds", spec.validity.max_receive_delay_p99_milliseconds),
        ("spec.validity.maxClockStepMilliseconds", spec.validity.max_clock_step_milliseconds),
    ] {
        if seconds == 0 {
            errors.add(path, "is 0; give it at least 1");
        }
    }
    if spec.execution.grace_period_seconds < 5 {
        let found = spec.execution.grace_period_seconds;
        errors.add(
            "spec.execution.gracePeriodSeconds",
            &format!("is {found}; draining and writing the report take at least 5"),
        );
    }
    let seconds = |count: u32| Span(Duration::from_secs(u64::from(count)));
    let prompt_salt = spec.profile.prompt_salt.clone().unwrap_or_else(|| identity.prompt_salt());
    errors.none_or(ResolvedRun {
        run: identity,
        endpoint,
        api: spec.target.api,
        http_version: spec.target.http_version,
        model: Some(spec.target.model.clone()).filter(|it| !it.is_empty()),
        token_file: spec.target.auth.as_ref().map(|_| PathBuf::from(mounts::TOKEN_FILE)),
        ca_file: spec.target.tls.as_ref().map(|_| PathBuf::from(mounts::CA_FILE)),
        readiness_probe: spec.target.readiness.probe,
        readiness_timeout: seconds(spec.target.readiness.timeout_seconds),
        harness: spec.harness,
        profile_source: ProfileSource::of(spec).name(),
        seed: Seed(spec.seed),
        prompt_salt,
        per_request_records: spec.storage.per_request_records,
        store_results: spec.storage.none.is_none(),
        storage_required: spec.storage.required,
        validity,
        run_deadline: seconds(spec.execution.deadlines.run_seconds),
        grace_period: seconds(spec.execution.grace_period_seconds),
    })
}

fn validity(spec: &Validity, errors: &mut Errors) -> ValidityBounds {
    let mut share = |field: &str, value: &AnyValue| {
        let share = value.number().unwrap_or(f64::NAN);
        if !(0.0..=1.0).contains(&share) {
            let problem = format!("is {}; write a number from 0 to 1, such as 0.01", cut(&value.0.to_string()));
            errors.add(&format!("spec.validity.{field}"), &problem);
        }
        share
    };
    let millis = |count: u32| Span(Duration::from_millis(u64::from(count)));
    ValidityBounds {
        min_successful_requests: spec.min_successful_requests,
        max_error_ratio: share("maxErrorRatio", &spec.max_error_ratio),
        max_send_lag_p99: millis(spec.max_send_lag_p99_milliseconds),
        max_receive_delay_p99: millis(spec.max_receive_delay_p99_milliseconds),
        max_cpu_share: share("maxCpuShare", &spec.max_cpu_share),
        max_throttled_share: share("maxThrottledShare", &spec.max_throttled_share),
        max_steal_share: share("maxStealShare", &spec.max_steal_share),
        max_coalesced_read_share: share("maxCoalescedReadShare", &spec.max_coalesced_read_share),
        max_stalled_share: share("maxStalledShare", &spec.max_stalled_share),
        max_clock_step: millis(spec.max_clock_step_milliseconds),
    }
}

/// The claim that holds the results, or `None` where none are kept.
pub fn claim(spec: &BenchmarkRunSpec) -> Option<Pvc> {
    match (&spec.storage.pvc, &spec.storage.none) {
        (_, Some(_)) => None,
        (Some(pvc), None) => Some(pvc.clone()),
        (None, None) => Some(Pvc::default()),
    }
}

fn check_name(name: &str, errors: &mut Errors) {
    let label = name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
        && name.starts_with(|it: char| it.is_ascii_lowercase())
        && !name.ends_with('-');
    if !label || name.len() > MAX_NAME_BYTES {
        errors.add(
            "metadata.name",
            &format!(
                "is {}; use at most {MAX_NAME_BYTES} letters a-z, digits and dashes, and begin with a letter",
                quoted(name)
            ),
        );
    }
}

fn check_profile(spec: &BenchmarkRunSpec, errors: &mut Errors) {
    let profile = &spec.profile;
    let given = [profile.name.is_some(), profile.inline.is_some(), profile.config_map_ref.is_some()];
    if given.into_iter().filter(|it| *it).count() > 1 {
        errors.add("spec.profile", "has more than one of name, inline and configMapRef; keep one of them");
    }
    if let Some(text) = profile.inline.as_ref().filter(|it| it.len() > MAX_INLINE_PROFILE_BYTES) {
        errors.add(
            "spec.profile.inline",
            &format!("has {} bytes, and {MAX_INLINE_PROFILE_BYTES} are allowed; put it into a ConfigMap", text.len()),
        );
    }
    let is_salt =
        |it: &str| (1..=MAX_PROMPT_SALT_BYTES).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_graphic());
    if let Some(found) = profile.prompt_salt.as_ref().filter(|it| !is_salt(it)) {
        let found: String = found.chars().take(80).collect();
        let remedy = "give the seeds.promptSalt of the report.json whose prompts are to be sent again";
        errors.add(
            "spec.profile.promptSalt",
            &format!(
                "is {found:?}, not 1 to {MAX_PROMPT_SALT_BYTES} printable ASCII characters without blanks; {remedy}"
            ),
        );
    }
}

fn check_model(model: &str, errors: &mut Errors) {
    let plain = |it: char| it.is_alphanumeric() || " ._/:@+-".contains(it);
    let begins = model.starts_with(|it: char| it.is_alphanumeric() || "._/".contains(it));
    let reads = begins && model.chars().all(plain) && !model.contains(": ") && !model.ends_with([' ', ':']);
    if !model.is_empty() && !reads {
        let remedy = "use letters, digits, inner blanks and ._/:@+-, and begin with a letter or digit, because templates put it \
                      into a profile's text; let the server list such a name, in vLLM with --served-model-name";
        errors.add("spec.target.model", &format!("is {}; {remedy}", quoted(model)));
    }
}

fn endpoint(spec: &BenchmarkRunSpec, namespace: &str, settings: &Settings, errors: &mut Errors) -> Endpoint {
    let target = &spec.target;
    match (&target.url, &target.service_ref, &target.simulator) {
        (Some(url), None, None) => match unix_socket(url) {
            Some(path) => {
                check_socket(url, path, namespace, errors);
                Endpoint::Url(format!("unix:{path}"))
            }
            None => {
                if let Some(problem) = url_problem(url) {
                    let found = quoted(&without_credentials(url));
                    errors.add("spec.target.url", &format!("is {found}; {problem}"));
                }
                Endpoint::Url(url.trim_end_matches('/').to_owned())
            }
        },
        (None, Some(service), None) => {
            let scheme = match service.scheme {
                Scheme::Http => "http",
                Scheme::Https => "https",
            };
            let path = service.path.trim_end_matches('/');
            if !service.path.starts_with('/') {
                errors.add(
                    "spec.target.serviceRef.path",
                    &format!("is {}; begin it with a slash", quoted(&service.path)),
                );
            }
            if namespace.is_empty() {
                errors.add("spec.target.serviceRef", "needs a cluster; outside one, set url or simulator");
            }
            let host = format!("{}.{namespace}.{}", service.name, settings.service_domain);
            let url = format!("{scheme}://{host}:{}{path}", service.port);
            if let Some(problem) = url_problem(&format!("http://service:80{path}")).filter(|_| path.starts_with('/')) {
                errors.add("spec.target.serviceRef.path", &format!("is {}; {problem}", quoted(&service.path)));
            }
            Endpoint::Url(url)
        }
        (None, None, Some(simulator)) => Endpoint::Simulator(simulator.preset),
        (None, None, None) => {
            errors.add("spec.target", "names no server; set exactly one of url, serviceRef and simulator");
            Endpoint::Simulator(SimulatorPreset::default())
        }
        _ => {
            errors.add("spec.target", "names more than one server; keep exactly one of url, serviceRef and simulator");
            Endpoint::Simulator(SimulatorPreset::default())
        }
    }
}

/// The path of the socket that a URL names: `unix:/run/vllm.sock`, or with two more slashes.
pub fn unix_socket(url: &str) -> Option<&str> {
    url.strip_prefix("unix:").map(|it| it.strip_prefix("//").unwrap_or(it))
}

fn check_socket(url: &str, path: &str, namespace: &str, errors: &mut Errors) {
    let problem = if !path.starts_with('/') || path.ends_with('/') {
        "write the whole path of the socket's file after unix:, from the root on"
    } else if path.len() > MAX_SOCKET_PATH {
        "a path of a socket has at most 107 bytes; give it a shorter one, by a link perhaps"
    } else if !namespace.is_empty() {
        "a launcher's pod has no socket of another process; write http:// or https://, or set serviceRef"
    } else {
        return;
    };
    errors.add("spec.target.url", &format!("is {}; {problem}", quoted(url)));
}

/// What stands in place of a secret, in messages and in files.
pub const REDACTED: &str = "<redacted>";

/// A URL as it may stand in a message or a file: what is before an `@` is a name and a password.
pub fn without_credentials(url: &str) -> Cow<'_, str> {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme + 2 => {
            Cow::Owned(format!("{}{REDACTED}{}", &url[..scheme + 3], &url[at..]))
        }
        _ => Cow::Borrowed(url),
    }
}

#[derive(Default)]
struct Errors(Vec<FieldError>);

impl Errors {
    fn add(&mut self, path: &str, message: &str) {
        self.0.push(FieldError { path: path.to_owned(), message: message.to_owned() });
    }

    fn none_or<T>(self, value: T) -> Result<T, Vec<FieldError>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(namespace: &str, spec: &str) -> Result<ResolvedRun, Vec<String>> {
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(spec).unwrap();
        let run = RunIdentity { name: "chat".into(), namespace: namespace.into(), uid: "u".into(), attempt: 1 };
        resolve(run, &spec, &Settings::default()).map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn prompts_are_those_of_the_run_and_attempt_unless_a_salt_is_given() {
        let salt = |profile: &str| check("", &format!("{{target: {{simulator: {{}}}}, profile: {profile}}}"));
        assert_eq!(salt("{}").unwrap().prompt_salt, "u-a1");
        assert_eq!(salt("{promptSalt: 2f9c-a3}").unwrap().prompt_salt, "2f9c-a3");
        for wrong in [String::new(), "a b".into(), "\\n".into(), "é".into(), "x".repeat(129)] {
            let errors = salt(&format!("{{promptSalt: \"{wrong}\"}}")).unwrap_err();
            let told = errors.iter().any(|it| it.starts_with("spec.profile.promptSalt") && it.contains("report.json"));
            assert!(told, "{wrong:?}: {errors:?}");
        }
    }

    #[test]
    fn an_empty_spec_with_a_simulator_gets_every_default() {
        let run = check("", "target: {simulator: {}}").unwrap();
        assert_eq!(run.endpoint, Endpoint::Simulator(SimulatorPreset::Gpu));
        assert_eq!(run.profile_source, "sanity_random");
        assert_eq!(run.run_deadline.to_string(), "3600s");
        assert!((run.validity.max_error_ratio - 0.01).abs() < f64::EPSILON);
        let run = check("", "{target: {simulator: {}}, harness: loadgen}").unwrap();
        assert_eq!(run.profile_source, "sanity");
    }

    #[test]
    fn a_bound_is_a_share_or_a_time_above_zero() {
        assert_eq!(check("", "target: {simulator: {}}").unwrap().validity, ValidityBounds::default());
        for share in ["maxCpuShare", "maxThrottledShare", "maxStealShare", "maxCoalescedReadShare", "maxStalledShare"] {
            let found =
                |text: &str| check("", &format!("{{target: {{simulator: {{}}}}, validity: {{{share}: '{text}'}}}}"));
            assert!(found("0").is_ok() && found("1").is_ok() && found("0.25").is_ok(), "{share}");
            for text in ["1.1", "-1", "many", ""] {
                let errors = found(text).unwrap_err();
                assert!(errors.len() == 1 && errors[0].contains(share) && errors[0].contains("0 to 1"), "{errors:?}");
            }
        }
        for time in ["maxReceiveDelayP99Milliseconds", "maxClockStepMilliseconds"] {
            let found =
                |count: u32| check("", &format!("{{target: {{simulator: {{}}}}, validity: {{{time}: {count}}}}}"));
            assert!(found(1).is_ok());
            assert!(found(0).unwrap_err()[0].contains(time));
        }
    }

    #[test]
    fn a_service_becomes_its_dns_name() {
        let run = check("bench", "target: {serviceRef: {name: gateway, port: 8000, path: /llm/}}").unwrap();
        assert_eq!(run.endpoint.name(), "http://gateway.bench.svc.cluster.local:8000/llm");
    }

    #[test]
    fn every_wrong_field_is_told_at_once() {
        let errors = check(
            "",
            "{target: {url: 'ftp://x', simulator: {}}, profile: {name: a, inline: b}, validity: {maxErrorRatio: '2'}, execution: {gracePeriodSeconds: 1}}",
        )
        .unwrap_err();
        let paths: Vec<_> = errors.iter().map(|it| it.split(':').next().unwrap()).collect();
        assert_eq!(
            paths,
            ["spec.target", "spec.profile", "spec.validity.maxErrorRatio", "spec.execution.gracePeriodSeconds"]
        );
    }

    #[test]
    fn a_wrong_url_says_what_to_do() {
        for (url, remedy) in [
            ("gateway:80", "http://"),
            ("http://", "host"),
            ("http://me:pw@host", "target.auth"),
            ("http://host/v1", "/v1"),
            ("http://host/a?b", "query"),
            ("http://h:99999", "port from 1 to 65535"),
            ("http://h:0", "port from 1 to 65535"),
            ("http://h:+80", "port from 1 to 65535"),
            ("http://h:", "port from 1 to 65535"),
            ("http://h:8000:9000", "brackets"),
            ("http://::1:80", "brackets"),
            ("http://[::1", "brackets"),
            ("http://[::1]x", "port"),
            ("http://[1]", "brackets"),
            ("http://h st", "blanks"),
            ("http://h\u{7}/a", "control characters"),
            ("http://hö", "ASCII"),
            ("http://h/'a", "path"),
            ("http://h\"x", "host"),
        ] {
            let spec = serde_json::json!({"target": {"url": url}}).to_string();
            let errors = check("", &spec).unwrap_err();
            assert!(errors.len() == 1 && errors[0].contains(remedy), "{url}: {errors:?}");
        }
        for url in
            ["http://h", "https://h:1/", "http://[::1]:8000/llm", "http://a.b-c_d/x/y.z~%20", "http://1.2.3.4:65535"]
        {
            assert!(check("", &format!("target: {{url: '{url}'}}")).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_model_is_written_as_the_server_lists_it() {
        let in_a_template = [
            "a\", evil: \"b",
            "it's",
            "a: b",
            "a:",
            "a # b",
            "{a}",
            "[a]",
            "a,b",
            "a\\b",
            "- a",
            "@a",
            "*a",
            "&a",
            "%a",
        ];
        for model in ["a\nb", " a", "a ", "a\u{1b}[1m"].into_iter().chain(in_a_template) {
            let spec = serde_json::json!({"target": {"simulator": {}, "model": model}}).to_string();
            assert!(check("", &spec).unwrap_err()[0].starts_with("spec.target.model: is \""), "{model:?}");
        }
        for model in
            ["meta-llama/Llama-3.1-8B-Instruct", "/models/a_b+c", "org/Größe 8B", "a:latest@sha256:0", "./m", "123"]
        {
            assert!(check("", &format!("target: {{simulator: {{}}, model: '{model}'}}")).is_ok(), "{model}");
        }
        let path = serde_json::json!({"target": {"serviceRef": {"name": "a", "path": "/a\",evil:\"b"}}}).to_string();
        assert!(check("ns", &path).unwrap_err()[0].starts_with("spec.target.serviceRef.path: is \"/a"));
    }

    #[test]
    fn a_socket_is_a_target_outside_of_a_cluster() {
        for url in ["unix:/run/vllm.sock", "unix:///run/vllm.sock"] {
            assert_eq!(check("", &format!("target: {{url: '{url}'}}")).unwrap().endpoint.name(), "unix:/run/vllm.sock");
        }
        let long = format!("unix:/{}", "a".repeat(107));
        for (namespace, url, remedy) in [
            ("", "unix:run/vllm.sock", "from the root on"),
            ("", "unix:/run/", "from the root on"),
            ("", "unix:", "from the root on"),
            ("", &long, "at most 107 bytes"),
            ("bench", "unix:/run/vllm.sock", "set serviceRef"),
        ] {
            let errors = check(namespace, &format!("target: {{url: '{url}'}}")).unwrap_err();
            assert!(errors.len() == 1 && errors[0].contains(remedy), "{errors:?}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_not_repeated() {
        let errors = check("", "target: {url: 'http://me:hunter2@host'}").unwrap_err();
        assert!(errors[0].contains("<redacted>@host") && !errors[0].contains("hunter2"), "{errors:?}");
    }

    #[test]
    fn an_attempts_name_tells_runs_of_one_name_apart() {
        let identity = |uid: &str, attempt: u32| RunIdentity {
            name: "chat".into(),
            namespace: "bench".into(),
            uid: uid.into(),
            attempt,
        };
        let name = identity("2f9c4e0a-9d1b-4e57-8d8c-0a2f6f3f9b11", 2).attempt_name();
        assert_eq!(name, "chat-2db482-a2");
        assert_ne!(identity("another", 2).attempt_name(), name);
    }

    #[test]
    fn files_that_cannot_be_mounted_are_told_with_the_rest() {
        let errors = check(
            "bench",
            "{target: {simulator: {}}, seed: 1, profile: {files: [{configMapRef: {name: a, key: ..}}]}}",
        );
        assert!(errors.unwrap_err()[0].starts_with("spec.profile.files[0].configMapRef.key"));
    }

    #[test]
    fn a_run_survives_its_file() {
        let run = check("bench", "{target: {url: 'https://host/'}, seed: 7}").unwrap();
        let text = serde_saphyr::to_string(&run).unwrap();
        assert_eq!(serde_saphyr::from_str::<ResolvedRun>(&text).unwrap(), run);
    }
}
