//! The frames exchanged between the endpoint and the runner, `launcher/mlperf/bridge/benchwright_engine.py`. Pure. All numbers are
//! little-endian.

use ::frames::{Frame, TooLong};
use serde::Deserialize;

/// The version of the protocol. The runner sends its version first.
pub(crate) const VERSION: u16 = 1;
/// Maximum size of a frame, in bytes: an answer of two million tokens with its text.
const MAX_FRAME: usize = 64 << 20;

const START: u8 = 1;
const ABORT: u8 = 2;
const READY: u8 = 129;
const PIECE: u8 = 130;
const FAILED: u8 = 131;

/// The reason why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Stop,
    Length,
    Abort,
    Other,
}

impl Finish {
    /// Returns the name that OpenAI's API uses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Finish::Stop | Finish::Other => "stop",
            Finish::Length => "length",
            Finish::Abort => "abort",
        }
    }
}

/// Facts about the engine, reported by the runner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    /// Name and version of the engine.
    pub(crate) engine: String,
    /// Maximum total of prompt and output tokens.
    pub(crate) max_model_len: Option<u64>,
}

/// The output that the engine produced for one request in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// When the engine's step ended, in nanoseconds on the clock of `clock::monotonic`.
    pub(crate) ended_ns: u64,
    /// The reason why the answer ended with this piece; `None` if it continues.
    pub(crate) finish: Option<Finish>,
    /// Length of the prompt, in tokens.
    pub(crate) prompt_tokens: u32,
    pub(crate) ids: Vec<u32>,
    pub(crate) text: String,
}

/// A frame from the runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The model is loaded.
    Ready {
        version: u16,
        facts: Facts,
    },
    Piece {
        id: u64,
        piece: Piece,
    },
    /// The engine refused a request.
    Failed {
        id: u64,
        why: String,
    },
}

/// The reason why a frame cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame of the runner has {0} bytes, of at most {MAX_FRAME}")]
    TooLong(usize),
    #[error(
        "a frame of kind {kind} with {length} bytes of the runner is unknown; use endpoint and runner of one release"
    )]
    Unknown { kind: u8, length: usize },
}

/// Decodes messages from bytes.
#[derive(Debug)]
pub(crate) struct Decoder(::frames::Decoder);

impl Default for Decoder {
    fn default() -> Self {
        Decoder(::frames::Decoder::new(MAX_FRAME))
    }
}

impl Decoder {
    /// Adds bytes that have arrived.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.0.push(bytes);
    }

    /// Returns the next message; `None` if its frame is not complete yet.
    ///
    /// # Errors
    /// The frame cannot be read. Later frames cannot be read either.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, FrameError> {
        let next = self.0.next_frame().map_err(|TooLong(length)| FrameError::TooLong(length))?;
        let Some(Frame { kind, content }) = next else { return Ok(None) };
        let unknown = FrameError::Unknown { kind, length: content.len() };
        read(kind, Cursor(content)).map(Some).ok_or(unknown)
    }
}

/// The part of a frame's content that is not read yet.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn small(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.0).into_owned()
    }
}

fn read(kind: u8, mut content: Cursor<'_>) -> Option<Message> {
    match kind {
        READY => {
            let version = content.take().map(u16::from_le_bytes)?;
            Some(Message::Ready { version, facts: serde_json::from_slice(content.0).ok()? })
        }
        PIECE => {
            let (id, ended_ns) = (content.number()?, content.number()?);
            let finish = match content.take()? {
                [0] => None,
                [1] => Some(Finish::Stop),
                [2] => Some(Finish::Length),
                [3] => Some(Finish::Abort),
                [_] => Some(Finish::Other),
            };
            let (prompt_tokens, count) = (content.small()?, content.small()? as usize);
            let (ids, text) = content.0.split_at_checked(count.checked_mul(size_of::<u32>())?)?;
            content.0 = text;
            let ids = ids.chunks_exact(4).filter_map(|it| it.first_chunk()).map(|it| u32::from_le_bytes(*it)).collect();
            let piece = Piece { ended_ns, finish, prompt_tokens, ids, text: content.text() };
            Some(Message::Piece { id, piece })
        }
        FAILED => Some(Message::Failed { id: content.number()?, why: content.text() }),
        _ => None,
    }
}

/// Returns the frame that starts a request. `fields` is a JSON object of sampling parameters. A prompt that is a text is in `fields` too, under the
/// key `prompt`; `ids` is then empty.
pub(crate) fn start(id: u64, streams: bool, fields: &str, ids: &[u32]) -> Vec<u8> {
    frame(START, |content| {
        content.extend(id.to_le_bytes());
        content.push(u8::from(streams));
        content.extend(u32::try_from(fields.len()).unwrap_or(u32::MAX).to_le_bytes());
        content.extend(fields.bytes());
        content.extend(ids.iter().flat_map(|it| it.to_le_bytes()));
    })
}

/// Returns the frame that aborts a request whose client has disconnected.
pub(crate) fn abort(id: u64) -> Vec<u8> {
    frame(ABORT, |content| content.extend(id.to_le_bytes()))
}

// The length always fits, because request bodies are limited to far less than 4 GiB.
fn frame(kind: u8, content: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    ::frames::write(&mut bytes, kind, content);
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece(id: u64, finish: u8, ids: &[u32], text: &str) -> Vec<u8> {
        frame(PIECE, |content| {
            content.extend(id.to_le_bytes());
            content.extend(7_u64.to_le_bytes());
            content.push(finish);
            content.extend(5_u32.to_le_bytes());
            content.extend(u32::try_from(ids.len()).unwrap().to_le_bytes());
            content.extend(ids.iter().flat_map(|it| it.to_le_bytes()));
            content.extend(text.bytes());
        })
    }

    fn all(bytes: &[u8], size: usize) -> Result<Vec<Message>, FrameError> {
        let (mut decoder, mut found) = (Decoder::default(), Vec::new());
        for part in bytes.chunks(size) {
            decoder.push(part);
            while let Some(message) = decoder.next()? {
                found.push(message);
            }
        }
        Ok(found)
    }

    #[test]
    fn messages_do_not_depend_on_how_the_bytes_were_cut() {
        let ready = frame(READY, |content| {
            content.extend(VERSION.to_le_bytes());
            content.extend(br#"{"engine": "vllm 1", "maxModelLen": 9}"#);
        });
        let failed = frame(FAILED, |content| {
            content.extend(3_u64.to_le_bytes());
            content.extend(b"no");
        });
        let bytes = [ready, piece(1, 0, &[], ""), piece(2, 2, &[4, u32::MAX], "é"), failed].concat();
        let of = |finish, ids: &[u32], text: &str| Piece {
            ended_ns: 7,
            finish,
            prompt_tokens: 5,
            ids: ids.to_vec(),
            text: text.into(),
        };
        let facts = Facts { engine: "vllm 1".into(), max_model_len: Some(9) };
        let expected = [
            Message::Ready { version: VERSION, facts },
            Message::Piece { id: 1, piece: of(None, &[], "") },
            Message::Piece { id: 2, piece: of(Some(Finish::Length), &[4, u32::MAX], "é") },
            Message::Failed { id: 3, why: "no".into() },
        ];
        for size in [1, 3, 1_000] {
            assert_eq!(all(&bytes, size).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let unknown = |kind, length| Err(FrameError::Unknown { kind, length });
        assert_eq!(all(&[0, 0, 0, 0], 9), unknown(0, 0));
        assert_eq!(all(&frame(9, |_| {}), 9), unknown(9, 0));
        assert_eq!(all(&frame(FAILED, |it| it.push(1)), 9), unknown(FAILED, 1));
        // A frame that claims to have more ids than bytes for them.
        let mut short = piece(1, 0, &[1], "");
        short[26] = 200;
        assert!(matches!(all(&short, 99), Err(FrameError::Unknown { kind: PIECE, .. })), "{short:?}");
        let long = u32::try_from(MAX_FRAME + 1).unwrap().to_le_bytes();
        assert_eq!(all(&long, 9), Err(FrameError::TooLong(MAX_FRAME + 1)));
    }

    #[test]
    fn a_request_is_written_as_the_runner_reads_it() {
        assert_eq!(
            start(258, true, "{}", &[5]),
            [&[20, 0, 0, 0, START, 2, 1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0][..], b"{}", &[5, 0, 0, 0]].concat()
        );
        assert_eq!(abort(1), [9, 0, 0, 0, ABORT, 1, 0, 0, 0, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn bytes_that_are_no_frames_are_read_alike_in_any_pieces(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            size in 1_usize..40,
        ) {
            prop_assert_eq!(all(&bytes, size), all(&bytes, 300));
        }
    }
}
