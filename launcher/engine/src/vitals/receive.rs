//! [I/O] Receive delay: how long bytes might have waited in the kernel before they were read and got their timestamp.
//!
//! A worker's thread either waits for bytes or is busy. When it begins to wait, it has read all bytes that had arrived. Bytes that it reads later
//! therefore arrived, at the earliest, when it returned from that wait. The delay is the time from that return to the timestamp. This is an upper
//! bound: it includes the whole busy time, although the bytes might have arrived at the end of it. Measuring it needs no system call, and no state
//! per connection.
//!
//! The delay includes neither the network, nor the time that the kernel takes to wake the thread. If a wait returned immediately, the bytes might
//! have arrived while the thread was busy before it. They still arrived after the previous return, when the thread had read everything, so the delay
//! then counts from that previous return.
//!
//! A thread that always has work never waits. Its runtime then polls the sockets between tasks, without calling the hooks for waits. The
//! task [`mark_polls`] detects these polls: it runs once after each poll, behind the tasks that the poll woke. Bytes that those tasks read
//! arrived after the previous poll. The delay therefore counts from the last turn of [`mark_polls`] before that poll, and includes at most
//! two passes over the ready tasks.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::Duration,
};

use tokio::{runtime::Builder, sync::Notify};

use clock::Clock;
use measurement::histogram::TimeHistogram;

/// A wait shorter than this counts as one that returned immediately. The value exceeds the duration of the system call.
const WAITED: Duration = Duration::from_micros(20);
/// If the delay is longer than this, the events in one read might have arrived at different times. The value is less than any server's time between
/// two tokens of a request, and more than a thread needs for a batch of tokens.
const LATE: Duration = Duration::from_millis(1);
/// Busy times longer than this are divided by marks. Each mark costs a poll, so shorter busy times get none.
const BUSY: Duration = Duration::from_micros(500);
/// Maximum number of sockets that one poll reports. Bytes on further sockets wait for the next poll, and the delay does not include that
/// wait.
const SOCKETS_PER_POLL: usize = 16_384;

thread_local! {
    static THREAD: Thread = Thread::default();
}

#[derive(Default)]
struct Thread {
    /// When the thread last began to wait.
    parked: Cell<Duration>,
    /// When the thread returned from its last wait, however short.
    unparked: Cell<Duration>,
    /// The earliest time at which bytes that are read now can have arrived; `None` if the runtime does not report its waits.
    woke: Cell<Option<Duration>>,
    /// When [`mark_polls`] last ran in this busy time.
    marked: Cell<Option<Duration>>,
    /// Whether bytes were read since the last mark.
    has_read: Cell<bool>,
    /// Wakes [`mark_polls`] when the thread is busy.
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

    /// Returns how long bytes that are read at `at` can already have been there: the time since `woke`. Zero if `woke` is after `at`. `None` if the
    /// runtime does not report its waits.
    fn delay(&self, at: Duration) -> Option<Duration> {
        self.woke.get().map(|woke| at.saturating_sub(woke))
    }

    /// Records a read. Returns whether its bytes might have waited longer than [`LATE`].
    fn read(&self, at: Duration) -> bool {
        let Some(delay) = self.delay(at) else { return false };
        self.delays.borrow_mut().record(delay);
        self.has_read.set(true);
        if delay > BUSY && self.marked.get().is_none() {
            self.busy.notify_one();
        }
        delay > LATE
    }

    /// Called by [`mark_polls`] once per poll of the sockets while the thread is busy. The delay of later reads counts from the previous mark.
    /// Returns `false` if nothing was read since the previous call, so that the thread can wait.
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

/// Makes a single-threaded runtime report when it waits. Without this call, the delays of its reads are unknown. Also spawn [`mark_polls`]
/// on the runtime.
pub fn watch(runtime: &mut Builder, clock: Clock) -> &mut Builder {
    runtime
        .max_io_events_per_tick(SOCKETS_PER_POLL)
        .on_thread_park(move || THREAD.with(|it| it.park(clock.now())))
        .on_thread_unpark(move || THREAD.with(|it| it.unpark(clock.now())))
}

/// Marks the polls of the sockets while the thread is too busy to wait. Never returns.
pub async fn mark_polls(clock: Clock) {
    let busy = THREAD.with(|it| Arc::clone(&it.busy));
    loop {
        busy.notified().await;
        while THREAD.with(|it| it.mark(clock.now())) {
            // After it yields, a task runs again only after the runtime's next poll.
            tokio::task::yield_now().await;
        }
    }
}

/// Records that this thread read bytes at time `at`, on the clock passed to [`watch`]. Returns whether they might have waited so long that their
/// events arrived at different times.
pub fn read(at: Duration) -> bool {
    THREAD.with(|it| it.read(at))
}

/// Returns the delays of all reads of this thread since the last call; `None` if the runtime does not report its waits.
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
        // A wait that returns immediately does not end the busy time, but a longer one does.
        thread.park(micros(3_000));
        thread.unpark(micros(3_019));
        thread.read(micros(3_100));
        assert_eq!(thread.delay(micros(3_100)), Some(micros(2_100)));
        thread.park(micros(3_200));
        thread.unpark(micros(3_220));
        thread.read(micros(3_221));
        assert_eq!(thread.delay(micros(3_221)), Some(micros(1)));
        assert_eq!(thread.delay(micros(3_100)), Some(Duration::ZERO));
        // Consecutive short waits do not add up, because all bytes were read before each of them.
        for wait in 0..100 {
            thread.park(micros(4_000 + 20 * wait));
            thread.unpark(micros(4_015 + 20 * wait));
        }
        assert_eq!(thread.delay(micros(6_000)), Some(micros(25)));
        let delays = thread.take().unwrap();
        assert_eq!((delays.histogram().len(), delays.histogram().max() / 1_000_000), (3, 2));
        assert_eq!(thread.take().unwrap().histogram().len(), 0);
    }

    /// [`mark_polls`] has ten turns while bytes are read every 100 us. Each delay counts from the turn before the last one.
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
        // Nothing more was read, so the thread can wait. After the wait, a new busy time begins.
        assert!(!thread.mark(micros(3_000)));
        thread.park(micros(3_000));
        thread.unpark(micros(9_000));
        assert!(!thread.read(micros(9_010)));
        assert_eq!(thread.delay(micros(9_010)), Some(micros(10)));
    }

    /// A hundred bytes arrive one by one during a busy time, in which the thread never waits.
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
