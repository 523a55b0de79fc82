//! [I/O] A results folder as a stream, and back. The launcher writes it, and the kubectl plugin reads it.
//!
//! The stream is a tar file for any tar reader. It contains `contents.txt` with the size and name of each file, then the files below `files/` in this
//! order, and `sha256.txt` with their checksums for `sha256sum -c`. A reader therefore detects a truncated stream, a missing file and a changed byte.
//! Neither side holds a whole file in memory. There are no links, and no names that leave the folder.

mod name;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Received, UnpackError, unpack};
pub use write::{ArchiveError, Written, write};

/// The phrase of [`ArchiveError::Empty`]. The kubectl plugin gets only the message, and recognises an empty folder by this phrase.
pub const NO_FILES: &str = "has no files";

/// The first line of `contents.txt`: the format of the stream.
const FORMAT: &str = "benchwright-archive 1";
/// The name of the first entry.
const CONTENTS: &str = "contents.txt";
/// The name of the last entry.
const CHECKSUMS: &str = "sha256.txt";
/// The folder of the files.
const FILES: &str = "files/";
/// Maximum number of files in a stream. The folder of a run has about 20 files, the folder of a series as many per run.
const MAX_FILES: usize = 20_000;
/// Maximum size of `contents.txt` and of `sha256.txt` in bytes: both are held in memory.
const MAX_LIST: u64 = 8 << 20;
/// How much of a file is held in memory, in bytes.
const CHUNK: usize = 128 << 10;
