//! Keeps the next stage of a load from beginning.

use std::sync::Arc;

use tokio::sync::watch;

/// A handle that delays stages which have not begun. It does not affect the stage that runs.
#[derive(Clone, Debug)]
pub struct Hold(Arc<watch::Sender<bool>>);

impl Default for Hold {
    fn default() -> Self {
        Hold(Arc::new(watch::Sender::new(false)))
    }
}

impl Hold {
    /// Delays every stage that has not begun.
    pub fn hold(&self) {
        self.0.send_replace(true);
    }

    /// Lets the next stage begin, after the pause before it.
    pub fn release(&self) {
        self.0.send_replace(false);
    }

    /// Waits until a stage may begin.
    pub(crate) async fn released(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.subscribe().wait_for(|held| !held).await;
    }
}
