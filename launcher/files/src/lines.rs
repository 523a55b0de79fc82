//! Reads lines of limited length from a file.

use std::{
    cell::Cell,
    io::{self, BufRead, Read},
};

/// A reader that limits the bytes of each row. Reading fails when `left` is 0. The caller resets `left` for each row.
pub struct Bounded<'a, R> {
    /// The reader that provides the bytes.
    pub bytes: R,
    /// Number of bytes that can still be read.
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

/// The result of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line was read, including its line break if it has one.
    Read,
    /// There are no more lines.
    End,
    /// The line is too long, and was only read in part.
    TooLong,
}

/// Reads the next line into `line`, whose content it replaces. A line must have fewer than `most` bytes, not counting its line break.
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
