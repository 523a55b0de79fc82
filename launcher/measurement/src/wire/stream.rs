//! Consecutive forms in a stream, so that neither side needs all of them in memory.

use std::io::{self, Read, Write};

use super::{
    StreamError, WireError,
    envelope::{CHECKSUM, Form, HEADER, from_bytes, to_bytes},
};

pub(crate) fn write_form<T: Form>(value: &T, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(&to_bytes(value))
}

/// Reads the next form. `memory` limits both the memory of the value and the number of its bytes.
///
/// # Errors
/// The stream cannot be read or ends too early, or the bytes are another value or need more memory.
pub(crate) fn read_form<T: Form>(from: &mut dyn Read, memory: usize) -> Result<T, StreamError> {
    let mut bytes = Vec::new();
    from.take(HEADER as u64).read_to_end(&mut bytes)?;
    let length = bytes.last_chunk::<8>().filter(|_| bytes.len() == HEADER).map_or(0, |it| u64::from_le_bytes(*it));
    let rest = length.saturating_add(CHECKSUM as u64);
    if rest > memory as u64 {
        // If the stream contains other data, the length in the header is arbitrary. The error should then report other data.
        return Err(match from_bytes::<T>(&bytes, memory) {
            Err(WireError::Truncated { .. }) | Ok(_) => WireError::Memory { memory },
            Err(error) => error,
        }
        .into());
    }
    from.take(rest).read_to_end(&mut bytes)?;
    Ok(from_bytes(&bytes, memory)?)
}
