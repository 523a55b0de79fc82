//! Helpers for the end-to-end tests: the cluster, the namespace of a test, and the actions of a user in it.
//!
//! The cluster is named by `KUBECONFIG`, or else was started by `make cluster`. Nothing here is mocked.

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

/// A part of a spec that switches off the checks of the launcher itself, because it may be late on a busy test machine.
pub const PATIENT: &str = "validity: {maxSendLagP99Milliseconds: 60000, maxReceiveDelayP99Milliseconds: 60000, maxCpuShare: '1', \
    maxThrottledShare: '1', maxStealShare: '1', maxCoalescedReadShare: '1', maxStalledShare: '1', \
    maxClockStepMilliseconds: 86400000}";
