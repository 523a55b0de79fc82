//! [I/O] Receive delay: how long bytes may have waited in the kernel before they were read and got their timestamp.
//!
//! A worker's thread either waits for bytes or is busy. When it begins to wait, it has read all bytes that had arrived.
//! Bytes that it reads later therefore arrived, at the earliest, when it returned from that wait. The delay is the time
//! from that return to the timestamp. It is an upper bound: it counts a busy time completely, although the bytes may
//! have arrived at its end. It needs no system call, and no state for each connection.
//!
//! It includes neither the network nor the time in which the kernel wakes the thread. A wait that returned immediately may have found bytes
//! that arrived while the thread was busy. These bytes arrived after the previous return, when the thread had read everything. The delay then
//! counts from that previous return.
//!
//! A thread that always has something to do never waits. Its runtime then polls the sockets between tasks, and calls no hook.
//! The task [`mark_polls`] detects these polls: it runs once after a poll, behind the tasks that the poll woke. Bytes that those
//! tasks read arrived after the previous poll. The delay therefore counts from the last turn of [`mark_polls`] before that poll:
//! it includes at most two passes over the ready tasks.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::Duration,
};

use tokio::{runtime::Builder, sync::Notify};

use clock::Clock;
use measurement::histogram::TimeHistogram;

/// A wait shorter than this found bytes immediately: it is longer than the system call takes.
const WAITED: Duration = Duration::from_micros(20);
/// With a longer delay, events in one read may have arrived at different times. It is shorter than any server's time between two tokens of a
/// request, and longer than a thread needs for a batch of tokens.
const LATE: Duration = Duration::from_millis(1);
/// A thread that has been busy for this long gets marks. Each mark costs a poll, so shorter busy times get none.
const BUSY: Duration = Duration::from_micros(500);
/// Maximum sockets that one poll reports. Bytes on other sockets wait for the next poll, and the delay omits that wait.
const SOCKETS_PER_POLL: usize = 16_384;

thread_local! {
    static THREAD: Thread = Thread::default();
}

#[derive(Default)]
struct Thread {
    /// When the thread began to wait.
    parked: Cell<Duration>,
    /// When it returned from its last wait, however short.
    unparked: Cell<Duration>,
    /// The earliest time at which bytes that are read now can have arrived; `None` if the runtime does not report it.
    woke: Cell<Option<Duration>>,
    /// The last turn of [`mark_polls`] in this busy time.
    marked: Cell<Option<Duration>>,
    /// Whether bytes were read since then.
    has_read: Cell<bool>,
    /// Notifies [`mark_polls`] that the thread is busy.
    busy: Arc<Notify>,
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

    /// Whether the bytes may have waited longer than [`LATE`].
    fn read(&self, at: Duration) -> bool {
        let Some(delay) = self.delay(at) else { return false };
        self.delays.borrow_mut().record(delay);
        self.has_read.set(true);
        if delay > BUSY && self.marked.get().is_none() {
            self.busy.notify_one();
        }
        delay > LATE
    }

    /// Takes a turn of [`mark_polls`]. Returns `false` if nothing was read since the last turn, so that the thread may wait.
    fn mark(&self, at: Duration) -> bool {
        let goes_on = self.has_read.replace(false);
        if let Some(before) = self.marked.replace(goes_on.then_some(at)) {
            self.woke.set(Some(before));
        }
        goes_on
    }

    fn take(&self) -> Option<TimeHistogram> {
        self.woke.get().map(|_| self.delays.take())
    }
}

/// Makes a runtime of one thread report when it waits. Without this call nothing is known about its reads. Spawn [`mark_polls`] on it.
pub fn watch(runtime: &mut Builder, clock: Clock) -> &mut Builder {
    runtime
        .max_io_events_per_tick(SOCKETS_PER_POLL)
        .on_thread_park(move || THREAD.with(|it| it.park(clock.now())))
        .on_thread_unpark(move || THREAD.with(|it| it.unpark(clock.now())))
}

/// Marks the polls of the sockets while the thread is too busy to wait. It does not end.
pub async fn mark_polls(clock: Clock) {
    let busy = THREAD.with(|it| Arc::clone(&it.busy));
    loop {
        busy.notified().await;
        while THREAD.with(|it| it.mark(clock.now())) {
            // A task that yields runs again only after the runtime's next poll.
            tokio::task::yield_now().await;
        }
    }
}

/// Notes that bytes were read on this thread at this time, on the clock of [`watch`]. Returns whether they may have waited so long that their
/// events arrived at different times.
pub fn read(at: Duration) -> bool {
    THREAD.with(|it| it.read(at))
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

    /// Ten turns while bytes are read every 100 us: each read counts from the next-to-last turn.
    #[test]
    fn a_delay_in_a_busy_time_counts_from_the_poll_before_the_last_one() {
        let thread = Thread::default();
        thread.park(micros(0));
        thread.unpark(micros(1_000));
        for turn in 0..10 {
            let at = micros(2_000 + 100 * turn);
            let late = thread.read(at);
            let from = if turn < 2 { micros(1_000) } else { at - micros(150) };
            assert_eq!((thread.delay(at), late), (Some(at - from), at - from > LATE), "{turn}");
            assert!(thread.mark(at + micros(50)));
        }
        // Nothing more was read: the thread may wait, and a new busy time begins next.
        assert!(!thread.mark(micros(3_000)));
        thread.park(micros(3_000));
        thread.unpark(micros(9_000));
        assert!(!thread.read(micros(9_010)));
        assert_eq!(thread.delay(micros(9_010)), Some(micros(10)));
    }

    /// A hundred bytes arrive one by one in a busy time, in which the thread never waits.
    #[test]
    fn a_busy_thread_with_prompt_reads_has_short_delays() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let clock = Clock::start();
        let runtime = watch(Builder::new_current_thread().enable_all(), clock).event_interval(31).build().unwrap();
        let (begun, ended) = runtime.block_on(async {
            tokio::spawn(mark_polls(clock));
            clock.sleeper().until(clock.now() + micros(1_500)).await;
            take();
            let (mut near, mut far) = tokio::net::UnixStream::pair().unwrap();
            let busy = tokio::spawn(async {
                loop {
                    tokio::task::yield_now().await
                }
            });
            let begun = clock.now();
            let reads = tokio::spawn(async move {
                for _ in 0..100 {
                    near.read_u8().await.unwrap();
                    read(clock.now());
                }
            });
            for _ in 0..100 {
                let next = clock.now() + micros(200);
                while clock.now() < next {
                    tokio::task::yield_now().await;
                }
                far.write_u8(1).await.unwrap();
            }
            reads.await.unwrap();
            busy.abort();
            (begun, clock.now())
        });
        let delays = take().unwrap();
        let median = Duration::from_nanos(delays.histogram().value_at_quantile(0.5));
        assert_eq!(delays.histogram().len(), 100);
        assert!(median < (ended - begun) / 10, "{median:?} of {:?}", ended - begun);
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
