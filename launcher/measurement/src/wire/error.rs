//! The reason why bytes are not a valid measurement.

use std::io;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("the bytes are no measurement of Benchwright")]
    NoMeasurement,
    #[error(
        "the measurement has version {found} of its format, and this release reads version {reads}; read it with the release that wrote it"
    )]
    Version { found: u16, reads: u16 },
    #[error("the measurement is no {wanted}")]
    Kind { wanted: &'static str },
    #[error("the measurement ends after {found} bytes, and it has {wanted}; send it again")]
    Truncated { found: usize, wanted: u64 },
    #[error("bytes follow the end of the measurement; send it again")]
    Trailing,
    #[error("the bytes of the measurement changed on their way: its checksum does not match; send it again")]
    Checksum,
    #[error("the measurement needs more than {memory} bytes of memory; raise the limit")]
    Memory { memory: usize },
    /// The checksum is right, but the content is not one that a launcher writes.
    #[error("the measurement has no valid {what}; this is a bug, please report it")]
    Value { what: &'static str },
}

/// The reason why a stream does not contain a measurement.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Wire(#[from] WireError),
}
