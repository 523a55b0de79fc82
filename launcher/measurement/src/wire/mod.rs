//! The binary form of a measurement, so that one process can send it to another, which merges it. Pure.
//!
//! A form consists of a header (magic, version, kind, length of the content), the content, and a CRC-32 of both. The content consists of
//! the fields in their order, without names: integers as LEB128, signed integers in zigzag, lists and maps after their length, histograms
//! as their bins with counts. Forms are only for programs of the same release, and a form of another version is rejected. [`VERSION`] must
//! be raised with every change of a field.
//!
//! No serde library is used, because a histogram of a few bytes takes 100 KiB of memory, and only this reader can check that before it
//! allocates.

mod envelope;
mod error;
mod reader;
pub(crate) mod stream;
#[cfg(test)]
pub(crate) mod tests;
mod values;
mod writer;

pub use envelope::VERSION;
pub(crate) use envelope::{Form, form, from_bytes, to_bytes};
pub use error::{StreamError, WireError};
pub(crate) use reader::Reader;
pub(crate) use values::{Wire, fields, variants};
pub(crate) use writer::Writer;
