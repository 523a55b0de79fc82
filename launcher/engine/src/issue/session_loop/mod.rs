//! [I/O] Issues the sessions of a stage: the turns of a session follow each other, and the sessions do not depend on each other.
//!
//! A turn waits for the end of the previous turn, and for its think time. It is due when both are over and the load schedules it, so neither
//! is part of its latency or send lag. A session stays on one worker. No turn occupies a slot that another session needs: a waiting turn is a
//! timer or an entry in its own session's queue. So any number of sessions can continue.

mod closed;
mod graph_session;
mod kept_answers;
mod open;
mod session;
mod share;
mod slot;
mod stage;
mod work;

pub(super) use closed::run as run_closed;
pub(super) use open::run as run_open;
