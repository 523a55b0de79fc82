//! Tests of the operator's watches: on a network that loses connections, and what they keep in memory.

mod dead_connection;
mod deleted_server;
mod fixture;
mod memory;
mod relist;
mod resident;
mod tenants;
mod unreadable;
