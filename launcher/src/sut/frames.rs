//! The frames between a LoadGen program and the launcher. Pure. `docs/loadgen-bridge.md` describes them.
//! All numbers are little-endian.

use ::frames::{Frame, TooLong, write};

/// The version of the frames. Each side sends its version first. A side that receives another version exits.
pub const VERSION: u16 = 1;
/// Maximum size of a frame, in bytes. It has room for 65,535 samples.
pub const MAX_FRAME: usize = 1 << 20;

const HELLO: u8 = 1;
const ISSUE: u8 = 2;
const READY: u8 = 129;
const FIRST: u8 = 130;
const DONE: u8 = 131;
const FAILED: u8 = 132;

/// Size of one sample in a frame, in bytes.
const SAMPLE: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// LoadGen's id for this request.
    pub id: u64,
    /// The index of the sample in the library. It is also the index of the request in its source.
    pub index: u64,
}

/// A frame from a LoadGen program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The version of the program's frames. This is always the first message.
    Hello(u16),
    /// Samples to send now, in this order.
    Issue(Vec<Sample>),
}

/// The reason why a frame cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a frame has {0} bytes, but at most {MAX_FRAME} are allowed; send the samples in several frames")]
    TooLong(usize),
    /// The kind is unknown, or the length is wrong for this kind.
    #[error(
        "a frame of kind {kind} with {length} bytes is unknown to version {VERSION}; use bridge and launcher of one release"
    )]
    Unknown {
        /// The kind of the frame. 0 for an empty frame.
        kind: u8,
        /// Length of the content, in bytes.
        length: usize,
    },
}

/// Reads messages from bytes.
#[derive(Debug)]
pub struct Decoder(::frames::Decoder);

impl Default for Decoder {
    fn default() -> Self {
        Decoder(::frames::Decoder::new(MAX_FRAME))
    }
}

impl Decoder {
    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.push(bytes);
    }

    /// Returns the next message. `None` if its frame is not complete yet.
    ///
    /// # Errors
    /// The frame cannot be read. Further frames cannot be read either.
    pub fn next(&mut self) -> Result<Option<Message>, FrameError> {
        let next = self.0.next_frame().map_err(|TooLong(length)| FrameError::TooLong(length))?;
        next.map(read).transpose()
    }

    /// Whether the bytes so far end in the middle of a frame.
    pub fn has_rest(&self) -> bool {
        self.0.has_rest()
    }
}

fn read(Frame { kind, content }: Frame<'_>) -> Result<Message, FrameError> {
    match (kind, content) {
        (HELLO, [low, high]) => Ok(Message::Hello(u16::from_le_bytes([*low, *high]))),
        (ISSUE, samples) if samples.len() % SAMPLE == 0 => {
            Ok(Message::Issue(samples.chunks_exact(SAMPLE).map(sample).collect()))
        }
        (kind, content) => Err(FrameError::Unknown { kind, length: content.len() }),
    }
}

fn sample(bytes: &[u8]) -> Sample {
    let number = |at: usize| bytes[at..].first_chunk().map_or(0, |it| u64::from_le_bytes(*it));
    Sample { id: number(0), index: number(8) }
}

/// Adds the frame for a ready target. It contains the number of samples (0: every index is valid) and the model.
pub fn ready(into: &mut Vec<u8>, samples: u64, model: &str) {
    write(into, READY, |content| {
        content.extend(VERSION.to_le_bytes());
        content.extend(samples.to_le_bytes());
        content.extend(model.bytes());
    });
}

/// Adds the frame for the first output of a sample.
pub fn first(into: &mut Vec<u8>, id: u64, token_ids: &[u32]) {
    write(into, FIRST, |content| {
        content.extend(id.to_le_bytes());
        numbers(content, token_ids);
    });
}

/// Adds the frame for a complete answer. It contains the time from sending to the last token, and all token ids.
pub fn done(into: &mut Vec<u8>, id: u64, took_ns: u64, token_ids: &[u32]) {
    write(into, DONE, |content| {
        content.extend(id.to_le_bytes());
        content.extend(took_ns.to_le_bytes());
        numbers(content, token_ids);
    });
}

/// Adds the frame for a failed sample.
pub fn failed(into: &mut Vec<u8>, id: u64, why: &str) {
    write(into, FAILED, |content| {
        content.extend(id.to_le_bytes());
        content.extend(why.bytes());
    });
}

// The client limits answers to far less than the 4 GiB that a frame can contain.
fn numbers(content: &mut Vec<u8>, numbers: &[u32]) {
    content.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(frames: &[Message]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for it in frames {
            match it {
                Message::Hello(version) => write(&mut bytes, HELLO, |content| content.extend(version.to_le_bytes())),
                Message::Issue(samples) => write(&mut bytes, ISSUE, |content| {
                    content.extend(samples.iter().flat_map(|it| [it.id, it.index]).flat_map(u64::to_le_bytes));
                }),
            }
        }
        bytes
    }

    /// Decodes bytes that arrive in pieces of these lengths. The rest of the bytes is the last piece.
    fn check(bytes: &[u8], pieces: &[usize]) -> Result<Vec<Message>, FrameError> {
        let (mut decoder, mut found, mut rest) = (Decoder::default(), Vec::new(), bytes);
        for length in pieces.iter().copied().chain([usize::MAX]) {
            let (piece, behind) = rest.split_at(length.min(rest.len()));
            decoder.push(piece);
            rest = behind;
            while let Some(it) = decoder.next()? {
                found.push(it);
            }
        }
        assert!(!decoder.has_rest());
        Ok(found)
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_how_the_bytes_were_cut(
            samples in prop::collection::vec((any::<u64>(), any::<u64>()), 0..20),
            pieces in prop::collection::vec(0_usize..40, 0..30),
        ) {
            let samples = samples.into_iter().map(|(id, index)| Sample { id, index }).collect();
            let frames = [Message::Hello(7), Message::Issue(samples), Message::Issue(Vec::new()), Message::Hello(u16::MAX)];
            prop_assert_eq!(check(&message(&frames), &pieces), Ok(frames.to_vec()));
        }

        #[test]
        fn any_bytes_hold_no_more_frames_than_they_have_room_for(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            let found = std::iter::from_fn(|| decoder.next().ok().flatten());
            let lengths: usize = found.map(|it| message(&[it]).len()).sum();
            prop_assert!(lengths <= bytes.len(), "{lengths} of {}", bytes.len());
        }
    }

    #[test]
    fn what_is_no_frame_is_told() {
        let unknown = |kind, length| Err(FrameError::Unknown { kind, length });
        assert_eq!(check(&[0, 0, 0, 0], &[]), unknown(0, 0));
        assert_eq!(check(&[3, 0, 0, 0, 9, 1, 2], &[]), unknown(9, 2));
        assert_eq!(check(&[2, 0, 0, 0, HELLO, 1], &[]), unknown(HELLO, 1));
        assert_eq!(check(&[16, 0, 0, 0, ISSUE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]), unknown(ISSUE, 15));
        assert_eq!(check(&[1, 0, 16, 0], &[]), Err(FrameError::TooLong(MAX_FRAME + 1)));
    }

    #[test]
    fn frames_are_written_as_they_are_described() {
        let mut bytes = Vec::new();
        ready(&mut bytes, 5, "m");
        assert_eq!(bytes, [12, 0, 0, 0, 129, 1, 0, 5, 0, 0, 0, 0, 0, 0, 0, b'm']);
        bytes.clear();
        first(&mut bytes, 1, &[7]);
        done(&mut bytes, 2, 3, &[u32::MAX, 8]);
        failed(&mut bytes, 4, "no");
        let expected: [&[u8]; 3] = [
            &[13, 0, 0, 0, 130, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0],
            &[25, 0, 0, 0, 131, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 8, 0, 0, 0],
            &[11, 0, 0, 0, 132, 4, 0, 0, 0, 0, 0, 0, 0, b'n', b'o'],
        ];
        assert_eq!(bytes, expected.concat());
    }
}
