//! [I/O] The engine. Takes requests, runs the scheduler step by step in time, and reports the progress of each request to its stream.
//!
//! A task runs only while there is work, so that an idle server never wakes up. A stream learns its progress from a counter and a waker instead of a
//! queue, so a slow reader uses no memory here. The engine uses the runtime's time, so the simulation can run on a paused clock or in real time. Each
//! step begins at the model time at which the previous one ended, so that delays of timers do not add up.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::task::AtomicWaker;

use super::latency::Latency;
use super::metrics::Metrics;
use super::options::SimOptions;
use super::scheduler::{Scheduler, Sequence};
use super::work::{Finish, Work};
use clock::Clock;

/// Maximum time that the model may lag behind the clock. Timers are late by about a millisecond, and the next step compensates for this. If the
/// machine was busy for longer, the engine is slowed down, as a real engine would be.
const MAX_CATCH_UP: Duration = Duration::from_millis(2);

/// Number of consecutive steps of zero length after which the streams can send. Tokens that are due at the same time then leave in few writes, as
/// from a busy server. With a larger number, a stream would send too many tokens together.
const STEPS_AT_ONCE: u32 = 4;

/// The progress of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of tokens that are ready.
    pub tokens: u32,
    /// The reason why the request ended. Set together with the last token.
    pub finish: Option<Finish>,
}

/// The state of one request. The engine and the request's stream share it.
#[derive(Debug)]
struct Slot {
    /// The number of tokens in the lower half and the finish in the upper half, so that both change atomically.
    state: AtomicU64,
    /// Number of prompt tokens from the prefix cache. Written before the first token is reported.
    cached: AtomicU32,
    waker: AtomicWaker,
    left: AtomicBool,
    finish: Finish,
}

impl Slot {
    fn set(&self, progress: Progress) {
        let finish = match progress.finish {
            None => 0,
            Some(Finish::Stop) => 1,
            Some(Finish::Length) => 2,
            Some(Finish::Abort) => 3,
        };
        self.state.store(finish << 32 | u64::from(progress.tokens), Ordering::Release);
        self.waker.wake();
    }

    fn get(&self) -> Progress {
        let state = self.state.load(Ordering::Acquire);
        let finish = match state >> 32 {
            0 => None,
            1 => Some(Finish::Stop),
            2 => Some(Finish::Length),
            _ => Some(Finish::Abort),
        };
        Progress { tokens: state as u32, finish }
    }
}

/// A request in the engine. If this value is dropped, the engine removes the request at the end of the current step.
#[derive(Debug)]
pub struct Generation {
    model: Arc<BatchingModel>,
    slot: Arc<Slot>,
}

impl Generation {
    /// Returns the progress as soon as more than `seen` tokens are ready or the request has finished.
    pub fn poll(&self, cx: &mut Context<'_>, seen: u32) -> Poll<Progress> {
        let news = |progress: Progress| progress.tokens > seen || progress.finish.is_some();
        let progress = self.slot.get();
        if news(progress) {
            return Poll::Ready(progress);
        }
        self.slot.waker.register(cx.waker());
        // Check again: the engine might have progressed between the check and the registration.
        let progress = self.slot.get();
        if news(progress) { Poll::Ready(progress) } else { Poll::Pending }
    }

    /// Number of prompt tokens that came from the prefix cache. Known when the first token is ready.
    pub fn cached_tokens(&self) -> u32 {
        self.slot.cached.load(Ordering::Relaxed)
    }

    /// Waits for the end of the request.
    pub async fn finished(&self) -> Progress {
        std::future::poll_fn(|cx| self.poll(cx, u32::MAX)).await
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        if self.slot.get().finish.is_none() {
            self.slot.left.store(true, Ordering::Release);
            self.model.somebody_left.store(true, Ordering::Release);
        }
    }
}

/// The engine of one server.
#[derive(Debug)]
pub struct BatchingModel {
    core: Mutex<Core>,
    somebody_left: AtomicBool,
    /// The clock starts at the first request, or at the call of [`BatchingModel::use_real_time`].
    clock: OnceLock<Clock>,
}

#[derive(Debug)]
struct Core {
    scheduler: Scheduler<Arc<Slot>>,
    latency: Latency,
    metrics: Metrics,
    /// Number of sequences that the current step left in the queue. Sequences that arrive during the step are not counted yet.
    queued: usize,
    /// Whether the task is running.
    busy: bool,
    /// Whether the server is shutting down.
    closed: bool,
    /// The sleep level. 0 means awake. A sleeping engine computes nothing.
    sleep_level: u8,
}

impl BatchingModel {
    /// Creates an idle engine.
    pub fn new(options: &SimOptions) -> Arc<Self> {
        let core = Core {
            scheduler: Scheduler::new(options),
            latency: Latency::new(options.costs, options.seed),
            metrics: Metrics::new(options),
            queued: 0,
            busy: false,
            closed: false,
            sleep_level: 0,
        };
        Arc::new(BatchingModel {
            core: Mutex::new(core),
            somebody_left: AtomicBool::new(false),
            clock: OnceLock::new(),
        })
    }

    /// Makes the steps follow real time, to the microsecond, instead of the runtime's clock. Has no effect after the first request.
    pub fn use_real_time(&self) {
        self.clock.get_or_init(Clock::start);
    }

    /// Queues a request. Must be called inside a tokio runtime. After [`BatchingModel::close`] the request is aborted immediately.
    pub fn submit(self: &Arc<Self>, work: Work) -> Generation {
        let slot = Arc::new(Slot {
            state: AtomicU64::new(0),
            cached: AtomicU32::new(0),
            waker: AtomicWaker::new(),
            left: AtomicBool::new(false),
            finish: work.finish,
        });
        let arrived = self.now();
        let mut core = self.lock();
        if core.closed {
            slot.set(Progress { tokens: 0, finish: Some(Finish::Abort) });
        } else {
            core.scheduler.add(Sequence::new(slot.clone(), work, arrived));
            self.go_on(&mut core);
        }
        drop(core);
        Generation { model: self.clone(), slot }
    }

    /// Starts the task, if it is not running and the engine is awake.
    fn go_on(self: &Arc<Self>, core: &mut Core) {
        if core.sleep_level > 0 {
            self.drop_left(core);
            core.metrics.set_load(0, core.scheduler.waiting(), 0);
        } else if !std::mem::replace(&mut core.busy, true) {
            tokio::spawn(self.clone().run());
        }
    }

    /// Puts the engine to sleep. Aborts running requests, as vLLM does by default, and clears the KV cache. Later requests wait.
    pub fn sleep(&self, level: u8) {
        let mut core = self.lock();
        core.sleep_level = level;
        core.metrics.set_sleep(level);
        abort_all(&mut core);
        core.scheduler.forget();
    }

    /// Wakes the engine up. Waiting requests continue.
    pub fn wake_up(self: &Arc<Self>) {
        let mut core = self.lock();
        core.sleep_level = 0;
        core.metrics.set_sleep(0);
        self.go_on(&mut core);
    }

    /// The sleep level. 0 means awake.
    pub fn sleep_level(&self) -> u8 {
        self.lock().sleep_level
    }

    /// Aborts all current and later requests.
    pub fn close(&self) {
        let mut core = self.lock();
        core.closed = true;
        abort_all(&mut core);
    }

    /// The current metrics.
    pub fn metrics(&self) -> Metrics {
        self.lock().metrics.clone()
    }

    /// Runs steps until there is no work.
    async fn run(self: Arc<Self>) {
        let sleeper = self.clock().sleeper();
        let mut at = self.now();
        let mut at_once = 0;
        while let Some(length) = self.begin_step(at) {
            let end = at + length;
            if !length.is_zero() {
                sleeper.until(end).await;
            } else if at_once == 0 {
                // Let the streams send their tokens before they get more.
                tokio::task::yield_now().await;
            }
            at_once = (at_once + 1) % STEPS_AT_ONCE;
            self.end_step(end);
            at = end.max(self.now().saturating_sub(MAX_CATCH_UP));
        }
    }

    fn begin_step(&self, now: Duration) -> Option<Duration> {
        let mut core = self.lock();
        let core = &mut *core;
        self.drop_left(core);
        let load = if core.sleep_level > 0 { None } else { core.scheduler.begin_step(now) };
        core.queued = core.scheduler.waiting();
        core.busy = load.is_some();
        core.metrics.set_cache(core.scheduler.cache_stats());
        if load.is_none() {
            core.metrics.set_load(0, core.queued, 0);
        }
        load.map(|load| core.latency.step(&load))
    }

    /// Removes the requests of clients that have disconnected.
    fn drop_left(&self, core: &mut Core) {
        if self.somebody_left.swap(false, Ordering::AcqRel) {
            core.scheduler.retain(|slot| !slot.left.load(Ordering::Acquire));
        }
    }

    fn end_step(&self, now: Duration) {
        let mut core = self.lock();
        let Core { scheduler, metrics, queued, .. } = &mut *core;
        scheduler.end_step(now, |sequence| {
            let slot = &sequence.owner;
            if slot.left.load(Ordering::Acquire) {
                return;
            }
            let finish = sequence.is_finished().then_some(slot.finish);
            metrics.token(sequence, now, finish);
            if sequence.generated == 1 {
                slot.cached.store(sequence.cached, Ordering::Relaxed);
            }
            slot.set(Progress { tokens: sequence.generated, finish });
        });
        metrics.set_load(scheduler.running(), *queued, scheduler.used_blocks());
        metrics.end_step();
    }

    fn now(&self) -> Duration {
        self.clock().now()
    }

    fn clock(&self) -> Clock {
        *self.clock.get_or_init(Clock::from_runtime)
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        // If another thread panicked, the counters are at most one request behind.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends every request that has not ended.
fn abort_all(core: &mut Core) {
    core.scheduler.drain().for_each(|slot| {
        slot.set(Progress { finish: Some(Finish::Abort), ..slot.get() });
    });
}
