//! The operator. For each BenchmarkRun it creates a ConfigMap, a PVC and a Job, and writes the result into the run's status.
//!
//! A reconciliation is one reconciliation of one run. [`observe`] reads everything that a decision needs, [`plan`] is a pure function that computes
//! the plan, and [`apply`] writes the plan. The operator connects to no URL of a spec, and has no right to read Secrets or pod logs or to use exec.

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
pub mod sweeps;
pub mod targets;
pub mod traces;
pub mod turns;
pub mod unreadable;
pub mod wakes;
pub mod watches;
