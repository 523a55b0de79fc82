//! [I/O] Traces, if they are requested. Each reconciliation of a run is one trace, which is sent to a collector by OTLP over HTTP.
//!
//! Without an endpoint no span is created. A slow or failed collector causes no delay, because a reconciliation only appends its spans to a bounded
//! queue, and one task sends them. Spans that do not fit into the queue are lost and counted. Spans contain names, codes and phases, but never a
//! body, a header or a message of the API server.

mod endpoint;
mod http;
mod queue;
mod spans;

use std::{sync::Arc, time::Duration};

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{SdkTracer, SdkTracerProvider, SpanExporter as _},
};
use tokio::{task::JoinHandle, time::timeout};
use tracing::{Metadata, Subscriber, level_filters::LevelFilter, subscriber::Interest, warn};
use tracing_subscriber::{Layer, filter::dynamic_filter_fn, registry::LookupSpan};

use self::queue::{Outlet, queue};
use crate::{metrics::Metrics, plan::meta};

pub use endpoint::{Endpoint, EndpointError, endpoint};
pub use spans::{TARGET, turn};
pub(crate) use spans::{after, answered, before, deleted, request, step, wrote};

const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";

/// The tracer provider, and the queue that holds its spans until [`Traces::start`].
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    exporter: SpanExporter,
    outlet: Outlet,
}

impl Traces {
    /// Creates the provider. The exporter reads headers, sampling and resource attributes from OpenTelemetry's environment variables.
    ///
    /// # Errors
    /// The exporter cannot be built.
    pub fn new(endpoint: &Endpoint) -> Result<Self, ExporterBuildError> {
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(http::Post::new())
            .with_endpoint(endpoint.as_str())
            .with_protocol(Protocol::HttpBinary)
            .build()?;
        let mut resource =
            Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        if std::env::var_os(SERVICE_NAME).is_none() {
            resource = resource.with_service_name(meta::MANAGER);
        }
        if let Ok(host) = std::env::var("HOSTNAME") {
            resource = resource.with_attribute(KeyValue::new("service.instance.id", host));
        }
        let resource = resource.build();
        exporter.set_resource(&resource);
        let (inlet, outlet) = queue();
        let provider = SdkTracerProvider::builder().with_resource(resource).with_span_processor(inlet).build();
        let tracer = provider.tracer(meta::MANAGER);
        Ok(Traces { provider, tracer, exporter, outlet })
    }

    /// The layer that records the spans of reconciliations and of their steps. Requests of watches, the lease and events are not part of a
    /// reconciliation and have no spans.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let is_ours = |it: &Metadata<'_>| it.is_span() && it.target() == TARGET;
        let filter = dynamic_filter_fn(move |metadata, context| {
            is_ours(metadata) && (metadata.name() == spans::TURN || context.lookup_current().is_some())
        });
        tracing_opentelemetry::layer()
            .with_tracer(self.tracer.clone())
            // The context would only be needed by other users of OpenTelemetry, and there are none.
            .with_context_activation(false)
            .with_location(false)
            .with_target(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(
                filter
                    .with_callsite_filter(move |it| if is_ours(it) { Interest::sometimes() } else { Interest::never() })
                    .with_max_level_hint(LevelFilter::INFO),
            )
    }

    /// Starts the task that sends spans.
    pub fn start(self, metrics: Arc<Metrics>) -> Sending {
        let task = tokio::spawn(self.outlet.send(self.exporter, metrics));
        Sending { provider: self.provider, task }
    }
}

/// The task that sends spans.
pub struct Sending {
    provider: SdkTracerProvider,
    task: JoinHandle<()>,
}

impl Sending {
    /// Stops accepting spans, and sends the queued ones for at most `limit`. Spans that are still queued afterwards are lost.
    pub async fn end(mut self, limit: Duration) {
        // Closes the queue. An error would mean that it is already closed.
        let _ = self.provider.shutdown();
        if timeout(limit, &mut self.task).await.is_err() {
            self.task.abort();
            warn!(?limit, "the last traces could not be sent in time and are lost");
        }
    }
}
