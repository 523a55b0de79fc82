//! The search for the highest load at which all objectives hold, with a bound on the risk that the answer is too high.
//!
//! [`next`] is a pure function of the previous trials: it returns the next trial or the answer. Exploring trials estimate the edge, which is the
//! highest load at which the objectives hold. Only confirming trials support an answer. Each is a sequential test ([`evidence`]) of new requests, and
//! is planned before they are sent.
//! `docs/search.md` explains the rule, its assumptions, and how often its answers are too high.

pub mod evidence;
mod next;
mod posterior;
mod settings;
mod trial;
mod watch;
mod window;

pub use evidence::Outcome;
pub use next::{Answer, Next, Stopped, next};
pub use posterior::{Edge, edge};
pub use settings::{Recovery, Settings, Unit};
pub use trial::{Counts, Plan, Role, Trial, Verdict};
pub use watch::Watch;
pub use window::{Open, Seen, outcomes};
