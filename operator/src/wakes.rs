//! Turns for objects that wait for another object: a run waits for the end of the run in front of it, a schedule for the end of its run.

use std::sync::{Mutex, PoisonError};

use futures::Stream;
use tokio::sync::mpsc;

/// Maximum number of woken objects that have not got their turn. An object that does not fit looks by itself some time later.
const MOST_WOKEN: usize = 1_024;

/// Namespace and name of an object.
type Name = (String, String);

/// The subscribers for woken objects.
#[derive(Debug, Default)]
pub struct Wakes(Mutex<Vec<(Option<String>, mpsc::Sender<Name>)>>);

impl Wakes {
    /// The objects, in one namespace or in all, that are woken after this call.
    pub fn subscribe(&self, namespace: Option<&str>) -> Woken {
        let (sender, receiver) = mpsc::channel(MOST_WOKEN);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((namespace.map(str::to_owned), sender));
        Woken(receiver)
    }

    /// Wakes an object. Never waits.
    pub fn wake(&self, namespace: &str, name: &str) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, sender) in all.iter().filter(|(of, _)| of.as_deref().is_none_or(|it| it == namespace)) {
            // The queue is full, or its loop has ended.
            let _ = sender.try_send((namespace.to_owned(), name.to_owned()));
        }
    }
}

/// Objects that were woken. Never ends.
#[derive(Debug)]
pub struct Woken(mpsc::Receiver<Name>);

impl Woken {
    /// The next object if one has already been woken.
    #[cfg(test)]
    pub(crate) fn try_next(&mut self) -> Option<Name> {
        self.0.try_recv().ok()
    }

    /// Namespace and name of each object.
    pub fn names(self) -> impl Stream<Item = Name> + Send + 'static {
        futures::stream::unfold(self.0, |mut receiver| async move { receiver.recv().await.map(|it| (it, receiver)) })
    }
}
