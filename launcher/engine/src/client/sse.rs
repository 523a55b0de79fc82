//! Parses server-sent events: splits bytes, in pieces of any size, into the data of each event. Pure.
//!
//! Lines end with CR, LF or CRLF, and an empty line ends an event. A byte order mark at the start, comments, and fields other than `data`
//! are ignored. The data of an event that lies completely in one piece of input is not copied.

use memchr::memchr2;

use super::lenient_json::BYTE_ORDER_MARK;

/// Maximum length of a line and of an event, in bytes. The largest real events hold one logprob for each of a few hundred tokens.
const MAX_EVENT: usize = 8 << 20;

/// A line or an event longer than [`MAX_EVENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {MAX_EVENT} bytes")]
pub(super) struct TooLong;

/// Parses bytes, in pieces of any size, into events.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    /// Data lines of an incomplete event, joined by LF.
    data: Vec<u8>,
    has_data: bool,
    /// Whether the last byte was CR. An LF that follows belongs to the same line end.
    after_cr: bool,
    /// Whether at least one line has ended.
    has_begun: bool,
}

/// The meaning of a line.
enum Line<'a> {
    End,
    Data(&'a [u8]),
    Other,
}

impl Parser {
    /// Parses the next bytes, and calls `event` with the data of each event that they complete.
    ///
    /// # Errors
    /// [`TooLong`]. After an error the parser must not be used again.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut event: impl FnMut(&[u8])) -> Result<(), TooLong> {
        // The only data line of the current event so far, if it is not copied yet.
        let mut whole: Option<&[u8]> = None;
        loop {
            if self.after_cr && !bytes.is_empty() {
                self.after_cr = false;
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else { break };
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            self.after_cr = bytes[end] == b'\r';
            bytes = rest;
            if !self.line.is_empty() {
                self.take_split_line(line, &mut event)?;
                continue;
            }
            match self.classify(line)? {
                Line::End => match whole.take() {
                    Some(data) => event(data),
                    None => self.end_event(&mut event),
                },
                Line::Data(data) if !self.has_data && whole.is_none() => whole = Some(data),
                Line::Data(data) => {
                    if let Some(first) = whole.take() {
                        self.add_data(first)?;
                    }
                    self.add_data(data)?;
                }
                Line::Other => {}
            }
        }
        if let Some(data) = whole {
            self.add_data(data)?;
        }
        self.line.extend_from_slice(bytes);
        bounded(self.line.len())
    }

    /// Ends the stream. Calls `event` for a last event that is not followed by an empty line, as some servers send it.
    ///
    /// # Errors
    /// [`TooLong`]
    pub(super) fn finish(&mut self, mut event: impl FnMut(&[u8])) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        if let Line::Data(data) = self.classify(&line)? {
            self.add_data(data)?;
        }
        self.end_event(&mut event);
        Ok(())
    }

    /// Handles the end of a line that began in an earlier piece.
    fn take_split_line(&mut self, end: &[u8], event: &mut impl FnMut(&[u8])) -> Result<(), TooLong> {
        self.line.extend_from_slice(end);
        let mut line = std::mem::take(&mut self.line);
        let done = match self.classify(&line)? {
            Line::End => {
                self.end_event(event);
                Ok(())
            }
            Line::Data(data) => self.add_data(data),
            Line::Other => Ok(()),
        };
        line.clear();
        self.line = line;
        done
    }

    fn add_data(&mut self, data: &[u8]) -> Result<(), TooLong> {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(data);
        bounded(self.data.len())
    }

    fn end_event(&mut self, event: &mut impl FnMut(&[u8])) {
        if std::mem::take(&mut self.has_data) {
            event(&self.data);
            self.data.clear();
        }
    }

    /// Classifies a complete line. It has the same length limit as a line that arrives in pieces, so that the result does not depend on the
    /// pieces.
    fn classify<'a>(&mut self, mut line: &'a [u8]) -> Result<Line<'a>, TooLong> {
        bounded(line.len())?;
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(Line::End);
        }
        Ok(match line.strip_prefix(b"data") {
            Some([]) => Line::Data(&[]),
            Some([b':', data @ ..]) => Line::Data(data.strip_prefix(b" ").unwrap_or(data)),
            _ => Line::Other,
        })
    }
}

fn bounded(length: usize) -> Result<(), TooLong> {
    if length > MAX_EVENT { Err(TooLong) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut parser = Parser::default();
        let mut found = Vec::new();
        let mut keep = |data: &[u8]| found.push(String::from_utf8_lossy(data).into_owned());
        for piece in pieces {
            parser.push(piece, &mut keep).unwrap();
        }
        parser.finish(&mut keep).unwrap();
        found
    }

    fn check(stream: &str, expected: &[&str]) {
        assert_eq!(events([stream.as_bytes()]), expected, "{stream:?}");
        assert_eq!(events(stream.as_bytes().chunks(1)), expected, "{stream:?} byte by byte");
    }

    #[test]
    fn every_line_ending_ends_a_line() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("data: a\r\ndata: b\r\n\r\n", &["a\nb"]);
        check("data: a\r\n\ndata: b\n\r\n", &["a", "b"]);
    }

    #[test]
    fn one_blank_after_the_colon_is_optional() {
        check("data:a\n\ndata: b\n\ndata:  c\n\n", &["a", "b", " c"]);
    }

    #[test]
    fn comments_and_other_fields_are_passed_over() {
        check(": keep-alive\n\nevent: delta\nid: 7\nretry: 10\ndata: a\n\n: x\ndata: b\n\ndatum: c\n\n", &["a", "b"]);
    }

    #[test]
    fn data_lines_of_one_event_are_joined() {
        check("data: a\ndata: b\ndata\ndata:\ndata: c\n\n", &["a\nb\n\n\nc"]);
    }

    #[test]
    fn an_event_without_data_is_none_and_one_with_empty_data_is() {
        check("event: ping\n\n\n\n", &[]);
        check("data:\n\n", &[""]);
    }

    #[test]
    fn an_end_without_an_empty_line_ends_the_event() {
        check("data: a\n\ndata: [DONE]", &["a", "[DONE]"]);
        check("data: a\ndata: b\n", &["a\nb"]);
    }

    #[test]
    fn an_event_has_a_bound() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 1 << 20];
        parser.push(b"data: ", |_| {}).unwrap();
        let results: Vec<_> = (0..9).map(|_| parser.push(&piece, |_| {})).collect();
        assert_eq!(results.iter().filter(|it| it.is_ok()).count(), 7);
        let mut lines = Parser::default();
        let line = [b"data: ".as_slice(), &piece, b"\n"].concat();
        assert!((0..9).any(|_| lines.push(&line, |_| {}) == Err(TooLong)));
    }

    #[test]
    fn a_line_that_is_too_long_is_so_whole_and_in_pieces() {
        for (start, length, expected) in [
            ("data: ", MAX_EVENT - 6, Ok(1)),
            ("data: ", MAX_EVENT - 5, Err(TooLong)),
            (": ", MAX_EVENT - 2, Ok(0)),
            (": ", MAX_EVENT - 1, Err(TooLong)),
        ] {
            let stream = [start.as_bytes(), &vec![b'x'; length], b"\n\n"].concat();
            for size in [stream.len(), 1 << 20, (1 << 20) - 7] {
                let mut parser = Parser::default();
                let mut found = 0;
                let pushed = stream.chunks(size).try_for_each(|it| parser.push(it, |_| found += 1));
                assert_eq!(pushed.map(|()| found), expected, "{start}{length} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_at_the_begin_alone() {
        check("\u{feff}data: a\n\ndata: b\n\n", &["a", "b"]);
        check("\u{feff}\n: c\ndata: a\n\n", &["a"]);
        check("data: \u{feff}a\n\n\u{feff}data: b\n\n", &["\u{feff}a"]);
        check("\u{feff}", &[]);
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_how_the_bytes_were_cut(
            lines in prop::collection::vec(prop::sample::select(vec![
                "\u{feff}data: b", "data: {\"a\":1}", "data:x", "data", "data: é€😀", "", "", ": c", "event: e", "dat", "data: [DONE]",
            ]), 0..30),
            endings in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r"]), 30),
            cuts in prop::collection::vec(0_usize..400, 0..40),
        ) {
            let stream: String = lines.iter().zip(&endings).flat_map(|(line, end)| [*line, *end]).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|it| *it <= stream.len()).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|it| &stream.as_bytes()[it[0]..it[1]]);
            prop_assert_eq!(events(pieces), events([stream.as_bytes()]));
        }
    }
}
