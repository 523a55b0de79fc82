//! Lines of a file, of which no one is longer than a bound.

use std::{
    cell::Cell,
    io::{self, BufRead, Read},
};

/// Bytes that end with an error where none are left for the row that is read; who reads sets the number anew for each row.
pub struct Bounded<'a, R> {
    /// The bytes.
    pub bytes: R,
    /// How many are left.
    pub left: &'a Cell<usize>,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 {
            return Err(io::Error::other("a row is too long"));
        }
        let most = to.len().min(left);
        let read = self.bytes.read(&mut to[..most])?;
        self.left.set(left - read);
        Ok(read)
    }
}

/// What came of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// There is one, with its end if it has one.
    Read,
    /// There is none any more.
    End,
    /// It has at least as many bytes as a line may have, and was not read to its end.
    TooLong,
}

/// Reads the next line, which has fewer than `most` bytes without its end, in place of what is in `line`.
///
/// # Errors
/// The file cannot be read.
pub fn read_line(lines: &mut impl BufRead, most: usize, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    let read = lines.by_ref().take(most as u64).read_until(b'\n', line)?;
    Ok(match read {
        0 => Line::End,
        _ if line.len() >= most && line.last() != Some(&b'\n') => Line::TooLong,
        _ => Line::Read,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_up_to_its_bound() {
        let mut lines = &b"ab\n\nabc\nabcd\nx"[..];
        let mut line = Vec::new();
        for (expected, text) in [
            (Line::Read, "ab\n"),
            (Line::Read, "\n"),
            (Line::Read, "abc\n"),
            (Line::TooLong, "abcd"),
            (Line::Read, "\n"),
            (Line::Read, "x"),
            (Line::End, ""),
        ] {
            assert_eq!(read_line(&mut lines, 4, &mut line).unwrap(), expected);
            assert_eq!(line, text.as_bytes());
        }
    }
}
