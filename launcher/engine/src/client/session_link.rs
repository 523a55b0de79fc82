//! What all requests of a session share: a header field, and a connection.

use std::sync::Mutex;

use http::{HeaderName, HeaderValue};

use super::{connection::Connection, lock};

/// The link of one session to its server.
#[derive(Default)]
pub struct SessionLink {
    header: Option<(HeaderName, HeaderValue)>,
    /// `None`: its requests take any connection.
    connection: Option<Mutex<Option<Connection>>>,
}

impl SessionLink {
    /// `header`: a field of each request. `keep_connection`: whether its requests use one connection after the other's answer, as far as
    /// the server leaves it open. Two requests at a time take two; on HTTP/2 all requests of a worker share connections in any case.
    pub fn new(header: Option<(HeaderName, HeaderValue)>, keep_connection: bool) -> SessionLink {
        SessionLink { header, connection: keep_connection.then(Mutex::default) }
    }

    pub(super) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        self.header.clone()
    }

    /// The connection that it keeps, if no request uses it.
    pub(super) fn take(&self) -> Option<Connection> {
        self.connection.as_ref().and_then(|it| lock(it).take())
    }

    /// Keeps a connection; returns it if the session keeps none, or has one already.
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
