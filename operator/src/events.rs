//! [I/O] Writes events for users. A reconciliation only appends its event to a queue, and one task writes the queued events. So a run is never
//! delayed if the API server accepts no events.
//!
//! Each transition is a separate event with its own text. kube's recorder is not suitable: it treats an event as a repetition of an earlier event
//! with the same reason, and keeps the earlier text.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crds::hex;
use jiff::Timestamp;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, Client, api::PostParams, runtime::events::Reporter};
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tracing::warn;

use crate::metrics::Metrics;

/// Maximum number of queued events, which is what a thousand runs produce in a few minutes. If the queue is full, the oldest event is dropped.
const MAX_WAITING: usize = 1_000;
/// Time limit per request.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
/// Waits before the second and the third attempt to write an event, if a retry may succeed.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// Number of hash bytes in the name of an Event object.
const NAME_BYTES: usize = 8;
/// HTTP status codes after which a retry of the same request may succeed.
const PASSING: [u16; 4] = [408, 429, 503, 504];

/// An event to write.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    /// The object to which the event belongs.
    pub about: ObjectReference,
    /// Whether the type of the event is Warning. Otherwise it is Normal.
    pub warning: bool,
    /// The reason, in one word.
    pub reason: String,
    /// The explanation, in at most 1 KB.
    pub note: String,
    /// Text that distinguishes this event from an earlier one with the same reason and note, such as a resource version.
    pub occasion: String,
}

/// A queue of events, and the task that writes them one after the other.
pub struct Events {
    queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
}

struct Queue {
    waiting: Mutex<VecDeque<News>>,
    news: Notify,
    metrics: Arc<Metrics>,
}

impl Events {
    /// Starts the task that writes events. Without a tokio runtime no task is started, and events stay in the queue.
    pub fn new(client: Client, reporter: Reporter, metrics: Arc<Metrics>) -> Self {
        let queue = Arc::new(Queue { waiting: Mutex::default(), news: Notify::new(), metrics });
        let writer = Writer { client, reporter, queue: Arc::clone(&queue) };
        let writer = tokio::runtime::Handle::try_current().ok().map(|it| it.spawn(writer.run()));
        Events { queue, writer }
    }

    /// Appends an event to the queue. Never blocks.
    pub fn publish(&self, news: News) {
        let mut waiting = self.queue.lock();
        if waiting.len() == MAX_WAITING
            && let Some(oldest) = waiting.pop_front()
        {
            self.queue.dropped(&oldest, "too many events wait");
        }
        waiting.push_back(news);
        drop(waiting);
        self.queue.news.notify_one();
    }

    /// Whether the task that writes events is still running.
    pub fn is_alive(&self) -> bool {
        self.writer.as_ref().is_some_and(|it| !it.is_finished())
    }

    /// Waits until all events are written, or until the time limit has passed.
    pub async fn drain(&self, limit: Duration) {
        let empty = async {
            while self.waiting() > 0 {
                sleep(Duration::from_millis(50)).await;
            }
        };
        // Events that are still queued are lost. That is acceptable because they are only for information.
        let _ = timeout(limit, empty).await;
    }

    /// Number of queued events.
    pub fn waiting(&self) -> usize {
        self.queue.lock().len()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(writer) = &self.writer {
            writer.abort();
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<News>> {
        // If another thread has panicked, the lock is poisoned, but it is used nevertheless: every operation leaves the queue in a valid state.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dropped(&self, news: &News, why: &str) {
        self.metrics.event_dropped();
        let [namespace, name] = [&news.about.namespace, &news.about.name].map(|it| it.as_deref().unwrap_or_default());
        warn!(run = %format!("{namespace}/{name}"), reason = news.reason, why, "an event was not written");
    }
}

struct Writer {
    client: Client,
    reporter: Reporter,
    queue: Arc<Queue>,
}

impl Writer {
    async fn run(self) {
        loop {
            // The event stays in the queue until it is written, so that `drain` waits for it.
            let next = self.queue.lock().front().cloned();
            match next {
                None => self.queue.news.notified().await,
                Some(news) => {
                    self.write(&news).await;
                    let mut waiting = self.queue.lock();
                    // A full queue might have dropped the event meanwhile.
                    if waiting.front() == Some(&news) {
                        waiting.pop_front();
                    }
                }
            }
        }
    }

    async fn write(&self, news: &News) {
        let event = event(&self.reporter, news, Timestamp::now());
        let events: Api<Event> =
            Api::namespaced(self.client.clone(), news.about.namespace.as_deref().unwrap_or("default"));
        let mut waits = WAITS.into_iter();
        loop {
            self.queue.metrics.write("create", "events");
            let created = timeout(REQUEST_LIMIT, events.create(&PostParams::default(), &event)).await;
            let problem = match created {
                Ok(Ok(_)) => return,
                // The event exists: an earlier attempt succeeded, although its response was lost.
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => return,
                Ok(Err(kube::Error::Api(status))) if !PASSING.contains(&status.code) => {
                    return self.queue.dropped(news, &status.message);
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer in time".to_owned(),
            };
            match waits.next() {
                Some(wait) => sleep(wait).await,
                None => return self.queue.dropped(news, &problem),
            }
        }
    }
}

/// Builds the Event object. Its name derives from the occasion, so the same transition is never reported twice.
fn event(reporter: &Reporter, news: &News, now: Timestamp) -> Event {
    let about = &news.about;
    let [uid, name] = [&about.uid, &about.name].map(|it| it.as_deref().unwrap_or_default());
    let hash = Sha256::digest([uid, &news.reason, &news.note, &news.occasion].join("\0"));
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{name}.{}", hex(&hash[..NAME_BYTES]))),
            namespace: about.namespace.clone(),
            ..ObjectMeta::default()
        },
        action: Some("Reconcile".into()),
        event_time: Some(MicroTime(now)),
        note: Some(news.note.clone()),
        reason: Some(news.reason.clone()),
        regarding: Some(about.clone()),
        reporting_controller: Some(reporter.controller.clone()),
        reporting_instance: Some(reporter.instance.clone().unwrap_or_else(|| reporter.controller.clone())),
        type_: Some(if news.warning { "Warning" } else { "Normal" }.into()),
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(note: &str, occasion: &str) -> News {
        let about = ObjectReference {
            name: Some("chat".into()),
            namespace: Some("bench".into()),
            uid: Some("u".into()),
            ..ObjectReference::default()
        };
        News { about, warning: true, reason: "OOMKilled".into(), note: note.into(), occasion: occasion.into() }
    }

    #[test]
    fn each_transition_is_an_event_with_its_own_text_and_name() {
        let reporter = Reporter { controller: "operator".into(), instance: None };
        let make = |note: &str, occasion: &str| event(&reporter, &news(note, occasion), Timestamp::UNIX_EPOCH);
        let first = make("too little memory", "7");
        assert_eq!(first.note.as_deref(), Some("too little memory"));
        assert_eq!((first.type_.as_deref(), first.reason.as_deref()), (Some("Warning"), Some("OOMKilled")));
        assert_eq!(
            first.metadata.name,
            make("too little memory", "7").metadata.name,
            "it is told again with the same name"
        );
        let names = [first, make("too little memory", "8"), make("again", "8")].map(|it| it.metadata.name);
        assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
    }
}
