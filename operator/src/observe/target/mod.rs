//! [I/O] What the target of a run needs: the objects of its Gateway, and the pods that still load it.

pub mod gateway;
mod objects;
pub mod pods;
