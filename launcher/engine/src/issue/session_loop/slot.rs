//! [I/O] A slot of a load of requests: one session at a time. After its last turn a new session begins. Its requests wait in order.

use std::{sync::Arc, time::Duration};

use super::{
    session::Session,
    stage::{SessionStage, Unsent},
};
use crate::{
    schedule::users::UserTurns,
    sessions::{NewSession, PlannedSessions},
};

/// The session to which every n-th request belongs.
pub(super) struct Slot {
    number: u64,
    users: Option<UserTurns>,
    /// Number of sessions that have ended.
    ended: u64,
    /// When the last session ended.
    last_end: Option<Duration>,
    session: Option<Session>,
}

impl Slot {
    /// `users`: the users of a load of users. The first of them begins with a later turn.
    pub(super) fn new(number: u64, users: Option<UserTurns>) -> Slot {
        Slot { number, users, ended: 0, last_end: None, session: None }
    }

    /// Begins a session if none is in flight, and makes its next turn.
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

/// Sends the next turn of a slot when it is due. Returns whether the target did not answer; `None` if the stage ended earlier.
pub(super) async fn run_request(
    stage: &SessionStage,
    slot: Arc<tokio::sync::Mutex<Slot>>,
    number: u64,
    due: Duration,
    unsent: Unsent<'_>,
) -> Option<bool> {
    let mut unsent = Some(unsent);
    // The lock is fair: the requests of a session take their turns in order.
    let mut slot = stage.unless_over(slot.lock_owned()).await?;
    slot.prepare(stage, stage.sessions()?);
    let session = slot.session.as_mut()?;
    if session.is_given_up() {
        // This request was one of its later turns.
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
