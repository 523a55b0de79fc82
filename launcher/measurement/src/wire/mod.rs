//! The binary form of a measurement, so that one process can send it to another and have it merged there. Pure.
//!
//! A form is a header (magic, version, kind, length of the content), the content, and a CRC-32 of both. The content has the
//! fields in their order, without names: integers as LEB128, signed integers in zigzag, lists and maps after their length,
//! histograms as their bins with counts. Forms are for programs of the same release; a form of another version is refused. [`VERSION`]
//! rises with every change of a field.
//!
//! No library of serde reads it: a histogram of a few bytes takes 100 KiB of memory, and only this reader can count that
//! before it allocates.

mod error;
mod reader;
pub(crate) mod stream;
#[cfg(test)]
pub(crate) mod tests;
mod values;
mod writer;

pub use error::{StreamError, WireError};
pub(crate) use reader::Reader;
pub(crate) use values::{fields, form, variants};
pub(crate) use writer::Writer;

/// The version of the format that this release writes and reads.
pub const VERSION: u16 = 2;

const MAGIC: [u8; 4] = *b"BWMS";
/// Magic, version, kind and the length of the content.
const HEADER: usize = 4 + 2 + 1 + 8;
const CHECKSUM: usize = 4;

/// A value that is a part of a form.
pub(crate) trait Wire: Sized {
    /// Adds at least one byte.
    fn write(&self, to: &mut Writer);

    /// # Errors
    /// The bytes are no such value, or it needs more memory than the reader allows.
    fn read(from: &mut Reader<'_>) -> Result<Self, WireError>;
}

/// A value that has a form of its own.
pub(crate) trait Form: Wire {
    const KIND: u8;
    /// Its name in messages.
    const NAME: &'static str;
}

pub(crate) fn to_bytes<T: Form>(value: &T) -> Vec<u8> {
    let mut content = Writer::default();
    value.write(&mut content);
    seal(T::KIND, &content.into_bytes())
}

/// Adds header and checksum.
fn seal(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + content.len() + CHECKSUM);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.push(kind);
    bytes.extend((content.len() as u64).to_le_bytes());
    bytes.extend(content);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// Reads a value that takes at most `memory` bytes.
pub(crate) fn from_bytes<T: Form>(bytes: &[u8], memory: usize) -> Result<T, WireError> {
    let content = content::<T>(bytes)?;
    let mut reader = Reader::new(content, memory);
    let value = T::read(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// Checks the header and the checksum.
fn content<T: Form>(bytes: &[u8]) -> Result<&[u8], WireError> {
    let mut header = bytes;
    let known = take::<4>(&mut header).ok_or(WireError::NoMeasurement)? == MAGIC;
    let version = u16::from_le_bytes(take(&mut header).filter(|_| known).ok_or(WireError::NoMeasurement)?);
    if version != VERSION {
        return Err(WireError::Version { found: version });
    }
    let truncated = |wanted: u64| WireError::Truncated { found: bytes.len(), wanted };
    let [kind] = take(&mut header).ok_or(truncated(HEADER as u64))?;
    let length = u64::from_le_bytes(take(&mut header).ok_or(truncated(HEADER as u64))?);
    let wanted = length.saturating_add((HEADER + CHECKSUM) as u64);
    let (body, checksum) = match bytes.len() as u64 {
        found if found < wanted => return Err(truncated(wanted)),
        found if found > wanted => return Err(WireError::Trailing),
        _ => bytes.split_at(bytes.len() - CHECKSUM),
    };
    if crc32fast::hash(body).to_le_bytes() != checksum {
        return Err(WireError::Checksum);
    }
    if kind != T::KIND {
        return Err(WireError::Kind { wanted: T::NAME });
    }
    Ok(&body[HEADER..])
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}
