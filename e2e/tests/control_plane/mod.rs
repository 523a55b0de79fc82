//! Tests on a real control plane with KWOK nodes: admission policies, disruptions by the cluster, several concurrent operators, and hostile tenants.
//! `make admission`, `make disruptions`, `make leader` and `make tenants` run them.

mod admission;
mod disruptions;
mod leader;
mod tenants;
