//! [I/O] One HTTP/1.1 connection. The request drives it: connection and request are one task, so that a token costs no
//! switch between two.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::{
    body::{Body as _, Incoming},
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;

use super::socket::{Marked, Marks, Socket};
use crate::clock::Clock;

/// How often an ended request may poll the connection until it can take the next one. It has nothing to wait for then;
/// one poll has always been enough.
const SETTLE_POLLS: u32 = 4;

/// An open connection.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: Option<http1::Connection<TokioIo<Marked>, Full<Bytes>>>,
    marks: Arc<Marks>,
}

/// Why no head came.
pub(super) enum SendFailure {
    /// It ended before a byte of an answer.
    Nothing(hyper::Error),
    /// Bytes came, and they were no head.
    Broken(hyper::Error),
}

impl Connection {
    /// Speaks HTTP on a new socket; nothing is sent yet.
    pub(super) async fn new(socket: Socket, clock: Clock) -> hyper::Result<Connection> {
        let (socket, marks) = Marked::new(socket, clock);
        let (sender, driver) = http1::Builder::new().handshake(TokioIo::new(socket)).await?;
        Ok(Connection { sender, driver: Some(driver), marks })
    }

    /// What its socket has seen.
    pub(super) fn marks(&self) -> Arc<Marks> {
        Arc::clone(&self.marks)
    }

    /// When bytes last arrived, and the how many-th read that was.
    pub(super) fn last_read(&self) -> (Duration, u64) {
        self.marks.last_read()
    }

    /// Whether the server has not closed it, as far as is known here.
    pub(super) async fn is_open(&mut self) -> bool {
        poll_fn(|cx| {
            self.drive(cx);
            Poll::Ready(self.driver.is_some())
        })
        .await
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, SendFailure> {
        self.marks.reset();
        let reads = self.marks.last_read().1;
        let mut head = pin!(self.sender.try_send_request(request));
        let head = poll_fn(|cx| {
            self.drive(cx);
            head.as_mut().poll(cx)
        });
        head.await.map_err(|failed| {
            let error = failed.into_error();
            if self.marks.last_read().1 == reads { SendFailure::Nothing(error) } else { SendFailure::Broken(error) }
        })
    }

    /// The next bytes of a body; `None` at its end.
    pub(super) async fn next(&mut self, body: &mut Incoming) -> Option<hyper::Result<Bytes>> {
        poll_fn(|cx| {
            self.drive(cx);
            loop {
                return match Pin::new(&mut *body).poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(bytes) => Poll::Ready(Some(Ok(bytes))),
                        // Trailers say nothing here.
                        Err(_) => continue,
                    },
                    Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error))),
                    Poll::Ready(None) => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                };
            }
        })
        .await
    }

    /// Brings it to where it can take the next request; `false` when it cannot any more.
    pub(super) async fn settle(&mut self) -> bool {
        for _ in 0..SETTLE_POLLS {
            if !self.is_open().await {
                return false;
            }
            if self.sender.is_ready() {
                return true;
            }
        }
        false
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && Pin::new(driver).poll(cx).is_ready()
        {
            // Its error, if any, is also the answer's.
            self.driver = None;
        }
    }
}
