//! A server on loopback for unit tests. It lives as long as the test process.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, ToSocketAddrs},
    sync::Arc,
    thread,
};

/// Reads the head of one request from each connection, and writes the response that `answer` returns for it. Each connection has its own thread.
pub(crate) fn serve(
    address: impl ToSocketAddrs,
    answer: impl Fn(&str) -> String + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind(address).expect("loopback has a free port");
    let address = listener.local_addr().expect("a listener has an address");
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.expect("the client is on this machine"), Arc::clone(&answer));
            thread::spawn(move || {
                let lines = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|it| !it.is_empty());
                let head = lines.collect::<Vec<_>>().join("\n");
                // The client may disconnect early, which is no error.
                let _ = stream.write_all(answer(&head).as_bytes());
            });
        }
    });
    address
}

/// The path in this request head.
pub(crate) fn path(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

/// A response that ends its connection. `status` can contain further header lines.
pub(crate) fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}
