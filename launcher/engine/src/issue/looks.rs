//! [I/O] Looks at the requests of a trial at the times that the trial needs, while the trial runs.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::oneshot,
    task::{JoinHandle, spawn_blocking},
};

use super::{in_flight::check_join, shared::Shared};

/// The looks at one trial. One worker makes them for all workers.
pub(super) struct Looks {
    over: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Looks {
    /// Evaluates a stage that begins at `start`, until an evaluation ends the stage.
    pub(super) fn start(shared: &Arc<Shared>, stage: usize, start: Duration) -> Looks {
        let (over, ended) = oneshot::channel::<()>();
        let shared = Arc::clone(shared);
        Looks { over, task: tokio::spawn(run_looks(shared, stage, start, ended)) }
    }

    /// Call it when all workers have ended the stage.
    pub(super) async fn end(self) {
        // The task waits for this message alone.
        let _ = self.over.send(());
        check_join(self.task.await);
    }
}

async fn run_looks(shared: Arc<Shared>, stage: usize, start: Duration, mut over: oneshot::Receiver<()>) {
    let Some(trials) = &shared.trials else { return };
    while let Some(at) = trials.next_look() {
        if shared.clock.within(Some(start.saturating_add(at)), &mut over).await.is_ok() {
            return;
        }
        let (now, shared) = (shared.clock.now(), Arc::clone(&shared));
        // A look at many requests takes milliseconds, in which this thread would send nothing.
        let look = spawn_blocking(move || shared.trials.as_ref().is_none_or(|it| it.look(stage, start, now)));
        match look.await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => return check_join(Err(error)),
        }
    }
}
