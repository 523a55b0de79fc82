//! Tests on a real control plane with KWOK nodes: disruptions of a run by the cluster, several operators at once, and hostile tenants.
//! `make disruptions`, `make leader` and `make tenants` run them.

mod disruptions;
mod leader;
mod tenants;
