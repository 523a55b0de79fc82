//! [I/O] Vitals: what the machine did to the launcher while the load ran. Measured beside the load, so that a report can
//! tell how far its own figures are to be trusted.
//!
//! [`Watch`] is a thread of its own that looks at the whole process: stalls, clocks, CPU time, the CPU limit of the cgroup,
//! steal. [`worker`] looks at one load thread from within it, [`receive`] at the reads of its sockets. What is deliberately
//! absent: a judgement, which is `analysis`'s.

pub mod clocks;
pub mod memory;
pub mod receive;
pub mod stalls;
pub mod system;
pub mod worker;

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::Duration,
};

use tracing::warn;

use clock::Clock;
use clocks::ClockSteps;
use stalls::Stalls;
use system::{Machine, Throttling};

/// Between two beats of the heartbeat: often enough to see what delays tokens, seldom enough to cost little of a core that
/// has few tokens to read.
const BEAT: Duration = Duration::from_millis(10);
/// So many beats are between two looks at the clocks: a second.
const BEATS_PER_LOOK: u32 = 100;

/// What the machine did to the launcher while the load ran; `None` is what this system does not tell.
#[derive(Clone, Debug, Default)]
pub struct Vitals {
    /// CPU time of the process, user and system, all threads.
    pub process_cpu: Option<Duration>,
    /// When the process could not run.
    pub stalls: Option<Stalls>,
    /// What the CPU limit of the process' cgroup withheld.
    pub throttling: Option<Throttling>,
    /// CPU time that the hypervisor gave to others, of all that the machine's CPUs had.
    pub steal_share: Option<f64>,
    /// How the clocks were set in the meantime.
    pub clock_steps: Option<ClockSteps>,
}

/// Looks at the process until it is ended.
pub struct Watch {
    end: mpsc::Sender<()>,
    heart: Option<JoinHandle<(Stalls, ClockSteps)>>,
    began: (Duration, Machine),
}

impl Watch {
    /// Begins; times of what it finds count on `clock`.
    pub fn start(clock: Clock) -> Watch {
        let (end, ended) = mpsc::channel();
        let heart = thread::Builder::new().name("heartbeat".into()).spawn(move || beat(clock, &ended));
        if let Err(error) = &heart {
            warn!(%error, "stalls and steps of the clock are not watched");
        }
        Watch { end, heart: heart.ok(), began: (clock::process_cpu(), Machine::read()) }
    }

    /// Ends, and tells what was found.
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

/// A beat is late by what it came after [`BEAT`]: for that long this thread, which does nothing else, could not run.
fn beat(clock: Clock, ended: &mpsc::Receiver<()>) -> (Stalls, ClockSteps) {
    let mut stalls = Stalls::default();
    let mut steps = ClockSteps::default();
    let mut last = clock.now();
    for beat in 0_u32.. {
        if beat % BEATS_PER_LOOK == 0
            && let Some(offsets) = clock::offsets()
        {
            steps.look(offsets);
        }
        if ended.recv_timeout(BEAT) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        let now = clock.now();
        stalls.beat(now, now.saturating_sub(last).saturating_sub(BEAT));
        last = now;
    }
    // A run may be shorter than the time between two looks.
    clock::offsets().into_iter().for_each(|offsets| steps.look(offsets));
    (stalls, steps)
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
