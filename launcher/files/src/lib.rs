//! Reads the files that a user names ([`user_file`]), writes files so that nobody sees half of one ([`whole_file`],
//! [`output`]), and computes the digests of files while they are read ([`file_digest`]).

pub mod file_digest;
pub mod output;
#[cfg(unix)]
pub mod user_file;
pub mod whole_file;

pub use whole_file::{Counted, Written, write_whole};
