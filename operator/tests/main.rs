//! All integration tests of this crate. They are one program, so that they are linked only once.

mod behaviour;
mod docs;
mod leadership;
mod traces;
