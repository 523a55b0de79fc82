//! Writes the content of a form.

#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Creates an empty writer that reuses the memory of `bytes`.
    pub(crate) fn reusing(mut bytes: Vec<u8>) -> Writer {
        bytes.clear();
        Writer { bytes }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(super) fn all(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends an integer as LEB128: seven bits per byte, the lowest first.
    pub(super) fn integer(&mut self, mut value: u128) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }
}
