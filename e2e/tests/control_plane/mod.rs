//! What a cluster does to a run, several operators at once, and hostile tenants: on a real control plane whose nodes are KWOK's. Run
//! by `make disruptions`, `make leader` and `make tenants`.

mod disruptions;
mod leader;
mod tenants;
