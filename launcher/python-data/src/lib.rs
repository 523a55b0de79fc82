//! Reads data files that Python programs write: pickles of pandas and numpy objects, `npy` and `npz`. Pure: bytes in, a table out.
//!
//! A pickle is a program. [`pickle`] interprets it without calling anything: it records names as symbols and calls as nodes. It converts only those
//! combinations to data that pandas and numpy write. No Python name is looked up, loaded or run.
//!
//! Memory: the caller holds the bytes of the file. Token ids in lists take 4 bytes each. Texts, and the numbers of arrays, are read from the bytes of
//! the file. Everything else takes at most [`pickle::MAX_HEAP`]. Before memory is reserved for a length from the file, the length is compared with
//! the number of remaining bytes.
//!
//! - [`table`] is the result: named columns and row labels. [`cell`] is the value of a table cell.
//! - [`zip`] unpacks archives. [`npy`] reads arrays, archives of arrays, and the folders of arrays that vendors publish as data sets.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

pub mod array;
mod arrow;
pub mod cell;
mod column;
mod deserialize;
mod dtype;
mod frame;
pub mod npy;
pub mod pickle;
mod plain;
mod problem;
pub mod table;
pub mod zip;

pub use cell::Cell;
pub use problem::Problem;
pub use table::Table;
