//! [I/O] Issues the sessions of a stage: the turns of a session follow each other, and the sessions do not depend on each other.
//!
//! A turn waits until the turn before it has ended, and for its think time. It is due when both are over and the load wants it, so
//! neither is part of its latency or of its send lag. A session stays on one worker. No turn holds back a place that another session
//! needs: a turn that waits is a timer or a place in a queue of its own session, so that any number of sessions goes on.

mod closed;
mod graph_session;
mod kept_answers;
mod open;
mod session;
mod share;
mod slot;

use std::{
    collections::HashMap,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use workload_profiles::workload::Unit;

use super::{context::RequestContext, waits::Waits, worker::Worker};
use crate::{
    client::SessionLink,
    schedule::users::UserTurns,
    sessions::{NewSession, PlannedSessions},
};
pub(super) use closed::run as run_closed;
use graph_session::GraphSession;
use measurement::recorder::SessionEnd;
pub(super) use open::run as run_open;
use session::Session;
use slot::Slot;

/// What the sessions of one worker share in a stage.
struct SessionStage {
    context: Arc<RequestContext>,
    stage: usize,
    waits: Arc<Waits>,
    /// No turn is sent after this time.
    over: Option<Duration>,
    /// For a load of requests: what they are dealt to, by its number.
    slots: Mutex<HashMap<u64, Arc<tokio::sync::Mutex<Slot>>>>,
    /// Sessions, or requests of them, that were taken and not sent as a whole.
    unfinished: AtomicU64,
    /// Numbers of what the load started and did not send, for the figures of an open loop.
    unsent: Mutex<Vec<u64>>,
}

/// What the load starts: the whole of a session, or one request of it.
enum Work {
    Session(Box<Session>),
    Graph(Box<GraphSession>),
    Request(Arc<tokio::sync::Mutex<Slot>>),
}

impl SessionStage {
    fn new(worker: &Worker, stage: usize) -> SessionStage {
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

    fn sessions(&self) -> Option<&PlannedSessions> {
        self.context.shared.plan.sessions.as_ref()
    }

    fn users(&self) -> Option<UserTurns> {
        self.context.shared.plan.stages[self.stage].users
    }

    /// For a load of requests: the number of sessions at a time, which the requests are dealt to in turn. `None` for a load of
    /// sessions.
    fn slot_count(&self) -> Option<u64> {
        let sessions = self.sessions().filter(|it| it.are_dealt_requests())?;
        self.users().map(UserTurns::users).or(sessions.count)
    }

    /// The work with a number; `None` if the workload has no sessions. What can be made of its next request is made.
    fn work(&self, number: u64) -> Option<Work> {
        let sessions = self.sessions()?;
        Some(match sessions.settings.unit {
            Unit::Session => {
                let link = self.link(sessions, number);
                match sessions.begin(self.stage, number) {
                    NewSession::Chain(chain) => {
                        let mut session = Session::new(&self.context, *chain, link, self.stage, number, None);
                        session.prepare();
                        Work::Session(Box::new(session))
                    }
                    NewSession::Graph(recorded) => {
                        let end = SessionEnd::new(self.stage, number);
                        Work::Graph(Box::new(GraphSession::new(&self.context, recorded, link, end)))
                    }
                }
            }
            Unit::Request => {
                let slot_number = number % self.slot_count().unwrap_or(1).max(1);
                let new = || Arc::new(tokio::sync::Mutex::new(Slot::new(slot_number, self.users())));
                let slot = Arc::clone(lock(&self.slots).entry(slot_number).or_insert_with(new));
                if let Ok(mut slot) = slot.try_lock() {
                    slot.prepare(self, sessions);
                }
                Work::Request(slot)
            }
        })
    }

    /// What the requests of a session share.
    fn link(&self, sessions: &PlannedSessions, number: u64) -> Option<Arc<SessionLink>> {
        let keep_connection = sessions.settings.keep_connection;
        (sessions.header.is_some() || keep_connection).then(|| {
            let value = self.context.shared.run_id.header(format_args!("session-{}-{number}", self.stage));
            Arc::new(SessionLink::new(sessions.header.clone().zip(value), keep_connection))
        })
    }

    /// Counts work that is taken to be done.
    fn take(&self) {
        self.unfinished.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether all that was taken was sent.
    fn has_sent_all(&self) -> bool {
        self.unfinished.load(Ordering::Relaxed) == 0
    }

    /// Does the work that was taken, and that is due at `due`. Returns whether the target did not answer its last request; `None` if the stage was over
    /// before all of its requests were sent.
    async fn run(&self, number: u64, work: Work, due: Duration) -> Option<bool> {
        let unsent = Unsent { stage: self, number, was_sent: AtomicBool::new(false) };
        let was_missed = match work {
            Work::Session(session) => session.run(self, number, due, unsent).await,
            Work::Graph(session) => session.run(self, number, due, unsent).await,
            Work::Request(slot) => slot::run_request(self, slot, number, due, unsent).await,
        };
        if was_missed.is_some() {
            self.unfinished.fetch_sub(1, Ordering::Relaxed);
        }
        was_missed
    }

    /// Runs `work` until it is done; `None` if the load is stopped, or the stage over, before that.
    async fn unless_over<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.context.shared.stopped(self.stage) => None,
            done = self.context.shared.clock.within(self.over, work) => done.ok(),
        }
    }

    fn is_over(&self, now: Duration) -> bool {
        self.context.shared.is_stopped(self.stage) || self.over.is_some_and(|over| now >= over)
    }

    /// Ends the sessions that no request follows.
    fn end(&self) {
        // The record of a session is made when it is dropped.
        drop(mem::take(&mut *lock(&self.slots)));
    }
}

/// What the load has started and not sent yet. If it is dropped before that, its number is kept.
struct Unsent<'a> {
    stage: &'a SessionStage,
    number: u64,
    was_sent: AtomicBool,
}

impl Unsent<'_> {
    /// A request of it is sent.
    fn sent(&self) {
        let is_first = !self.was_sent.swap(true, Ordering::Relaxed);
        let sessions = self.stage.sessions().filter(|it| is_first && !it.are_dealt_requests());
        sessions.into_iter().for_each(PlannedSessions::count_begun);
    }

    /// It is not sent, and is counted elsewhere.
    fn leave_out(&self) {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // One thread uses this, and no code can leave the value half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
