//! Reads the data that Python programs write: pickles of pandas and numpy objects, `npy` and `npz`. Pure: bytes in, a table out.
//!
//! A pickle is a program. [`pickle`] interprets it and knows no way to call anything: names become symbols, calls become nodes, and only the
//! combinations that pandas and numpy write are turned into data. Nothing is looked up, loaded or run.
//!
//! Memory: the bytes of the file, which the caller holds; 4 bytes for each token id of a list; at most [`pickle::MAX_HEAP`] for everything
//! else. Texts, and the numbers of arrays, stay where they are in the file. A length is compared with the bytes that are left before
//! anything is reserved for it.
//!
//! - [`table`] is what comes out: named columns, the labels of the rows, and [`cell`] for what a cell holds.
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
pub mod table;
pub mod zip;

pub use cell::Cell;
pub use table::Table;

/// Why bytes are no data that is read here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", .at.map(|it| format!("byte {it}, counted from 0: ")).unwrap_or_default())]
pub struct Problem {
    /// The place in the file, where it is known.
    pub at: Option<usize>,
    /// The problem. It may contain words of the file.
    pub what: String,
}

impl Problem {
    pub(crate) fn new(what: impl Into<String>) -> Problem {
        Problem { at: None, what: what.into() }
    }

    pub(crate) fn at(at: usize, what: impl Into<String>) -> Problem {
        Problem { at: Some(at), what: what.into() }
    }
}

/// A word of the file in a message: at most 60 characters, with control characters replaced.
pub(crate) fn shown(word: &str) -> String {
    let plain = |it: char| if it.is_control() { '.' } else { it };
    let mut text: String = word.chars().take(60).map(plain).collect();
    if word.chars().nth(60).is_some() {
        text.push_str("...");
    }
    text
}
