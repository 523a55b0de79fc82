//! [I/O] The wait of a closed loop after a request that the target did not answer.

use std::{future::pending, pin::pin, time::Duration};

use super::context::RequestContext;

/// Minimum wait. Without it a slot would fail as fast as it can, and delay the reads of other slots.
const BACK_OFF: Duration = Duration::from_millis(10);

impl RequestContext {
    /// Waits after a request of a stage that the target did not answer, at most until `over`. While no other request is answered, the slots
    /// wait one after the other, each longer than the previous slot, and then try: an outage must not use up the requests of the stage.
    pub(super) async fn back_off(&self, stage: usize, over: Option<Duration>) {
        let (clock, outage) = (self.shared.clock, self.client.outage());
        let mut outage_over = pin!(outage.over());
        let pause = async |length: Duration| {
            // The future never completes, so only the deadline ends the wait.
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
