//! [I/O] Model servers as processes of this machine: started, logged, watched, and ended with all that belongs to them.
//!
//! A process of its own, the keeper, is the parent of the servers. It writes their logs within a bound, sees at once when one dies, and ends
//! them when it is asked to or when the launcher is gone, however that died: it then reads the end of a pipe. The keeper is the reaper of all processes
//! below it, so that a server cannot lose one by `setsid` and a second fork. Each process also inherits a mark in its environment, by which
//! [`sweep`] finds the processes of a server whose keeper was killed.
//!
//! In a cluster an engine has a container of its own, whose first process is the [`wrapper`].
//!
//! [`Server`] is the launcher's side, [`keep`] the keeper's. [`state`] has the files by which commands find servers that outlive their launcher.

#![cfg(target_os = "linux")]

mod handle;
mod keeper;
mod log;
mod mark;
mod order;
mod ports;
mod processes;
mod redact;
mod shared_memory;
pub mod state;
mod sweep;
pub mod wrapper;

pub use handle::{Server, StartError};
pub use keeper::keep;
pub use log::{END_KEPT, MAX_LINE, START_KEPT};
pub use mark::MARK;
pub use order::{Ended, Exit, Exited, LogEnd, Order, ReplicaEnd, ReplicaOrder, Started};
pub use ports::{PortError, choose};
pub use redact::{arguments, redact};
pub use sweep::sweep;
