//! Unpacks zip archives as Python's `zipfile` writes them: `npz`, and pickles that pandas compressed. Supports the methods "stored" and "deflated".
//! Does not support archives above 4 GiB, encrypted files, or other methods.

use std::io::Read as _;

use flate2::{Crc, read::DeflateDecoder};

use crate::{Problem, problem::shown};

/// The first bytes of an archive.
pub const MAGIC: &[u8] = b"PK\x03\x04";
/// Maximum number of files in an archive.
const MAX_FILES: usize = 10_000;
/// Maximum bytes of the record at the end of an archive, including the archive's comment.
const MAX_END: usize = 22 + 65_535;

/// Unpacks the files of an archive, at most `most` bytes in total. Returns each with its name.
///
/// # Errors
/// The bytes are not an archive, are damaged, or unpack to more than `most` bytes.
pub fn unpack(archive: &[u8], most: u64) -> Result<Vec<(String, Vec<u8>)>, Problem> {
    let damaged = || Problem::new("is no zip archive, or a damaged one");
    let from = archive.len().saturating_sub(MAX_END);
    let tail = archive.get(from..).unwrap_or_default();
    let end = tail.windows(4).rposition(|it| it == b"PK\x05\x06").ok_or_else(damaged)?;
    let end = Fields(tail.get(end..).unwrap_or_default());
    let (count, start) = (end.short(10).ok_or_else(damaged)?, end.long(16).ok_or_else(damaged)?);
    if count > MAX_FILES {
        return Err(Problem::new(format!("is an archive of {count} files; at most {MAX_FILES} are read")));
    }
    let (mut files, mut left) = (Vec::new(), most);
    let mut entry = Fields(archive.get(start..).ok_or_else(damaged)?);
    for _ in 0..count {
        let read = Entry::read(&entry, archive).ok_or_else(damaged)?;
        entry = Fields(entry.0.get(read.length..).ok_or_else(damaged)?);
        if read.name.ends_with('/') {
            continue;
        }
        let bytes = read.unpack(left)?;
        left = left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| Problem::new(format!("has more than {most} bytes, the most that is read, unpacked")))?;
        files.push((read.name, bytes));
    }
    Ok(files)
}

/// Reads little-endian numbers at given positions.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn short(&self, at: usize) -> Option<usize> {
        self.0.get(at..)?.first_chunk().map(|it| usize::from(u16::from_le_bytes(*it)))
    }

    fn long(&self, at: usize) -> Option<usize> {
        self.0.get(at..)?.first_chunk().map(|it| u32::from_le_bytes(*it) as usize)
    }
}

/// A file in an archive, read from its entry in the directory at the end of the archive.
struct Entry<'a> {
    name: String,
    method: usize,
    is_encrypted: bool,
    crc: u32,
    data: &'a [u8],
    /// Bytes of the directory entry.
    length: usize,
}

impl<'a> Entry<'a> {
    fn read(entry: &Fields<'_>, archive: &'a [u8]) -> Option<Entry<'a>> {
        if !entry.0.starts_with(b"PK\x01\x02") {
            return None;
        }
        let name = entry.short(28)?;
        let length = 46 + name + entry.short(30)? + entry.short(32)?;
        let name = String::from_utf8_lossy(entry.0.get(46..46 + name)?).into_owned();
        let file = archive.get(entry.long(42)?..)?;
        let fields = Fields(file);
        if !file.starts_with(MAGIC) {
            return None;
        }
        let data = file.get(30 + fields.short(26)? + fields.short(28)?..)?.get(..entry.long(20)?)?;
        let crc = u32::try_from(entry.long(16)?).ok()?;
        Some(Entry { name, method: entry.short(10)?, is_encrypted: entry.short(8)? & 1 == 1, crc, data, length })
    }

    /// Unpacks the content. Returns at most one byte more than `most`, which shows that the file is too large.
    fn unpack(&self, most: u64) -> Result<Vec<u8>, Problem> {
        let wrong = |what: &str| Problem::new(format!("has the file {}, which {what}", shown(&self.name)));
        let mut bytes = Vec::new();
        let most = most.saturating_add(1);
        let read = match (self.is_encrypted, self.method) {
            (true, _) => return Err(wrong("is encrypted")),
            (_, 0) => self.data.take(most).read_to_end(&mut bytes),
            (_, 8) => DeflateDecoder::new(self.data).take(most).read_to_end(&mut bytes),
            (_, method) => return Err(wrong(&format!("is compressed by the method {method}; 0 and 8 are read"))),
        };
        let mut crc = Crc::new();
        crc.update(&bytes);
        let is_whole = (bytes.len() as u64) < most;
        if read.is_err() || is_whole && crc.sum() != self.crc {
            return Err(wrong("is damaged"));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python: zipfile.ZipFile(f, 'w', ZIP_DEFLATED).writestr('a.txt', 'x' * 1000)
    const DEFLATED: &[u8] = b"PK\x03\x04\x14\0\0\0\x08\0\0\0!\0";

    #[test]
    fn what_is_no_archive_is_refused() {
        for bytes in [&b""[..], b"PK\x03\x04", b"PK\x05\x06", DEFLATED, &[0; 100]] {
            assert!(unpack(bytes, 10).is_err());
        }
    }

    /// An archive with one uncompressed file.
    fn stored(name: &str, content: &[u8]) -> Vec<u8> {
        let mut crc = Crc::new();
        crc.update(content);
        let (sum, length, name_length) = (crc.sum().to_le_bytes(), content.len() as u32, name.len() as u16);
        let sizes = [length.to_le_bytes(), length.to_le_bytes()].concat();
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 33, 0][..], &sum, &sizes, &name_length.to_le_bytes(), &[0, 0]].concat();
        let mut bytes = [MAGIC, &common, name.as_bytes(), content].concat();
        let start = bytes.len() as u32;
        bytes.extend([&b"PK\x01\x02\x14\0"[..], &common, &[0; 14], name.as_bytes()].concat());
        let directory = bytes.len() as u32 - start;
        bytes.extend(
            [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &directory.to_le_bytes(), &start.to_le_bytes(), &[0, 0]].concat(),
        );
        bytes
    }

    #[test]
    fn a_file_is_unpacked_up_to_the_bound() {
        let archive = stored("a.npy", b"12345");
        assert_eq!(unpack(&archive, 5).unwrap(), [("a.npy".to_owned(), b"12345".to_vec())]);
        assert!(unpack(&archive, 4).unwrap_err().what.contains("more than 4 bytes"));
        let mut damaged = archive.clone();
        damaged[36] ^= 1;
        assert!(unpack(&damaged, 5).unwrap_err().what.contains("a.npy, which is damaged"));
        // The archive is cut at every position, except within its last two bytes, which are the length of the comment.
        assert!((0..archive.len() - 2).all(|end| unpack(&archive[..end], 5).is_err()));
    }
}
