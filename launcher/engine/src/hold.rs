//! Keeps the next stage of a load from beginning.

use std::sync::Arc;

use tokio::sync::watch;

/// A handle that holds back the stages that have not begun. The stage that runs is not touched.
#[derive(Clone, Debug)]
pub struct Hold(Arc<watch::Sender<bool>>);

impl Default for Hold {
    fn default() -> Self {
        Hold(Arc::new(watch::Sender::new(false)))
    }
}

impl Hold {
    /// From now on no stage begins.
    pub fn hold(&self) {
        self.0.send_replace(true);
    }

    /// The next stage may begin, after the pause before it.
    pub fn release(&self) {
        self.0.send_replace(false);
    }

    /// Waits until a stage may begin.
    pub(crate) async fn released(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.subscribe().wait_for(|held| !held).await;
    }
}
