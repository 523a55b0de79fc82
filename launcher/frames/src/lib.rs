//! Encodes and decodes frames on a stream of bytes. Pure.
//!
//! A frame consists of the length of what follows (u32, little-endian), its kind (u8), and its content. The meaning of each kind is up to the two
//! programs that exchange frames.

/// A frame that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The kind of the frame; 0 if the frame is empty.
    pub kind: u8,
    pub content: &'a [u8],
}

/// A frame has more bytes than allowed. Contains its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(pub usize);

/// Splits received bytes into frames.
#[derive(Debug)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Number of bytes that were already decoded.
    read: usize,
    /// Maximum bytes of a frame.
    most: usize,
}

impl Decoder {
    /// `most` is the maximum bytes of a frame.
    pub fn new(most: usize) -> Decoder {
        Decoder { bytes: Vec::new(), read: 0, most }
    }

    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next frame. `None` if no further frame is complete yet.
    ///
    /// # Errors
    /// The frame is too long. The frames after it cannot be read either.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, TooLong> {
        let Some((length, rest)) = self.bytes[self.read..].split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > self.most {
            return Err(TooLong(length));
        }
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        self.read += size_of::<u32>() + length;
        let (kind, content) = frame.split_first().unwrap_or((&0, &[]));
        Ok(Some(Frame { kind: *kind, content }))
    }

    /// Whether the bytes received so far end within a frame.
    pub fn has_rest(&self) -> bool {
        self.read < self.bytes.len()
    }
}

/// Appends a frame to `into`. `content` appends the content of the frame, which must be less than 4 GiB.
pub fn write(into: &mut Vec<u8>, kind: u8, content: impl FnOnce(&mut Vec<u8>)) {
    let start = into.len();
    into.extend([0; size_of::<u32>()]);
    into.push(kind);
    content(into);
    let length = u32::try_from(into.len() - start - size_of::<u32>()).unwrap_or(u32::MAX);
    into[start..start + size_of::<u32>()].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Decodes bytes that arrive in pieces of `size` bytes, and returns all frames.
    fn all(bytes: &[u8], size: usize) -> Result<Vec<(u8, Vec<u8>)>, TooLong> {
        let (mut decoder, mut found) = (Decoder::new(100), Vec::new());
        for part in bytes.chunks(size) {
            decoder.push(part);
            while let Some(frame) = decoder.next_frame()? {
                found.push((frame.kind, frame.content.to_vec()));
            }
        }
        Ok(found)
    }

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        write(&mut bytes, 7, |it| it.extend(b"ab"));
        write(&mut bytes, 8, |_| {});
        assert_eq!(bytes, [3, 0, 0, 0, 7, b'a', b'b', 1, 0, 0, 0, 8]);
        assert_eq!(all(&bytes, 99), Ok(vec![(7, b"ab".to_vec()), (8, Vec::new())]));
        assert_eq!(all(&[0, 0, 0, 0], 99), Ok(vec![(0, Vec::new())]), "an empty frame");
        assert_eq!(all(&[101, 0, 0, 0], 99), Err(TooLong(101)));
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_how_the_bytes_were_cut(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..90), 0..5),
            size in 1_usize..40,
        ) {
            let mut written = Vec::new();
            contents.iter().for_each(|it| write(&mut written, 3, |content| content.extend(it)));
            let frames: Vec<_> = contents.into_iter().map(|it| (3, it)).collect();
            prop_assert_eq!(all(&written, size), Ok(frames));
            prop_assert_eq!(all(&bytes, size), all(&bytes, 300));
        }
    }
}
