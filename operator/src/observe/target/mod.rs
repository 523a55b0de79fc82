//! [I/O] The observations about a run's target: the objects of its Gateway, and the pods that still load it.

pub mod gateway;
mod objects;
pub mod pods;
