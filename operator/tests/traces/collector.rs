//! A fake collector on a socket. It stores the requests that it receives.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use bytes::Bytes;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message as _;
use tokio::net::TcpListener;

/// A received request.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Received {
    /// The request, decoded with the OTLP schema.
    pub fn decoded(&self) -> ExportTraceServiceRequest {
        ExportTraceServiceRequest::decode(self.body.clone()).expect("the body is what its type says")
    }
}

#[derive(Clone, Default)]
pub struct Collector(Arc<Mutex<Vec<Received>>>);

impl Collector {
    /// Starts a collector on a free port of the loopback interface.
    pub async fn start() -> io::Result<(Collector, SocketAddr)> {
        let collector = Collector::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(receive).with_state(collector.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok((collector, address))
    }

    pub fn received(&self) -> Vec<Received> {
        self.lock().clone()
    }

    pub fn spans(&self) -> Vec<Span> {
        let requests = self.received();
        let resources = requests.iter().flat_map(|it| it.decoded().resource_spans);
        resources.flat_map(|it| it.scope_spans).flat_map(|it| it.spans).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Received>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn receive(State(collector): State<Collector>, uri: Uri, headers: HeaderMap, body: Bytes) -> StatusCode {
    collector.lock().push(Received { path: uri.to_string(), headers, body });
    StatusCode::OK
}

/// The value of an attribute as text. Empty if the attribute is absent.
pub fn attribute(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|it| it.key == key).and_then(|it| it.value.clone()).and_then(|it| it.value);
    match found {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => other.map_or_else(String::new, |it| format!("{it:?}")),
    }
}
