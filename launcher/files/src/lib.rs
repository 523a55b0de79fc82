//! Reads files that a user names ([`user_file`]), writes files atomically ([`whole_file`], [`output`]), reads lines of limited length ([`lines`]),
//! and computes digests of files while they are read ([`file_digest`]).

pub mod file_digest;
pub mod lines;
pub mod output;
#[cfg(unix)]
pub mod user_file;
pub mod whole_file;

pub use whole_file::{Counted, Written, folder_of, write_new, write_whole};
