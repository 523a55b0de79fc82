//! [I/O] The only code of the launcher that reads a clock or sleeps.
//!
//! A [`Clock`] counts from the start of the run and never goes backwards. One variant is real time, with a timer finer than a millisecond. The other
//! is Tokio's clock, which a test can pause, so that minutes of load pass in milliseconds.

#![expect(clippy::disallowed_methods, reason = "the one place that may ask the time")]

use std::time::{Duration, Instant};

use rustix::time::ClockId;

/// Measures the time since the start of the run. All copies of a clock agree.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The machine's monotonic clock.
    Real(Instant),
    /// The clock of the Tokio runtime, which can be paused. Its timers have a resolution of whole milliseconds.
    Tokio(tokio::time::Instant),
}

/// The deadline passed before the future completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

impl Clock {
    /// Creates a clock of real time. Its time zero is now.
    pub fn start() -> Clock {
        Clock::Real(Instant::now())
    }

    /// Creates a clock from the caller's Tokio runtime, which can be paused. Its time zero is now.
    pub fn from_runtime() -> Clock {
        Clock::Tokio(tokio::time::Instant::now())
    }

    #[inline]
    pub fn now(self) -> Duration {
        match self {
            Clock::Real(zero) => zero.elapsed(),
            Clock::Tokio(zero) => zero.elapsed(),
        }
    }

    /// Returns the time on the clock [`monotonic`] at which this clock was zero.
    pub fn zero(self) -> Duration {
        // The thread can be interrupted between reading the two clocks. So they are read several times, and the quickest reading is used.
        let read = |_| {
            let before = monotonic();
            let since = self.now();
            (monotonic().saturating_sub(before), before.saturating_sub(since))
        };
        (0..4).map(read).min_by_key(|(took, _)| *took).map_or(Duration::ZERO, |(_, zero)| zero)
    }

    /// Creates the finest timer for this clock. If too many files are open, the kernel cannot provide it; then uses Tokio's timer with a resolution
    /// of whole milliseconds, see [`Sleeper::is_coarse`]. Must be called on the Tokio runtime that will use the timer.
    pub fn sleeper(self) -> Sleeper {
        Sleeper {
            clock: self,
            #[cfg(target_os = "linux")]
            timer: match self {
                Clock::Real(_) => fine::Timer::new().ok(),
                Clock::Tokio(_) => None,
            },
        }
    }

    /// Runs a future until `deadline`, with a precision of a millisecond. `None` means without a limit.
    ///
    /// # Errors
    /// [`TimedOut`] if the deadline passes first. The future is then dropped.
    pub async fn within<T>(self, deadline: Option<Duration>, future: impl Future<Output = T>) -> Result<T, TimedOut> {
        match deadline.and_then(|it| self.instant(it)) {
            Some(instant) => tokio::time::timeout_at(instant, future).await.map_err(|_| TimedOut),
            None => Ok(future.await),
        }
    }

    /// Converts a time for Tokio's timers; `None` if it is beyond their range.
    fn instant(self, at: Duration) -> Option<tokio::time::Instant> {
        match self {
            Clock::Real(zero) => zero.checked_add(at).map(tokio::time::Instant::from_std),
            Clock::Tokio(zero) => zero.checked_add(at),
        }
    }
}

/// Returns the wall-clock time, for reports.
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// Returns the time of the machine's monotonic clock, which all its processes share.
pub fn monotonic() -> Duration {
    read(ClockId::Monotonic)
}

/// Returns the CPU time of the calling thread.
pub fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Returns the CPU time of all threads of this process, including threads that have ended.
pub fn process_cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// How far other clocks are ahead of the monotonic clock, in nanoseconds. While the machine runs, these offsets change only if somebody sets the wall
/// clock. Slewing does not change them, because it affects the monotonic clock too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// Offset of the wall clock.
    pub wall: i128,
    /// Offset of the clock that continues during suspend; 0 if there is none.
    pub boot: i128,
}

/// Returns the current offsets; `None` if every attempt to read all clocks at one moment was interrupted.
pub fn offsets() -> Option<Offsets> {
    const AT_ONE_MOMENT: Duration = Duration::from_micros(100);
    let signed = |it: Duration| i128::try_from(it.as_nanos()).unwrap_or_default();
    (0..4).find_map(|_| {
        let before = read(ClockId::Monotonic);
        let wall = read(ClockId::Realtime);
        #[cfg(target_os = "linux")]
        let boot = read(ClockId::Boottime);
        let after = read(ClockId::Monotonic);
        #[cfg(not(target_os = "linux"))]
        let boot = after;
        let took = after.saturating_sub(before);
        let middle = signed(before + took / 2);
        (took < AT_ONE_MOMENT).then(|| Offsets { wall: signed(wall) - middle, boot: signed(boot) - middle })
    })
}

fn read(clock: ClockId) -> Duration {
    Duration::try_from(rustix::time::clock_gettime(clock)).unwrap_or_default()
}

/// Runs a future for at most `limit`, with a precision of a millisecond. Needs no [`Clock`].
///
/// # Errors
/// [`TimedOut`] if the limit is reached first. The future is then dropped.
pub async fn limit<T>(limit: Duration, future: impl Future<Output = T>) -> Result<T, TimedOut> {
    tokio::time::timeout(limit, future).await.map_err(|_| TimedOut)
}

/// A timer with which one task waits for successive points in time.
#[derive(Debug)]
pub struct Sleeper {
    clock: Clock,
    #[cfg(target_os = "linux")]
    timer: Option<fine::Timer>,
}

impl Sleeper {
    /// Whether the timer has a resolution of whole milliseconds although the clock is finer.
    pub fn is_coarse(&self) -> bool {
        #[cfg(target_os = "linux")]
        let fine = self.timer.is_some();
        #[cfg(not(target_os = "linux"))]
        let fine = false;
        matches!(self.clock, Clock::Real(_)) && !fine
    }

    /// Waits until time `at`. Returns immediately if that time has passed.
    pub async fn until(&self, at: Duration) {
        #[cfg(target_os = "linux")]
        if let Some(timer) = &self.timer {
            let left = at.saturating_sub(self.clock.now());
            if left.is_zero() || timer.wait(left).await.is_ok() {
                return;
            }
        }
        match self.clock.instant(at) {
            Some(instant) => tokio::time::sleep_until(instant).await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(target_os = "linux")]
mod fine {
    use std::{io, os::fd::OwnedFd, time::Duration};

    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
    use tokio::io::{Interest, unix::AsyncFd};

    /// A kernel timer with nanosecond resolution and without timer slack.
    #[derive(Debug)]
    pub(super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
            #[expect(deprecated, reason = "sound for a descriptor that is owned; what replaces it is unsafe code")]
            let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
            Ok(Timer(timer))
        }

        /// Waits. `length` must be above zero.
        pub(super) async fn wait(&self, length: Duration) -> io::Result<()> {
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            let length = Timespec::try_from(length).map_err(io::Error::other)?;
            let once = Itimerspec { it_interval: never, it_value: length };
            // Setting the timer discards an earlier expiration, which can exist if a wait was dropped.
            rustix::time::timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
            loop {
                let mut expirations = [0; 8];
                let mut ready = self.0.readable().await?;
                let read = ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut expirations)?));
                if let Ok(read) = read {
                    return read.map(|_| ());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_clock_of_a_paused_runtime_passes_only_by_sleeping() {
        let clock = Clock::from_runtime();
        let sleeper = clock.sleeper();
        assert_eq!(clock.now(), Duration::ZERO);
        sleeper.until(Duration::from_secs(90)).await;
        assert_eq!(clock.now(), Duration::from_secs(90));
        sleeper.until(Duration::from_secs(10)).await;
        assert_eq!(clock.now(), Duration::from_secs(90));
        assert!(!sleeper.is_coarse());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn without_a_timer_of_the_kernel_a_sleeper_is_coarse_and_never_early() {
        let clock = Clock::start();
        assert!(!clock.sleeper().is_coarse());
        let sleeper = Sleeper { clock, timer: None };
        assert!(sleeper.is_coarse());
        sleeper.until(Duration::from_micros(1_500)).await;
        assert!(clock.now() >= Duration::from_micros(1_500));
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_ends_a_future_and_none_does_not() {
        let clock = Clock::from_runtime();
        let hour = || tokio::time::sleep(Duration::from_secs(3_600));
        assert_eq!(clock.within(Some(Duration::from_secs(2)), hour()).await, Err(TimedOut));
        assert_eq!(clock.now(), Duration::from_secs(2));
        assert_eq!(clock.within(None, hour()).await, Ok(()));
        assert_eq!(limit(Duration::from_secs(1), hour()).await, Err(TimedOut));
    }

    #[tokio::test]
    async fn real_time_goes_on_and_a_sleeper_is_never_early() {
        let clock = Clock::start();
        let sleeper = clock.sleeper();
        for micros in [300, 600, 900] {
            let at = Duration::from_micros(micros);
            sleeper.until(at).await;
            assert!(clock.now() >= at);
        }
        // A dropped wait does not affect the next one.
        let dropped = limit(Duration::ZERO, sleeper.until(Duration::from_secs(60))).await;
        assert_eq!(dropped, Err(TimedOut));
        let next = clock.now() + Duration::from_micros(200);
        sleeper.until(next).await;
        assert!(clock.now() >= next);
        assert!(thread_cpu() > Duration::ZERO && process_cpu() >= thread_cpu());
    }
}
