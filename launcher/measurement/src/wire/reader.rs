//! Reads the content of a form. It checks the memory that a value takes before that memory is allocated.

use super::{Wire, WireError};

#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    memory: usize,
    /// Number of bytes that further values can take.
    left: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], memory: usize) -> Reader<'a> {
        Reader { bytes, memory, left: memory }
    }

    /// Checks that all bytes were read.
    ///
    /// # Errors
    /// Some bytes are left.
    pub(super) fn finish(self) -> Result<(), WireError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(WireError::Value { what: "end" }) }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, WireError> {
        Ok(self.all(1)?[0])
    }

    pub(super) fn all(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (first, rest) = self.bytes.split_at_checked(count).ok_or(WireError::Value { what: "length" })?;
        self.bytes = rest;
        Ok(first)
    }

    /// Reads an integer. Only the shortest encoding is valid, without zeros at its end.
    pub(super) fn integer(&mut self) -> Result<u128, WireError> {
        let invalid = WireError::Value { what: "integer" };
        let mut value = 0_u128;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if bits.leading_zeros() < shift || (byte == 0 && shift > 0) {
                return Err(invalid);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(invalid)
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads the number of entries in a list. Each entry has at least one byte, so a number above the remaining bytes is invalid.
    pub(crate) fn count(&mut self) -> Result<usize, WireError> {
        let count = usize::read(self)?;
        if count > self.bytes.len() { Err(WireError::Value { what: "length" }) } else { Ok(count) }
    }

    /// Subtracts the memory that a value will take.
    ///
    /// # Errors
    /// Not enough memory is left.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Result<(), WireError> {
        self.left = self.left.checked_sub(bytes).ok_or(self.out_of_memory())?;
        Ok(())
    }

    pub(crate) fn out_of_memory(&self) -> WireError {
        WireError::Memory { memory: self.memory }
    }
}
