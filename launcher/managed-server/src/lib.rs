//! [I/O] Runs model servers as processes on this machine: starts them, writes their logs, watches them, and ends them with all their child processes.
//!
//! The keeper, a separate process, is the parent of the servers. It writes their logs with a size limit, and detects at once when a server dies. It
//! ends the servers on request. It also ends them if the launcher disappears for any reason, because the launcher's pipe is then closed. The keeper
//! is the reaper of all its descendants, so a process cannot escape by `setsid` and a second fork. Each process also inherits a mark in its
//! environment. If the keeper was killed, [`sweep`] finds the processes of the server by this mark.
//!
//! In a cluster, an engine runs in its own container, and the [`wrapper`] is the first process of that container.
//!
//! [`Server`] is the launcher's side and [`keep`] is the keeper's side. [`state`] manages state files. By these, commands find servers that outlive
//! their launcher.

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
