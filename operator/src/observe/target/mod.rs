//! [I/O] Observations about a run's target: the objects of its Gateway, and pods of other runs that still load it.

pub mod gateway;
mod objects;
pub mod pods;
