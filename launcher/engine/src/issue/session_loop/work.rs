//! [I/O] The unit of work that the load of a stage starts: a whole session, or one request of a session.

use std::{sync::Arc, time::Duration};

use workload_profiles::workload::Unit;

use super::{
    graph_session::GraphSession,
    session::Session,
    slot::{self, Slot},
    stage::{SessionStage, Unsent, lock},
};
use crate::sessions::NewSession;
use measurement::recorder::SessionEnd;

/// A unit of work: a whole session, or one request of a session.
pub(super) enum Work {
    Session(Box<Session>),
    Graph(Box<GraphSession>),
    Request(Arc<tokio::sync::Mutex<Slot>>),
}

impl Work {
    /// Creates the unit of work with a number; `None` if the workload has no sessions. Prepares its next request if possible.
    pub(super) fn new(stage: &SessionStage, number: u64) -> Option<Work> {
        let sessions = stage.sessions()?;
        Some(match sessions.settings.unit {
            Unit::Session => {
                let link = stage.link(sessions, number);
                match sessions.begin(stage.stage, number) {
                    NewSession::Chain(chain) => {
                        let mut session = Session::new(&stage.context, *chain, link, stage.stage, number, None);
                        session.prepare();
                        Work::Session(Box::new(session))
                    }
                    NewSession::Graph(recorded) => {
                        let end = SessionEnd::new(stage.stage, number);
                        Work::Graph(Box::new(GraphSession::new(&stage.context, recorded, link, end)))
                    }
                }
            }
            Unit::Request => {
                let slot_number = number % stage.slot_count().unwrap_or(1).max(1);
                let new = || Arc::new(tokio::sync::Mutex::new(Slot::new(slot_number, stage.users())));
                let slot = Arc::clone(lock(&stage.slots).entry(slot_number).or_insert_with(new));
                if let Ok(mut slot) = slot.try_lock() {
                    slot.prepare(stage, sessions);
                }
                Work::Request(slot)
            }
        })
    }

    /// Runs a unit of work that is due at `due`. Returns whether the target did not answer its last request; `None` if the stage ended
    /// before all of its requests were sent.
    pub(super) async fn run(self, stage: &SessionStage, number: u64, due: Duration) -> Option<bool> {
        let unsent = Unsent::new(stage, number);
        let was_missed = match self {
            Work::Session(session) => session.run(stage, number, due, unsent).await,
            Work::Graph(session) => session.run(stage, number, due, unsent).await,
            Work::Request(slot) => slot::run_request(stage, slot, number, due, unsent).await,
        };
        if was_missed.is_some() {
            stage.done();
        }
        was_missed
    }
}
