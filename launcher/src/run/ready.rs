//! Waits until the target can be measured, and finds out which model it serves.

use std::{path::Path, time::Duration};

use crds::{benchmark_run::ReadinessProbe, resolve::ResolvedRun};
use tracing::{info, warn};

use super::Failure;
use crate::{
    client::{
        Target,
        probe::{self, ProbeError},
    },
    clock::Clock,
    input::Input,
    issue::LoadError,
    stop::{Stop, StopState},
    user_file,
};

/// Between two tries.
const TRY_EVERY: Duration = Duration::from_secs(1);

/// More than any token has, in bytes.
const MAX_TOKEN: u64 = 64 << 10;
/// Twenty times the authorities that a system trusts, in bytes.
const MAX_AUTHORITIES: u64 = 4 << 20;

/// What the target is called with, from files.
#[derive(Default)]
pub(crate) struct Secrets {
    token: Option<String>,
    authorities: Option<String>,
}

impl Secrets {
    /// Reads them. That may wait: a file may be a pipe.
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

/// A target that answers.
pub(crate) struct Ready {
    pub(crate) target: Target,
    pub(crate) model: String,
}

/// Tries until the target is ready or its time is over. What no waiting mends fails at once.
pub(crate) fn wait(input: &Input, secrets: &Secrets, base_url: &str, stop: &Stop) -> Result<Ready, Failure> {
    let cannot = |source| Failure::system(&LoadError::System { what: "the readiness probe", source });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    runtime.block_on(async {
        let mut stopped = stop.watch();
        tokio::select! {
            _ = stopped.wait_for(|state| *state != StopState::Run) => Err(Failure::cancelled()),
            ready = until_ready(input, secrets, base_url) => ready,
        }
    })
}

fn target(input: &Input, secrets: &Secrets, base_url: &str) -> Result<Target, Failure> {
    let Secrets { token, authorities } = secrets;
    let headers = &input.workload.headers;
    Target::new(base_url, input.workload.api, token.as_deref(), authorities.as_deref(), headers)
        .map(|target| target.speaking(input.run.http_version))
        .map_err(|error| Failure::configuration(error.to_string()))
}

/// The same, on the runtime of the caller.
pub(crate) async fn until_ready(input: &Input, secrets: &Secrets, base_url: &str) -> Result<Ready, Failure> {
    let target = target(input, secrets, base_url)?;
    let limit = input.run.readiness_timeout;
    let clock = Clock::start();
    let sleeper = clock.sleeper();
    let wanted = input.workload.model.as_deref();
    let mut last = String::new();
    loop {
        let attempt = clock.within(Some(limit.0), attempt(&target, wanted, input.run.readiness_probe)).await;
        let message = match attempt {
            Ok(Ok(model)) => return Ok(Ready { target, model }),
            Ok(Err(Attempt::Final(failure))) => return Err(failure),
            Ok(Err(Attempt::Again(error))) => error.to_string(),
            Err(_) if last.is_empty() => "it did not answer".to_owned(),
            Err(_) => last.clone(),
        };
        if message != last {
            info!(error = message, "the target is not ready yet");
            last = message;
        }
        if clock.now() + TRY_EVERY >= limit.0 {
            let url = target.base_url();
            return Err(Failure::target(format!(
                "{url} was not ready within {limit}: {last}; check the server, or raise target.readiness.timeoutSeconds"
            )));
        }
        sleeper.until(clock.now() + TRY_EVERY).await;
    }
}

enum Attempt {
    Again(ProbeError),
    Final(Failure),
}

impl Attempt {
    fn of(error: ProbeError) -> Attempt {
        if error.is_final() { Attempt::Final(Failure::configuration(error.to_string())) } else { Attempt::Again(error) }
    }
}

/// The model, once the target answers for it.
async fn attempt(target: &Target, wanted: Option<&str>, kind: ReadinessProbe) -> Result<String, Attempt> {
    let model = match wanted {
        Some(model) if kind == ReadinessProbe::Generate => model.to_owned(),
        _ => choose(wanted, &probe::models(target).await.map_err(Attempt::of)?)?,
    };
    if kind == ReadinessProbe::Generate {
        probe::generate(target, &model).await.map_err(Attempt::of)?;
    }
    Ok(model)
}

fn choose(wanted: Option<&str>, served: &[String]) -> Result<String, Attempt> {
    match (wanted, served) {
        (Some(model), served) if served.iter().any(|it| it == model) => Ok(model.to_owned()),
        (Some(model), served) => {
            // A router may know models that it does not list; one that is not there fails every request.
            warn!(wanted = model, ?served, "the target does not list the model; it is asked for all the same");
            Ok(model.to_owned())
        }
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(Attempt::Again(ProbeError::NoModel)),
        (None, several) => Err(Attempt::Final(Failure::ambiguous_model(format!(
            "target.model is not set, and the server serves {}: {}; name one of them",
            several.len(),
            several.join(", ")
        )))),
    }
}
