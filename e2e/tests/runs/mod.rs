//! Tests from a BenchmarkRun to its status on a real cluster. Each test has its own namespace.

mod accuracy;
mod admission;
mod cancel;
mod collect;
mod debug;
mod documents;
mod failures;
mod forgery;
mod gitops;
mod llm_d;
mod loadgen;
mod objectives;
mod plugin;
mod plugin_results;
mod queue;
mod refusals;
mod repeats;
mod restricted;
mod s3;
mod schedules;
mod secrets;
mod server_wrapper;
mod servers;
mod success;
mod sweeps;
mod targets;
mod tenancy;
mod validity;

use std::time::Duration;

use e2e::PATIENT;

/// Maximum time until a pod runs, on a busy machine.
const SOON: Duration = Duration::from_secs(90);

/// A profile with this number of requests per second and this duration, with short prompts and answers.
fn profile(rate: f64, seconds: u32) -> String {
    format!(
        "{{load: {{type: constant, stages: [{{rate: {rate}, duration: {seconds}}}]}}, \
          api: {{type: completion, streaming: true}}, \
          data: {{type: random, input_distribution: {{min: 20, max: 60, mean: 40, std_dev: 5}}, \
                  output_distribution: {{min: 5, max: 15, mean: 10, std_dev: 2}}}}}}"
    )
}

/// The spec of a run against the embedded simulator. `more` contains further lines of the spec.
fn simulated(rate: f64, seconds: u32, more: &str) -> String {
    against("{simulator: {}}", rate, seconds, more)
}

/// The spec of a run against a target, which is given in YAML.
fn against(target: &str, rate: f64, seconds: u32, more: &str) -> String {
    let profile = serde_json::to_string(&profile(rate, seconds)).expect("a text serializes");
    format!("target: {target}\nprofile: {{inline: {profile}}}\n{PATIENT}\n{more}\n")
}
