//! What a cluster does to a run, and several operators at once: on a real control plane whose nodes are KWOK's. Run by
//! `make disruptions` and `make leader`.

mod disruptions;
mod leader;
