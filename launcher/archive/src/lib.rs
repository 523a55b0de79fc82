//! [I/O] A results folder as a stream, and back. The launcher writes it, and the plugin of kubectl reads it.
//!
//! The stream is a tar file, which any tar reads: `contents.txt` with the size and the name of each file, the files below `files/` in
//! this order, and `sha256.txt` with their checksums as `sha256sum -c` reads them. A reader therefore notices a stream that was cut, a
//! file that is missing, and a byte that differs. Neither side holds a file in memory. There are no links, and no names that leave the
//! folder.

mod name;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Received, UnpackError, unpack};
pub use write::{ArchiveError, Written, write};

/// What the message of [`ArchiveError::Empty`] says of the folder: the plugin of kubectl, which has the message alone, knows it by this.
pub const NO_FILES: &str = "has no files";

/// The first line of `contents.txt`: the format of the stream.
const FORMAT: &str = "benchwright-archive 1";
/// The name of the first entry.
const CONTENTS: &str = "contents.txt";
/// The name of the last entry.
const CHECKSUMS: &str = "sha256.txt";
/// The folder of the files.
const FILES: &str = "files/";
/// The most files of a stream. A folder of a run has about 20, and one of a series that many for each run.
const MAX_FILES: usize = 20_000;
/// The most bytes of `contents.txt` and of `sha256.txt`: both are held in memory.
const MAX_LIST: u64 = 8 << 20;
/// How much of a file is held in memory.
const CHUNK: usize = 128 << 10;
