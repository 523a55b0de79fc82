//! The header and the checksum of a form: adds them to the content, and checks them.

use super::{Reader, Wire, WireError, Writer};

/// The version of the binary format that this release writes and reads.
pub const VERSION: u16 = 2;

const MAGIC: [u8; 4] = *b"BWMS";
/// Length of magic, version, kind, and length of the content, in bytes.
pub(super) const HEADER: usize = 4 + 2 + 1 + 8;
pub(super) const CHECKSUM: usize = 4;

/// A value that can be sent alone, with its own header and checksum.
pub(crate) trait Form: Wire {
    const KIND: u8;
    /// The name of the form in error messages.
    const NAME: &'static str;
}

pub(crate) fn to_bytes<T: Form>(value: &T) -> Vec<u8> {
    let mut content = Writer::default();
    value.write(&mut content);
    seal(T::KIND, &content.into_bytes())
}

/// Adds header and checksum to the content.
pub(super) fn seal(kind: u8, content: &[u8]) -> Vec<u8> {
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

/// Checks header and checksum, and returns the content.
fn content<T: Form>(bytes: &[u8]) -> Result<&[u8], WireError> {
    let mut header = bytes;
    let known = take::<4>(&mut header).ok_or(WireError::NoMeasurement)? == MAGIC;
    let version = u16::from_le_bytes(take(&mut header).filter(|_| known).ok_or(WireError::NoMeasurement)?);
    if version != VERSION {
        return Err(WireError::Version { found: version, reads: VERSION });
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

/// Generates the methods of a type that can be sent alone. Each such type has its own number, its kind.
macro_rules! form {
    ($type:ty = $kind:literal, $name:literal) => {
        impl $crate::wire::Form for $type {
            const KIND: u8 = $kind;
            const NAME: &'static str = $name;
        }

        impl $type {
            /// Returns the binary form, see [`wire`](crate::wire).
            pub fn to_bytes(&self) -> Vec<u8> {
                $crate::wire::to_bytes(self)
            }

            /// Reads the binary form. `memory` is the maximum that the value can take, in bytes.
            ///
            /// # Errors
            /// The bytes are another value, are incomplete, or have another version; or the value needs more memory.
            pub fn from_bytes(bytes: &[u8], memory: usize) -> Result<$type, $crate::wire::WireError> {
                $crate::wire::from_bytes(bytes, memory)
            }
        }
    };
}

pub(crate) use form;
