//! Reads the data that Python programs write: pickles of pandas and numpy objects, `npy` and `npz`. Pure: bytes in, a table out.
//!
//! A pickle is a program. [`pickle`] interprets it and cannot call anything: names become symbols, calls become nodes, and only the
//! combinations that pandas and numpy write are converted to data. Nothing is looked up, loaded or run.
//!
//! Memory: the bytes of the file, which the caller holds; 4 bytes per token id in lists; at most [`pickle::MAX_HEAP`] for everything else.
//! Texts, and the numbers of arrays, stay in the file's bytes. A length is compared with the remaining bytes before memory is reserved for
//! it.
//!
//! - [`table`] is the result: named columns, the labels of the rows, and [`cell`] for the content of a cell.
//! - [`zip`] unpacks archives; [`npy`] reads arrays and archives of them, and the folders of arrays that vendors make of a data set.

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
