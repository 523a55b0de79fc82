//! All integration tests of this crate in one program, so that they are linked only once.

mod recorded;
