//! [I/O] A client connection, with received bytes that wait to be processed, and bytes that its socket has not accepted yet.

use std::{
    io::{self, Write as _},
    net::TcpStream,
};

use super::waiting::Waiting;
use simulator::api::Endpoint;

/// A client connection. Its answers are sent one after another.
pub(super) struct Connection {
    pub(super) socket: TcpStream,
    pub(super) generation: u32,
    /// Received bytes of an incomplete request, or of requests that wait until the current answer has ended.
    pub(super) input: Vec<u8>,
    pub(super) answer: Option<Answer>,
    /// Bytes that the socket has not accepted yet, at most one answer.
    unsent: Vec<u8>,
}

/// An answer in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) endpoint: Endpoint,
    pub(super) tokens: u32,
    pub(super) stream: bool,
    /// Number of tokens sent so far.
    pub(super) sent: u32,
    /// Index of the request's record; `None` for requests without a run id.
    pub(super) truth: Option<usize>,
}

impl Connection {
    pub(super) fn new(socket: TcpStream, generation: u32) -> Connection {
        Connection { socket, generation, input: Vec::new(), answer: None, unsent: Vec::new() }
    }

    /// Sends bytes after those that already wait. Returns whether the socket accepted all of them immediately.
    pub(super) fn write(&mut self, bytes: &[u8], waiting: &Waiting, slot: u32) -> io::Result<bool> {
        let taken = if self.unsent.is_empty() { self.offer(bytes)? } else { 0 };
        if taken == bytes.len() {
            return Ok(true);
        }
        if self.unsent.is_empty() {
            waiting.watch_output(&self.socket, slot, true)?;
        }
        self.unsent.extend_from_slice(&bytes[taken..]);
        Ok(false)
    }

    /// Sends as many waiting bytes as the socket accepts.
    pub(super) fn flush(&mut self, waiting: &Waiting, slot: u32) -> io::Result<()> {
        let unsent = std::mem::take(&mut self.unsent);
        let taken = self.offer(&unsent)?;
        self.unsent.extend_from_slice(&unsent[taken..]);
        if self.unsent.is_empty() { waiting.watch_output(&self.socket, slot, false) } else { Ok(()) }
    }

    fn offer(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match (&self.socket).write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => return written,
            }
        }
    }
}
