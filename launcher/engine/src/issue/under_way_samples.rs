//! [I/O] Samples the number of requests in flight during a stage, if the rate of a later stage depends on how fast this stage drains.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, task::JoinHandle};

use super::{in_flight::check_join, shared::Shared};

/// Sampling interval, the same as in inference-perf.
const EVERY: Duration = Duration::from_millis(500);

/// The sampling of one stage. One worker samples for all workers.
pub(super) struct UnderWaySamples {
    over: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl UnderWaySamples {
    /// Starts sampling: at `start`, and then every 0.5 s.
    pub(super) fn start(shared: &Arc<Shared>, stage: usize, start: Duration) -> UnderWaySamples {
        let (over, mut ended) = oneshot::channel::<()>();
        let shared = Arc::clone(shared);
        let task = tokio::spawn(async move {
            for number in 0_u32.. {
                let at = start.saturating_add(EVERY.saturating_mul(number));
                if shared.clock.within(Some(at), &mut ended).await.is_ok() {
                    break;
                }
                shared.sample_under_way(stage);
            }
        });
        UnderWaySamples { over, task }
    }

    /// Stops sampling. Call it after all workers have ended the stage.
    pub(super) async fn end(self) {
        // Sending cannot fail, because the task runs until it receives this message.
        let _ = self.over.send(());
        check_join(self.task.await);
    }
}
