//! [I/O] The wait of a closed-loop slot after a request that the target did not answer.

use std::{future::pending, pin::pin, time::Duration};

use super::context::RequestContext;

/// Minimum wait. Without it, a slot would fail in a tight loop and delay the reads of other slots.
const BACK_OFF: Duration = Duration::from_millis(10);

impl RequestContext {
    /// Waits after the target did not answer a request of a stage, at most until `over`. During an outage the slots take turns: each waits
    /// longer than the slot before it, and then tries again. So an outage does not use up the requests of the stage. A response to any
    /// request ends the wait of all slots.
    pub(super) async fn back_off(&self, stage: usize, over: Option<Duration>) {
        let (clock, outage) = (self.shared.clock, self.client.outage());
        let mut outage_over = pin!(outage.over());
        let pause = async |length: Duration| {
            // `pending` never completes, so only the deadline ends the wait.
            let _ = clock.within(clock.now().checked_add(length), pending::<()>()).await;
        };
        let work = async {
            pause(BACK_OFF).await;
            outage_over.as_mut().enable();
            if !outage.is_on() {
                return;
            }
            let turn = async {
                let _turn = self.back_off_turn.lock().await;
                pause(outage.next_wait()).await;
            };
            tokio::select! {
                biased;
                () = outage_over => {}
                () = turn => {}
            }
        };
        tokio::select! {
            biased;
            () = self.shared.stopped(stage) => {}
            _ = clock.within(over, work) => {}
        }
    }
}
