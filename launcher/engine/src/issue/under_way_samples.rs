//! [I/O] Looks at the requests under way while a stage runs whose drain gives a rate to a later stage.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, task::JoinHandle};

use super::{in_flight::check_join, shared::Shared};

/// Between two looks, as in inference-perf.
const EVERY: Duration = Duration::from_millis(500);

/// Looks at one stage. One worker looks for all.
pub(super) struct UnderWaySamples {
    over: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl UnderWaySamples {
    /// Looks at `start`, and then every 0.5 s.
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
