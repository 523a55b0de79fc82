//! [I/O] Open loop: each request is sent at its scheduled time, regardless of earlier requests. A late request is sent immediately.

use std::{iter::StepBy, ops::Range, sync::Arc, time::Duration};

use tokio::task::{JoinSet, yield_now};

use super::{
    context::RequestContext,
    in_flight::{Due, RequestKind, check_join, drain, poll_and_spawn, run_request},
    prepare::{Ahead, Prepared},
    shared::Shared,
    stage_context::StageContext,
    unissued::{Unissued, UnissuedNumbers},
    worker::Worker,
};
use crate::stop::StopState;
use measurement::schedule::Schedule;

/// No other request is prepared within this time before a request is due.
const MARGIN: Duration = Duration::from_micros(200);
/// Maximum number of late requests sent before the runtime polls the sockets again.
const MAX_LATE: u32 = 16;
/// Connections are opened in advance for the requests due in this first part of a stage. The numbers are the minimum and maximum number of
/// connections.
const WARM: (Duration, usize, usize) = (Duration::from_millis(200), 2, 64);
/// Maximum number of connections opened before a stage whose requests are all sent together.
const MAX_WARM: usize = 4_096;
/// Estimated time to open a connection. Spare connections are kept for the requests due within this time. The numbers are the minimum and
/// maximum number of spare connections.
const SPARE: (Duration, usize, usize) = (Duration::from_millis(20), 2, 16);

/// This worker's requests of a stage, in sending order.
struct Feed<'a> {
    shared: &'a Shared,
    numbers: StepBy<Range<u64>>,
    ahead: Ahead,
}

impl Feed<'_> {
    /// Prepares one more request. Returns `false` if the buffer is full, or if no request remains.
    fn prepare(&mut self) -> bool {
        let number = if self.ahead.is_full() { None } else { self.numbers.next() };
        number.map(|it| self.ahead.prepare(self.shared, it)).is_some()
    }

    fn next(&mut self) -> Option<Prepared> {
        self.ahead.next(self.shared, || self.numbers.next())
    }

    /// Returns the requests that were not sent: request `number` and all later ones, and whether the stage ended or was stopped.
    fn stopped_at(&self, number: u64) -> Unissued {
        let (at, numbers) = (self.shared.clock.now(), self.unissued_from(number));
        match self.shared.stop.state() {
            StopState::Run => Unissued::Ended { at, numbers },
            StopState::Drain(_) | StopState::Abort(_) => Unissued::Stopped { at, numbers },
        }
    }

    /// Returns the numbers of request `number` and of all later requests.
    fn unissued_from(&self, number: u64) -> UnissuedNumbers {
        let ready = [number].into_iter().chain(self.ahead.numbers()).collect();
        UnissuedNumbers { ready, rest: Some(self.numbers.clone()) }
    }
}

/// Runs this worker's part of a stage. Returns the requests that were never sent.
pub(super) async fn run(worker: &Worker, stage_context: &mut StageContext<'_>, schedule: &Schedule) -> Unissued {
    let context = &worker.context;
    let shared = &context.shared;
    let ahead = Ahead::new(stage_context.stage, None);
    let mut feed = Feed { shared, numbers: worker.share(schedule.len()), ahead };
    let phase = shared.plan.stages[stage_context.stage].phase.as_deref();
    // All samples of a single query are due together. A sample that is held back by the others is waiting for a permit, and is not late.
    let one_query = phase.is_some_and(|it| it.query_count() == 1);
    let at_once = if one_query { shared.most_under_way(stage_context.stage).div_ceil(shared.workers) } else { 0 };
    worker.unless_stopped(warm(context, schedule, at_once.min(MAX_WARM))).await;
    while !worker.is_stopped() && feed.prepare() {}
    let start = stage_context.start().await;
    let limit = shared.limit(stage_context.stage, start);
    let concurrency_limit = shared.concurrency_limit(stage_context.stage);

    let mut in_flight = JoinSet::new();
    let stopped = shared.stopped(stage_context.stage);
    tokio::pin!(stopped);
    let mut pace = Pace::new(shared);
    // When the last request that had to wait for a permit got it.
    let mut blocked = Duration::ZERO;
    let phase = phase.filter(|it| it.may_end_before_schedule());
    // A phase that one worker ends is over for all workers, and its remaining queries are not sent.
    let stage = stage_context.stage;
    let over = || phase.is_some() && shared.phase_end(stage).is_some();
    let unissued = loop {
        let Some(prepared) = feed.next().filter(|_| !over()) else { break Unissued::Over(UnissuedNumbers::default()) };
        let number = prepared.number;
        let due = start + schedule.get(number).unwrap_or_default();
        pace.before(due, || feed.prepare()).await;
        tokio::select! {
            biased;
            () = &mut stopped => break feed.stopped_at(number),
            () = worker.sleeper.until(due) => {}
        }
        let mut due = Due { at: due, ..Due::default() };
        if concurrency_limit.is_bounded() {
            // The time that this request spent behind an earlier request's wait for a permit counts as its own wait.
            let behind = blocked.saturating_sub(due.at);
            let wait_began = shared.clock.now();
            due.permit = match concurrency_limit.try_acquire() {
                Some(permit) => permit,
                // A permit is acquired only for a request that is due, so that no worker holds a permit that another worker needs. The
                // worker's later requests wait too, which costs nothing: they would get their permits later in any case.
                None => tokio::select! {
                    biased;
                    () = &mut stopped => break feed.stopped_at(number),
                    permit = shared.clock.within(limit, concurrency_limit.acquire()) => {
                        let Ok(permit) = permit else { break Unissued::Over(feed.unissued_from(number)) };
                        blocked = shared.clock.now();
                        permit
                    }
                },
            };
            due.permit_wait = Some(behind + blocked.saturating_sub(wait_began));
        }
        // The phase might have ended while this request waited.
        if over() {
            break Unissued::Over(UnissuedNumbers::default());
        }
        let sent_at = shared.clock.now();
        if one_query {
            due.permit_wait = Some(sent_at.saturating_sub(due.at));
        }
        poll_and_spawn(
            &mut in_flight,
            run_request(Arc::clone(context), RequestKind::Load, stage_context.stage, prepared, due),
        );
        if let Some(phase) = phase {
            let issued = shared.count_query(stage_context.stage);
            // All requests in flight belong to this stage, because the requests of earlier stages have ended.
            let end = phase.after(issued, sent_at.saturating_sub(start), &|| shared.progress.under_way());
            end.into_iter().for_each(|it| shared.end_phase(stage_context.stage, it));
        }
        tidy_up(context, &mut in_flight);
    };
    drain(shared, in_flight, Some((stage, start))).await;
    unissued
}

/// Lets the runtime poll sockets between the sends of an open loop.
pub(super) struct Pace<'a> {
    shared: &'a Shared,
    /// Number of late requests sent since the last poll of the sockets.
    late: u32,
}

impl Pace<'_> {
    pub(super) fn new(shared: &Shared) -> Pace<'_> {
        Pace { shared, late: 0 }
    }

    /// Calls `prepare` until it returns `false` or `due` is near. If requests are late, lets the runtime poll the sockets after every
    /// [`MAX_LATE`] of them.
    pub(super) async fn before(&mut self, due: Duration, mut prepare: impl FnMut() -> bool) {
        let clock = self.shared.clock;
        while clock.now() + MARGIN < due && prepare() {
            yield_now().await;
        }
        self.late = if clock.now() < due { 0 } else { self.late + 1 };
        if self.late == MAX_LATE {
            self.late = 0;
            yield_now().await;
        }
    }
}

/// Removes ended requests from `in_flight`, and opens missing spare connections.
pub(super) fn tidy_up(context: &Arc<RequestContext>, in_flight: &mut JoinSet<()>) {
    while let Some(joined) = in_flight.try_join_next() {
        check_join(joined);
    }
    if context.client.needs_spare() {
        let context = Arc::clone(context);
        tokio::spawn(async move { context.client.fill().await });
    }
}

/// Opens connections for the start of a stage. `at_once` is the number of requests sent together.
pub(super) async fn warm(context: &RequestContext, schedule: &Schedule, at_once: usize) {
    let rate = schedule.mean_rate() / context.shared.workers as f64;
    let within =
        |(time, least, most): (Duration, usize, usize)| ((rate * time.as_secs_f64()) as usize).clamp(least, most);
    context.client.warm(within(WARM).max(at_once), within(SPARE)).await;
}

#[cfg(test)]
mod tests {
    use crds::{
        benchmark_run::{Api, SimulatorPreset},
        units::Seed,
    };
    use futures::future::join_all;
    use serde_json::json;
    use workload_profiles::{
        Workload,
        loadgen::{Scenario, Settings},
        workload::{Load, Phase},
    };

    use crate::{
        client::Target,
        issue::{plan::LoadPlan, runner, shared::Shared, worker::Worker},
        stop::Stop,
    };
    use clock::Clock;
    use loadgen::phases::{planned_phases, to_issue};
    use measurement::{phase::PhaseEnd, recorder::Keep};
    use simulator::{SimOptions, Simulator};

    use super::Arc;

    #[tokio::test(start_paused = true)]
    async fn a_query_of_one_worker_that_ends_a_phase_ends_it_for_all() {
        let scenario = Scenario::Server;
        let settings = Settings { scenario, server_target_qps: 10.0, max_query_count: 6, ..Settings::default() };
        let load = Load::LoadGen { test: 0, phase: Phase::Performance, scenario };
        let workload: Workload = serde_json::from_value(json!({
            "api": "OpenAICompletions", "streaming": true, "requests": "mock",
            "stages": [{"name": "performance", "load": load, "pauseAfter": "0s"}],
            "loadgen": {
                "benchmark": "b", "round": "v6.1", "sutName": "s", "tests": [{"settings": settings}],
                "qsl": {"total_sample_count": 20, "performance_sample_count": 20},
            },
        }))
        .unwrap();
        let simulator =
            Simulator::new(SimOptions { model: "m".into(), ..SimOptions::preset(SimulatorPreset::Instant) });
        let target = Target::in_process(Api::Completions, move || {
            let (client, server) = tokio::io::duplex(64 << 10);
            let simulator = Arc::clone(&simulator);
            tokio::spawn(async move { simulator.serve_connection(server).await });
            client
        });
        let phases = to_issue(&planned_phases(&workload).unwrap());
        let plan = LoadPlan::new(&workload, &[], &phases, "m", Api::Completions, Seed(1).into()).unwrap();
        let shared = Arc::new(Shared::new(plan, Clock::from_runtime(), 3, Stop::default(), Arc::default()));
        let workers = (0..3).map(|it| runner::run(Worker::new(it, Arc::clone(&shared), target.clone(), Keep::Records)));
        let records = join_all(workers).await.into_iter().flat_map(|it| it.recorder.records.unwrap());
        let mut sent: Vec<u64> = records.map(|it| it.number).collect();
        sent.sort_unstable();
        assert_eq!(sent, [0, 1, 2, 3, 4, 5]);
        assert_eq!(shared.phase_end(0), Some(PhaseEnd::MaxQueryCount { issued: 6 }));
    }
}
