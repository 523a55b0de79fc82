//! [I/O] Runs the stages of a load on one worker, one after the other.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{
    batches, closed_loop, open_loop,
    plan::PlannedLoad,
    query_loop, session_loop,
    stage_context::StageContext,
    timeline::nanos,
    unissued::{Unissued, UnissuedNumbers},
    worker::Worker,
};
use crate::stop::StopState;
use measurement::{phase::PhaseEnd, record::RequestOutcome, recorder::Recorder, vitals::worker::WorkerVitals};

/// How long before a stage the worker begins to open its connections and prepare its first requests.
const WARMING: Duration = Duration::from_secs(1);

/// What one worker returns at the end of the load.
pub(super) struct WorkerResult {
    pub(super) recorder: Recorder,
    pub(super) unissued: u64,
    pub(super) cpu: Duration,
    pub(super) vitals: WorkerVitals,
}

/// Runs all stages, and waits until every request has ended.
pub(super) async fn run(worker: Worker) -> WorkerResult {
    let cpu = clock::thread_cpu();
    let shared = Arc::clone(&worker.context.shared);
    let mut unissued_count = 0;
    let mut barriers = 0;
    let mut earliest = Duration::ZERO;
    let mut vitals = WorkerVitals { coarse_timer: worker.sleeper.is_coarse(), ..WorkerVitals::default() };
    for (index, stage) in shared.plan.stages.iter().enumerate() {
        // Connections are opened at the end of a long pause, because a server would close them during the pause.
        worker.wait_until(earliest.saturating_sub(WARMING)).await;
        let never_begun = worker.is_stopped();
        // All requests of earlier stages have ended, and no request of this stage has been generated.
        shared.plan.begin_stage(index, shared.progress.issued.load(Ordering::Relaxed));
        let mut stage_context = StageContext::new(&worker, &mut barriers, index, earliest);
        let has_sessions = shared.plan.sessions.is_some();
        let load = match &stage.load {
            PlannedLoad::Trial(_) => match shared.settled_trial(index).await {
                Some(trial) => &trial.load,
                // All workers end the load here.
                None => break,
            },
            load => load,
        };
        let unissued = match load {
            // Boxed: a load without sessions would otherwise reserve memory for them.
            PlannedLoad::Open(schedule) if has_sessions => {
                Box::pin(session_loop::run_open(&worker, &mut stage_context, schedule)).await
            }
            PlannedLoad::Closed(slots) if has_sessions => {
                Box::pin(session_loop::run_closed(&worker, &mut stage_context, *slots)).await
            }
            PlannedLoad::Open(schedule) => match stage.batch {
                // Boxed for the same reason as above.
                Some(size) => Box::pin(batches::run(&worker, &mut stage_context, schedule, size)).await,
                None => open_loop::run(&worker, &mut stage_context, schedule).await,
            },
            PlannedLoad::Measured(_) => match shared.draw(index) {
                Some(Ok(drawn)) if has_sessions => {
                    Box::pin(session_loop::run_open(&worker, &mut stage_context, &drawn.schedule)).await
                }
                Some(Ok(drawn)) => open_loop::run(&worker, &mut stage_context, &drawn.schedule).await,
                // The rate could not be measured, so every worker skips the stage.
                Some(Err(_)) | None if worker.is_stopped() => {
                    Unissued::Stopped { at: shared.clock.now(), numbers: UnissuedNumbers::default() }
                }
                Some(Err(_)) | None => Unissued::Over(UnissuedNumbers::default()),
            },
            PlannedLoad::Closed(slots) => closed_loop::run(&worker, &mut stage_context, *slots).await,
            PlannedLoad::Stream(phase) => query_loop::run(&worker, &mut stage_context, &**phase).await,
            // Never reached, because the load of a trial that has begun is open or closed.
            PlannedLoad::Trial(_) => Unissued::Over(UnissuedNumbers::default()),
        };
        let of_stage = stage_context.watch.take().map(|it| it.close(shared.clock.now())).unwrap_or_default();
        shared.trials.iter().for_each(|it| it.note_vitals(index, &of_stage));
        vitals.stages.push(of_stage);
        if let Some(probing) = stage_context.probing {
            probing.end().await;
        }
        let (samples, looks) = (stage_context.samples, stage_context.looks);
        if let (Unissued::Stopped { .. }, StopState::Drain(reason) | StopState::Abort(reason)) =
            (&unissued, shared.stop.state())
        {
            shared.end_phase(index, PhaseEnd::Stopped(reason));
        }
        let is_cut = !matches!(unissued, Unissued::Over(_));
        unissued_count += count(&worker, index, unissued, never_begun);
        shared.ended(index, shared.clock.now(), is_cut);
        worker.context.client.give_files_back();
        barriers += 1;
        shared.wait_for_workers(barriers).await;
        if let Some(at) = shared.cut_at(index) {
            // Also recorded by workers without requests in the rest of the stage, because the load's window is the widest of its workers'
            // windows.
            worker.context.recorder().stop_early(index, at, false);
        }
        if let Some(samples) = samples {
            samples.end().await;
        }
        if let Some(looks) = looks {
            looks.end().await;
        }
        shared.close_phase(index);
        // Failures of one stage do not count in the next one, because the pause between them would count as part of the outage.
        shared.target_health.reset();
        shared.clients.begin_stage();
        if index + 1 < shared.plan.stages.len() {
            if worker.index == 0 {
                shared.progress.stages_over.store(index as u64 + 1, Ordering::Release);
            }
            worker.unless_stopped(shared.progress.hold.released()).await;
        }
        earliest = shared.clock.now() + stage.pause_after;
        if worker.index == 0 && !stage.pause_after.is_zero() {
            shared.progress.pause_until.store(nanos(earliest), Ordering::Relaxed);
        }
    }
    let recorder = std::mem::take(&mut *worker.context.recorder());
    WorkerResult { recorder, unissued: unissued_count, cpu: clock::thread_cpu().saturating_sub(cpu), vitals }
}

/// Counts the unsent requests of a stage. Returns how many of them were due when the load was stopped. Requests due later appear in no
/// figure.
fn count(worker: &Worker, stage: usize, unissued: Unissued, never_begun: bool) -> u64 {
    let shared = &worker.context.shared;
    let due = |number| shared.due(stage, number);
    let mut recorder = worker.context.recorder();
    let (at, numbers, outcome) = match unissued {
        Unissued::Over(numbers) => {
            recorder.count_unissued(stage, numbers.numbers().map(|it| (it, due(it))), RequestOutcome::Incomplete);
            return 0;
        }
        Unissued::Stopped { at, numbers } => (at, numbers, RequestOutcome::Cancelled),
        Unissued::Ended { at, numbers } => (at, numbers, RequestOutcome::Incomplete),
    };
    let passed = shared.began(stage).filter(|_| !never_begun).and_then(|it| at.checked_sub(it));
    let (mut were_due, mut later) = (0, numbers.is_empty());
    let numbers = numbers.numbers().map(|it| (it, due(it))).filter(|(_, due)| {
        let was_due = due.zip(passed).is_some_and(|(due, passed)| due <= passed);
        were_due += u64::from(was_due);
        later |= !was_due;
        was_due
    });
    recorder.count_unissued(stage, numbers, outcome);
    recorder.stop_early(stage, shared.clock.now(), later);
    if outcome == RequestOutcome::Cancelled { were_due } else { 0 }
}
