//! [I/O] Waits until the target is ready, and determines which model it serves.

use files::user_file;
use std::{
    io::{Read as _, Seek as _, SeekFrom},
    net::SocketAddr,
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};

use crds::{
    benchmark_run::ReadinessProbe,
    resolve::{Endpoint, ResolvedRun},
    units::Span,
    wording::one_line,
};
use futures::future::try_join_all;
use jiff::Timestamp;
use tracing::info;

use super::{Failure, egress, listed_models};
use crate::input::Input;
use clock::Clock;
use engine::{
    client::{
        Resolver, Target,
        probe::{self, ProbeError, ServedModel},
    },
    issue::LoadError,
    stop::{Stop, StopState},
};

/// Time between two attempts to reach the target.
const TRY_EVERY: Duration = Duration::from_secs(1);
/// Time between two attempts for a server that the launcher has started. It is shorter, because the measured start time can be wrong by this much.
const TRY_OWN_EVERY: Duration = Duration::from_millis(100);
/// Minimum timeout of an attempt. The timeout is a third of the whole time limit if that is longer. An attempt needs a timeout because its connection
/// can be dead. The timeout is long because the first completion of an engine that compiles takes minutes.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(60);
/// Time without a response after which the log reports an attempt.
const HANGS: Duration = Duration::from_secs(1);
/// How long before the time limit the last attempt begins.
const LAST_TRY: Duration = Duration::from_millis(250);
/// Time between two log lines while the reason for waiting does not change.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Maximum size of a token file in bytes.
const MAX_TOKEN: u64 = 64 << 10;
/// Maximum size of a file with certificate authorities, in bytes. It is twenty times the size of a usual system's file.
const MAX_AUTHORITIES: u64 = 4 << 20;

/// The credentials for the target, read from files.
#[derive(Default)]
pub(crate) struct Secrets {
    token: Option<String>,
    authorities: Option<String>,
}

impl Secrets {
    /// The bearer token, if there is one.
    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Additional certificate authorities as PEM text, if there are any.
    pub(super) fn authorities(&self) -> Option<&str> {
        self.authorities.as_deref()
    }

    /// Reads the credential files. This can block, because a file can be a pipe.
    pub(crate) fn read(run: &ResolvedRun) -> Result<Secrets, Failure> {
        let read = |path: &Path, what: &str, most| {
            let cannot = |error| Failure::configuration(format!("cannot read the {what} {}: {error}", path.display()));
            user_file::read_text(path, most).map_err(cannot)
        };
        let token = |path: &Path| {
            let token = read(path, "token file", MAX_TOKEN)?.trim().to_owned();
            let empty = || {
                let path = path.display();
                Failure::configuration(format!("the token file {path} is empty; write the token into it"))
            };
            if token.is_empty() { Err(empty()) } else { Ok(token) }
        };
        Ok(Secrets {
            token: run.token_file.as_deref().map(token).transpose()?,
            authorities: run.ca_file.as_deref().map(|path| read(path, "CA file", MAX_AUTHORITIES)).transpose()?,
        })
    }
}

/// A target that is ready, and the model that requests name.
pub(crate) struct Ready {
    pub(crate) target: Target,
    pub(crate) model: String,
}

/// All targets that are ready: one, or all replicas of a managed server.
pub(crate) struct AllReady {
    pub(crate) first: Ready,
    pub(crate) others: Vec<Target>,
    /// When each target became ready.
    pub(crate) at: Vec<Timestamp>,
}

/// A server to wait for.
pub(crate) struct Called {
    pub(crate) url: String,
    /// Resolves and checks the server's addresses.
    pub(crate) resolver: Resolver,
    /// The address of the server for messages, if several servers share the host name in the URL.
    pub(crate) address: Option<SocketAddr>,
    /// The log file of the server, if the launcher started it.
    pub(crate) log: Option<PathBuf>,
}

/// Probes the target until it is ready or the time limit passes. An error that waiting cannot fix ends the wait immediately. Several URLs are
/// replicas of a server, and all of them must become ready. `logs` is the folder with the logs of a managed server.
pub(crate) fn wait(
    input: &Input,
    secrets: &Secrets,
    base_urls: &[String],
    resolver: &Resolver,
    stop: &Stop,
    logs: Option<&Path>,
) -> Result<AllReady, Failure> {
    let called = |(index, url): (usize, &String)| {
        let log = logs.map(|it| it.join(format!("{index}.log")));
        Called { url: url.clone(), resolver: resolver.clone(), address: None, log }
    };
    let called: Vec<Called> = base_urls.iter().enumerate().map(called).collect();
    wait_each(input, secrets, &called, stop)
}

/// Waits like [`wait`], but each server has its own resolver.
pub(crate) fn wait_each(input: &Input, secrets: &Secrets, called: &[Called], stop: &Stop) -> Result<AllReady, Failure> {
    let cannot = |source| Failure::system(&LoadError::System { what: "the readiness probe", source });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let one = async |called: &Called| {
        let ready = until_ready(input, secrets, called).await?;
        Ok::<_, Failure>((ready, clock::now()))
    };
    runtime.block_on(async {
        let mut stopped = stop.watch();
        let all = tokio::select! {
            _ = stopped.wait_for(|state| *state != StopState::Run) => return Err(Failure::cancelled()),
            all = try_join_all(called.iter().map(one)) => all?,
        };
        let (ready, at): (Vec<Ready>, Vec<Timestamp>) = all.into_iter().unzip();
        let mut ready = ready.into_iter();
        let none = || Failure::target("there is no server to wait for".to_owned());
        let first = ready.next().ok_or_else(none)?;
        Ok(AllReady { first, others: ready.map(|it| it.target).collect(), at })
    })
}

fn target(input: &Input, secrets: &Secrets, base_url: &str, resolver: &Resolver) -> Result<Target, Failure> {
    let Secrets { token, authorities } = secrets;
    let headers = &input.workload.headers;
    let target = Target::new(base_url, input.workload.api, token.as_deref(), authorities.as_deref(), headers)
        .map(|target| target.speaking(input.run.http_version))
        .map_err(|error| Failure::configuration(error.to_string()))?;
    match input.run.endpoint {
        // The launcher started these servers itself, on loopback, so there is no name to resolve.
        Endpoint::Simulator(_) | Endpoint::Server(_) => Ok(target),
        Endpoint::Url(_) => target
            .resolving_with(resolver.clone())
            .map_err(|error| egress::refused_target(&input.spec, base_url, &error)),
    }
}

/// Waits like [`wait`] for one server, on the caller's runtime.
pub(crate) async fn until_ready(input: &Input, secrets: &Secrets, called: &Called) -> Result<Ready, Failure> {
    let Called { url, resolver, address, log } = called;
    let target = target(input, secrets, url, resolver)?;
    egress::check_metrics(input.run.metrics.as_deref().unwrap_or_default(), resolver).await?;
    let limit = input.run.readiness_timeout;
    let attempt_limit = ATTEMPT_LIMIT.max(limit.0 / 3);
    let try_every = if matches!(input.run.endpoint, Endpoint::Server(_)) { TRY_OWN_EVERY } else { TRY_EVERY };
    let clock = Clock::start();
    let sleeper = clock.sleeper();
    let wanted = input.workload.model.as_deref();
    let url = named(target.base_url(), *address);
    let probe = match input.run.readiness_probe {
        ReadinessProbe::Generate => "a completion of one token",
        ReadinessProbe::Models => "GET /v1/models",
    };
    let mut waiting = Waiting {
        url,
        limit,
        probe,
        log: log.clone(),
        next: TELL_EVERY,
        has_told: false,
        why: None,
        why_without_words: None,
    };
    loop {
        let begun = clock.now();
        let attempted = {
            let end = limit.0.min(begun + attempt_limit);
            let mut attempt = pin!(clock.within(Some(end), attempt(&target, wanted, input)));
            loop {
                tokio::select! {
                    attempted = &mut attempt => break attempted,
                    () = sleeper.until(waiting.next) => {
                        waiting.hangs(clock.now() - begun);
                        info!("{}", waiting.line(clock.now()));
                    }
                }
            }
        };
        match attempted {
            Ok(Ok(model)) => return Ok(Ready { target, model }),
            Ok(Err(Attempt::Final(failure))) => return Err(failure),
            Ok(Err(Attempt::Again(error))) => {
                let why = error.to_string();
                waiting.why_without_words = Some(error.without_words());
                if waiting.why.as_ref() != Some(&why) {
                    waiting.why = Some(why);
                    info!("{}", waiting.line(clock.now()));
                }
            }
            Err(_) => waiting.hangs(clock.now() - begun),
        }
        let last = limit.0.saturating_sub(LAST_TRY);
        if clock.now() >= last {
            return Err(Failure::target(waiting.given_up(waiting.why.as_deref()))
                .shown_as(waiting.given_up(waiting.why_without_words.as_deref())));
        }
        sleeper.until(last.min(clock.now() + try_every)).await;
    }
}

/// The name of the server in messages.
fn named(url: &str, address: Option<SocketAddr>) -> String {
    address.map_or_else(|| url.to_owned(), |it| format!("{url} (replica {it})"))
}

/// The state of the log lines about waiting.
struct Waiting {
    url: String,
    limit: Span,
    /// A description of the probe request.
    probe: &'static str,
    /// The log of the server. Each line about waiting contains the last line of this log.
    log: Option<PathBuf>,
    /// When the next line is due, as time since the first attempt.
    next: Duration,
    /// Whether a line was written.
    has_told: bool,
    /// The reason why the target is not ready. `None` before the first response or refusal.
    why: Option<String>,
    /// `why` without text from the server, for the status.
    why_without_words: Option<String>,
}

impl Waiting {
    /// Notes how long an attempt has been without a response. This replaces the reason of the previous attempt.
    fn hangs(&mut self, since: Duration) {
        if since >= HANGS {
            let why = format!("it has not answered a request ({}) for {}s", self.probe, since.as_secs());
            (self.why, self.why_without_words) = (Some(why.clone()), Some(why));
        }
    }

    /// Returns the next line for the log. The first line contains the time limit. Each later line contains the remaining time.
    fn line(&mut self, now: Duration) -> String {
        self.next = now + TELL_EVERY;
        let Waiting { url, limit, .. } = self;
        let why = self.why.as_deref().unwrap_or(NO_ANSWER);
        let left = limit.0.saturating_sub(now).as_secs();
        let said = self.log.as_deref().and_then(last_line).map(|it| format!("; its log: {it}")).unwrap_or_default();
        match std::mem::replace(&mut self.has_told, true) {
            false => format!("waiting up to {limit} for {url}: {why}{said}"),
            true => format!("waiting for {url}, {left}s of {limit} left: {why}{said}"),
        }
    }

    fn given_up(&self, why: Option<&str>) -> String {
        let Waiting { url, limit, .. } = self;
        let why = why.unwrap_or(NO_ANSWER);
        format!("{url} was not ready within {limit}: {why}; check the server, or raise target.readiness.timeoutSeconds")
    }
}

/// Returns the last line of a log that is not empty, shortened. The log contains no secrets.
fn last_line(path: &Path) -> Option<String> {
    let mut file = user_file::open_regular(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_END))).ok()?;
    let mut end = Vec::new();
    file.take(LOG_END).read_to_end(&mut end).ok()?;
    let text = String::from_utf8_lossy(&end);
    let last = text.split(['\n', '\r']).rev().map(str::trim).find(|it| !it.is_empty())?;
    Some(one_line(&last.chars().take(LOG_CHARS).collect::<String>()))
}

/// Number of bytes that are read from the end of a log.
const LOG_END: u64 = 4 << 10;
/// Maximum characters of a log's last line that are shown.
const LOG_CHARS: usize = 160;

const NO_ANSWER: &str = "it has not answered yet";

enum Attempt {
    Again(ProbeError),
    Final(Failure),
}

impl Attempt {
    fn from_error(error: ProbeError) -> Attempt {
        if error.is_final() {
            Attempt::unusable(error.to_string(), error.without_words())
        } else {
            Attempt::Again(error)
        }
    }

    /// The final error for an unusable target. `status_message` contains no text from the server.
    fn unusable(message: String, status_message: String) -> Attempt {
        Attempt::Final(Failure::configuration(message).shown_as(status_message))
    }
}

/// Probes the target once. Returns the model that requests name.
async fn attempt(target: &Target, wanted: Option<&str>, input: &Input) -> Result<String, Attempt> {
    // Each connection checks its address again, which would only fail the request. Here, a blocked address ends the wait.
    if let Err(error) = target.check_addresses().await
        && error.is_refusal()
    {
        return Err(Attempt::Final(egress::refused_target(&input.spec, target.base_url(), &error)));
    }
    let kind = input.run.readiness_probe;
    let model = match wanted {
        Some(model) if kind == ReadinessProbe::Generate => model.to_owned(),
        _ => choose(wanted, &probe::models(target).await.map_err(Attempt::from_error)?)?,
    };
    if kind == ReadinessProbe::Generate {
        match probe::generate(target, &model).await {
            Ok(()) => {}
            Err(error) if error.is_not_found() => return Err(not_found(target, &model, error).await),
            Err(error) => return Err(Attempt::from_error(error)),
        }
    }
    Ok(model)
}

/// The error for a model that the server does not know. It is final if the server lists other models. A server that lists no models can still be
/// loading one.
async fn not_found(target: &Target, model: &str, error: ProbeError) -> Attempt {
    match probe::models(target).await {
        Ok(served) if !served.is_empty() && !served.iter().any(|it| it.id == model) => {
            let message = format!("{}; {error}", listed_models::unknown(model, &ids(&served)));
            Attempt::unusable(message, listed_models::unknown_in_status(model, served.len()))
        }
        _ => Attempt::Again(error),
    }
}

fn ids(served: &[ServedModel]) -> Vec<String> {
    served.iter().map(|it| it.id.clone()).collect()
}

/// Returns the model that requests name. If no model is requested, it is the only model that is not a LoRA adapter.
fn choose(wanted: Option<&str>, served: &[ServedModel]) -> Result<String, Attempt> {
    let all = ids(served);
    let base: Vec<&ServedModel> = served.iter().filter(|it| !it.is_adapter).collect();
    match (wanted, base.as_slice()) {
        (_, _) if served.is_empty() => Err(Attempt::Again(ProbeError::NoModel)),
        (Some(model), _) if all.iter().any(|it| it == model) => Ok(model.to_owned()),
        (Some(model), _) => {
            const ROUTER: &str = "if a router does not list all its models, set target.readiness.probe: Generate";
            Err(Attempt::unusable(
                format!("{}; {ROUTER}", listed_models::unknown(model, &all)),
                format!("{}; {ROUTER}", listed_models::unknown_in_status(model, all.len())),
            ))
        }
        (None, [only]) => Ok(only.id.clone()),
        (None, _) => {
            let found = format!("target.model is not set, and the server serves {} models", all.len());
            let message = format!("{found}: {}; name one of them", listed_models::listed(&all));
            let status_message = format!("{found}; name one of them: the launcher's log lists them");
            Err(Attempt::Final(Failure::ambiguous_model(message).shown_as(status_message)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn waiting_says_for_what_how_long_and_why() {
        let limit = Span(Duration::from_secs(60));
        let mut waiting = Waiting {
            url: named("http://h:1", None),
            limit,
            probe: "GET /v1/models",
            log: None,
            next: TELL_EVERY,
            has_told: false,
            why: Some("refused".into()),
            why_without_words: None,
        };
        let mut check = |seconds: u64, text: &str| {
            let now = Duration::from_secs(seconds);
            assert_eq!(waiting.line(now), text);
            assert_eq!(waiting.next, now + TELL_EVERY);
        };
        // The first line shows the time limit of the wait, even if it is written late.
        check(3, "waiting up to 60s for http://h:1: refused");
        check(10, "waiting for http://h:1, 50s of 60s left: refused");
        check(61, "waiting for http://h:1, 0s of 60s left: refused");
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("0.log");
        fs::write(&log, "INFO loading weights\n50 %\r60 %\n\n").unwrap();
        waiting.log = Some(log);
        assert!(waiting.line(TELL_EVERY).ends_with("refused; its log: 60 %"));
        waiting.log = Some(folder.path().join("none"));
        waiting.why = None;
        assert!(waiting.line(TELL_EVERY).ends_with(NO_ANSWER));
        assert!(waiting.given_up(None).contains("within 60s: it has not answered yet; check the server"));
        waiting.url = named("http://h:1", Some(SocketAddr::from(([10, 0, 0, 7], 1))));
        assert!(waiting.given_up(None).starts_with("http://h:1 (replica 10.0.0.7:1) was not ready"));
    }

    #[test]
    fn a_model_that_is_not_listed_ends_the_wait_and_an_empty_list_does_not() {
        let model = |id: &str, is_adapter| ServedModel { id: id.to_owned(), is_adapter };
        let served = [model("org/a", false), model("org/b", false)];
        assert!(matches!(choose(Some("org/a"), &served), Ok(model) if model == "org/a"));
        assert!(matches!(choose(Some("org/x"), &served), Err(Attempt::Final(it)) if it.message.contains("org/b")));
        assert!(matches!(choose(None, &served), Err(Attempt::Final(it)) if it.message.contains("org/a")));
        assert!(matches!(choose(None, &served[..1]), Ok(model) if model == "org/a"));
        let adapted = [model("org/a", false), model("law", true)];
        assert!(matches!(choose(None, &adapted), Ok(model) if model == "org/a"));
        assert!(matches!(choose(Some("law"), &adapted), Ok(model) if model == "law"));
        for wanted in [None, Some("org/a")] {
            assert!(matches!(choose(wanted, &[]), Err(Attempt::Again(ProbeError::NoModel))));
        }
    }
}
