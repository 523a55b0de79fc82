//! [I/O] Samples the number of requests in flight during a stage, if the stage's drain determines the rate of a later stage.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, task::JoinHandle};

use super::{in_flight::check_join, shared::Shared};

/// Time between two samples, as in inference-perf.
const EVERY: Duration = Duration::from_millis(500);

/// Samples of one stage. One worker samples for all workers.
pub(super) struct UnderWaySamples {
    over: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl UnderWaySamples {
    /// Samples at `start`, and then every 0.5 s.
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

    /// Call it when all workers have ended the stage.
    pub(super) async fn end(self) {
        // The task waits for this message alone.
        let _ = self.over.send(());
        check_join(self.task.await);
    }
}
