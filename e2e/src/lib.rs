//! Helpers for the end-to-end tests: the cluster, the namespace of a test, and the actions of a user in this namespace.
//!
//! The cluster is the one in `KUBECONFIG`, or otherwise the one that `make cluster` has started. Nothing is mocked.

pub mod cluster;
pub mod control_plane;
pub mod documents;
pub mod git_server;
pub mod host_server;
pub mod model_server;
pub mod namespace;
pub mod outage;
pub mod processes;
pub mod random_runs;
pub mod s3_server;
pub mod tools;

pub use cluster::Cluster;
pub use git_server::GitServer;
pub use model_server::ModelServer;
pub use namespace::Namespace;

/// Part of a spec that disables the launcher's validity checks, because the launcher may be late on a busy test machine.
pub const PATIENT: &str = "validity: {maxSendLagP99Milliseconds: 60000, maxReceiveDelayP99Milliseconds: 60000, maxCpuShare: '1', \
    maxThrottledShare: '1', maxStealShare: '1', maxCoalescedReadShare: '1', maxStalledShare: '1', \
    maxClockStepMilliseconds: 86400000}";
