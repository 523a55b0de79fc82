//! Computes a plan from a run, its observed objects and the current time: the wanted objects, the wanted status, and the time to the next
//! reconciliation. Pure: it uses no clock and no client.

mod attempt_end;
mod attempt_progress;
mod attempt_start;
mod cancel;
pub mod config_map;
mod decision;
pub mod exclusive;
pub mod finished;
mod interruption;
pub mod job;
mod launcher_input;
pub mod meta;
pub mod network_policy;
mod observed;
mod planned;
mod pod_state;
pub mod policy;
mod presence;
pub mod pvc;
pub mod queue;
pub mod server;
pub mod status;
mod termination_message;
mod times;
mod turn;
mod unread;

pub use decision::{current_attempt, given_spec, plan, would_begin};
pub use launcher_input::{InputError, LauncherInput};
pub use observed::{ClaimState, JobState, Observed, OwnJob, QueueState, Refused, Unread, Wanted, What};
pub use planned::{Child, Plan, PlannedEvent, Stop};
pub use pod_state::{Ended, PodState};
pub use presence::Presence;
pub use turn::Turn;
