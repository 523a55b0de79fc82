//! The measurement of a run: the record of each request, counts and histograms, windows, and how the machine affected the launcher. Pure,
//! so that a program without the load engine can read and merge measurements.
//!
//! The modules form layers. Each module can use those before it: `record`, `latency_origin`, `histogram`, `inter_token_times`, `schedule`, `output`,
//! `server_identity`, `rows_used`, `resends`; `phase`, `window`, `vitals`; `recorder`; `load_result`; `kept_run`. Each type lists its fields for
//! `wire`, the binary form of a measurement.

pub mod histogram;
pub mod inter_token_times;
pub mod kept_run;
pub mod latency_origin;
pub mod load_result;
pub mod output;
pub mod phase;
pub mod record;
pub mod recorder;
pub mod resends;
pub mod rows_used;
pub mod schedule;
pub mod server_identity;
pub mod vitals;
pub mod window;
pub mod wire;
