//! Helpers of the end-to-end tests: the cluster, a namespace of a test's own, and what a user does in it.
//!
//! The cluster is the one of `KUBECONFIG`, else the one that `make cluster` brought up. Nothing here is mocked.

pub mod cluster;
pub mod namespace;
pub mod tools;

pub use cluster::Cluster;
pub use namespace::Namespace;
