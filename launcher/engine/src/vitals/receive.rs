//! [I/O] Receive delay: how long bytes may have waited in the kernel before they were read and got their timestamp.
//!
//! A worker's thread either waits for bytes or is busy. When it begins to wait, it has read all bytes that had arrived.
//! Bytes that it reads later therefore arrived, at the earliest, when it returned from that wait. The delay is the time
//! from that return to the timestamp. It is an upper bound: it counts a busy time completely, although the bytes may
//! have arrived at its end. It needs no system call, and no state for each connection.
//!
//! It does not contain the network, nor the time in which the kernel wakes the thread. A wait that returned immediately
//! may have found bytes that arrived while the thread was busy. These bytes arrived after the return before, when the
//! thread had read everything, so the delay then counts from that earlier return.

use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

use tokio::runtime::Builder;

use crate::histogram::TimeHistogram;
use clock::Clock;

/// A wait shorter than this found bytes immediately: it is longer than the system call takes.
const WAITED: Duration = Duration::from_micros(20);
/// With a longer delay, events in one read may have arrived apart. It is shorter than any server's time between two
/// tokens of a request, and longer than a thread needs for a batch of tokens.
const LATE: Duration = Duration::from_millis(1);

thread_local! {
    static THREAD: Thread = Thread::default();
}

#[derive(Default)]
struct Thread {
    /// When the thread began to wait.
    parked: Cell<Duration>,
    /// When it returned from its last wait, however short.
    unparked: Cell<Duration>,
    /// The earliest time at which bytes that are read now can have arrived; `None` if the runtime does not tell.
    woke: Cell<Option<Duration>>,
    delays: RefCell<TimeHistogram>,
}

impl Thread {
    fn park(&self, at: Duration) {
        self.parked.set(at);
    }

    fn unpark(&self, at: Duration) {
        let before = self.unparked.replace(at);
        let waited = at.saturating_sub(self.parked.get()) >= WAITED || self.woke.get().is_none();
        self.woke.set(Some(if waited { at } else { before }));
    }

    /// The delay of a read at this time; zero if the thread has waited since.
    fn delay(&self, at: Duration) -> Option<Duration> {
        self.woke.get().map(|woke| at.saturating_sub(woke))
    }

    fn read(&self, at: Duration) {
        if let Some(delay) = self.delay(at) {
            self.delays.borrow_mut().record(delay);
        }
    }

    fn take(&self) -> Option<TimeHistogram> {
        self.woke.get().map(|_| self.delays.take())
    }
}

/// Makes a runtime of one thread tell when it waits. Without this call nothing is known about its reads.
pub fn watch(runtime: &mut Builder, clock: Clock) -> &mut Builder {
    runtime
        .on_thread_park(move || THREAD.with(|it| it.park(clock.now())))
        .on_thread_unpark(move || THREAD.with(|it| it.unpark(clock.now())))
}

/// Notes that bytes were read on this thread at this time, on the clock of [`watch`].
pub fn read(at: Duration) {
    THREAD.with(|it| it.read(at));
}

/// Whether bytes that this thread read at `at` may have waited longer than [`LATE`]: their events may have arrived one after
/// another. Call it before the thread waits again.
pub fn was_late(at: Duration) -> bool {
    THREAD.with(|it| it.delay(at) > Some(LATE))
}

/// The delays of all reads of this thread since the last call; `None` if nothing is known.
pub fn take() -> Option<TimeHistogram> {
    THREAD.with(Thread::take)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn micros(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    #[test]
    fn a_delay_counts_from_the_last_wait() {
        let thread = Thread::default();
        thread.read(micros(50));
        assert!(thread.take().is_none(), "nobody told when it woke");
        thread.park(micros(100));
        thread.unpark(micros(1_000));
        thread.read(micros(1_007));
        assert_eq!(thread.delay(micros(1_007)), Some(micros(7)));
        // A wait that returned immediately does not end the busy time; a longer one does.
        thread.park(micros(3_000));
        thread.unpark(micros(3_019));
        thread.read(micros(3_100));
        assert_eq!(thread.delay(micros(3_100)), Some(micros(2_100)));
        thread.park(micros(3_200));
        thread.unpark(micros(3_220));
        thread.read(micros(3_221));
        assert_eq!(thread.delay(micros(3_221)), Some(micros(1)));
        assert_eq!(thread.delay(micros(3_100)), Some(Duration::ZERO));
        // Short waits in a row do not add up: all bytes were read before each of them.
        for wait in 0..100 {
            thread.park(micros(4_000 + 20 * wait));
            thread.unpark(micros(4_015 + 20 * wait));
        }
        assert_eq!(thread.delay(micros(6_000)), Some(micros(25)));
        let delays = thread.take().unwrap();
        assert_eq!((delays.histogram().len(), delays.histogram().max() / 1_000_000), (3, 2));
        assert_eq!(thread.take().unwrap().histogram().len(), 0);
    }

    #[test]
    fn a_runtime_tells_when_it_waits() {
        let clock = Clock::start();
        let runtime = watch(Builder::new_current_thread().enable_all(), clock).build().unwrap();
        runtime.block_on(async { clock.sleeper().until(clock.now() + micros(1_500)).await });
        let woke = THREAD.with(|it| it.woke.get());
        assert!(woke >= Some(micros(1_500)), "{woke:?}");
        read(clock.now());
        assert_eq!(take().unwrap().histogram().len(), 1);
    }
}
