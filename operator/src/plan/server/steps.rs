//! How a run depends on its server. An attempt waits until the server is ready, and ends when the server ends. The run finishes only after the server
//! is gone.

use std::time::Duration;

use crds::{
    BenchmarkRunStatus, HeldEnd, Outcome, Reason, ServerStatus,
    benchmark_run::{Harness, Lifecycle, Server},
    resolve::{ServerNames, managed_server, server_image},
    status::{Attempt, Phase},
};
use jiff::Timestamp;

use super::{Fault, Standing, StopServer, failure::bounded, objects, standing::View};
use crate::plan::{
    Plan, Presence, Unread, What,
    decision::Decision,
    meta,
    status::{self, NextStatus},
    termination_message,
    times::{OFTEN, SOON, seconds_since},
};

impl Decision<'_> {
    /// The status and state of the run's server. `None` if the status names no server.
    fn view(&self) -> Option<View<'_>> {
        let server = self.wanted_server()?;
        let status = self.before.server.as_ref().filter(|it| it.gone_time.is_none())?;
        let attempt = self.attempt().map_or(status.start_time, |it| it.start_time);
        Some(View {
            status,
            state: &self.observed.server,
            shared: self.lifecycle() == Lifecycle::Reuse,
            image: server_image(server, self.turn.settings),
            path: objects::probe_path(server.engine),
            services: objects::services(&self.effective),
            since: status.start_time.max(attempt),
            start_seconds: self.effective.execution.deadlines.start_seconds,
            ready_seconds: self.effective.target.readiness.timeout_seconds,
            now: self.turn.now,
        })
    }

    fn wanted_server(&self) -> Option<&Server> {
        managed_server(&self.run.spec)
    }

    fn lifecycle(&self) -> Lifecycle {
        self.effective.target.server.as_ref().map(|it| it.lifecycle).unwrap_or_default()
    }

    fn names(&self, server: &Server) -> ServerNames {
        ServerNames::new(&meta::identity(self.run, 1), server, self.turn.settings)
    }

    /// The server for a new attempt: the server of the previous attempt, or a new one.
    pub(in crate::plan) fn server_of_attempt(&self) -> Option<ServerStatus> {
        let server = self.wanted_server()?;
        let known = self.before.server.clone().filter(|it| it.gone_time.is_none());
        Some(known.unwrap_or_else(|| self.new_server(self.names(server))))
    }

    fn new_server(&self, names: ServerNames) -> ServerStatus {
        let replicas = self.effective.target.server.as_ref().map_or(1, |it| it.replicas);
        ServerStatus::new(names.server, replicas, self.turn.now)
    }

    /// Removes a failed server before another attempt begins. `None` if there is no server, or if the next attempt can use it.
    pub(in crate::plan) fn renew_server(&self) -> Option<Plan> {
        let view = self.view()?;
        if let Some(unread) = self.unread(&[What::Server]) {
            return Some(self.wait_to_prepare(unread, self.preparing_since()));
        }
        // A run that measures the start of a server needs a new server. A server that has already answered no longer starts, and can be asleep.
        let measures_start = self.effective.harness == Harness::Nop;
        if view.is_healthy() && !measures_start {
            return None;
        }
        let left = self.left(&view);
        if view.shared || left.is_empty() {
            // A shared server is not removed here. The attempt checks its state.
            let mut plan = Plan { again: true, status: self.before.clone(), ..Plan::default() };
            plan.status.server = None;
            return Some(plan);
        }
        let limit = self.effective.execution.deadlines.prepare_seconds;
        if seconds_since(self.preparing_since(), self.turn.now) > limit {
            let message = format!(
                "the server of the last attempt was not gone within {limit} seconds (execution.deadlines.prepareSeconds): {}; check whether its node is lost",
                left.join(", ")
            );
            return Some(self.finish(Phase::Failed, Outcome::Error, Reason::PrepareTimeout, &message));
        }
        let why = if measures_start { "has started already" } else { "failed" };
        let message = format!("server {} {why}; another attempt starts when it is gone", view.status.name);
        let mut plan = self.status_plan(NextStatus::new(Phase::Preparing, Reason::Retrying, message));
        plan.stop_server = StopServer::remaining(&view.status.name, view.state);
        plan.next_look = Some(SOON);
        Some(plan)
    }

    /// Starts the server, and waits until it is ready. `None` if it is ready, or if the run has no server.
    pub(in crate::plan) fn start_server(&self) -> Option<Plan> {
        let server = self.wanted_server()?;
        let names = self.names(server);
        let Some(view) = self.view().filter(|it| it.status.name == names.server) else {
            // The name of a shared simulator depends on the operator's image. So after a change of the image, the status can have an outdated name.
            let mut plan = Plan { again: true, status: self.before.clone(), ..Plan::default() };
            plan.status.server = Some(self.new_server(names));
            return Some(plan);
        };
        if let Some(unread) = self.unread(&[What::Server]) {
            return Some(self.wait_to_see_server(&view, unread));
        }
        // The server was ready before. Although the load has not begun, a fault since then would disturb the load.
        if let Some(fault) = view.fault() {
            return Some(self.server_failed(&fault));
        }
        match view.standing() {
            Standing::Ready if view.status.ready_time.is_some() => None,
            Standing::Ready => Some(self.server_ready()),
            Standing::Foreign => Some(self.conflict(&view.status.name)),
            Standing::Failed(fault) => Some(self.server_failed(&fault)),
            Standing::Starting(fault) => {
                // A shared server belongs to no run, so no watch starts a reconciliation of this run when it changes.
                let next_look = if view.shared { SOON } else { OFTEN };
                Some(self.server_starts(&view, fault.reason, &fault.message, next_look))
            }
            Standing::Going => {
                let message = format!(
                    "server {} waits until an earlier server of the same name is gone; still there: {}",
                    view.status.name,
                    self.left(&view).join(", ")
                );
                Some(
                    self.within_prepare_time(&view, &message)
                        .unwrap_or_else(|| self.server_starts(&view, Reason::ServerStarting, &message, SOON)),
                )
            }
            Standing::Absent => {
                let name = &view.status.name;
                let message = format!("Deployment and Service {name} of the server are being created");
                if let Some(late) = self.within_prepare_time(&view, &message) {
                    return Some(late);
                }
                let mut plan = self.server_starts(&view, Reason::ServerStarting, &message, SOON);
                let sleep_mode = self.measures_sleep();
                plan.create = objects::build(
                    self.run,
                    &names,
                    &self.effective,
                    self.turn.settings,
                    sleep_mode,
                    self.observed.governed.server_ingress,
                    self.observed.server.log_token.as_deref(),
                );
                Some(plan)
            }
        }
    }

    /// Whether the profile of the run measures the sleep mode of its server.
    fn measures_sleep(&self) -> bool {
        let input = self.observed.input.as_ref().and_then(|it| it.as_ref().ok());
        input.and_then(|it| it.run.server.as_deref()).is_some_and(|it| it.sleep_mode)
    }

    /// Waits until the server can be read. Ends the attempt if that takes too long, for example because the operator lacks the right to read it.
    fn wait_to_see_server(&self, view: &View<'_>, unread: &Unread) -> Plan {
        let limit = match unread.passing {
            false => self.effective.execution.deadlines.prepare_seconds,
            true => view.start_seconds.saturating_add(view.ready_seconds),
        };
        if seconds_since(view.since, self.turn.now) > limit {
            let message = format!("the server was not seen to be ready within {limit} seconds: {}", unread.message);
            return self.end_attempt(Reason::PrepareTimeout, &message, None);
        }
        self.wait_to_read(Phase::Preparing, unread)
    }

    /// Ends an attempt whose server was not created in time. `None` if there is time left.
    fn within_prepare_time(&self, view: &View<'_>, what: &str) -> Option<Plan> {
        let limit = self.effective.execution.deadlines.prepare_seconds;
        (seconds_since(view.since, self.turn.now) > limit).then(|| {
            let last = self.last_message();
            let message = format!(
                "the server was not created within {limit} seconds (execution.deadlines.prepareSeconds): {what}; the last message was: {last}"
            );
            self.end_attempt(Reason::PrepareTimeout, &message, None)
        })
    }

    fn server_starts(&self, view: &View<'_>, reason: Reason, message: &str, next_look: Duration) -> Plan {
        let mut plan = self.status_plan(NextStatus::new(Phase::Preparing, reason, message));
        let ready = view.state.pods.iter().filter(|it| it.state.ready).count();
        if let Some(server) = &mut plan.status.server {
            server.ready_replicas = u32::try_from(ready).unwrap_or(u32::MAX).min(server.replicas);
        }
        plan.next_look = Some(next_look);
        plan
    }

    /// Records that the server is ready, before the launcher is created. From now on a fault of the server ends the attempt.
    fn server_ready(&self) -> Plan {
        let state = &self.observed.server;
        let message = "the server is ready; the operator creates ConfigMap, claim and Job";
        let mut plan = self.status_plan(NextStatus::new(Phase::Preparing, Reason::Preparing, message));
        if let Some(server) = &mut plan.status.server {
            server.ready_time = Some(self.turn.now);
            server.ready_replicas = server.replicas;
            server.restarts = state.restarts();
            server.pods_time = state.pods.iter().filter_map(|it| it.created).max();
            server.scheduled_time = state.pods.iter().filter_map(|it| it.scheduled).max();
            let newest = state.pods.iter().max_by_key(|it| it.created);
            server.image_id = newest.map(|it| status::truncate(&it.state.image_id, 512)).unwrap_or_default();
            server.container_time = state.pods.iter().filter_map(|it| it.running_since).max();
        }
        plan.again = true;
        plan
    }

    /// Ends an attempt whose launcher has not been created yet.
    fn server_failed(&self, fault: &Fault) -> Plan {
        let mut plan = self.end_attempt(fault.reason, &fault.message, None);
        self.note_failure(&mut plan.status, fault);
        plan
    }

    fn note_failure(&self, status: &mut BenchmarkRunStatus, fault: &Fault) {
        if let Some(server) = &mut status.server {
            server.last_failure = bounded(&fault.message);
            server.restarts = server.restarts.max(self.observed.server.restarts());
            let ready = self.observed.server.pods.iter().filter(|it| it.state.ready).count();
            server.ready_replicas = u32::try_from(ready).unwrap_or(u32::MAX).min(server.replicas);
        }
    }

    /// Ends an attempt whose server ended while the launcher needed it. `None` if the server is alive, or if the launcher already has valid figures.
    pub(in crate::plan) fn server_died(&self, attempt: &Attempt) -> Option<Plan> {
        let fault = self.view()?.fault()?;
        if self.whole_result().is_some_and(|it| it.core.outcome.has_valid_figures()) {
            return None;
        }
        let mut plan = match &self.observed.ended {
            None => self.give_up(fault.reason, &fault.message),
            Some(ended) => {
                let envelope = termination_message::read(self.run, attempt.number, ended).ok();
                self.end_attempt(fault.reason, &fault.message, envelope.as_ref())
            }
        };
        self.note_failure(&mut plan.status, &fault);
        Some(plan)
    }

    /// When all replicas became ready. The time limit for the creation of the launcher starts then. While the server is still starting, returns the
    /// current time.
    pub(in crate::plan) fn server_ready_time(&self) -> Option<Timestamp> {
        let server = self.before.server.as_ref().filter(|_| self.attempt().is_some())?;
        Some(server.ready_time.unwrap_or(self.turn.now))
    }

    /// Completes a plan: the server of a run that ends is removed before the run finishes, and the server of a suspended run is removed.
    pub(in crate::plan) fn with_server(&self, mut plan: Plan) -> Plan {
        let Some(view) = self.view() else { return plan };
        let is_left = !self.left(&view).is_empty();
        match plan.status.phase {
            Some(phase) if phase.is_terminal() && self.lifecycle() == Lifecycle::PerRun => {
                if is_left {
                    return self.hold(plan);
                }
                if let Some(server) = &mut plan.status.server {
                    server.ready_replicas = 0;
                    server.gone_time = Some(self.turn.now);
                }
                plan
            }
            // The run gives up the shared server, so that the server can be removed.
            Some(Phase::Suspended) if view.shared => {
                plan.status.server = None;
                plan
            }
            Some(Phase::Suspended) => {
                if is_left {
                    plan.stop_server = StopServer::remaining(&view.status.name, view.state);
                    plan.next_look = Some(SOON);
                } else {
                    plan.status.server = None;
                }
                plan
            }
            _ => plan,
        }
    }

    /// The remaining objects of the server as text, for messages.
    fn left(&self, view: &View<'_>) -> Vec<String> {
        match self.unread(&[What::Server]) {
            Some(unread) => vec![unread.message.clone()],
            None if view.state.deployment == Presence::Unknown => vec![format!("Deployment {}", view.status.name)],
            None => view.state.left(&view.status.name),
        }
    }

    /// Keeps the outcome and figures of the run until its server is gone, so that GPUs and volumes are free when the run is finished. The outcome is
    /// in the status before the server is deleted, and from then on the launcher's Job and pod are no longer needed.
    fn hold(&self, plan: Plan) -> Plan {
        let Plan { status: ended, stop, stop_pods, .. } = plan;
        let message = ended.conditions.iter().find(|it| it.kind == "Ready").map(|it| it.message.clone());
        let held = HeldEnd {
            phase: ended.phase.unwrap_or(Phase::Failed),
            outcome: ended.outcome.unwrap_or(Outcome::Error),
            reason: ended.reason.clone(),
            message: message.unwrap_or_default(),
        };
        let mut before = BenchmarkRunStatus { completion_time: None, ..ended.clone() };
        // The run has not finished yet, so only the conditions about its figures are taken from `ended`, below.
        before.conditions.clone_from(&self.before.conditions);
        before.phase = self.before.phase;
        let mut held_plan =
            status::plan(self.run, &before, stopping(&held, self.before.server.as_ref()), self.turn.now);
        status::keep_results(&mut held_plan.status, &ended);
        if let Some(server) = &mut held_plan.status.server {
            server.stop_time = Some(self.turn.now);
            server.held_end = Some(held);
        }
        Plan { stop, stop_pods, again: true, event: None, ..held_plan }
    }

    /// Removes the server of a run that has ended. Finishes the run when the server is gone, or when the time limit for it has passed.
    pub(in crate::plan) fn end_held(&self, server: &ServerStatus, held: &HeldEnd) -> Plan {
        let view = self.view();
        let left = view.as_ref().map(|it| self.left(it)).unwrap_or_default();
        let limit = self.effective.execution.deadlines.collect_seconds;
        let since = server.stop_time.unwrap_or(self.turn.now);
        let late = seconds_since(since, self.turn.now) > limit;
        if !left.is_empty() && !late {
            let mut plan = self.status_plan(stopping(held, Some(server)));
            status::keep_results(&mut plan.status, &self.before);
            plan.event = None;
            plan.stop_server = view.and_then(|it| StopServer::remaining(&server.name, it.state));
            plan.next_look = Some(SOON);
            return plan;
        }
        let not_gone = (!left.is_empty()).then(|| {
            format!(
                "server {} was not gone within {limit} seconds (execution.deadlines.collectSeconds), and may still have its GPUs and volumes: {}; check whether its node is lost",
                server.name,
                left.join(", ")
            )
        });
        let message = not_gone.as_ref().map_or(held.message.clone(), |it| format!("{}; {it}", held.message));
        let reason = held.reason.known().unwrap_or(Reason::LauncherFailed);
        let mut plan = self
            .status_plan(NextStatus { outcome: Some(held.outcome), ..NextStatus::new(held.phase, reason, message) });
        status::keep_results(&mut plan.status, &self.before);
        plan.status.completion_time = Some(self.turn.now);
        if let Some(server) = &mut plan.status.server {
            server.held_end = None;
            server.ready_replicas = 0;
            server.gone_time = not_gone.is_none().then_some(self.turn.now);
        }
        if let Some(message) = not_gone {
            plan.event = Some(status::warning(Reason::ServerNotGone, &message));
        }
        // The next reconciliation writes the mark.
        plan.again = true;
        plan
    }
}

fn stopping(held: &HeldEnd, server: Option<&ServerStatus>) -> NextStatus {
    let name = server.map_or("", |it| it.name.as_str());
    let message = format!(
        "the measurement has ended ({}); server {name} is being removed, and the run finishes when that is done",
        held.reason
    );
    NextStatus::new(Phase::Collecting, Reason::ServerStopping, message)
}
