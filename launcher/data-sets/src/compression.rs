//! Decompresses files while they are read.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// Maximum memory for decompressing xz, in KiB. Files of the highest preset need this much.
const XZ_MEMORY: u32 = 96 << 10;

impl Compression {
    /// The compression according to the file extension; `None` if the file is not compressed.
    pub(super) fn from_name(name: &str) -> Option<Compression> {
        let name = name.to_ascii_lowercase();
        if name.ends_with(".gz") {
            Some(Compression::Gzip)
        } else if name.ends_with(".zst") {
            Some(Compression::Zstd)
        } else if name.ends_with(".bz2") {
            Some(Compression::Bzip2)
        } else if name.ends_with(".xz") {
            Some(Compression::Xz)
        } else {
            None
        }
    }

    /// The compression according to the first bytes of the file; `None` if it is not compressed.
    pub(super) fn from_content(start: &[u8]) -> Option<Compression> {
        match start {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => Some(Compression::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        }
    }
}

/// Decompresses a file while it is read. If that fails, reading returns an error of the kind `InvalidData`.
pub(super) fn decompressed<'a>(bytes: impl Read + 'a, compression: Option<Compression>) -> Box<dyn Read + 'a> {
    let buffered = |bytes| BufReader::with_capacity(256 << 10, bytes);
    match compression {
        None => Box::new(bytes),
        Some(Compression::Gzip) => Box::new(Gzip(MultiGzDecoder::new(buffered(bytes)))),
        Some(Compression::Zstd) => {
            Box::new(Zstd { source: buffered(bytes), decoder: FrameDecoder::new(), is_in_frame: false })
        }
        Some(Compression::Bzip2) => Box::new(Damaged("bzip2", MultiBzDecoder::new(buffered(bytes)))),
        Some(Compression::Xz) => Box::new(Damaged("xz", XzReader::new_mem_limit(buffered(bytes), true, XZ_MEMORY))),
    }
}

/// A decoder whose errors are reported as damage to the file.
struct Damaged<R>(&'static str, R);

impl<R: Read> Read for Damaged<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.1.read(to).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => {
                damaged(&format!("it is no {} file, a part of it is missing or damaged, or it cannot be read", self.0))
            }
        })
    }
}

struct Gzip<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                damaged("it is no gzip file, or a part of it is missing or damaged")
            }
            _ => error,
        })
    }
}

/// Reads all frames of a file in sequence.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let wrong = || damaged("it is no zstd file, or a part of it is missing or damaged");
        loop {
            if !self.is_in_frame {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                match self.decoder.reset(&mut self.source) {
                    Ok(()) => self.is_in_frame = true,
                    Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                        length, ..
                    })) => {
                        let length = u64::from(length);
                        let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
                        if skipped < length {
                            return Err(wrong());
                        }
                        continue;
                    }
                    Err(_) => return Err(wrong()),
                }
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(to);
            }
            if self.decoder.is_finished() {
                self.is_in_frame = false;
                continue;
            }
            self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1)).map_err(|_| wrong())?;
        }
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn read(bytes: &[u8], compression: Compression) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        decompressed(bytes, Some(compression)).read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn several_members_and_frames_are_one_file() {
        let long = "line of text\n".repeat(50_000);
        for (compress, compression) in
            [(gzip as fn(&[u8]) -> Vec<u8>, Compression::Gzip), (zstd as fn(&[u8]) -> Vec<u8>, Compression::Zstd)]
        {
            let bytes = [compress(b"first\n"), compress(long.as_bytes())].concat();
            assert_eq!(read(&bytes, compression).unwrap(), format!("first\n{long}").as_bytes());
            assert_eq!(read(b"", compression).unwrap_or_default(), b"");
        }
        let skipped = [b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc".as_slice(), &zstd(b"text")].concat();
        assert_eq!(read(&skipped, Compression::Zstd).unwrap(), b"text");
    }

    #[test]
    fn a_damaged_file_is_an_error_wherever_it_is_cut() {
        let text = "some text, and more of it ".repeat(20);
        for (bytes, compression) in
            [(gzip(text.as_bytes()), Compression::Gzip), (zstd(text.as_bytes()), Compression::Zstd)]
        {
            for end in 1..bytes.len() {
                let error = read(&bytes[..end], compression).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidData, "{compression:?} {end}");
            }
            assert_eq!(read(text.as_bytes(), compression).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn the_end_of_the_name_tells_the_compression() {
        for (name, expected) in [
            ("a.json.gz", Some(Compression::Gzip)),
            ("A.JSONL.ZST", Some(Compression::Zstd)),
            ("a.pkl.bz2", Some(Compression::Bzip2)),
            ("a.pkl.xz", Some(Compression::Xz)),
            ("a.json", None),
            ("gz", None),
        ] {
            assert_eq!(Compression::from_name(name), expected, "{name}");
        }
    }
}
