//! [I/O] Vitals: how the machine affected the launcher during the load. They are measured together with the load, so that a report can show
//! how far its figures can be trusted.
//!
//! [`Watch`] is a thread that observes the whole process: stalls, clocks, CPU time, the CPU limit of the cgroup, and steal time. [`worker`]
//! measures one worker from within its thread, and [`receive`] measures the reads of its sockets. Deliberately absent: judging the values,
//! which `analysis` does.

mod clocks;
pub(crate) mod memory;
pub mod receive;
pub mod system;
pub mod worker;

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::Duration,
};

use measurement::vitals::{Vitals, clocks::ClockSteps, stalls::Stalls};
use tracing::warn;

use clock::Clock;
use clocks::ClockWatch;
use system::Machine;

/// Heartbeat interval. It is short enough to detect stalls that delay tokens, and long enough to use little CPU time.
const BEAT: Duration = Duration::from_millis(10);
/// Number of beats between two readings of the clocks: one reading per second.
const BEATS_PER_LOOK: u32 = 100;

/// Observes the process until [`Watch::end`].
pub struct Watch {
    end: mpsc::Sender<()>,
    heart: Option<JoinHandle<(Stalls, ClockSteps)>>,
    began: (Duration, Machine),
}

impl Watch {
    /// Starts to observe. The times in the result are on `clock`.
    pub fn start(clock: Clock) -> Watch {
        let (end, ended) = mpsc::channel();
        let heart = thread::Builder::new().name("heartbeat".into()).spawn(move || beat(clock, &ended));
        if let Err(error) = &heart {
            warn!(%error, "stalls and steps of the clock are not watched");
        }
        Watch { end, heart: heart.ok(), began: (clock::process_cpu(), Machine::read()) }
    }

    /// Stops observing, and returns the vitals.
    pub fn end(self) -> Vitals {
        drop(self.end);
        let (cpu, machine) = self.began;
        let (process_cpu, now) = (clock::process_cpu().saturating_sub(cpu), Machine::read());
        let (stalls, clock_steps) = self.heart.and_then(|it| it.join().ok()).unzip();
        Vitals {
            process_cpu: Some(process_cpu),
            stalls,
            throttling: now.throttled_since(&machine),
            steal_share: now.stolen_since(&machine),
            clock_steps,
        }
    }
}

/// Runs the heartbeat. This thread does nothing else, so a beat later than [`BEAT`] means that the thread could not run in the meantime.
fn beat(clock: Clock, ended: &mpsc::Receiver<()>) -> (Stalls, ClockSteps) {
    let mut stalls = Stalls::default();
    let mut clocks = ClockWatch::default();
    let mut last = clock.now();
    for beat in 0_u32.. {
        if beat % BEATS_PER_LOOK == 0
            && let Some(offsets) = clock::offsets()
        {
            clocks.look(offsets);
        }
        if ended.recv_timeout(BEAT) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        let now = clock.now();
        stalls.beat(now, now.saturating_sub(last).saturating_sub(BEAT));
        last = now;
    }
    // A last reading, because a run can be shorter than the time between two readings.
    clock::offsets().into_iter().for_each(|offsets| clocks.look(offsets));
    (stalls, clocks.steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_sees_the_process_that_it_is_in() {
        let clock = Clock::start();
        let watch = Watch::start(clock);
        let before = clock::thread_cpu();
        let mut spins = 0_u64;
        while clock::thread_cpu() - before < Duration::from_millis(20) {
            spins = std::hint::black_box(spins + 1);
        }
        let vitals = watch.end();
        assert!(vitals.process_cpu >= Some(Duration::from_millis(20)), "{vitals:?} after {spins}");
        let stalls = vitals.stalls.expect("a thread could be started");
        assert!(stalls.longest <= clock.now() && stalls.stalled <= clock.now(), "{stalls:?}");
        assert!(vitals.clock_steps.is_some());
    }
}
