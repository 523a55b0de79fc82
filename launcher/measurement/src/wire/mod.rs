//! The binary form of a measurement, so that one process can send it to another and have it merged there. Pure.
//!
//! A form is a header (magic, version, kind, length of the content), the content, and a CRC-32 of both. The content has the
//! fields in their order, without names: integers as LEB128, signed integers in zigzag, lists and maps after their length,
//! histograms as their bins with counts. Forms are for programs of the same release; a form of another version is refused. [`VERSION`]
//! rises with every change of a field.
//!
//! No serde library reads it: a histogram of a few bytes takes 100 KiB of memory, and only this reader can count that before it allocates.

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
