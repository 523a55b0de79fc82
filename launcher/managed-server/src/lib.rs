//! [I/O] Model servers as processes of this machine: starts, logs and watches them, and ends them with all their child processes.
//!
//! The keeper, a separate process, is the parent of the servers. It writes their logs within a bound and notices at once when a server dies. It ends
//! the servers on request, or when the launcher is gone for any reason: it then reads the end of a pipe. The keeper is the reaper of all processes
//! below it, so a server cannot lose a process by `setsid` and a second fork. Each process also inherits a mark in its environment. [`sweep`] uses
//! the mark to find the processes of a server if its keeper was killed.
//!
//! In a cluster an engine has its own container. The first process of that container is the [`wrapper`].
//!
//! [`Server`] is the launcher's side, [`keep`] is the keeper's side. [`state`] has the files by which commands find servers that outlive their
//! launcher.

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
