//! Decisions about the model server of a run: its progress, its failures, and its removal. They are separate from the decisions about attempts. Pure.

mod charts;
pub(in crate::plan) mod failure;
pub mod objects;
mod other_use;
pub mod retention;
mod standing;
mod state;
mod steps;
mod stop;
pub mod wrapper;

pub use other_use::OtherUse;
pub use standing::{Fault, Standing};
pub use state::{ServerPod, ServerState};
pub use stop::{MAX_STOPPED_PODS, StopServer};
