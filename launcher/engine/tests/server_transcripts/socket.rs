//! [I/O] Sends recorded responses over a real socket, through the whole client.

use std::net::Ipv4Addr;

use bytes::Bytes;
use clock::Clock;
use crds::benchmark_run::Api;
use engine::client::{Client, Exchange, Failure, Target, answer::Answer};
use measurement::record::RequestOutcome;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::cases::Case;

/// Returns the answer to a case, received over loopback.
pub async fn call(case: &Case) -> (Answer, Result<RequestOutcome, Failure>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let target = Target::new(&url, Api::Chat, None, None, &Default::default()).unwrap();
    let client = Client::new(target, Clock::start());
    let mut exchange = Exchange::default();
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        serve(stream, case).await;
    };
    let call = client.call(Bytes::from_static(b"{}"), None, case.streaming, &mut exchange);
    let (verdict, ()) = tokio::join!(call, serve);
    (exchange.answer, verdict)
}

async fn serve(mut stream: TcpStream, case: &Case) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n{}") {
        assert!(stream.read_buf(&mut request).await.unwrap() > 0, "the request has a body");
    }
    let answer = case.raw.clone().unwrap_or_else(|| encoded(case));
    // An error is ignored, because a client that has seen enough may have disconnected.
    let _ = stream.write_all(&answer).await;
    let _ = stream.shutdown().await;
}

/// Returns head and body with the recorded length or chunks. If the recording was cut off, their end is missing.
fn encoded(case: &Case) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {} recorded\r\n", case.status).into_bytes();
    let own = ["transfer-encoding", "content-length", "connection"];
    for (name, value) in case.headers.iter().filter(|(it, _)| !own.contains(&it.to_ascii_lowercase().as_str())) {
        answer.extend(format!("{name}: {value}\r\n").bytes());
    }
    if case.header("content-length").is_some() {
        let length = case.body.len() + usize::from(!case.ended);
        answer.extend(format!("content-length: {length}\r\n\r\n").bytes());
        answer.extend(&case.body);
        return answer;
    }
    answer.extend(b"transfer-encoding: chunked\r\n\r\n");
    for piece in case.pieces().into_iter().filter(|it| !it.is_empty()) {
        answer.extend(format!("{:x}\r\n", piece.len()).bytes());
        answer.extend(piece);
        answer.extend(b"\r\n");
    }
    if case.ended {
        answer.extend(b"0\r\n\r\n");
    }
    answer
}
