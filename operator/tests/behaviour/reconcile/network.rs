//! The fake API server behind a TCP socket, for the client of production. It writes its responses byte by byte, so that a test case can cut, delay or
//! drop them. Requests for events are not counted, because turns do not depend on events.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Response};
use http_body_util::{BodyExt as _, Full};
use kube::{Client, Config};
use operator::{
    connection::{self, Health, Limits},
    leadership::Fence,
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream},
    net::{TcpListener, TcpStream},
};

use super::server::{self, Server};

/// The operator's own time limits, but shorter, because the tests wait for responses that never arrive. They are long enough for a response on a busy
/// machine, which may take a second.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(5),
    read: Duration::from_secs(5),
    request: Duration::from_secs(5),
    watch_seconds: 15,
    idle: Duration::from_secs(10),
    silent: Duration::from_secs(30),
    stuck: Duration::from_secs(180),
};
/// Number of bytes per part of a slow response.
const PART: usize = 64;

/// How one request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The request is refused with this status and `Retry-After`, and has no effect.
    Status(u16),
    /// The connection is reset before the request has any effect.
    Reset,
    /// The request takes effect, but the connection is closed without a response.
    AnswerLost,
    /// The request takes effect, but only half of the response arrives.
    HalfAnswer,
    /// The request takes effect, but no response ever arrives.
    Silence,
    /// The request takes effect, and the response arrives in small parts.
    SlowAnswer,
    /// The operator is killed before the request.
    KilledBefore,
    /// The operator is killed after the request.
    KilledAfter,
}

#[derive(Default)]
struct Log {
    /// All requests in order, in the form `get jobs`.
    requests: Vec<String>,
    trouble: Option<(usize, Trouble)>,
}

/// The network between the client and a server.
#[derive(Clone)]
pub struct Network {
    server: Server,
    log: Arc<Mutex<Log>>,
}

impl Network {
    /// Listens on a socket, and returns the client of production for it.
    pub async fn start(server: &Server) -> anyhow::Result<(Network, Client)> {
        let network = Network { server: server.clone(), log: Arc::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let accepting = network.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let network = accepting.clone();
                // If the case cuts the connection, `serve` ends with an error, which is expected.
                tokio::spawn(async move { network.serve(connection).await });
            }
        });
        let health = Arc::new(Health::new(LIMITS));
        Ok((network, connection::client(&Config::new(url.parse()?), &health, &Arc::new(Fence::open()))?))
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }

    /// Makes the request with this number fail, counted from 0.
    pub fn harm(&self, number: usize, trouble: Trouble) {
        self.log().trouble = Some((number, trouble));
    }

    /// All requests except those for events, in the form `get jobs`.
    pub fn requests(&self) -> Vec<String> {
        self.log().requests.clone()
    }

    /// Records a request, and returns the failure that is planned for it.
    fn note(&self, method: &Method, path: &str) -> Option<Trouble> {
        let (_, plural, name, _) = server::parts(path);
        if plural == "events" {
            return None;
        }
        let mut log = self.log();
        let number = log.requests.len();
        let verb = match *method {
            Method::GET if name.is_empty() => "list",
            Method::GET => "get",
            Method::POST => "create",
            Method::DELETE => "delete",
            _ => "patch",
        };
        log.requests.push(format!("{verb} {plural}"));
        log.trouble.filter(|(it, _)| *it == number).map(|(_, trouble)| trouble)
    }

    async fn serve(&self, connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut stream = BufStream::new(connection);
        while let Some((method, target, body)) = read_request(&mut stream).await? {
            let (path, query) = target.split_once('?').unwrap_or((&target, ""));
            let trouble = self.note(&method, path);
            match trouble {
                Some(Trouble::Status(code)) => {
                    write_answer(&mut stream, server::error(code, "as the case asks")?, trouble).await?;
                    continue;
                }
                Some(Trouble::Reset) => return stream.get_ref().set_zero_linger(),
                Some(Trouble::KilledBefore) => self.server.state().dead = true,
                _ => {}
            }
            let answer = self.server.state().answer(&method, path, query, body);
            match trouble {
                Some(Trouble::KilledAfter) => self.server.state().dead = true,
                Some(Trouble::Silence) => std::future::pending().await,
                _ => {}
            }
            match (trouble, answer) {
                (Some(Trouble::AnswerLost | Trouble::KilledAfter), _) | (_, Err(_)) => return Ok(()),
                (trouble, Ok(answer)) => write_answer(&mut stream, answer, trouble).await?,
            }
            if trouble == Some(Trouble::HalfAnswer) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Reads method, target and body of a request. `None` if the client has closed the connection.
async fn read_request(stream: &mut BufStream<TcpStream>) -> io::Result<Option<(Method, String, Value)>> {
    let mut first = String::new();
    if stream.read_line(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut words = first.split_ascii_whitespace();
    let method = words.next().and_then(|it| it.parse().ok()).unwrap_or(Method::GET);
    let target = words.next().unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some((method, target, serde_json::from_slice(&body).unwrap_or(Value::Null))))
}

async fn write_answer(
    stream: &mut BufStream<TcpStream>,
    answer: Response<Full<Bytes>>,
    trouble: Option<Trouble>,
) -> io::Result<()> {
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let retry = if matches!(status, 429 | 503) { "Retry-After: 1\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status} As the case asks\r\nContent-Type: application/json\r\n{retry}Content-Length: {}\r\n\r\n",
        body.len()
    );
    let sent = if trouble == Some(Trouble::HalfAnswer) { body.len() / 2 } else { body.len() };
    stream.write_all(head.as_bytes()).await?;
    for part in body[..sent].chunks(if trouble == Some(Trouble::SlowAnswer) { PART } else { usize::MAX }) {
        stream.write_all(part).await?;
        stream.flush().await?;
        tokio::task::yield_now().await;
    }
    stream.flush().await
}
