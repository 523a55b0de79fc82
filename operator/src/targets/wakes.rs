//! Turns for runs that may begin, because the run in front of them ended.

use std::sync::{Mutex, PoisonError};

use futures::Stream;
use tokio::sync::mpsc;

/// The most runs that are woken and have not got their turn. A run that finds no room looks by itself some time later.
const MOST_WOKEN: usize = 1_024;

/// Namespace and name of a run.
type Name = (String, String);

/// Who is woken.
#[derive(Debug, Default)]
pub(super) struct Wakes(Mutex<Vec<(Option<String>, mpsc::Sender<Name>)>>);

impl Wakes {
    pub(super) fn subscribe(&self, namespace: Option<&str>) -> Woken {
        let (sender, receiver) = mpsc::channel(MOST_WOKEN);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((namespace.map(str::to_owned), sender));
        Woken(receiver)
    }

    pub(super) fn wake(&self, namespace: &str, name: &str) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, sender) in all.iter().filter(|(of, _)| of.as_deref().is_none_or(|it| it == namespace)) {
            // A full queue, or a loop that has ended.
            let _ = sender.try_send((namespace.to_owned(), name.to_owned()));
        }
    }
}

/// Runs that may begin. Never ends.
#[derive(Debug)]
pub struct Woken(mpsc::Receiver<Name>);

impl Woken {
    /// The next run that was woken, if there is one already.
    #[cfg(test)]
    pub(super) fn try_next(&mut self) -> Option<Name> {
        self.0.try_recv().ok()
    }

    /// Namespace and name of each run.
    pub fn names(self) -> impl Stream<Item = Name> + Send + 'static {
        futures::stream::unfold(self.0, |mut receiver| async move { receiver.recv().await.map(|it| (it, receiver)) })
    }
}
