//! Reads data files that Python programs write: pickles of pandas and numpy objects, `npy` and `npz`. Pure: bytes in, a table out.
//!
//! A pickle is a program. [`pickle`] interprets it without calling anything: names become symbols, and calls become nodes. Only the combinations that
//! pandas and numpy write are converted to data. No Python name is looked up, loaded or run.
//!
//! Memory: the caller holds the bytes of the file. Token ids in lists take 4 bytes each. Everything else takes at most [`pickle::MAX_HEAP`]. Texts,
//! and the numbers of arrays, are read from the bytes of the file. Before memory is reserved for a length, the length is compared with the number of
//! remaining bytes.
//!
//! - [`table`] is the result: named columns and row labels. [`cell`] is the value of a table cell.
//! - [`zip`] unpacks archives. [`npy`] reads arrays, archives of arrays, and the folders of arrays in which vendors ship a data set.

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
