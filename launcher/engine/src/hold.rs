//! Delays the next stage of a load.

use std::sync::Arc;

use tokio::sync::watch;

/// A handle that delays stages that have not begun. The current stage is not affected.
#[derive(Clone, Debug)]
pub struct Hold(Arc<watch::Sender<bool>>);

impl Default for Hold {
    fn default() -> Self {
        Hold(Arc::new(watch::Sender::new(false)))
    }
}

impl Hold {
    /// Delays every stage that has not begun, until [`Hold::release`].
    pub fn hold(&self) {
        self.0.send_replace(true);
    }

    /// Lets the next stage begin, after the pause before it.
    pub fn release(&self) {
        self.0.send_replace(false);
    }

    /// Waits until a stage can begin.
    pub(crate) async fn released(&self) {
        // The wait cannot fail, because `self` owns the sender.
        let _ = self.0.subscribe().wait_for(|held| !held).await;
    }
}
