//! A simulated vLLM: an OpenAI server that answers at the speed of an engine with batching.
//!
//! A request passes through validation, then the engine (scheduler and latency, in simulated steps), then a stream of chunks. The protocol
//! equals vLLM 0.32's protocol: status codes, error bodies, chunk shapes and metrics. The simulator has three uses: to try everything without a GPU, to test
//! the launcher against times that can be computed by hand, and, with the instant preset, to measure the launcher itself. There is no tokenizer:
//! token ids are derived from the words. Requests for absent features are refused by `refusals`.

pub mod answer;
pub mod api;
mod batching_model;
mod blocks;
pub mod chunks;
mod dialect;
mod error;
mod exposition;
pub mod faults;
mod images;
mod kv_cache;
pub mod latency;
mod lengths;
mod metrics;
mod options;
mod profiler;
mod prompt;
mod refusals;
mod request;
mod route;
mod routes;
mod sampling;
mod scheduler;
mod server;
mod server_log;
mod sleep;
mod stream;
mod text;
mod tokens;
mod typed_events;
mod validation;
mod work;

pub use metrics::Metrics;
pub use options::{OptionError, SimOptions, SleepMode};
pub use server::Simulator;
pub use server_log::{LogForm, LogRelease, ServerLog, StartTimes};
pub use work::Finish;
