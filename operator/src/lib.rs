//! The operator: BenchmarkRun -> ConfigMap, PVC, Job -> status.
//!
//! Each turn observes, plans and applies: [`observe`] reads everything that a decision needs, [`plan`] computes the plan from it as a pure
//! function, and [`apply`] writes. The operator dials no URL from a spec, and has no right on Secrets, pod logs or exec.

#![recursion_limit = "256"]

pub mod admin;
pub mod apply;
pub mod cached_run;
pub mod connection;
pub mod context;
pub mod ended_pods;
pub mod error;
pub mod events;
pub mod leadership;
pub mod metrics;
pub mod namespaces;
pub mod observe;
pub mod pages;
pub mod phase_times;
pub mod plan;
pub mod pod_flags;
pub mod reconcile;
pub mod schedules;
pub mod servers;
pub mod smoke_test;
pub mod targets;
pub mod traces;
pub mod turns;
pub mod unreadable;
pub mod wakes;
pub mod watches;
