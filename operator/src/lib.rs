//! The operator: BenchmarkRun -> ConfigMap, PVC, Job -> status.
//!
//! Each turn observes, plans and applies: [`observe`] reads all that a decision needs, [`plan`] is a pure function of it,
//! [`apply`] writes. The operator dials no URL from a spec, and holds no right on Secrets, pod logs or exec.

#![recursion_limit = "256"]

pub mod admin;
pub mod apply;
pub mod connection;
pub mod context;
pub mod ended_pods;
pub mod error;
pub mod metrics;
pub mod observe;
pub mod plan;
pub mod reconcile;
pub mod unreadable;
pub mod watches;
