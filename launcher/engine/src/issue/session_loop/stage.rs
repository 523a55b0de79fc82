//! [I/O] The sessions of one worker in a stage: their shared state, and how turns wait until they can be sent.

use std::{
    collections::HashMap,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use super::slot::Slot;
use crate::{
    client::SessionLink,
    issue::{context::RequestContext, in_flight::Due, waits::Waits, worker::Worker},
    schedule::users::UserTurns,
    sessions::PlannedSessions,
};
use measurement::record::RequestOutcome;

/// State that the sessions of one worker share in a stage.
pub(super) struct SessionStage {
    pub(super) context: Arc<RequestContext>,
    pub(super) stage: usize,
    pub(super) waits: Arc<Waits>,
    /// The time after which no turn is sent; `None` means no limit.
    pub(super) over: Option<Duration>,
    /// The session slots by number, if the load starts requests. The requests are assigned to the slots in turn.
    pub(super) slots: Mutex<HashMap<u64, Arc<tokio::sync::Mutex<Slot>>>>,
    /// Number of units of work (sessions, or requests of sessions) that were started and not completely sent.
    unfinished: AtomicU64,
    /// Numbers of the units of work that were started but not sent, for the figures of an open loop.
    pub(super) unsent: Mutex<Vec<u64>>,
}

impl SessionStage {
    pub(super) fn new(worker: &Worker, stage: usize) -> SessionStage {
        let context = Arc::clone(&worker.context);
        let waits = Arc::new(Waits::new(context.shared.clock));
        SessionStage {
            context,
            stage,
            waits,
            over: None,
            slots: Mutex::default(),
            unfinished: AtomicU64::new(0),
            unsent: Mutex::default(),
        }
    }

    pub(super) fn sessions(&self) -> Option<&PlannedSessions> {
        self.context.shared.plan.sessions.as_ref()
    }

    pub(super) fn users(&self) -> Option<UserTurns> {
        self.context.shared.plan.stages[self.stage].users
    }

    /// If the load starts requests: returns the number of concurrent sessions, to which the requests are assigned in turn. `None` if it starts whole
    /// sessions.
    pub(super) fn slot_count(&self) -> Option<u64> {
        let sessions = self.sessions().filter(|it| it.are_dealt_requests())?;
        self.users().map(UserTurns::users).or(sessions.count)
    }

    /// Creates the link that the requests of a session share.
    pub(super) fn link(&self, sessions: &PlannedSessions, number: u64) -> Option<Arc<SessionLink>> {
        let keep_connection = sessions.settings.keep_connection;
        (sessions.header.is_some() || keep_connection).then(|| {
            let value = self.context.shared.run_id.header(format_args!("session-{}-{number}", self.stage));
            Arc::new(SessionLink::new(sessions.header.clone().zip(value), keep_connection))
        })
    }

    /// Counts a unit of work that was started.
    pub(super) fn take(&self) {
        self.unfinished.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a unit of work that was completely sent.
    pub(super) fn done(&self) {
        self.unfinished.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether all started work was completely sent.
    pub(super) fn has_sent_all(&self) -> bool {
        self.unfinished.load(Ordering::Relaxed) == 0
    }

    /// Runs `work` until it is done; `None` if the load is stopped or the stage ends before.
    pub(super) async fn unless_over<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.context.shared.stopped(self.stage) => None,
            done = self.context.shared.clock.within(self.over, work) => done.ok(),
        }
    }

    pub(super) fn is_over(&self, now: Duration) -> bool {
        self.context.shared.is_stopped(self.stage) || self.over.is_some_and(|over| now >= over)
    }

    /// Ends the sessions that still wait for a next request.
    pub(super) fn end(&self) {
        // A session writes its record when it is dropped.
        drop(mem::take(&mut *lock(&self.slots)));
    }

    /// Waits until a request is due, and until it has a permit; `None` if the stage ends before.
    pub(super) async fn wait_to_send(&self, at: Duration) -> Option<Due> {
        let shared = &self.context.shared;
        let mut due = Due { at, ..Due::default() };
        self.unless_over(self.waits.until(at)).await?;
        if self.is_over(shared.clock.now()) {
            return None;
        }
        let limit = shared.concurrency_limit(self.stage);
        if limit.is_bounded() {
            // Only the time from here on is a wait for the permit. A turn that is late although a permit is free has not waited for it.
            let wait_began = shared.clock.now();
            due.permit = match limit.try_acquire() {
                Some(permit) => permit,
                None => self.unless_over(limit.acquire()).await?,
            };
            due.permit_wait = Some(shared.clock.now().saturating_sub(wait_began));
        }
        Some(due)
    }

    /// Waits after a request that the target did not answer. Returns the earliest due time of the session's next request, so that the wait
    /// is not part of that request's send lag.
    pub(super) async fn back_off(&self) -> Duration {
        // Boxed, because this rare wait takes much memory.
        Box::pin(self.context.back_off(self.stage, self.over)).await;
        self.context.shared.clock.now()
    }

    /// Counts turns that are not sent because an earlier turn failed. They count in the part of the stage (for example its warm-up) for which the
    /// load scheduled them or their session.
    pub(super) fn skip_rest(&self, number: u64, due: Duration, turns: u32) {
        let shared = &self.context.shared;
        let due = shared.began(self.stage).map(|start| due.saturating_sub(start));
        let unsent = (0..turns).map(|_| (number, due));
        self.context.recorder().count_unissued(self.stage, unsent, RequestOutcome::Skipped);
        shared.progress.leave_out(turns.into());
    }
}

/// A unit of work that was started and not sent yet. If it is dropped before it is sent, its number is kept in [`SessionStage::unsent`].
pub(super) struct Unsent<'a> {
    stage: &'a SessionStage,
    number: u64,
    was_sent: AtomicBool,
}

impl Unsent<'_> {
    pub(super) fn new(stage: &SessionStage, number: u64) -> Unsent<'_> {
        Unsent { stage, number, was_sent: AtomicBool::new(false) }
    }

    /// Records that a request of this work was sent.
    pub(super) fn sent(&self) {
        let is_first = !self.was_sent.swap(true, Ordering::Relaxed);
        let sessions = self.stage.sessions().filter(|it| is_first && !it.are_dealt_requests());
        sessions.into_iter().for_each(PlannedSessions::count_begun);
    }

    /// Records that this work will not be sent, and is counted elsewhere.
    pub(super) fn leave_out(&self) {
        self.was_sent.store(true, Ordering::Relaxed);
    }
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        if !*self.was_sent.get_mut() {
            lock(&self.stage.unsent).push(self.number);
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A poisoned lock is safe to use: one thread uses the value, and no code can panic with the value half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
