//! The search for the highest load at which all objectives hold, with a bound on the risk that the answer is too high.
//!
//! [`next`] is a pure function of the previous trials: it returns the next trial or the answer. Exploring trials find where the edge is likely to be.
//! Only confirming trials support an answer: each is a sequential test of fresh requests, decided on before the trial starts ([`evidence`]).
//! `docs/search.md` explains the rule, its assumptions, and how often its answers are too high.

pub mod evidence;
mod next;
mod posterior;
mod settings;
mod tiers;
mod trial;
mod watch;
mod window;

pub use evidence::Outcome;
pub use next::{Answer, Next, Stopped, next};
pub use posterior::{Edge, edge};
pub use settings::{Recovery, Settings, Unit};
pub use tiers::{NextOfTiers, next_of_tiers};
pub use trial::{Counts, Plan, Role, Trial, Verdict};
pub use watch::Watch;
pub use window::{Open, Seen, outcomes};
