//! A simulated vLLM: an OpenAI server that answers at the speed of an engine with batching.
//!
//! request (validation) -> engine (scheduler and latency in simulated steps) -> stream (chunks). The protocol equals vLLM 0.32's: status codes, error
//! bodies, chunk shapes and metrics. It serves to try everything without a GPU, to test the launcher against times that can be computed by hand, and,
//! with the instant preset, to measure the launcher itself. Requested token ids are derived from the words: there is no tokenizer. Deliberately
//! absent so far: LoRA, tools, structured outputs, log probabilities of prompts; `refusals` answers to them as vLLM would.

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
