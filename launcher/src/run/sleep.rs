//! [I/O] Measures sleep and wake-up of a server that was started for a nop run, after the run's first request. Replicas are measured one after the
//! other.

use std::{future::Future, time::Duration};

use crds::{
    resolve::{Endpoint, ManagedServer, ResolvedRun},
    units::Span,
};
use tracing::{info, warn};

use super::Failure;
use crate::input::Input;
use clock::Clock;
use document::SleepCycle;
use engine::{
    client::{
        Target,
        control::ControlError,
        probe,
        sleep_mode::{self, SleepLevel, WakeStep},
    },
    issue::LoadError,
    stop::{Stop, StopState},
};

/// Timeout for falling asleep, and for waking up. Reloading the weights of the largest models takes minutes.
const LIMIT: Duration = Duration::from_secs(600);
/// Timeout for asking for the sleep state before the first request.
const ASK_LIMIT: Duration = Duration::from_secs(10);
/// Time between two requests that ask for the sleep state.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Returns the sleep levels that a run measures. Empty if there are none, or if the server was not started for the run.
pub(super) fn levels(input: &Input) -> Vec<u8> {
    own_server(&input.run).map(|it| input.workload.measured_sleep_levels(it)).unwrap_or_default()
}

/// Returns an error if the server of the run does not support the levels. It is called before the server is started.
pub(super) fn check(input: &Input) -> Result<(), Failure> {
    let refusal = own_server(&input.run).and_then(|it| input.workload.sleep_refusal(it));
    refusal.map_or(Ok(()), |it| Err(Failure::configuration(it)))
}

/// Returns the server that was started for a run, by the launcher or by the operator.
fn own_server(run: &ResolvedRun) -> Option<&ManagedServer> {
    match &run.endpoint {
        Endpoint::Server(server) => Some(server.as_ref()),
        Endpoint::Url(_) | Endpoint::Simulator(_) => run.server.as_deref().map(|it| &it.server),
    }
}

/// Measures these levels on each server, after checking that the first one has a sleep mode.
pub(super) struct Sleeper<'a> {
    levels: Vec<u8>,
    servers: Vec<Target>,
    model: &'a str,
    stop: &'a Stop,
}

impl<'a> Sleeper<'a> {
    /// Checks whether the first server has a sleep mode. It is called before the run's request, so that a run without sleep mode fails early.
    /// `by_service` states whether different calls can reach different servers.
    pub(super) fn check(
        input: &Input,
        servers: Vec<Target>,
        model: &'a str,
        stop: &'a Stop,
        by_service: bool,
    ) -> Result<Sleeper<'a>, Failure> {
        let mut levels = levels(input);
        if by_service && !levels.is_empty() {
            warn!("sleep and wake are not measured, because each call may go to another replica");
            levels.clear();
        }
        if let Some(first) = servers.first().filter(|_| !levels.is_empty()) {
            let asked = block_on(clock::limit(ASK_LIMIT, sleep_mode::is_sleeping(first)))?;
            if matches!(asked, Ok(Err(ControlError::NotThere { .. }))) {
                if !input.workload.sleep_levels.is_empty() {
                    return Err(Failure::configuration(not_there(&input.run)));
                }
                warn!("the server has no {}, so its sleep and wake are not measured", sleep_mode::IS_SLEEPING);
                levels.clear();
            }
        }
        Ok(Sleeper { levels, servers, model, stop })
    }

    /// Measures the levels on each server. Returns one list of cycles per server. Empty if nothing was requested.
    pub(super) fn measure(&self) -> Result<Vec<Vec<SleepCycle>>, Failure> {
        if self.levels.is_empty() || self.stop.state() != StopState::Run {
            return Ok(Vec::new());
        }
        block_on(async {
            let mut all = Vec::with_capacity(self.servers.len());
            for server in &self.servers {
                let mut cycles: Vec<SleepCycle> = Vec::new();
                for level in self.levels.iter().filter_map(|it| SleepLevel::new(*it)) {
                    // If a server failed to wake up, the other levels cannot be measured on it.
                    if cycles.iter().all(|it| it.remark.is_none()) {
                        cycles.push(self.cycle(server, level).await);
                    }
                }
                all.push(cycles);
            }
            all
        })
    }

    async fn cycle(&self, server: &Target, level: SleepLevel) -> SleepCycle {
        let mut cycle = SleepCycle { level: level.number(), asked: Some(clock::now()), ..SleepCycle::default() };
        info!(level = cycle.level, server = server.base_url(), "the server is put to sleep and woken");
        let mut stopped = self.stop.watch();
        let done = tokio::select! {
            _ = stopped.wait_for(|state| *state != StopState::Run) => Err("the run was asked to end".to_owned()),
            done = steps(server, level, self.model, &mut cycle) => done,
        };
        if let Err(why) = done {
            warn!(level = cycle.level, "sleep and wake were not measured completely: {why}");
            cycle.remark = Some(why);
        }
        cycle
    }
}

async fn steps(server: &Target, level: SleepLevel, model: &str, cycle: &mut SleepCycle) -> Result<(), String> {
    let clock = Clock::start();
    let since = |from: Duration| Some(clock.now().saturating_sub(from).as_secs_f64());
    call("the sleep", sleep_mode::sleep(server, level)).await?;
    until_sleeping(server, clock, true).await?;
    cycle.sleep_seconds = since(Duration::ZERO);
    let asked = clock.now();
    let wake = |step| call("the wake", sleep_mode::wake(server, step));
    match level {
        SleepLevel::Offload => wake(WakeStep::All).await?,
        SleepLevel::Discard => {
            wake(WakeStep::Weights).await?;
            let loading = clock.now();
            wake(WakeStep::Reload).await?;
            cycle.reload_seconds = since(loading);
            wake(WakeStep::KvCache).await?;
        }
    }
    until_sleeping(server, clock, false).await?;
    cycle.wake_seconds = since(asked);
    let sent = clock.now();
    probe::generate(server, model).await.map_err(|error| format!("the first request after the wake: {error}"))?;
    cycle.first_request_seconds = since(sent);
    Ok(())
}

/// Waits until the server reports the wanted sleep state.
async fn until_sleeping(server: &Target, clock: Clock, wanted: bool) -> Result<(), String> {
    let until = clock.now() + LIMIT;
    while call("the query of its sleep state", sleep_mode::is_sleeping(server)).await? != wanted {
        if clock.now() >= until {
            let state = if wanted { "asleep" } else { "awake" };
            return Err(format!("the server was not {state} within {}", Span(LIMIT)));
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
    Ok(())
}

async fn call<T>(what: &str, call: impl Future<Output = Result<T, ControlError>>) -> Result<T, String> {
    match clock::limit(LIMIT, call).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err(format!("{what} got no answer within {}", Span(LIMIT))),
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let cannot = |source| Failure::system(&LoadError::System { what: "the calls of the sleep mode", source });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    Ok(runtime.block_on(future))
}

fn not_there(run: &ResolvedRun) -> String {
    let engine = own_server(run).map_or("the server", |it| it.engine.name());
    let path = sleep_mode::IS_SLEEPING;
    format!(
        "sleep_levels: the server ({engine}) has no {path}; start a vLLM from 0.8 on with --enable-sleep-mode and the variable \
         VLLM_SERVER_DEV_MODE=1, which engine VLLM gets by itself where its args, config and env do not turn them off; or take \
         sleep_levels out of the profile"
    )
}
