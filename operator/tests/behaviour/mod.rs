//! Tests of the operator's behaviour: single decisions, decisions in any order of events, and whole runs on an API server that fails.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

mod cancel;
mod conditions;
mod debug;
mod ending;
mod fixture;
mod gitops;
mod interruption;
mod manifests;
mod network_policy;
mod policy;
mod queue;
mod random;
mod reconcile;
mod regressions;
mod server_wrapper;
mod servers;
mod starting;
mod transitions;
mod warnings;
