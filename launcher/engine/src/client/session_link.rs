//! State that all requests of a session share: a header field, and a connection.

use std::sync::{Mutex, OnceLock};

use http::{HeaderName, HeaderValue};

use super::{connection::Connection, lock};

/// The link of one session to its server.
#[derive(Default)]
pub struct SessionLink {
    header: Option<(HeaderName, HeaderValue)>,
    /// `None`: its requests take any connection.
    connection: Option<Mutex<Option<Connection>>>,
    /// The server to which its connection leads, if there are several.
    server: OnceLock<usize>,
}

impl SessionLink {
    /// `header`: a field of each request. `keep_connection`: whether the session's requests reuse one connection in turn, as long as the
    /// server leaves it open. Two concurrent requests use two connections. With HTTP/2, all requests of a worker share connections in any
    /// case.
    pub fn new(header: Option<(HeaderName, HeaderValue)>, keep_connection: bool) -> SessionLink {
        SessionLink { header, connection: keep_connection.then(Mutex::default), server: OnceLock::new() }
    }

    pub(super) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        self.header.clone()
    }

    /// The server to which its requests go, if there are several. `None`: any server, because the session keeps no connection or has sent no
    /// request.
    pub(super) fn server(&self) -> Option<usize> {
        self.connection.as_ref().and_then(|_| self.server.get().copied())
    }

    /// Notes the server that gets the session's first request.
    pub(super) fn begin_at(&self, server: usize) {
        // If two first requests are concurrent, one of them decides.
        let _ = self.server.set(server);
    }

    /// The connection that the session keeps, if no request uses it.
    pub(super) fn take(&self) -> Option<Connection> {
        self.connection.as_ref().and_then(|it| lock(it).take())
    }

    /// Keeps a connection. Returns it if the session keeps none, or already has one.
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
