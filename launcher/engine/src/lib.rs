//! The engine: turns a workload and a target into a record of every request.
//!
//! `schedule` (pure) -> `issue` (waits and sends) -> `client` (streams and takes timestamps) -> `measurement::recorder`
//! (counts and histograms). `requests`, `data_set` and `trace` prepare what is sent. `vitals` watches what the machine does
//! to this process meanwhile.
//!
//! The modules form layers; each may use those before it: `schedule`, `hold`, `lines`, `image`, `tokenizer_file`,
//! `model_folder`, `token_count`; `data_set`, `questions`, `trace`, `recorded`, `vitals`; `client`; `requests`; `sessions`;
//! `prompt_files`; `issue`.

pub mod client;
pub mod data_set;
pub mod hold;
pub mod image;
pub mod issue;
mod lines;
pub mod model_folder;
pub mod prompt_files;
pub mod questions;
pub mod recorded;
pub mod requests;
pub mod run_id;
pub mod schedule;
mod sessions;
pub mod stop;
pub mod token_count;
pub mod tokenizer_file;
pub mod trace;
pub mod vitals;
