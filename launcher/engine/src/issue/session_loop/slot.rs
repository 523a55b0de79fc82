//! [I/O] A session slot of a load that starts requests. It has one session at a time, whose requests wait in order. After the session's
//! last turn, a new session begins.

use std::{sync::Arc, time::Duration};

use super::{
    session::Session,
    stage::{SessionStage, Unsent},
};
use crate::{
    schedule::users::UserTurns,
    sessions::{NewSession, PlannedSessions},
};

/// A sequence of sessions. With n slots, every n-th request of the load belongs to the same slot.
pub(super) struct Slot {
    number: u64,
    users: Option<UserTurns>,
    /// Number of ended sessions.
    ended: u64,
    /// When the last session ended.
    last_end: Option<Duration>,
    session: Option<Session>,
}

impl Slot {
    /// Creates a slot. `users` are the simulated users, if the load has them. A user's first session then begins with a later turn.
    pub(super) fn new(number: u64, users: Option<UserTurns>) -> Slot {
        Slot { number, users, ended: 0, last_end: None, session: None }
    }

    /// Begins a session if there is none, and generates its next turn.
    pub(super) fn prepare(&mut self, stage: &SessionStage, sessions: &PlannedSessions) {
        let number = self.number + self.ended * stage.slot_count().unwrap_or(1);
        let last_end = self.last_end;
        let first = self.users.filter(|_| self.ended == 0).map_or(0, |it| it.session_of(self.number).1);
        let turns = self.users.map(UserTurns::turns);
        if self.session.is_none()
            && let NewSession::Chain(chain) = sessions.begin(stage.stage, number)
        {
            let link = stage.link(sessions, number);
            let session = Session::new(&stage.context, *chain, link, stage.stage, number, last_end);
            self.session = Some(session.with_turns(first, turns));
        }
        if let Some(session) = self.session.as_mut().filter(|it| !it.is_given_up()) {
            session.prepare();
        }
    }
}

/// Sends the next turn of a slot when it is due. Returns whether the target did not answer it; `None` if the stage ended before.
pub(super) async fn run_request(
    stage: &SessionStage,
    slot: Arc<tokio::sync::Mutex<Slot>>,
    number: u64,
    due: Duration,
    unsent: Unsent<'_>,
) -> Option<bool> {
    let mut unsent = Some(unsent);
    // The lock is fair, so the requests of a session get their turns in order.
    let mut slot = stage.unless_over(slot.lock_owned()).await?;
    slot.prepare(stage, stage.sessions()?);
    let session = slot.session.as_mut()?;
    if session.is_given_up() {
        // The session was given up, and this request would have been one of its later turns.
        unsent.iter().for_each(Unsent::leave_out);
        stage.skip_rest(number, due, 1);
        session.skip();
    }
    let sent = if session.is_given_up() { Some(false) } else { session.turn(stage, number, due, &mut unsent).await };
    if session.has_ended() {
        slot.last_end = session.last_end();
        slot.session = None;
        slot.ended += 1;
    }
    sent
}
