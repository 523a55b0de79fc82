//! Wakes objects that wait for another object: a run that waits for the end of the run in front of it, and a schedule or sweep that waits for the end
//! of its run.

use std::sync::{Mutex, PoisonError};

use futures::Stream;
use tokio::sync::mpsc;

/// Maximum number of woken objects that are queued. If the queue is full, an object gets its reconciliation later, from its own timer.
const MOST_WOKEN: usize = 1_024;

/// Namespace and name of an object.
type Name = (String, String);

/// The queues of all subscribers, each with its namespace or `None` for all.
#[derive(Debug, Default)]
pub struct Wakes(Mutex<Vec<(Option<String>, mpsc::Sender<Name>)>>);

impl Wakes {
    /// Returns a stream of the objects in one namespace, or in all, that are woken from now on.
    pub fn subscribe(&self, namespace: Option<&str>) -> Woken {
        let (sender, receiver) = mpsc::channel(MOST_WOKEN);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((namespace.map(str::to_owned), sender));
        Woken(receiver)
    }

    /// Wakes an object. Never blocks.
    pub fn wake(&self, namespace: &str, name: &str) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, sender) in all.iter().filter(|(of, _)| of.as_deref().is_none_or(|it| it == namespace)) {
            // An error means that the queue is full, or that its loop has ended.
            let _ = sender.try_send((namespace.to_owned(), name.to_owned()));
        }
    }
}

/// A stream of woken objects. It never ends.
#[derive(Debug)]
pub struct Woken(mpsc::Receiver<Name>);

impl Woken {
    /// The next woken object, if there is one already.
    #[cfg(test)]
    pub(crate) fn try_next(&mut self) -> Option<Name> {
        self.0.try_recv().ok()
    }

    /// Namespace and name of each woken object.
    pub fn names(self) -> impl Stream<Item = Name> + Send + 'static {
        futures::stream::unfold(self.0, |mut receiver| async move { receiver.recv().await.map(|it| (it, receiver)) })
    }
}
