//! The engine: a workload and a target in, a record of every request out.
//!
//! `schedule` (pure) -> `issue` (waits and sends) -> `client` (streams and stamps) -> `recorder` (counts and histograms).
//! `requests`, `data_set` and `trace` prepare what is sent, `vitals` watches what the machine does to this process meanwhile.

pub mod client;
pub mod data_set;
pub mod file_digest;
pub mod histogram;
pub mod inter_token_times;
pub mod issue;
mod lines;
pub mod record;
pub mod recorder;
pub mod requests;
pub mod run_id;
pub mod schedule;
pub mod stop;
pub mod trace;
pub mod user_file;
pub mod vitals;
pub mod window;
