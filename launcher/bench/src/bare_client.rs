//! [I/O] The bare client, with which the engine is compared. It uses plain hyper and tokio. It only opens connections, posts requests, reads frames,
//! and records the time of each frame. It does not parse frames, because the server sends one token per frame.

use std::{collections::BTreeMap, net::Ipv4Addr, time::Duration};

use bytes::Bytes;
use capacity::{
    child_messages::{ClientRequest, ClientResult},
    memory, nanos,
};
use futures::future::try_join_all;
use http::{
    Request,
    header::{CONTENT_TYPE, HOST, USER_AGENT},
};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{BenchError, parts::BareSpec};

/// The prompt of each request. It is as long as the prompts of the engine's load.
const PROMPT: &str = "salt letters of people who count days by tides";

/// Number of frames after those with tokens: one with the usage, and one with `[DONE]`.
const CLOSING: usize = 2;

type Sender = SendRequest<Full<Bytes>>;

/// Runs a closed loop, and returns its result.
///
/// # Errors
/// A connection or an answer broke.
pub(super) fn run(spec: &BareSpec) -> Result<ClientResult, BenchError> {
    let body = Bytes::from(format!(
        r#"{{"model":"bench","prompt":"{PROMPT}","max_tokens":{},"ignore_eos":true,"stream":true,"stream_options":{{"include_usage":true}}}}"#,
        spec.tokens
    ));
    let (cpu, begun) = (clock::process_cpu(), clock::monotonic());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let requests_of_slots = runtime.block_on(async {
        let mut senders = Vec::new();
        for _ in 0..spec.streams {
            senders.push(connect(spec.port).await?);
        }
        let slots = senders.into_iter().zip(0_u64..).map(|(sender, slot)| {
            tokio::spawn(run_slot(sender, spec.clone(), slot * u64::from(spec.rounds), body.clone()))
        });
        let ended = try_join_all(slots.collect::<Vec<_>>()).await;
        ended
            .map_err(|_| BenchError::Program("the bare client ended early".into()))?
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
    })?;
    let (cpu, wall) = (clock::process_cpu().saturating_sub(cpu), clock::monotonic().saturating_sub(begun));
    let peak_rss_bytes = memory::peak()?;
    let (mut requests, mut error, mut failed) = (Vec::new(), None, 0);
    for request in requests_of_slots.into_iter().flatten() {
        match request {
            Ok(request) => requests.push(request),
            Err(why) => (error, failed) = (error.or(Some(why)), failed + 1),
        }
    }
    let mut outcomes = BTreeMap::from([("ok".to_owned(), requests.len() as u64)]);
    if failed > 0 {
        outcomes.insert("otherFrames".to_owned(), failed);
    }
    let (cpu_ns, wall_ns) = (nanos(cpu), nanos(wall));
    Ok(ClientResult { cpu_ns, wall_ns, peak_rss_bytes, outcomes, error, requests, ..ClientResult::default() })
}

async fn connect(port: u16) -> Result<Sender, BenchError> {
    let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    socket.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn run_slot(
    mut sender: Sender,
    spec: BareSpec,
    first: u64,
    body: Bytes,
) -> Result<Vec<Result<ClientRequest, String>>, BenchError> {
    let mut requests = Vec::with_capacity(spec.rounds as usize);
    let mut stamps = Vec::with_capacity(spec.tokens as usize + CLOSING);
    for number in first..first + u64::from(spec.rounds) {
        let request = Request::post("/v1/completions")
            .header(HOST, format!("127.0.0.1:{}", spec.port))
            .header(USER_AGENT, "bare")
            .header(CONTENT_TYPE, "application/json")
            .header("x-request-id", format!("bw-bare-0-{number}"))
            .body(Full::new(body.clone()))?;
        sender.ready().await?;
        let sent = clock::monotonic();
        let mut answer = sender.send_request(request).await?;
        stamps.clear();
        while let Some(frame) = answer.frame().await {
            stamps.push(clock::monotonic());
            frame?;
        }
        requests.push(seen(number, sent, &stamps, spec.tokens));
    }
    Ok(requests)
}

/// The times of a request. Returns an error if frames are missing. Also returns one if a frame arrived in two pieces, because it is then unknown
/// which time belongs to which token.
fn seen(number: u64, sent: Duration, stamps: &[Duration], tokens: u32) -> Result<ClientRequest, String> {
    let wanted = tokens as usize + CLOSING;
    if stamps.len() != wanted {
        return Err(format!("the bare client saw {} frames where {wanted} were sent", stamps.len()));
    }
    let stamps = &stamps[..tokens as usize];
    let (first, last) = (stamps.first().copied().unwrap_or(sent), stamps.last().copied().unwrap_or(sent));
    Ok(ClientRequest {
        stage: 0,
        number,
        scheduled_ns: nanos(sent),
        queued_ns: 0,
        sent_ns: nanos(sent),
        first_ns: nanos(first),
        last_ns: nanos(last),
        gaps_ns: stamps.windows(2).map(|pair| nanos(pair[1].saturating_sub(pair[0]))).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_frame_for_each_token_and_two_behind_them() {
        let at = |nanos: &[u64]| nanos.iter().copied().map(Duration::from_nanos).collect::<Vec<_>>();
        let sent = Duration::from_nanos(100);
        let request = seen(7, sent, &at(&[150, 160, 175, 176, 177]), 3).unwrap();
        assert_eq!((request.first_ns, request.last_ns, request.gaps_ns), (150, 175, vec![10, 15]));
        for frames in [&[150, 160, 175, 176][..], &[150, 160, 175, 176, 177, 178], &[]] {
            let error = seen(7, sent, &at(frames), 3).unwrap_err();
            assert_eq!(error, format!("the bare client saw {} frames where 5 were sent", frames.len()));
        }
    }
}
