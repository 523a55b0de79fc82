//! A client that records what arrives over the connection, and when.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use simulator::Simulator;
use tokio::time::Instant;

/// One connection, in memory or over a socket.
pub struct Client(SendRequest<Full<Bytes>>);

impl Client {
    /// Connects in memory.
    pub async fn new(simulator: &Arc<Simulator>) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let simulator = simulator.clone();
        tokio::spawn(async move { simulator.serve_connection(theirs).await });
        Client::over(TokioIo::new(ours)).await
    }

    /// Connects over any transport.
    pub async fn over<I: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static>(io: I) -> Self {
        let (sender, connection) = handshake(io).await.unwrap();
        tokio::spawn(connection);
        Client(sender)
    }

    /// Sends a request, and waits for the head of the answer.
    pub async fn send(&mut self, request: http::request::Builder, body: impl Into<Bytes>) -> Response<Incoming> {
        self.0.ready().await.unwrap();
        self.0.send_request(request.header("host", "sim").body(Full::new(body.into())).unwrap()).await.unwrap()
    }

    /// Posts JSON.
    pub async fn post(&mut self, path: &str, body: &Value) -> Response<Incoming> {
        self.send(Request::post(path).header("content-type", "application/json"), body.to_string()).await
    }

    /// Starts a stream of completion tokens for a prompt of `prompt` tokens.
    pub async fn stream(&mut self, prompt: usize, output: u32) -> Stream {
        let body = json!({
            "prompt": vec![7; prompt], "max_tokens": output, "stream": true, "stream_options": {"include_usage": true},
        });
        let response = self.post("/v1/completions", &body).await;
        assert_eq!(response.status(), StatusCode::OK);
        Stream::new(response)
    }

    /// Returns the body at a path.
    pub async fn get(&mut self, path: &str) -> String {
        text(self.send(Request::get(path), "").await).await
    }

    /// Returns the sum over all series of a metric.
    pub async fn metric(&mut self, name: &str) -> f64 {
        let metrics = self.get("/metrics").await;
        let series = metrics.lines().filter_map(|line| line.strip_prefix(&format!("vllm:{name}{{")));
        let values: Vec<f64> = series.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
        assert!(!values.is_empty(), "no {name} in\n{metrics}");
        values.iter().sum()
    }
}

/// Returns the body of an answer.
pub async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// The events of a stream.
pub struct Stream {
    body: Incoming,
    text: Vec<u8>,
}

impl Stream {
    /// The events of an answer.
    pub fn new(response: Response<Incoming>) -> Self {
        Stream { body: response.into_body(), text: Vec::new() }
    }

    /// Returns the data of the next event. `None` at the end. An error if the connection broke.
    pub async fn next(&mut self) -> Option<Result<String, hyper::Error>> {
        loop {
            if let Some(end) = self.text.windows(2).position(|it| it == b"\n\n") {
                let event: Vec<u8> = self.text.drain(..end + 2).collect();
                let event = String::from_utf8(event).unwrap();
                return Some(Ok(event.strip_prefix("data: ").unwrap().trim_end().to_owned()));
            }
            match self.body.frame().await? {
                Ok(frame) => self.text.extend_from_slice(&frame.into_data().unwrap()),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Returns all events with their times since `start`, until the end or until the connection breaks.
    pub async fn all(&mut self, start: Instant) -> Vec<(Duration, String)> {
        let mut events = Vec::new();
        while let Some(Ok(event)) = self.next().await {
            events.push((start.elapsed(), event));
        }
        events
    }

    /// Returns when each token arrived, in milliseconds after `start`.
    pub async fn token_times(&mut self, start: Instant) -> Vec<u128> {
        let events = self.all(start).await;
        events.iter().filter(|(_, event)| event.contains("\"text\"")).map(|(at, _)| at.as_millis()).collect()
    }
}
