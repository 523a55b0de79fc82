//! Helpers of the end-to-end tests: the cluster, a namespace of a test's own, and what a user does in it.
//!
//! The cluster is the one of `KUBECONFIG`, else the one that `make cluster` brought up. Nothing here is mocked.

pub mod cluster;
pub mod namespace;
pub mod tools;

pub use cluster::Cluster;
pub use namespace::Namespace;

/// Of a spec: a machine that runs tests is busy, and how late the launcher is, and why, is no matter there.
pub const PATIENT: &str = "validity: {maxSendLagP99Milliseconds: 60000, maxReceiveDelayP99Milliseconds: 60000, maxCpuShare: '1', \
    maxThrottledShare: '1', maxStealShare: '1', maxCoalescedReadShare: '1', maxStalledShare: '1', \
    maxClockStepMilliseconds: 86400000}";
