//! [I/O] Converts a results folder to a stream and back. The launcher writes the stream, and the kubectl plugin reads it.
//!
//! The stream is a tar file that any tar program can read. It begins with `contents.txt`, which lists the size and name of each file. Then come the
//! files, below `files/` and in the same order. It ends with `sha256.txt`, which has their checksums for `sha256sum -c`. So a reader detects a
//! truncated stream, a missing file and a changed byte. Neither side keeps a whole file in memory. The stream contains no links, and no names that
//! point outside the folder.

mod name;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Received, UnpackError, unpack};
pub use write::{ArchiveError, Written, write};

/// A part of the message of [`ArchiveError::Empty`]. The kubectl plugin receives only the message, and recognises an empty folder by this part.
pub const NO_FILES: &str = "has no files";

/// The first line of `contents.txt`, which identifies the format of the stream.
const FORMAT: &str = "benchwright-archive 1";
/// The name of the first entry of the stream.
const CONTENTS: &str = "contents.txt";
/// The name of the last entry of the stream.
const CHECKSUMS: &str = "sha256.txt";
/// The folder in the stream that contains the files.
const FILES: &str = "files/";
/// Maximum number of files in a stream. The folder of a run has about 20 files. The folder of a series has this many per run.
const MAX_FILES: usize = 20_000;
/// Maximum bytes of `contents.txt`, and of `sha256.txt`. Both are kept in memory.
const MAX_LIST: u64 = 8 << 20;
/// Number of bytes in a file that are kept in memory at a time.
const CHUNK: usize = 128 << 10;
