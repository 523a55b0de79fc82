//! [I/O] Runs many waits on one precise timer. Used for the think times of a worker's sessions.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, oneshot};

use clock::{Clock, Sleeper};

/// The waits of one worker, one per waiting turn.
pub(super) struct Waits {
    clock: Clock,
    sleeper: Sleeper,
    queue: Mutex<Queue>,
    earlier: Notify,
}

#[derive(Default)]
struct Queue {
    waits: BinaryHeap<Reverse<Wait>>,
    made: u64,
}

/// A wait. Waits are ordered by time, and then by creation.
struct Wait {
    at: Duration,
    number: u64,
    over: oneshot::Sender<()>,
}

impl Waits {
    /// Must be called on the runtime of the worker.
    pub(super) fn new(clock: Clock) -> Waits {
        Waits { clock, sleeper: clock.sleeper(), queue: Mutex::default(), earlier: Notify::new() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until time `at`. Requires that [`Waits::run`] runs concurrently.
    pub(super) async fn until(&self, at: Duration) {
        if self.clock.now() >= at {
            return;
        }
        let (over, is_over) = oneshot::channel();
        let is_first = {
            let mut queue = self.queue();
            let is_first = queue.waits.peek().is_none_or(|Reverse(it)| at < it.at);
            queue.made += 1;
            let number = queue.made;
            queue.waits.push(Reverse(Wait { at, number, over }));
            is_first
        };
        if is_first {
            self.earlier.notify_one();
        }
        // The wait cannot fail, because the sender is dropped only together with the queue.
        let _ = is_over.await;
    }

    /// Completes each wait at its time. Never returns.
    pub(super) async fn run(&self) {
        loop {
            let next = self.queue().waits.peek().map(|Reverse(it)| it.at);
            match next {
                None => self.earlier.notified().await,
                Some(at) => tokio::select! {
                    biased;
                    () = self.earlier.notified() => {}
                    () = self.sleeper.until(at) => {}
                },
            }
            let now = self.clock.now();
            let mut queue = self.queue();
            while queue.waits.peek().is_some_and(|Reverse(it)| it.at <= now) {
                if let Some(Reverse(wait)) = queue.waits.pop() {
                    // Sending fails if the turn was given up and no longer waits.
                    let _ = wait.over.send(());
                }
            }
        }
    }
}

impl PartialEq for Wait {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl Eq for Wait {}

impl PartialOrd for Wait {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wait {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_wait_ends_at_its_time() {
        let waits = Waits::new(Clock::from_runtime());
        let ended = join_all([30, 10, 20, 10, 0].map(|at| {
            let waits = &waits;
            async move {
                let at = Duration::from_millis(at);
                waits.until(at).await;
                assert_eq!(waits.clock.now(), at);
                at
            }
        }));
        let given_up = async {
            let _ = waits.clock.within(Some(Duration::from_millis(5)), waits.until(Duration::from_millis(8))).await;
        };
        tokio::select! {
            () = waits.run() => unreachable!("it never returns"),
            (ended, ()) = async { tokio::join!(ended, given_up) } => assert_eq!(ended.len(), 5),
        }
    }
}
