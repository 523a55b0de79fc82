//! [I/O] Runs the sessions of a stage. The turns of a session are sent one after another, and sessions are independent of each other.
//!
//! A turn waits for the end of the previous turn, and for its think time. It becomes due when both have passed and the load schedules it,
//! so neither wait is part of its latency or send lag. A session stays on one worker. A waiting turn does not occupy a slot that another
//! session needs: it is only a timer, or an entry in the queue of its session. So the number of waiting sessions is not limited.

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
