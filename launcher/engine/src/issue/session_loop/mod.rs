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
mod stage;
mod work;

pub(super) use closed::run as run_closed;
pub(super) use open::run as run_open;
