//! The engine: executes a workload against a target, and returns a record of every request.
//!
//! `schedule` (pure) -> `issue` (waits and sends) -> `client` (streams and takes timestamps) -> `measurement::recorder` (counts and
//! histograms). `requests` and `trace` prepare what is sent. `vitals` observes how the machine affects this process during the load.
//!
//! The crate `data-sets` reads the rows of data sets and passes them in the types of `prompts`. LoadGen's phases come in through the trait
//! `measurement::phase::Phase`.
//!
//! The modules form layers. Each module can use those before it: `schedule`, `hold`, `image`; `trace`, `recorded`, `vitals`; `client`; `requests`;
//! `sessions`; `prompt_files`; `issue`.

pub mod client;
pub mod hold;
pub mod image;
pub mod issue;
pub mod prompt_files;
pub mod recorded;
pub mod requests;
pub mod run_id;
pub mod schedule;
mod sessions;
pub mod stop;
pub mod trace;
pub mod vitals;
