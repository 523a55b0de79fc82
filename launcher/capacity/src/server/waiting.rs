//! [I/O] Waits for sockets, for the time at which a stream is due, and for the parent to end the trial.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
    time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags},
};

/// Maximum number of events per poll.
const MAX_EVENTS: usize = 256;
const LISTENER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
const PARENT: u64 = u64::MAX - 2;

/// What the server waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A client requests a connection.
    Connect,
    /// The connection in a slot is readable or closed.
    Readable(u32),
    /// The connection in a slot accepts bytes again. It can be readable too.
    Writable(u32),
    /// The parent ends the trial.
    End,
}

/// An epoll, and a timer with nanosecond resolution.
pub(super) struct Waiting {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// The time that the timer is set to; `None` if it is not set.
    armed: Option<Duration>,
    events: Vec<epoll::Event>,
}

impl Waiting {
    /// Creates an epoll that waits for connections to this listener, and for standard input to be closed.
    pub(super) fn new(listener: &impl AsFd) -> io::Result<Waiting> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let stdin = io::stdin();
        // The timer is never read. In the edge-triggered mode, it reports only once each time it is set.
        let once = epoll::EventFlags::IN | epoll::EventFlags::ET;
        for (source, name, flags) in [
            (listener.as_fd(), LISTENER, epoll::EventFlags::IN),
            (timer.as_fd(), TIMER, once),
            (stdin.as_fd(), PARENT, epoll::EventFlags::IN),
        ] {
            epoll::add(&epoll, source, epoll::EventData::new_u64(name), flags)?;
        }
        Ok(Waiting { epoll, timer, armed: None, events: Vec::with_capacity(MAX_EVENTS) })
    }

    /// Adds the socket of a new connection to those that are waited for.
    pub(super) fn add(&self, socket: &impl AsFd, slot: u32) -> io::Result<()> {
        let name = epoll::EventData::new_u64(slot.into());
        Ok(epoll::add(&self.epoll, socket, name, epoll::EventFlags::IN)?)
    }

    /// Starts or stops waiting until a connection accepts bytes.
    pub(super) fn watch_output(&self, socket: &impl AsFd, slot: u32, watch: bool) -> io::Result<()> {
        let output = if watch { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
        let name = epoll::EventData::new_u64(slot.into());
        Ok(epoll::modify(&self.epoll, socket, name, epoll::EventFlags::IN | output)?)
    }

    /// Waits for events until time `until`, and appends them to `happened`. If `until` is zero, polls once without waiting.
    pub(super) fn wait(&mut self, until: Option<Duration>, happened: &mut Vec<Event>) -> io::Result<()> {
        let now = until.is_some_and(|it| it.is_zero());
        if !now {
            self.arm(until)?;
        }
        let look = now.then_some(Timespec { tv_sec: 0, tv_nsec: 0 });
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), look.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in self.events.drain(..) {
            // The struct is packed, so its fields are copied instead of borrowed.
            let (name, flags) = (event.data, event.flags);
            happened.push(match name.u64() {
                LISTENER => Event::Connect,
                TIMER => {
                    self.armed = None;
                    continue;
                }
                // Nothing writes to standard input. So if it is readable, it was closed.
                PARENT => Event::End,
                slot if flags.contains(epoll::EventFlags::OUT) => Event::Writable(slot as u32),
                slot => Event::Readable(slot as u32),
            });
        }
        Ok(())
    }

    /// Sets the timer to time `until`. `None` leaves the timer unchanged.
    fn arm(&mut self, until: Option<Duration>) -> io::Result<()> {
        let Some(at) = until.filter(|_| self.armed != until) else { return Ok(()) };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let it_value = Timespec::try_from(at).map_err(io::Error::other)?;
        let once = Itimerspec { it_interval: never, it_value };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
        self.armed = until;
        Ok(())
    }
}
