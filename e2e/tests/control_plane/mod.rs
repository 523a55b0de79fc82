//! Tests on a real control plane with KWOK nodes: admission policies, disruptions by the cluster, several concurrent operators, sweeps,
//! and hostile tenants. `make admission`, `make disruptions`, `make leader`, `make sweeps` and `make tenants` run them.

mod admission;
mod disruptions;
mod leader;
mod sweeps;
mod tenants;
