//! [I/O] Receive delay: how long bytes may have lain in the kernel before they were read and stamped.
//!
//! A load thread either waits for bytes or is busy. Bytes that it reads came after it had last begun to wait, because all
//! that had come before was read by then; so they came, at the earliest, when it returned from that wait. The delay is the
//! time from there to the stamp: an upper bound, which counts a busy time in full although bytes may have come at its end.
//! It holds no system call and nothing per connection.
//!
//! What it does not see: how long the kernel took to wake the thread, and the network. A wait that was over at once may have
//! found bytes that came while the thread was busy; they came after it had asked the time before, when it had read all that
//! was there, so the time counts from the return before.

use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

use tokio::runtime::Builder;

use crate::histogram::TimeHistogram;
use clock::Clock;

/// A wait shorter than this found something at once: longer than asking the kernel takes.
const WAITED: Duration = Duration::from_micros(20);
/// Past this delay, events in one read may have come apart: it is below every time between two tokens that a server has
/// for a request, and above what a thread needs for a batch of them.
const LATE: Duration = Duration::from_millis(1);

thread_local! {
    static THREAD: Thread = Thread::default();
}

#[derive(Default)]
struct Thread {
    /// When it began to wait.
    parked: Cell<Duration>,
    /// When it returned from its last wait, however short.
    unparked: Cell<Duration>,
    /// The earliest that bytes which are read now can have come; `None` where nobody tells.
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

    /// How late a read of this time was; zero when the thread has waited since.
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

/// Has a runtime of one thread tell when it waits. Without this nothing is known of its reads.
pub fn watch(runtime: &mut Builder, clock: Clock) -> &mut Builder {
    runtime
        .on_thread_park(move || THREAD.with(|it| it.park(clock.now())))
        .on_thread_unpark(move || THREAD.with(|it| it.unpark(clock.now())))
}

/// Bytes were read on this thread, and stamped with this time on the clock of [`watch`].
pub fn read(at: Duration) {
    THREAD.with(|it| it.read(at));
}

/// Whether bytes that this thread read at a time may have lain for longer than events come apart. To be asked before it waits
/// again.
pub fn was_late(at: Duration) -> bool {
    THREAD.with(|it| it.delay(at) > Some(LATE))
}

/// The delays of all reads of this thread since the last call; `None` where nothing is known.
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
        // A look that found something at once does not end the busy time; one that waited does.
        thread.park(micros(3_000));
        thread.unpark(micros(3_019));
        thread.read(micros(3_100));
        assert_eq!(thread.delay(micros(3_100)), Some(micros(2_100)));
        thread.park(micros(3_200));
        thread.unpark(micros(3_220));
        thread.read(micros(3_221));
        assert_eq!(thread.delay(micros(3_221)), Some(micros(1)));
        assert_eq!(thread.delay(micros(3_100)), Some(Duration::ZERO));
        // Short waits in a row do not add up: before each of them all was read.
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
