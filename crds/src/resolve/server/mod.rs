//! The start commands of a managed server's replicas, and the checks of the spec's server fields. Pure. The launcher on a laptop and the operator use
//! the same code, so they start the same command.

mod check;
mod cluster;
mod command_line;
mod devices;
mod in_pods;
mod managed_server;
mod method;
mod modelservice;
mod options;
mod pod_times;
mod profiling;
mod sleep_mode;
mod starter;

pub use check::resolve_server;
pub(super) use check::{resolve, served_model};
pub use cluster::{ServerNames, ServerReplicas, server_image};
pub(super) use cluster::{called_host, check_run, metrics, replicas};
pub(super) use in_pods::in_pods;
pub use in_pods::{LOG_PORT, LOG_TOKEN, LogAddress, OWN_PROGRAM, ServerInPods, log_port};
pub use managed_server::{ManagedServer, Place, ReplicaStart};
pub use modelservice::{InferenceStack, StackFile};
pub use pod_times::PodTimes;
pub use sleep_mode::{DEV_MODE, SleepFault};
pub(super) use starter::is_of_charts;
pub use starter::{llm_d_server, managed_server};

#[cfg(test)]
mod tests;
