//! State that all requests of a session share: a header field and a connection.

use std::sync::{Mutex, OnceLock};

use http::{HeaderName, HeaderValue};

use super::{connection::Connection, lock};

/// Links the requests of one session to its header field and its connection.
#[derive(Default)]
pub struct SessionLink {
    header: Option<(HeaderName, HeaderValue)>,
    /// The connection that the session keeps, unless a request is using it. `None` if its requests use any connection.
    connection: Option<Mutex<Option<Connection>>>,
    /// Index of the server that the kept connection leads to, if there are several.
    server: OnceLock<usize>,
}

impl SessionLink {
    /// Creates a link. `header` is a header field for each request. `keep_connection` states whether the session's requests reuse one connection, as
    /// long as the server keeps it open. Two concurrent requests of the session still use two connections. With HTTP/2, all requests of a worker
    /// share connections in any case.
    pub fn new(header: Option<(HeaderName, HeaderValue)>, keep_connection: bool) -> SessionLink {
        SessionLink { header, connection: keep_connection.then(Mutex::default), server: OnceLock::new() }
    }

    pub(super) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        self.header.clone()
    }

    /// Returns the index of the server that the session's requests go to, if there are several. `None` means any server: the session keeps
    /// no connection, or has sent no request.
    pub(super) fn server(&self) -> Option<usize> {
        self.connection.as_ref().and_then(|_| self.server.get().copied())
    }

    /// Records the server that gets the session's first request.
    pub(super) fn begin_at(&self, server: usize) {
        // If the first two requests are concurrent, the server of only one of them is recorded.
        let _ = self.server.set(server);
    }

    /// Takes the connection that the session keeps; `None` if a request uses it, or if there is none.
    pub(super) fn take(&self) -> Option<Connection> {
        self.connection.as_ref().and_then(|it| lock(it).take())
    }

    /// Stores the session's connection. Returns the connection if the session does not keep one, or already has one.
    pub(super) fn keep(&self, connection: Connection) -> Option<Connection> {
        let Some(mine) = &self.connection else { return Some(connection) };
        let mut mine = lock(mine);
        if mine.is_some() {
            return Some(connection);
        }
        *mine = Some(connection);
        None
    }
}

impl std::fmt::Debug for SessionLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionLink").field("header", &self.header).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_stays_with_a_server_only_for_its_connection() {
        let (kept, free) = (SessionLink::new(None, true), SessionLink::new(None, false));
        assert_eq!(kept.server(), None);
        for it in [&kept, &free] {
            it.begin_at(2);
            it.begin_at(0);
        }
        assert_eq!((kept.server(), free.server()), (Some(2), None));
    }
}
