//! The watches of an operator: on a network that loses connections, and their content in memory.

mod dead_connection;
mod deleted_server;
mod fixture;
mod memory;
mod relist;
mod resident;
mod tenants;
mod unreadable;
