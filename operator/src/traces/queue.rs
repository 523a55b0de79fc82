//! [I/O] The queue between the reconciliations and the collector. OpenTelemetry's own queue is not used: it needs a thread, waits for the collector
//! without a time limit, and does not report how many spans it lost.

use std::{
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use opentelemetry::Context;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{Span, SpanData, SpanExporter, SpanProcessor},
};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use tracing::warn;

use crate::metrics::Metrics;

/// Maximum number of queued spans, which is about 100 reconciliations or 2 MB. Further spans are lost.
const MAX_WAITING: usize = 2_048;
/// Maximum number of spans per request.
const MAX_BATCH: usize = 512;
/// How long to wait for more spans before a request with the queued spans is sent.
const GATHER: Duration = Duration::from_secs(2);
/// Time limit of one request, including its retries.
const EXPORT_LIMIT: Duration = Duration::from_secs(10);
/// Minimum time between two log lines about lost spans.
const REPORT_INTERVAL: Duration = Duration::from_secs(300);

/// Creates an empty queue, and returns its two ends.
pub(super) fn queue() -> (Inlet, Outlet) {
    let (sender, spans) = mpsc::channel(MAX_WAITING);
    let refused = Arc::<AtomicU64>::default();
    (Inlet { sender: Mutex::new(Some(sender)), refused: Arc::clone(&refused) }, Outlet { spans, refused })
}

/// The sending end: queues finished spans without blocking.
#[derive(Debug)]
pub(super) struct Inlet {
    /// The channel to the receiving end. `None` after the queue was closed.
    sender: Mutex<Option<mpsc::Sender<SpanData>>>,
    /// Number of spans that did not fit into the queue.
    refused: Arc<AtomicU64>,
}

impl Inlet {
    fn close(&self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl SpanProcessor for Inlet {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        // The lock is only held briefly, because `try_send` does not block.
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if span.span_context.is_sampled() && sender.as_ref().is_some_and(|it| it.try_send(span).is_err()) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        self.close();
        Ok(())
    }
}

/// The receiving end: sends the queued spans to the collector.
pub(super) struct Outlet {
    spans: mpsc::Receiver<SpanData>,
    refused: Arc<AtomicU64>,
}

impl Outlet {
    /// Sends all spans until the queue is closed and empty.
    pub(super) async fn send(mut self, exporter: impl SpanExporter, metrics: Arc<Metrics>) {
        let mut losses = Losses { metrics, unreported: 0, reported: None };
        loop {
            let batch = self.next_batch().await;
            if batch.is_empty() {
                return;
            }
            let count = batch.len() as u64;
            let sent = timeout(EXPORT_LIMIT, exporter.export(batch)).await;
            let refused = self.refused.swap(0, Ordering::Relaxed);
            match sent {
                Ok(Ok(())) if refused == 0 => {}
                Ok(Ok(())) => losses.add(refused, "the collector is too slow"),
                // The error text is safe to log, because it contains nothing that the collector has sent.
                Ok(Err(error)) => losses.add(refused + count, &error.to_string()),
                Err(_) => losses.add(refused + count, "the collector does not answer"),
            }
        }
    }

    /// The next spans, at most [`MAX_BATCH`]. Empty if the queue is closed and empty.
    async fn next_batch(&mut self) -> Vec<SpanData> {
        let mut batch = Vec::new();
        self.spans.recv_many(&mut batch, MAX_BATCH).await;
        let others = async {
            loop {
                let room = MAX_BATCH - batch.len();
                if room == 0 || self.spans.recv_many(&mut batch, room).await == 0 {
                    return;
                }
            }
        };
        // After a timeout, `recv_many` has received either some spans, which are in `batch`, or none. None are lost.
        let _ = timeout(GATHER, others).await;
        batch
    }
}

/// Counts lost spans, and logs them from time to time.
struct Losses {
    metrics: Arc<Metrics>,
    unreported: u64,
    reported: Option<Instant>,
}

impl Losses {
    fn add(&mut self, count: u64, error: &str) {
        self.metrics.spans_dropped(count);
        self.unreported += count;
        if self.reported.is_none_or(|it| it.elapsed() >= REPORT_INTERVAL) {
            let spans = mem::take(&mut self.unreported);
            warn!(spans, error, "traces were lost; the operator goes on without them");
            self.reported = Some(Instant::now());
        }
    }
}
